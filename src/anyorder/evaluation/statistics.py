"""What many episodes say, with what they leave open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

RESAMPLES = 2000


@dataclass(frozen=True)
class Summary:
    """Returns of many episodes in a few numbers."""

    mean: float
    sd: float
    iqm: float
    """Mean of the middle half."""
    ci95: tuple[float, float]
    """95% bootstrap interval of the mean."""
    iqm_ci95: tuple[float, float]
    """95% bootstrap interval of the IQM."""
    success: float | None
    """Share of episodes above the task's threshold; None for a task that has none."""
    episodes: int

    def as_json(self) -> dict[str, Any]:
        """Plain numbers, rounded to what they can mean."""
        return {
            "mean": round(self.mean, 3),
            "sd": round(self.sd, 3),
            "iqm": round(self.iqm, 3),
            "ci95": [round(end, 3) for end in self.ci95],
            "iqm_ci95": [round(end, 3) for end in self.iqm_ci95],
            "success": None if self.success is None else round(self.success, 5),
            "episodes": self.episodes,
        }


def summarize(
    returns: Float[np.ndarray, " episodes"], *, threshold: float | None, seed: int = 0
) -> Summary:
    """Mean, spread, interquartile mean, intervals and success rate.

    >>> summary = summarize(np.array([0.0, 0.0, 900.0, 900.0]), threshold=500.0)
    >>> summary.mean, summary.iqm, summary.success
    (450.0, 450.0, 0.5)
    """
    returns = np.asarray(returns, dtype=np.float64)
    if returns.ndim != 1 or returns.size == 0:
        raise ValueError("There must be at least one episode to summarize.")
    return Summary(
        mean=float(returns.mean()),
        sd=float(returns.std()),
        iqm=float(iqm(returns)),
        ci95=interval(returns, np.mean, seed=seed),
        iqm_ci95=interval(returns, iqm, seed=seed),
        success=None if threshold is None else float((returns > threshold).mean()),
        episodes=returns.size,
    )


def iqm(returns: np.ndarray, axis: int = -1) -> Any:
    """Interquartile mean: a quarter of the episodes cut off at either end."""
    from scipy import stats  # takes longer to load than all of JAX: only where it is needed

    return stats.trim_mean(returns, 0.25, axis=axis)


def interval(returns: np.ndarray, statistic: Any, *, seed: int = 0) -> tuple[float, float]:
    """95% percentile bootstrap interval of a statistic over episodes."""
    if np.ptp(returns) == 0:  # also a single episode: nothing to resample
        value = float(statistic(returns))
        return value, value
    from scipy import stats

    found = stats.bootstrap(
        (returns,),
        statistic,
        n_resamples=RESAMPLES,
        batch=max(1, 2_000_000 // returns.size),
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)
