"""What a shuffle in the middle of an episode does, and how long it takes to get over it.

The agent's shadow sees what the agent saw, its sensors changing places at one step, and we watch how far
its code and its action are from the agent's. Changes of the code are in units of how much it varies by
itself along the episodes: at 1.4 two codes have no more in common than two moments picked at random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from anyorder.evaluation.estimate import NOT_MEASURED, Estimate, estimate, resampled
from anyorder.evaluation.shadows import Footage, Shadow

WINDOW = 300
"""Steps for which a shuffle is followed."""
LEAD = 10
"""Steps shown before it."""
LONG = 500
"""Episodes at least this long are preferred."""
ENOUGH = 6
REST = 0.05


@dataclass(frozen=True)
class Curve:
    """A mean over episodes along steps, with its 95% bootstrap interval."""

    steps: Int[np.ndarray, " steps"]
    mean: Float[np.ndarray, " steps"]
    low: Float[np.ndarray, " steps"]
    high: Float[np.ndarray, " steps"]


@dataclass(frozen=True)
class Jump:
    """How a quantity moves at a shuffle, and comes back."""

    size: Estimate
    """At the step of the shuffle."""
    half_life: Estimate
    """Steps from which on no more than half of the jump is left; infinite if the window saw no such step."""
    settled: Estimate
    """Likewise a twentieth."""
    left: Estimate
    """At the end of the window, as a share of the jump."""
    curve: Curve


@dataclass(frozen=True)
class RecoveryAudit:
    """A shuffle mid-episode, the memory left where it was."""

    shuffles: int
    code: Jump | None
    action: Jump
    along_code: float
    """Worst change of the code after the shuffle if memory moves along, in float64; in the code's numbers."""
    along_action: float
    kept_code: float
    """Worst change of the code if memory stays, in its numbers."""
    kept_action: float


def shuffle_steps(footage: Footage) -> Int[np.ndarray, " episodes"]:
    """When to shuffle each episode: after two fifths of it."""
    return np.maximum(1, 2 * np.asarray(footage.lengths) // 5)


def followed(footage: Footage) -> Footage:
    """The episodes long enough to watch a recovery in, or all if there are not enough of them."""
    long = np.flatnonzero(np.asarray(footage.lengths) >= LONG)
    some = np.flatnonzero(np.asarray(footage.lengths) >= 3)
    if len(long) >= ENOUGH:
        return footage.take(long)
    return footage.take(some) if len(some) else footage


def around(
    values: Float[np.ndarray, "episodes steps"], at: Int[np.ndarray, " episodes"], footage: Footage
) -> Float[np.ndarray, "episodes window"]:
    """Values from LEAD steps before each shuffle until WINDOW after it; not a number where none are."""
    steps = at[:, None] + np.arange(-LEAD, WINDOW + 1)
    there = (steps >= 0) & (steps < np.asarray(footage.lengths)[:, None])
    inside = np.clip(steps, 0, values.shape[1] - 1)
    return np.where(
        there, np.take_along_axis(np.asarray(values, np.float64), inside, axis=1), np.nan
    )


def jump(window: Float[np.ndarray, "episodes window"]) -> Jump:
    """The size of the jump, and how it fades."""

    def fades(share: float):
        def first(samples):
            after = mean_over(samples)[LEAD:]
            above = np.flatnonzero(after > share * after[0])
            last = np.flatnonzero(~np.isnan(after))[-1]
            if after[0] == 0 or not above.size:
                return 0.0
            return float(above[-1] + 1) if above[-1] < last else math.inf

        return first

    def left(samples):
        after = mean_over(samples)[LEAD:]
        ends = after[~np.isnan(after)][-20:].mean()
        return ends / after[0] if after[0] > 0 else math.nan

    size = estimate(window[:, LEAD])
    if not size.value > 0:
        return Jump(size, NOT_MEASURED, NOT_MEASURED, NOT_MEASURED, curve(window))
    return Jump(
        size,
        estimate(window, fades(0.5)),
        estimate(window, fades(REST)),
        estimate(window, left),
        curve(window),
    )


def curve(window: Float[np.ndarray, "episodes window"]) -> Curve:
    """Mean and interval at each step."""
    found = resampled(window, mean_over)
    low, high = np.nanquantile(
        np.where(np.isnan(found).all(axis=0), 0, found), [0.025, 0.975], axis=0
    )
    return Curve(np.arange(-LEAD, WINDOW + 1), mean_over(window), low, high)


def mean_over(window: Float[np.ndarray, "episodes window"]) -> Float[np.ndarray, " window"]:
    """The mean of those episodes that are still going on, where at least half of those at first are."""
    there = ~np.isnan(window)
    count = there.sum(axis=0)
    total = np.where(there, window, 0).sum(axis=0)
    enough = count >= max(1, 0.5 * there[:, LEAD].sum())
    return np.where(enough, total / np.maximum(count, 1), np.nan)


def audit_recovery(
    footage: Footage,
    at: Int[np.ndarray, " episodes"],
    kept: Shadow,
    along: Shadow,
    *,
    has_code: bool,
) -> RecoveryAudit:
    """Compare the shadow whose memory stays, and in float64 the one whose memory moves along."""
    alive = footage.alive & (np.arange(footage.sensors.shape[1]) >= at[:, None])

    def worst(gap):
        return float(np.where(alive, np.asarray(gap), 0).max())

    code = around(np.asarray(kept.code_shift) / max(footage.code_spread, 1e-12), at, footage)
    return RecoveryAudit(
        shuffles=len(at),
        code=jump(code) if has_code else None,
        action=jump(around(np.asarray(kept.action_gap), at, footage)),
        along_code=worst(along.code_gap) if has_code else math.nan,
        along_action=worst(along.action_gap),
        kept_code=worst(kept.code_gap) if has_code else math.nan,
        kept_action=worst(kept.action_gap),
    )
