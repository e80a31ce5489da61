"""What the study of nonlinear attention found, in words, tables and numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyorder.studies.cell import Cell, Outcome
from anyorder.studies.nla import BASELINE, CLAIMED, THRESHOLDS
from anyorder.studies.times import Comparison, Times, compare, holm, logrank, reached_times

Outcomes = Mapping[str, Mapping[str, Outcome]]
"""By method and map."""
UNITS = {"evolution": "generations", "ppo": "rollouts"}


@dataclass(frozen=True)
class Against:
    """One map beside the identity, by one method."""

    name: str
    time: Comparison
    """Restricted mean time to the main threshold, as a share of the baseline's."""
    area: Comparison
    """Mean score over all tests, less the baseline's."""
    final: Comparison
    """Score in the last test, less the baseline's."""
    chance: float
    """Of curves to the threshold that differ this much if the maps are the same: logrank, after Holm."""

    def as_json(self) -> dict[str, Any]:
        return {
            "map": self.name,
            "time_ratio": self.time.as_json(),
            "area_difference": self.area.as_json(),
            "final_difference": self.final.as_json(),
            "logrank_holm": None if math.isnan(self.chance) else self.chance,
            "verdict": verdict(self.time),
        }


def times(outcome: Outcome, threshold: float) -> Times:
    """When the seeds of a cell got to a threshold."""
    return reached_times(outcome.at, outcome.scores, threshold)


def main_threshold(baseline: Outcome) -> float:
    """The highest threshold that half of the baseline's seeds got to, or the lowest of all."""
    passed = [score for score in THRESHOLDS if times(baseline, score).there.mean() >= 0.5]
    return max(passed, default=min(THRESHOLDS))


def comparisons(found: Mapping[str, Outcome]) -> list[Against]:
    """Every map of a method beside the identity."""
    base = found[BASELINE]
    threshold = main_threshold(base)
    others = {name: outcome for name, outcome in found.items() if name != BASELINE}
    chances = holm(
        [logrank(times(one, threshold), times(base, threshold)) for one in others.values()]
    )
    return [
        Against(
            name,
            compare(times(one, threshold).at, times(base, threshold).at, ratio=True),
            compare(one.scores.mean(axis=1), base.scores.mean(axis=1), ratio=False),
            compare(one.scores[:, -1], base.scores[:, -1], ratio=False),
            chance,
        )
        for (name, one), chance in zip(others.items(), chances, strict=True)
    ]


def verdict(time: Comparison) -> str:
    """What an interval of the share of the baseline's time says, in a few words.

    >>> verdict(Comparison(0.98, 0.9, 1.1))
    'no difference shown; a saving of 30% is ruled out'
    """
    if time.low == time.high == 1:
        return "nothing to compare: nobody got there"
    if time.high < 1:
        faster = f"faster by {1 - time.value:.0%}"
    elif time.low > 1:
        faster = f"slower by {time.value - 1:.0%}"
    else:
        faster = "no difference shown"
    if round(time.low, 2) > CLAIMED:
        return f"{faster}; a saving of 30% is ruled out"
    return f"{faster}; a saving of 30% {'or more is likely' if time.high <= CLAIMED else 'is possible'}"


def summary(method: str, rows: Sequence[Against]) -> str:
    """The plain answer for a method."""
    likely = [row.name for row in rows if row.time.high < 1]
    ruled_out = [row.name for row in rows if round(row.time.low, 2) > CLAIMED]
    if all(row.time.low == row.time.high == 1 for row in rows):
        return f"By {method} there was nothing to compare: no seed reached {min(THRESHOLDS):.0f}."
    best = min(rows, key=lambda row: row.time.value)
    text = (
        f"By {method}, {len(likely)} of {len(rows)} nonlinear maps had an interval below the identity's "
        f"time{' (' + ', '.join(likely) + ')' if likely else ''}; a saving of 30% is ruled out for "
        f"{len(ruled_out)}. The quickest, {best.name}, took {best.time.value:.2f} "
        f"({best.time.low:.2f} to {best.time.high:.2f}) of the identity's time."
    )
    if len(rows) > 1:
        text += f" Of {len(rows)} intervals of 95%, some may miss the truth by chance."
    return text


def results(outcomes: Outcomes) -> dict[str, Any]:
    """All findings, as JSON keeps them."""
    return {
        method: {
            "threshold": main_threshold(found[BASELINE]),
            "against_identity": [row.as_json() for row in comparisons(found)],
            "summary": summary(method, comparisons(found)),
            "maps": {name: _facts(outcome) for name, outcome in found.items()},
        }
        for method, found in outcomes.items()
    }


def _facts(outcome: Outcome) -> dict[str, Any]:
    reached = {}
    for threshold in THRESHOLDS:
        found = times(outcome, threshold)
        reached[f"{threshold:.0f}"] = {
            "seeds_there": int(found.there.sum()),
            "seeds": len(found.there),
            "median": None if math.isinf(found.median) else found.median,
            "restricted_mean": found.restricted_mean,
        }
    return {
        "parameters": outcome.parameters,
        "reached": reached,
        "area": float(outcome.scores.mean()),
        "final": {
            "mean": float(outcome.scores[:, -1].mean()),
            "sd": float(outcome.scores[:, -1].std(ddof=1)) if len(outcome.scores) > 1 else 0.0,
        },
        "steps": float(outcome.steps.mean()),
        "seconds": outcome.seconds,
        "compile_seconds": outcome.compile_seconds,
    }


def nla_page(outcomes: Outcomes, cells: Sequence[Cell], made: Mapping[str, str]) -> str:
    """The report, in Markdown."""
    lines = [
        "# Does a nonlinear map of the keys make learning faster?",
        "",
        "A test of the claim of nonlinear attention (arXiv 2506.00691): about 30% faster, as good in the",
        "end. The maps are ours; docs/attention.md defines them. All agents have the same number of",
        "parameters; the same seed starts from the same numbers and sees the same tests. Runs that never",
        "reach a score count as censored at the end of their budget.",
        "",
        "## Answer",
        "",
    ]
    lines += [f"- {summary(method, comparisons(found))}" for method, found in outcomes.items()]
    for method, found in outcomes.items():
        lines += ["", *_method(method, found)]
    kinds = {cell.method: cell.training for cell in cells}
    lines += ["", "## How it was made", ""]
    lines += [f"- {name}: {value}" for name, value in made.items()]
    lines += [f"- {method}: `{config}`" for method, config in kinds.items()]
    return "\n".join(lines) + "\n"


def _method(method: str, found: Mapping[str, Outcome]) -> list[str]:
    unit, base = UNITS.get(method, "updates"), found[BASELINE]
    threshold = main_threshold(base)
    heads = [f"to {score:.0f}" for score in THRESHOLDS]
    lines = [
        f"## By {method}",
        "",
        f"Restricted mean {unit} to a score (seeds that got there), over {int(base.at[-1])} {unit} and "
        f"{len(base.scores)} seeds.",
        "",
        f"| map | parameters | {' | '.join(heads)} | mean score | last score | seconds |",
        "|---|" + "---:|" * (len(heads) + 4),
    ]
    for name, outcome in found.items():
        each = [times(outcome, score) for score in THRESHOLDS]
        cells = [f"{one.restricted_mean:.0f} ({int(one.there.sum())})" for one in each]
        last = outcome.scores[:, -1]
        lines.append(
            f"| {name} | {outcome.parameters} | {' | '.join(cells)} | {outcome.scores.mean():.0f} | "
            f"{last.mean():.0f} ± {last.std():.0f} | {outcome.seconds:.0f} |"
        )
    lines += [
        "",
        f"Beside the identity, paired by seed, with 95% bootstrap intervals; time is to {threshold:.0f}.",
        "",
        "| map | time, as a share | p (logrank, Holm) | mean score | last score | verdict |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for row in comparisons(found):
        chance = "-" if math.isnan(row.chance) else f"{row.chance:.2g}"
        lines.append(
            f"| {row.name} | {_told(row.time, 2)} | {chance} | {_told(row.area, 0)} | "
            f"{_told(row.final, 0)} | {verdict(row.time)} |"
        )
    lines += ["", f"![learning curves]({method}-curves.png)", f"![times]({method}-times.png)"]
    return lines


def _told(found: Comparison, digits: int) -> str:
    sign = "" if digits else "+"
    numbers = [
        f"{value:{sign}.{digits}f}" for value in np.array([found.value, found.low, found.high])
    ]
    return f"{numbers[0]} ({numbers[1]} to {numbers[2]})"
