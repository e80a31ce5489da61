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


class EchoChoice(AbstractEnv):
    """One sensor; the choice should say whether it is positive. The best return is 1 per step."""

    length: int = eqx.field(static=True, default=8)

    @property
    def n_sensors(self) -> int:
        return 1

    @property
    def n_actions(self) -> int:
        return 2

    @property
    def discrete(self) -> bool:
        return True

    @property
    def n_steps(self) -> int:
        return self.length

    def reset(self, key):
        return Echo(self.length).reset(key)

    def step(self, state, action, *, key):
        return Echo(self.length).step(state, (action[1] - action[0])[None], key=key)


class RecallState(eqx.Module):
    signal: Float[Array, ""]
    before: Float[Array, ""]
    time: Int[Array, ""]
    key: Array


class Recall(AbstractEnv):
    """One sensor; the action should have the sign it had a step ago. The best return is 1 per step but
    the first, and nothing is to be had without a memory."""

    length: int = eqx.field(static=True, default=9)

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
        return self._show(jnp.zeros(()), jnp.zeros((), int), key, jnp.zeros(()))

    def step(self, state, action, *, key):
        return self._show(state.signal, state.time + 1, state.key, action[0] * state.before)

    def _show(self, before, time, key, reward):
        signal = jax.random.rademacher(jax.random.fold_in(key, time), ()).astype(float)
        return Step(
            state=RecallState(signal, before, time, key),
            sensors=Sensors.of(signal[None]),
            reward=reward,
            terminated=jnp.array(False),
            truncated=time >= self.length,
        )


class DelayState(eqx.Module):
    signal: Float[Array, ""]
    owed: Float[Array, ""]
    time: Int[Array, ""]


class Delay(AbstractEnv):
    """The first action should have the sign of the sensor, which is silent from then on; what it earned,
    1 at best, is paid when the world ends."""

    length: int = eqx.field(static=True, default=4)

    @property
    def n_sensors(self) -> int:
        return 1

    @property
    def n_actions(self) -> int:
        return 1

    @property
    def n_steps(self) -> int:
        return 10

    def reset(self, key):
        signal = jax.random.rademacher(key, ()).astype(float)
        return self._show(DelayState(signal, jnp.zeros(()), jnp.zeros((), int)))

    def step(self, state, action, *, key):
        owed = jnp.where(state.time == 0, action[0] * state.signal, state.owed)
        return self._show(DelayState(state.signal, owed, state.time + 1))

    def _show(self, state):
        ends = state.time >= self.length
        return Step(
            state=state,
            sensors=Sensors.of(jnp.where(state.time == 0, state.signal, 0)[None]),
            reward=jnp.where(ends, state.owed, 0),
            terminated=ends,
            truncated=jnp.array(False),
        )


class Steady(AbstractEnv):
    """Always looks the same and pays 1 per step, whatever one does; after `length` steps it ends, or is
    watched no longer."""

    length: int = eqx.field(static=True, default=1)
    ends: bool = eqx.field(static=True, default=True)

    @property
    def n_sensors(self) -> int:
        return 1

    @property
    def n_actions(self) -> int:
        return 2

    @property
    def discrete(self) -> bool:
        return True

    @property
    def n_steps(self) -> int:
        return self.length

    def reset(self, key):
        return self._show(jnp.zeros((), int))

    def step(self, state, action, *, key):
        return self._show(state + 1)

    def _show(self, time):
        last = time >= self.length
        return Step(
            state=time,
            sensors=Sensors.of(jnp.ones(1)),
            reward=jnp.ones(()),
            terminated=last & self.ends,
            truncated=last & (not self.ends),
        )
