"""What a run's agents knew at several points of their training: what emerges, and when."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from anyorder.envs import AbstractEnv
from anyorder.evaluation.estimate import NOT_MEASURED, Estimate, estimate
from anyorder.evaluation.identification import SINCE, audit_identification
from anyorder.evaluation.recovery import followed, shuffle_steps
from anyorder.evaluation.shadows import film, scenes, shadow
from anyorder.evaluation.trials import World, play_all, reshuffled, undisturbed
from anyorder.policies import AbstractPolicy

EPISODES = 48
SOON = 20
"""Steps after a shuffle at which identification is told; among those it is tested at."""


@dataclass(frozen=True)
class Checkpoint:
    """One agent of a run."""

    name: str
    updates: float
    """Of training; not a number where that is not known."""
    ret: Estimate
    ret_reshuffled: Estimate
    """With sensors changing places every 100 steps."""
    settled: Estimate
    """Share of neurons whose sensor a linear probe names in the step before a shuffle."""
    soon: Estimate
    """The same SOON steps after it."""


def audit_checkpoint(
    policy: AbstractPolicy, env: AbstractEnv, *, key: PRNGKeyArray, name: str, updates: float
) -> Checkpoint:
    """Measure one agent, in the same episodes as the others with this key."""
    world, rng = World(env), np.random.default_rng(0)
    keys = jax.random.split(key, EPISODES)
    shown = followed(film(policy, world, keys))
    at = shuffle_steps(shown)
    new = reshuffled(undisturbed(world, keys[: shown.n_episodes]), rng).orders[:, 0]
    straight = shadow(policy, shown, scenes(shown.n_episodes, new, 10**6), whole=True)
    kept = shadow(policy, shown, scenes(shown.n_episodes, new, at), whole=True)
    known = audit_identification(shown, at, straight, kept)
    calm = undisturbed(world, keys)
    returns = play_all(policy, world, calm).total
    often = play_all(policy, world, reshuffled(calm, rng)).total
    return Checkpoint(
        name=name,
        updates=updates,
        ret=estimate(returns),
        ret_reshuffled=estimate(often),
        settled=known.before if known else NOT_MEASURED,
        soon=known.after_shuffle[SINCE.index(SOON)] if known else NOT_MEASURED,
    )
