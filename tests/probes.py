"""Small worlds whose best policy is known, to see learners learn."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from anyorder.envs import AbstractEnv, Step
from anyorder.sensors import Sensors


class EchoState(eqx.Module):
    signal: Float[Array, ""]
    time: Int[Array, ""]
    key: Array


class Echo(AbstractEnv):
    """One sensor; the action should have its sign. The best return is 1 per step."""

    length: int = eqx.field(static=True, default=8)

    @property
    def n_sensors(self) -> int:
        return 1

    @property
    def n_actions(self) -> int:
        return 1

    @property
    def n_steps(self) -> int:
        return self.length

    def reset(self, key):
        return self._show(jnp.zeros((), int), key, jnp.zeros(()))

    def step(self, state, action, *, key):
        return self._show(state.time + 1, state.key, action[0] * state.signal)

    def _show(self, time, key, reward):
        signal = jax.random.rademacher(jax.random.fold_in(key, time), ()).astype(float)
        return Step(
            state=EchoState(signal, time, key),
            sensors=Sensors.of(signal[None]),
            reward=reward,
            terminated=jnp.array(False),
            truncated=time >= self.length,
        )


class Countdown(AbstractEnv):
    """Pays 1 per step and ends by itself after `lives` steps, whatever one does."""

    lives: int = eqx.field(static=True, default=3)

    @property
    def n_sensors(self) -> int:
        return 2

    @property
    def n_actions(self) -> int:
        return 1

    @property
    def n_steps(self) -> int:
        return 10

    def reset(self, key):
        return self._show(jnp.zeros((), int))

    def step(self, state, action, *, key):
        return self._show(state + 1)

    def _show(self, time):
        return Step(
            state=time,
            sensors=Sensors.of(jnp.stack([time, -time]).astype(float)),
            reward=jnp.ones(()),
            terminated=time >= self.lives,
            truncated=time >= self.n_steps,
        )
