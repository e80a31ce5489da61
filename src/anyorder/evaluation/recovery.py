"""What a shuffle in the middle of an episode does, and how long it takes to get over it.

Measured twice. *Acting*: the agent itself goes on with its sensors in another order and its memory left
where it was, and is compared at every step with what it would have done there had its memory moved along.
*Watching*: its shadow is shown an undisturbed episode, its sensors changing places at one step; it cannot
stir the world to find out more. Changes of the code are in units of how much it varies by itself along the
episodes: at 1.4 two codes have no more in common than two moments picked at random.
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
AT = 300
"""The step of the shuffle, in episodes that are long enough."""
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
class Recovery:
    """How code and action come back. No code for a policy without neurons."""

    code: Jump | None
    action: Jump

    @property
    def main(self) -> Jump:
        """The code's where there is one."""
        return self.code or self.action


@dataclass(frozen=True)
class RecoveryAudit:
    """A shuffle mid-episode, the memory left where it was."""

    shuffles: int
    acting: Recovery
    watching: Recovery
    along_code: float
    """Worst change of the code after the shuffle if memory moves along, in float64; in the code's numbers."""
    along_action: float
    kept_code: float
    """Worst change of the code if memory stays, in its numbers."""
    kept_action: float


def followed(footage: Footage) -> Int[np.ndarray, " chosen"]:
    """The episodes long enough to watch a recovery in, or all if there are not enough of them."""
    long = np.flatnonzero(np.asarray(footage.lengths) >= LONG)
    some = np.flatnonzero(np.asarray(footage.lengths) >= 3)
    if len(long) >= ENOUGH:
        return long
    return some if len(some) else np.arange(footage.n_episodes)


def shuffle_step(footage: Footage) -> int:
    """When to shuffle these episodes: at AT, or earlier if most of them end before."""
    half = int(np.median(np.asarray(footage.lengths))) // 2
    return AT if half >= AT // 2 else max(1, half)


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

    window = window[~np.isnan(window[:, LEAD])]
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
    if not len(window):
        nothing = np.full(LEAD + WINDOW + 1, math.nan)
        return Curve(np.arange(-LEAD, WINDOW + 1), nothing, nothing, nothing)
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


def worst_change(
    footage: Footage, at: Int[np.ndarray, " episodes"], straight: Shadow, other: Shadow
) -> tuple[float, float]:
    """Largest change of any number of the code, and of the action, from the shuffle on."""
    after = footage.alive & (np.arange(footage.sensors.shape[1]) >= at[:, None])

    def worst(one, two):
        return float(np.abs(np.asarray(one) - np.asarray(two))[after].max(initial=0))

    return worst(straight.code, other.code), worst(straight.action, other.action)
