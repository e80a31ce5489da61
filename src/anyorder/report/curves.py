"""What the runs of a cell say together: curves over seeds, final scores, time to a score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from anyorder.evaluation import interval, iqm
from anyorder.report.cells import Cell, Run

Against = Literal["steps", "seconds"]
Centre = Literal["mean", "iqm"]
CENTRES = {"mean": np.mean, "iqm": iqm}
POINTS = 200
"""Most points of a curve over seeds."""


@dataclass(frozen=True)
class Spread:
    """One number per seed, in a few."""

    seeds: int
    mean: float
    sd: float
    """With one less than the seeds in the denominator; NaN of a single seed."""
    iqm: float
    ci95: tuple[float, float]
    """95% bootstrap interval of the mean over seeds; NaN of a single seed."""
    iqm_ci95: tuple[float, float]

    def around(self, centre: Centre) -> tuple[float, tuple[float, float]]:
        """Mean or IQM with its interval."""
        return (self.mean, self.ci95) if centre == "mean" else (self.iqm, self.iqm_ci95)


def spread(values: Float[np.ndarray, " seeds"]) -> Spread:
    """Mean, spread and intervals over seeds.

    >>> spread(np.array([1.0, 2.0, 3.0])).sd
    1.0
    """
    if len(values) == 0:
        unknown = (math.nan, math.nan)
        return Spread(0, math.nan, math.nan, math.nan, unknown, unknown)
    return Spread(
        seeds=len(values),
        mean=float(values.mean()),
        sd=float(values.std(ddof=1)) if len(values) > 1 else math.nan,
        iqm=float(iqm(values)),
        ci95=_interval(values, np.mean),
        iqm_ci95=_interval(values, iqm),
    )


@dataclass(frozen=True)
class Curve:
    """A cell's score over seeds along steps or seconds."""

    at: Float[np.ndarray, " points"]
    centre: Float[np.ndarray, " points"]
    low: Float[np.ndarray, " points"]
    high: Float[np.ndarray, " points"]
    seeds: Int[np.ndarray, " points"]
    """How many runs each point rests on."""


def along(run: Run, against: Against) -> Float[np.ndarray, " tests"]:
    """Where on the axis a run's tests lie."""
    return run.steps if against == "steps" else run.seconds


def score_at(
    run: Run, against: Against, at: Float[np.ndarray, " points"]
) -> Float[np.ndarray, " points"]:
    """A run's score between its tests, along straight lines; NaN where there is nothing to go by.

    A run that stopped because it reached its target keeps its last score.
    """
    if not run.tested:
        return np.full(len(at), np.nan)
    after = run.score[-1] if run.on_target else np.nan
    return np.interp(at, along(run, against), run.score, left=np.nan, right=after)


def enough(runs: int) -> int:
    """How many of a cell's tested runs a point of its curve must rest on: half, and at least two."""
    return min(runs, max(2, math.ceil(runs / 2)))


def curve(cell: Cell, against: Against, centre: Centre = "mean") -> Curve:
    """The cell's score over seeds, wherever enough of them are there."""
    runs = cell.tested
    at = np.unique(np.concatenate([along(run, against) for run in runs] or [np.zeros(0)]))
    scores = np.array([score_at(run, against, at) for run in runs]).reshape(len(runs), len(at))
    counts = np.isfinite(scores).sum(axis=0)
    shown = np.flatnonzero(counts >= max(1, enough(len(runs))))
    if len(shown) > POINTS:
        shown = shown[np.linspace(0, len(shown) - 1, POINTS).round().astype(int)]
    at, scores, counts = at[shown], scores[:, shown], counts[shown]
    columns = [column[np.isfinite(column)] for column in scores.T]
    bounds = [_interval(column, CENTRES[centre]) for column in columns]
    return Curve(
        at,
        np.array([float(CENTRES[centre](column)) for column in columns]),
        np.array([low for low, _ in bounds]),
        np.array([high for _, high in bounds]),
        counts,
    )


@dataclass(frozen=True)
class Reached:
    """When the runs of a cell first tested at a score or above; infinite for runs that never did."""

    score: float
    times: Float[np.ndarray, " runs"]
    median: float
    """Infinite unless more than half of the runs got there."""
    ci95: tuple[float, float]
    """95% bootstrap interval of the median; its upper end may be infinite."""

    @property
    def count(self) -> int:
        return int(np.isfinite(self.times).sum())


def reached(cell: Cell, score: float, against: Against) -> Reached:
    """Steps or seconds to a score over all runs of the cell, those without a test included."""
    times = np.array([first_at(run, score, against) for run in cell.runs])
    finite = times[np.isfinite(times)]
    if not len(finite):
        return Reached(score, times, math.inf, (math.inf, math.inf))
    # The bootstrap needs numbers: "never" is a time beyond any average with a finite one.
    never = 1e9 * (1 + finite.max())
    ends = _interval(np.where(np.isfinite(times), times, never), np.median)
    low, high = (math.inf if end > finite.max() else end for end in ends)
    return Reached(score, times, float(np.median(times)), (low, high))


def first_at(run: Run, score: float, against: Against) -> float:
    """Where the run's first test at this score or above lies; infinite if there is none."""
    good = np.flatnonzero(run.score >= score)
    return float(along(run, against)[good[0]]) if len(good) else math.inf


def common_budget(cells: Sequence[Cell], against: Against) -> float:
    """The most steps or seconds that every tested run has been given; NaN if there is none.

    A run that stopped because it reached its target has no use for more, and does not count.
    """
    runs = [run for cell in cells for run in cell.tested]
    ends = [float(along(run, against)[-1]) for run in runs]
    going = [end for run, end in zip(runs, ends, strict=True) if not run.on_target]
    return min(going, default=max(ends, default=math.nan))


def at_budget(cell: Cell, against: Against, budget: float) -> Spread:
    """The cell's score over the seeds that have been given this much."""
    scores = np.array([score_at(run, against, np.array([budget]))[0] for run in cell.tested])
    return spread(scores[np.isfinite(scores)])


def _interval(values: np.ndarray, statistic: object) -> tuple[float, float]:
    return interval(values, statistic) if len(values) > 1 else (math.nan, math.nan)
