"""Channels: a few of many sensors know the answer, and only their constancy gives them away.

Every sensor shows 1 or -1 with some noise. The informative ones show the answer throughout an episode;
the others change at random. Which ones are informative changes from episode to episode. At no step does
a reading differ from any other in kind, so one has to watch to know whom to believe.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from anyorder.envs.base import AbstractEnv, Step
from anyorder.sensors import Sensors

NOISE = 0.1


class ChannelsState(eqx.Module):
    """The answer, who knows it, and the steps taken."""

    answer: Float[Array, ""]
    informative: Bool[Array, " sensors"]
    time: Int[Array, ""]


class Channels(AbstractEnv):
    """Many sensors, one action, which should be the answer: it earns their product, at best 1 a step."""

    channels: int = eqx.field(static=True, default=50)
    informed: int = eqx.field(static=True, default=3)
    length: int = eqx.field(static=True, default=16)

    @property
    def n_sensors(self) -> int:
        return self.channels

    @property
    def n_actions(self) -> int:
        return 1

    @property
    def n_steps(self) -> int:
        return self.length

    def reset(self, key: PRNGKeyArray) -> Step:
        answer_key, place_key, show_key = jax.random.split(key, 3)
        places = jax.random.permutation(place_key, self.channels)
        answer = jax.random.rademacher(answer_key, ()).astype(float)
        state = ChannelsState(answer, places < self.informed, jnp.zeros((), int))
        return self._show(state, jnp.zeros(()), show_key)

    def step(
        self, state: ChannelsState, action: Float[Array, " actions"], *, key: PRNGKeyArray
    ) -> Step:
        later = ChannelsState(state.answer, state.informative, state.time + 1)
        return self._show(later, jnp.clip(action[0], -1, 1) * state.answer, key)

    def _show(self, state: ChannelsState, reward: Float[Array, ""], key: PRNGKeyArray) -> Step:
        sign_key, noise_key = jax.random.split(key)
        signs = jax.random.rademacher(sign_key, (self.channels,)).astype(float)
        shown = jnp.where(state.informative, state.answer, signs)
        shown = shown + NOISE * jax.random.normal(noise_key, (self.channels,))
        return Step(
            state=state,
            sensors=Sensors.of(shown),
            reward=reward,
            terminated=jnp.array(False),
            truncated=state.time >= self.length,
        )
