"""Episodes in whose middle all sensors change places, with all there is to see of them."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Int, Key

from anyorder.envs import AbstractEnv
from anyorder.evaluation.precision import double_precision, doubled
from anyorder.evaluation.recovery import (
    AT,
    Recovery,
    around,
    followed,
    jump,
    shuffle_step,
    worst_change,
)
from anyorder.evaluation.shadows import Footage, Shadow, film, scenes, shadow
from anyorder.evaluation.trials import KEPT, PERMUTED, World, reshuffled, undisturbed
from anyorder.policies import AbstractPolicy

NEVER = 10**6


@dataclass(frozen=True)
class Seen:
    """Footage as shadows saw it: one in the world's own order, one shuffled whose memory stayed where it
    was, and one shuffled whose memory moved along."""

    footage: Footage
    at: Int[np.ndarray, " episodes"]
    orders: Int[np.ndarray, "episodes sensors"]
    straight: Shadow
    kept: Shadow
    along: Shadow


@dataclass(frozen=True)
class ShuffledOnce:
    """The same episodes twice."""

    calm: Footage
    """All undisturbed episodes that were filmed, also those too short to follow."""
    watching: Seen
    """Undisturbed; only the shadows' sensors change places."""
    acting: Seen
    """Filmed while the agent acted with shuffled sensors: it is the shadow whose memory stayed."""


def film_shuffle(
    policy: AbstractPolicy,
    env: AbstractEnv,
    keys: Key[jax.Array, " episodes"],
    rng: np.random.Generator,
) -> ShuffledOnce:
    """Film undisturbed episodes, then those long enough again with one shuffle."""
    world = World(env, every=AT)
    calm = film(policy, world, undisturbed(world, keys))
    chosen = followed(calm)
    step = shuffle_step(calm.take(chosen))
    later = chosen[np.asarray(calm.lengths)[chosen] > step + 1]
    chosen = later if len(later) else chosen
    world = World(env, every=step)
    trials = reshuffled(undisturbed(world, keys), rng, first=1, last=1)
    acted = film(policy, world, trials).take(chosen)
    orders, at = np.asarray(trials.orders)[chosen, 1], np.full(len(chosen), step)
    return ShuffledOnce(
        calm,
        _seen(policy, calm.take(chosen), orders, at),
        _seen(policy, acted, orders, at),
    )


def _seen(policy: AbstractPolicy, footage: Footage, orders, at) -> Seen:
    count = footage.n_episodes
    straight, kept, along = (
        shadow(policy, footage, scene, whole=True)
        for scene in (
            scenes(count, orders, NEVER),
            scenes(count, orders, at, KEPT),
            scenes(count, orders, at, PERMUTED),
        )
    )
    return Seen(footage, at, orders, straight, kept, along)


def exactness(policy: AbstractPolicy, seen: Seen) -> tuple[float, float]:
    """In float64: worst change of code and action after a shuffle if memory moves along."""
    footage, count = seen.footage, seen.footage.n_episodes
    with double_precision():
        policy, footage = doubled(policy), doubled(footage)
        straight = shadow(policy, footage, scenes(count, seen.orders, NEVER), whole=False)
        along = shadow(policy, footage, scenes(count, seen.orders, seen.at, PERMUTED), whole=False)
    return worst_change(seen.footage, seen.at, straight, along)


def recovery(seen: Seen, *, has_code: bool) -> Recovery:
    """How the shadow whose memory stayed comes back to the one that was not shuffled."""
    footage, straight, kept = seen.footage, seen.straight, seen.kept
    change = np.asarray(kept.code) - np.asarray(straight.code)
    shift = np.sqrt((change**2).reshape(*change.shape[:2], -1).mean(axis=2))
    code = around(shift / max(footage.code_spread, 1e-12), seen.at, footage)
    action = np.abs(np.asarray(kept.action) - np.asarray(straight.action)).max(axis=2)
    return Recovery(jump(code) if has_code else None, jump(around(action, seen.at, footage)))
