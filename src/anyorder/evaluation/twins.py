"""Two closed loops that should be one: undisturbed, and shuffled again and again with memory moved along.

A balanced pole is chaotic: whatever the last digit of a sum differs by, and sums in another order differ
there, grows by a factor of ten every few dozen steps. So the twins' actions are rounded to 16 bits, as any
actuator would, before world and neurons learn of them. What differs by less than that is then forgotten
instead of amplified, and a difference that is not rounding would still show at once. Without rounding we
watch how chaos parts them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Key

from anyorder.evaluation.estimate import Estimate, estimate
from anyorder.evaluation.precision import double_precision, doubled
from anyorder.evaluation.trials import (
    EVERY,
    PERMUTED,
    World,
    altered,
    play_all,
    reshuffled,
    stacked,
    undisturbed,
)
from anyorder.policies import AbstractPolicy

GRAIN = 2.0**-16
"""Actions of the twins are rounded to multiples of this."""
N_TWINS = 16
APART = 1e-3
"""Codes this different are no longer of one trajectory."""


@dataclass(frozen=True)
class Twins:
    """How far the twins come apart, in float64."""

    episodes: int
    steps: int
    """Of the longest episode."""
    every: int
    worst_code: float
    worst_action: float
    worst_return: float
    """Largest difference of the returns of two twins."""
    apart: Estimate
    """Without rounding: steps until the codes differ by more than APART; infinite if they never do."""
    apart_return: Estimate
    """Without rounding: how much more the shuffled twin earns."""


def meet_again(
    policy: AbstractPolicy,
    world: World,
    keys: Key[jax.Array, " episodes"],
    rng: np.random.Generator,
) -> Twins:
    """Play the twins, with and without rounding."""
    count = len(keys)
    with double_precision():
        policy, world = doubled(policy), doubled(world)
        calm = undisturbed(world, keys)
        moved = altered(reshuffled(calm, rng), moving=PERMUTED)
        four = stacked(altered(calm, grain=GRAIN), altered(moved, grain=GRAIN), calm, moved)
        played = play_all(policy, world, four, record=_told)
    code, action = (
        np.abs(part[[0, 2]] - part[[1, 3]]).reshape(2, count, part.shape[2], -1).max(axis=3)
        for part in (each.reshape(4, count, *each.shape[1:]) for each in played.trace)
    )
    total, length = played.total.reshape(4, count), played.length.reshape(4, count)
    alive = np.arange(code.shape[2]) < np.minimum(length[[0, 2]], length[[1, 3]])[..., None]
    code, action = np.where(alive, code, 0), np.where(alive, action, 0)
    parted = code[1] > APART
    first = np.where(parted.any(axis=1), parted.argmax(axis=1), math.inf)
    long = length[2] >= 0.5 * length[2].max()
    return Twins(
        episodes=count,
        steps=int(length[0].max()),
        every=EVERY,
        worst_code=float(code[0].max()),
        worst_action=float(action[0].max()),
        worst_return=float(np.abs(total[1] - total[0]).max()),
        apart=estimate(
            first[long], lambda samples: float(np.quantile(samples, 0.5, method="lower"))
        ),
        apart_return=estimate(np.asarray(total[3] - total[2])),
    )


def _told(sensors, reward, decision):
    return decision.code, decision.action
