"""Times to a score when some runs never get there: censored, not dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats

RESAMPLES = 4000


@dataclass(frozen=True)
class Times:
    """When each seed first tested at a score; for those that did not, when it was last watched."""

    at: Float[np.ndarray, " seeds"]
    there: Bool[np.ndarray, " seeds"]

    @property
    def restricted_mean(self) -> float:
        """Mean time up to the end of the budget: the area under the Kaplan-Meier curve.

        All runs have the same budget, so it is the mean of what each took of it.
        """
        return float(self.at.mean())

    @property
    def median(self) -> float:
        """By Kaplan-Meier; infinite if fewer than half got there."""
        curve = self.curve()
        below = np.flatnonzero(curve.probabilities <= 0.5)
        return float(curve.quantiles[below[0]]) if len(below) else float("inf")

    def curve(self) -> Any:
        """The Kaplan-Meier estimate of the share of runs that are not there yet."""
        return stats.ecdf(self.censored()).sf

    def censored(self) -> stats.CensoredData:
        """As scipy wants them."""
        return stats.CensoredData.right_censored(self.at, ~self.there)


def reached_times(
    at: np.ndarray, scores: Float[np.ndarray, "seeds tests"], threshold: float
) -> Times:
    """First tests at a threshold or above.

    >>> times = reached_times(np.array([0, 10, 20]), np.array([[0, 5, 9.0], [0, 1, 2]]), 5.0)
    >>> times.at.tolist(), times.there.tolist(), times.restricted_mean
    ([10.0, 20.0], [True, False], 15.0)
    """
    good = scores >= threshold
    there = np.asarray(good.any(axis=1))
    first = np.where(there, good.argmax(axis=1), scores.shape[1] - 1)
    return Times(np.asarray(at, float)[first], there)


@dataclass(frozen=True)
class Comparison:
    """One number of many seeds beside that of the same seeds in the baseline."""

    value: float
    low: float
    high: float
    """Ends of the 95% paired bootstrap interval."""

    def as_json(self) -> dict[str, float]:
        return {"value": self.value, "low": self.low, "high": self.high}


def compare(
    ours: Float[np.ndarray, " seeds"], baseline: Float[np.ndarray, " seeds"], *, ratio: bool
) -> Comparison:
    """Mean of ours over (or less) the mean of the baseline; seeds are resampled in pairs.

    >>> compare(np.array([1.0, 2.0]), np.array([2.0, 4.0]), ratio=True)
    Comparison(value=0.5, low=0.5, high=0.5)
    """

    def of(places: np.ndarray) -> Any:
        mine, theirs = ours[places].mean(axis=-1), baseline[places].mean(axis=-1)
        return mine / np.maximum(theirs, 1e-9) if ratio else mine - theirs

    drawn = np.random.default_rng(0).integers(0, len(ours), (RESAMPLES, len(ours)))
    low, high = np.quantile(of(drawn), [0.025, 0.975])
    return Comparison(float(of(np.arange(len(ours)))), float(low), float(high))


def logrank(ours: Times, baseline: Times) -> float:
    """How likely curves that differ this much are if both are the same; NaN where nobody got there."""
    if not (ours.there.any() or baseline.there.any()):
        return float("nan")
    return float(stats.logrank(ours.censored(), baseline.censored()).pvalue)


def holm(chances: list[float]) -> list[float]:
    """The same chances when that many were looked at, after Holm; NaN stays NaN.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    known = [p for p in chances if p == p]
    adjusted, highest = {}, 0.0
    for rank, p in enumerate(sorted(known)):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        adjusted[p] = highest
    return [adjusted[p] if p == p else p for p in chances]
