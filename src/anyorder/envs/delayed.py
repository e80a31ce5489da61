"""The same world, some of its sensors reporting late.

A perturbation works on one step at a time and remembers nothing, so what happened earlier is kept here,
in the world's state.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from anyorder.envs.base import AbstractEnv, EnvState, Step
from anyorder.sensors import Sensors


class DelayedState(eqx.Module):
    """The world's own state, and its last readings, newest first."""

    world: EnvState
    readings: Float[Array, "history sensors *signal"]


class DelayedEnv(AbstractEnv):
    """Sensor i reads what it read `delays[i]` steps ago; until then, what it read at first."""

    env: AbstractEnv
    delays: Int[Array, " sensors"]
    longest: int = eqx.field(static=True)
    """No delay is longer; fixes the size of the state, so that delays may be data under jit."""

    def __check_init__(self):
        if self.longest < 0 or self.delays.shape != (self.env.n_sensors,):
            raise ValueError(
                f"DelayedEnv needs one delay for each of {self.env.n_sensors} sensors and longest >= 0, "
                f"got {self.delays.shape[0]} and {self.longest}."
            )

    @property
    def n_sensors(self) -> int:
        return self.env.n_sensors

    @property
    def n_actions(self) -> int:
        return self.env.n_actions

    @property
    def discrete(self) -> bool:
        return self.env.discrete

    @property
    def n_steps(self) -> int:
        return self.env.n_steps

    def practising(self, share: Float[Array, ""]) -> DelayedEnv:
        return DelayedEnv(self.env.practising(share), self.delays, self.longest)

    def reset(self, key: PRNGKeyArray) -> Step:
        step = self.env.reset(key)
        now = step.sensors.values
        return self._delay(step, jnp.broadcast_to(now, (self.longest + 1, *now.shape)))

    def step(
        self, state: DelayedState, action: Float[Array, " actions"], *, key: PRNGKeyArray
    ) -> Step:
        step = self.env.step(state.world, action, key=key)
        return self._delay(step, jnp.concatenate([step.sensors.values[None], state.readings[:-1]]))

    def _delay(self, step: Step, readings: Float[Array, "history sensors *signal"]) -> Step:
        late = jax.vmap(lambda past, ago: past[ago], in_axes=(1, 0))(
            readings, jnp.minimum(self.delays, self.longest)
        )
        return Step(
            state=DelayedState(step.state, readings),
            sensors=Sensors(late, step.sensors.present),
            reward=step.reward,
            terminated=step.terminated,
            truncated=step.truncated,
        )
