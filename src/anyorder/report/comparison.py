"""Which method learns better: tables over seeds, and the same in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyorder.report.amounts import amount, between, count, duration, finite, number
from anyorder.report.cells import Cell, Run
from anyorder.report.curves import (
    Against,
    Centre,
    Reached,
    Spread,
    at_budget,
    common_budget,
    curve,
    reached,
    spread,
)
from anyorder.report.tables import Table

FEW = 5
"""Fewer seeds than this leave a bootstrap too little to draw from."""
AXES: tuple[Against, ...] = ("steps", "seconds")


@dataclass(frozen=True)
class Comparison:
    """The cells of a report, and how they are compared."""

    cells: tuple[Cell, ...]
    thresholds: tuple[float, ...] = (300.0, 400.0, 500.0)
    centre: Centre = "mean"

    @property
    def tasks(self) -> list[str]:
        """The worlds the runs learn."""
        return list(dict.fromkeys(str(cell.settings.get("task")) for cell in self.cells))

    def tables(self) -> list[Table]:
        """Scores, what they cost, and when they were reached."""
        tables = [self._scores(), self._costs()]
        return [*tables, self._thresholds()] if self.thresholds else tables

    def verdicts(self) -> list[str]:
        """Who learns better, by environment steps and by seconds."""
        tested = [cell for cell in self.cells if cell.tested]
        if len(tested) < 2:
            return ["There is only one method with tests here, so there is nothing to compare."]
        return [self._verdict(tested, against) for against in AXES]

    def as_json(self) -> dict[str, Any]:
        """All of it for a machine; what is not known or was never reached is null."""
        return {
            "tasks": self.tasks,
            "centre": self.centre,
            "verdicts": self.verdicts(),
            "remarks": self.remarks(),
            "cells": [self._cell_json(cell) for cell in self.cells],
        }

    def remarks(self) -> list[str]:
        """What a reader should mind about these runs before believing the numbers."""
        found = [remark for cell in self.cells for remark in _remarks(cell)]
        if len(self.tasks) > 1:
            found.append(
                f"These runs learn different tasks ({', '.join(self.tasks)}): their scores can be "
                "compared only if the tasks reward alike."
            )
        lengths = [length for cell in self.cells for length in _lengths(cell)]
        if lengths:
            found.append(
                f"Runs ended at different lengths ({'; '.join(lengths)}): final scores then compare "
                "unequal training, while the scores in the verdict are at equal training."
            )
        few = [cell for cell in self.cells if 1 < len(cell.tested) < FEW]
        if few:
            found.append(
                f"With fewer than {FEW} seeds to a method, bootstrap intervals are too narrow: "
                "take them as a hint."
            )
        return found

    def _scores(self) -> Table:
        columns = (
            "method",
            "seeds",
            "final score ± sd",
            "95% CI",
            "IQM",
            "best test",
            "kept agent",
        )
        rows = []
        for cell in self.cells:
            last = spread(np.array([run.score[-1] for run in cell.tested]))
            best = spread(np.array([run.score.max() for run in cell.tested]))
            kept = spread(np.array([run.kept for run in cell.runs if run.kept is not None]))
            rows.append(
                (
                    cell.label, _of(last.seeds, len(cell.runs)), _plus_minus(last),
                    between(last.ci95), number(last.iqm), number(best.mean), number(kept.mean),
                )
            )  # fmt: skip
        note = (
            "Over seeds: final score, mean of each run's last held-out test; best test, mean of each "
            "run's highest (flattering: it won); kept agent, mean score of the agents kept, on fresh episodes."
        )
        return Table("Scores", columns, tuple(rows), note)

    def _costs(self) -> Table:
        columns = ("method", "parameters", "steps", "seconds", "steps/s")
        rows = []
        for cell in self.cells:
            ends = [(run.steps[-1], run.seconds[-1]) for run in cell.tested]
            steps, seconds = np.array(ends).reshape(-1, 2).T
            sizes = {run.parameters for run in cell.runs if run.parameters is not None}
            rates = steps[seconds > 0] / seconds[seconds > 0]
            rows.append(
                (
                    cell.label, " or ".join(f"{size:,}" for size in sorted(sizes)) or "–",
                    count(_median(steps)), duration(_median(seconds)), count(_median(rates)),
                )
            )  # fmt: skip
        note = "Medians over seeds up to the last test; seconds count compiling and testing too."
        return Table("What they cost", columns, tuple(rows), note)

    def _thresholds(self) -> Table:
        columns = ("score", "method", "reached", "steps", "95% CI", "seconds", "95% CI")
        rows = []
        for score in self.thresholds:
            heading = f"{score:g}"
            for cell in self.cells:
                steps, seconds = (reached(cell, score, against) for against in AXES)
                rows.append(
                    (
                        heading, cell.label, f"{steps.count} of {len(cell.runs)}",
                        _time(steps, "steps"), _time_interval(steps, "steps"),
                        _time(seconds, "seconds"), _time_interval(seconds, "seconds"),
                    )
                )  # fmt: skip
                heading = ""
        note = (
            "Median over all seeds up to the first test at this score or above. A run that never got there "
            "counts as infinitely late, so without more than half of the seeds there is no median (never)."
        )
        return Table("Time to a score", columns, tuple(rows), note)

    def _verdict(self, cells: Sequence[Cell], against: Against) -> str:
        at_score, at_end = self._first_to(cells, against), self._at_budget(cells, against)
        name = "environment steps" if against == "steps" else "seconds"
        return f"By {name}: " + " ".join(part for part in (at_score, at_end) if part)

    def _first_to(self, cells: Sequence[Cell], against: Against) -> str:
        """Who is first to the highest score that any method reaches with most of its seeds."""
        for score in sorted(self.thresholds, reverse=True):
            found = {cell.label: reached(cell, score, against) for cell in cells}
            ranked = sorted(found, key=lambda label: found[label].median)
            first, second = (found[label] for label in ranked[:2])
            if math.isinf(first.median):
                continue
            won = f"{ranked[0]} wins the race to {score:g}: {_race(first, against)}."
            if second.median == first.median:
                won = f"{ranked[0]} and {ranked[1]} tie in the race to {score:g}: {_race(first, against)}."
            if math.isinf(second.median):
                rest = f" ({ranked[1]}: {second.count} of {len(second.times)} reached)"
                alone = "It alone gets there with more than half of its seeds"
                return f"{won} {alone}{rest if len(cells) == 2 else ''}."
            other = f"Next, {ranked[1]}: {_race(second, against)}."
            return f"{won} {other} {_overlap(first.ci95, second.ci95)}"
        if not self.thresholds:
            return ""
        low = min(self.thresholds)
        return f"No method reaches {low:g} with more than half of its seeds."

    def _at_budget(self, cells: Sequence[Cell], against: Against) -> str:
        """Who scores highest at the most that every run has been given."""
        budget = common_budget(cells, against)
        found = {cell.label: at_budget(cell, against, budget) for cell in cells}
        tested = {cell.label: len(cell.tested) for cell in cells}
        found = {label: its for label, its in found.items() if its.seeds == tested[label]}
        if len(found) < 2:
            return "There is no budget at which two methods have been tested."
        ranked = sorted(found, key=lambda label: -found[label].around(self.centre)[0])
        (most, its), (next_, theirs) = (found[label].around(self.centre) for label in ranked[:2])
        missing = [cell.label for cell in cells if cell.label not in found]
        return (
            f"At {amount(budget, against)}, the most that every run has been given, {ranked[0]} scores "
            f"highest: {number(most)}{_in_brackets(its)}, then {ranked[1]} with "
            f"{number(next_)}{_in_brackets(theirs)}. "
            + _overlap(its, theirs)
            + (f" Not yet tested by then: {'; '.join(missing)}." if missing else "")
        )

    def _cell_json(self, cell: Cell) -> dict[str, Any]:
        tested = [other for other in self.cells if other.tested]
        return {
            "label": cell.label,
            "settings": dict(cell.settings),
            "final": _spread_json(spread(np.array([run.score[-1] for run in cell.tested]))),
            "best": _spread_json(spread(np.array([run.score.max() for run in cell.tested]))),
            "at_common_budget": {
                against: _budget_json(cell, against, common_budget(tested, against))
                for against in AXES
            },
            "thresholds": [
                {"score": score, "runs": len(cell.runs)}
                | {against: _reached_json(reached(cell, score, against)) for against in AXES}
                for score in self.thresholds
            ],
            "curves": {against: _curve_json(cell, against, self.centre) for against in AXES},
            "runs": [_run_json(run) for run in cell.runs],
        }


def _remarks(cell: Cell) -> list[str]:
    found = []
    untested = [str(run.path) for run in cell.runs if not run.tested]
    if untested:
        found.append(f"{cell.label}: no test yet in {', '.join(untested)}.")
    seeds = [run.seed for run in cell.runs]
    twice = sorted({str(seed) for seed in seeds if seeds.count(seed) > 1})
    if twice:
        found.append(
            f"{cell.label}: seed {', '.join(twice)} is there more than once; "
            "such runs repeat each other and make intervals too narrow."
        )
    unread = sum(run.unread for run in cell.runs)
    if unread:
        found.append(
            f"{cell.label}: {unread} lines of metrics hold no finite score, and are left out."
        )
    reached_target = [run for run in cell.tested if run.on_target]
    if reached_target:
        found.append(
            f"{cell.label}: {len(reached_target)} of {len(cell.runs)} runs stopped because they reached "
            "their target; curves and comparisons carry their last score forward from there."
        )
    return found


def _lengths(cell: Cell) -> list[str]:
    """From where to where the cell's runs ended, if that is far apart."""
    ends = [run.steps[-1] for run in cell.tested if not run.on_target]
    if not ends or max(ends) <= 1.1 * min(ends):
        return []
    return [f"{cell.label}: {count(min(ends))} to {count(max(ends))} steps"]


def _spread_json(values: Spread) -> dict[str, Any]:
    return {
        "seeds": values.seeds,
        "mean": finite(values.mean),
        "sd": finite(values.sd),
        "iqm": finite(values.iqm),
        "ci95": [finite(end) for end in values.ci95],
        "iqm_ci95": [finite(end) for end in values.iqm_ci95],
    }


def _budget_json(cell: Cell, against: Against, budget: float) -> dict[str, Any]:
    return {"at": finite(budget)} | _spread_json(at_budget(cell, against, budget))


def _reached_json(found: Reached) -> dict[str, Any]:
    return {
        "reached": found.count,
        "median": finite(found.median),
        "ci95": [finite(end) for end in found.ci95],
        "each": [finite(time) for time in found.times],
    }


def _curve_json(cell: Cell, against: Against, centre: Centre) -> dict[str, list[Any]]:
    found = curve(cell, against, centre)
    parts = {"at": found.at, "score": found.centre, "low": found.low, "high": found.high}
    return {name: [finite(x) for x in values] for name, values in parts.items()} | {
        "seeds": found.seeds.tolist()
    }


def _run_json(run: Run) -> dict[str, Any]:
    return {
        "folder": str(run.path),
        "seed": run.seed,
        "device": run.facts.get("device"),
        "command": run.facts.get("command"),
        "started": run.facts.get("started"),
        "parameters": run.parameters,
        "final": finite(run.score[-1]) if run.tested else None,
        "best": finite(run.score.max()) if run.tested else None,
        "kept_agent": run.kept,
        "steps": finite(run.steps[-1]) if run.tested else None,
        "seconds": finite(run.seconds[-1]) if run.tested else None,
        "stopped_at_target": run.on_target,
    }


def _plus_minus(values: Spread) -> str:
    """Mean ± sd, or the mean alone."""
    alone = math.isnan(values.sd)
    return number(values.mean) + ("" if alone else f" ± {number(values.sd)}")


def _of(tested: int, runs: int) -> str:
    return str(runs) if tested == runs else f"{tested} of {runs}"


def _median(values: np.ndarray) -> float:
    return float(np.median(values)) if len(values) else math.nan


def _race(found: Reached, against: Against) -> str:
    return f"median {amount(found.median, against)}, {found.count} of {len(found.times)} reached"


def _time(found: Reached, against: Against) -> str:
    if math.isinf(found.median):
        return "never"
    return count(found.median) if against == "steps" else duration(found.median)


def _time_interval(found: Reached, against: Against) -> str:
    low, high = found.ci95
    if math.isinf(low) or math.isnan(low):
        return "–"
    say = count if against == "steps" else duration
    return f"{say(low)} to {'never' if math.isinf(high) else say(high)}"


def _in_brackets(ends: tuple[float, float]) -> str:
    return "" if math.isnan(ends[0]) else f" ({between(ends)})"


def _overlap(first: tuple[float, float], second: tuple[float, float]) -> str:
    if math.isnan(first[0]) or math.isnan(second[0]):
        return "With a single seed, this may be chance."
    if first[0] <= second[1] and second[0] <= first[1]:
        return "The 95% intervals overlap: this may be chance."
    return "The 95% intervals do not overlap."
