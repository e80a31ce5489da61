"""Playing for the record: episodes of an undisturbed world, for somebody to learn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray

from anyorder.envs import AbstractEnv, Recordings
from anyorder.evaluation.protocols import BATCH
from anyorder.oracle import Oracle
from anyorder.policies import AbstractPolicy


def record_episodes(
    policy: AbstractPolicy | Oracle, env: AbstractEnv, *, n_episodes: int, key: PRNGKeyArray
) -> Iterator[Recordings]:
    """Play `n_episodes` episodes, a batch at a time: those that `protocol_returns` plays with this key."""
    keys = jax.random.split(key, n_episodes)
    for first in range(0, n_episodes, BATCH):
        yield _played(policy, env, keys[first : first + BATCH])


def joined(batches: Sequence[Recordings]) -> Recordings:
    """All episodes of the batches, cut after the longest."""
    longest = max(int(batch.lengths.max()) for batch in batches)
    whole = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *batches)
    return Recordings(
        whole.sensors[:, :longest], whole.actions[:, :longest], whole.rewards[:, :longest], whole.lengths
    )  # fmt: skip


def recorded_returns(recordings: Recordings) -> Float[np.ndarray, " episodes"]:
    """The sum of each episode's rewards."""
    rewards, lengths = np.asarray(recordings.rewards), np.asarray(recordings.lengths)
    return np.where(np.arange(rewards.shape[1]) < lengths[:, None], rewards, 0).sum(axis=1)


@eqx.filter_jit
def _played(
    policy: AbstractPolicy | Oracle, env: AbstractEnv, keys: Key[Array, " episodes"]
) -> Recordings:
    """One episode per key. The oracle, which is no policy, goes by the state."""

    def act(step, memory):
        if isinstance(policy, Oracle):
            return policy.push(step.state)[None], memory
        return policy(step.sensors, memory)

    def play(key):
        def advance(carry, index):
            step, memory, alive = carry
            action, memory = act(step, memory)
            following = env.step(step.state, action, key=jax.random.fold_in(key, index + 2))
            made = (step.sensors.values, action, following.reward, alive)
            return (following, memory, alive & ~following.done), made

        memory = () if isinstance(policy, Oracle) else policy.init(env.n_sensors)
        start = (env.reset(key), memory, jnp.array(True))
        return jax.lax.scan(advance, start, jnp.arange(env.n_steps))[1]

    sensors, actions, rewards, alive = jax.vmap(play)(keys)
    return Recordings(sensors, actions, rewards, alive.sum(axis=1))
