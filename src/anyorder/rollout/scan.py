"""The reference loop: any policy in any environment, one `lax.scan` per episode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree

from anyorder.envs import AbstractEnv, Step
from anyorder.policies import AbstractPolicy, Decision


class Episode(eqx.Module):
    """What an episode came to."""

    total: Float[Array, ""]
    """Sum of rewards, up to and including the step that ended it."""
    length: Int[Array, ""]
    trace: PyTree
    """What was recorded at each step, stacked; steps past `length` hold no meaning."""


Record = Callable[[Step, Decision], Any]
"""Chooses what to keep of a step: given the world the policy saw and what it decided."""


def nothing(step: Step, decision: Decision) -> None:
    """Record nothing but the sum of rewards."""


def rollout(
    policy: AbstractPolicy,
    env: AbstractEnv,
    *,
    key: PRNGKeyArray,
    record: Record = nothing,
    n_steps: int | None = None,
) -> Episode:
    """One episode, from a reset with `key` for at most `n_steps` steps."""
    first = env.reset(key)
    start = (first, policy.init(env.n_sensors), jnp.array(True), jnp.zeros(()), jnp.zeros((), int))

    def advance(carry, index):
        step, memory, alive, total, length = carry
        decision = policy.decide(step.sensors, memory)
        following = env.step(step.state, decision.action, key=jax.random.fold_in(key, index + 2))
        total = total + jnp.where(alive, following.reward, 0)
        length = length + alive
        carry = (following, decision.memory, alive & ~following.done, total, length)
        return carry, record(step, decision)

    end, trace = jax.lax.scan(advance, start, jnp.arange(n_steps or env.n_steps))
    return Episode(end[3], end[4], trace)


def episodes(
    policy: AbstractPolicy,
    env: AbstractEnv,
    *,
    keys: Key[Array, " episodes"],
    n_steps: int | None = None,
) -> Episode:
    """One episode per key, stacked."""
    return jax.vmap(lambda key: rollout(policy, env, key=key, n_steps=n_steps))(keys)
