"""A number measured over episodes, with what is not known of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

RESAMPLES = 1000


@dataclass(frozen=True)
class Estimate:
    """A mean, or another statistic, with its 95% bootstrap interval over episodes.

    Infinite where what it counts never happened; not a number where there was nothing to measure.
    """

    value: float
    low: float
    high: float
    episodes: int

    def as_json(self) -> dict[str, Any]:
        """Plain numbers; null for those that JSON cannot say."""
        value, low, high = (
            float(f"{x:.6g}") if math.isfinite(x) else None
            for x in (self.value, self.low, self.high)
        )
        return {"value": value, "ci95": [low, high], "episodes": self.episodes}


NOT_MEASURED = Estimate(math.nan, math.nan, math.nan, 0)


def estimate(
    samples: Float[np.ndarray, "episodes *rest"],
    statistic: Callable[[np.ndarray], Any] = lambda samples: samples.mean(axis=0),
    *,
    seed: int = 0,
) -> Estimate:
    """The statistic of all episodes, and its interval by drawing episodes with replacement.

    >>> estimate(np.array([1.0, 1.0, 1.0])).low
    1.0
    """
    samples = np.asarray(samples, np.float64)
    if len(samples) == 0:
        return NOT_MEASURED
    value = float(statistic(samples))
    if (samples == samples[:1]).all():
        return Estimate(value, value, value, len(samples))
    found = resampled(samples, statistic, seed=seed)
    # Infinity is a value like others here, which interpolation between percentiles would spoil.
    low, high = np.quantile(found, [0.025, 0.975], method="nearest")
    return Estimate(value, float(low), float(high), len(samples))


def resampled(
    samples: Float[np.ndarray, "episodes *rest"],
    statistic: Callable[[np.ndarray], Any],
    *,
    seed: int = 0,
) -> Float[np.ndarray, "resamples *found"]:
    """The statistic of many draws of episodes with replacement."""
    drawn = np.random.default_rng(seed).integers(len(samples), size=(RESAMPLES, len(samples)))
    if samples.ndim == 1:
        return np.array([statistic(row) for row in samples[drawn]])
    return np.array([statistic(samples[row]) for row in drawn])


@dataclass(frozen=True)
class Row:
    """One thing that was done to an agent, and what became of its return."""

    name: str
    meaning: str
    ret: Estimate
    change: Estimate
    """Against undisturbed episodes from the same starts."""


def row(
    name: str,
    meaning: str,
    returns: Float[np.ndarray, " episodes"],
    plain: Float[np.ndarray, " episodes"],
) -> Row:
    """A row of returns beside the undisturbed ones of the same episodes."""
    return Row(name, meaning, estimate(returns), estimate(returns - plain[: len(returns)]))
