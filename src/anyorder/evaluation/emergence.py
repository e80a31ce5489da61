"""What a run's agents knew at several points of their training: what emerges, and when."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from anyorder.envs import AbstractEnv
from anyorder.evaluation.estimate import NOT_MEASURED, Estimate, estimate
from anyorder.evaluation.identification import SINCE, audit_identification
from anyorder.evaluation.shuffled_once import film_shuffle
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
    known = audit_identification(film_shuffle(policy, env, keys, rng).acting)
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
