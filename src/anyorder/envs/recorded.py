"""Recorded episodes as a world, in which whatever the agent does, what happened happens again."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from anyorder.envs.base import AbstractEnv, Step
from anyorder.sensors import Sensors


class Recordings(eqx.Module):
    """Episodes somebody played, each padded to the length of the longest."""

    sensors: Float[Array, "episodes steps sensors"]
    """What was seen before each action."""
    actions: Float[Array, "episodes steps actions"]
    rewards: Float[Array, "episodes steps"]
    """For each action."""
    lengths: Int[Array, " episodes"]
    """Steps of each episode; what is stored after them holds no meaning."""

    def __check_init__(self):
        episodes, steps = self.rewards.shape
        same = self.sensors.shape[:2] == self.actions.shape[:2] == (episodes, steps)
        if not (same and self.lengths.shape == (episodes,) and episodes and steps):
            raise ValueError("Sensors, actions, rewards and lengths must be of the same episodes.")


class RecordedState(eqx.Module):
    """Where in which episode we are, and what was done there."""

    episode: Int[Array, ""]
    time: Int[Array, ""]
    action: Float[Array, " actions"]


class RecordedEnv(AbstractEnv):
    """A random episode at every reset. Actions change nothing."""

    recordings: Recordings
    choices: bool = eqx.field(static=True, default=False)
    """Whether actions are choices."""

    @property
    def n_sensors(self) -> int:
        return self.recordings.sensors.shape[2]

    @property
    def n_actions(self) -> int:
        return self.recordings.actions.shape[2]

    @property
    def discrete(self) -> bool:
        return self.choices

    @property
    def n_steps(self) -> int:
        return self.recordings.rewards.shape[1]

    def reset(self, key: PRNGKeyArray) -> Step:
        episode = jax.random.randint(key, (), 0, self.recordings.lengths.shape[0])
        return self._show(episode, jnp.zeros((), int), jnp.zeros(()))

    def step(
        self, state: RecordedState, action: Float[Array, " actions"], *, key: PRNGKeyArray
    ) -> Step:
        reward = self.recordings.rewards[state.episode, state.time]
        return self._show(state.episode, state.time + 1, reward)

    def _show(self, episode: Int[Array, ""], time: Int[Array, ""], reward: Array) -> Step:
        now = jnp.minimum(time, self.n_steps - 1)
        return Step(
            state=RecordedState(episode, now, self.recordings.actions[episode, now]),
            sensors=Sensors.of(self.recordings.sensors[episode, now]),
            reward=reward,
            terminated=jnp.array(False),
            truncated=time >= self.recordings.lengths[episode],
        )
