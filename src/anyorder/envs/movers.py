"""Movers: others move about on a line, and the agent should point to the nearest of them."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from anyorder.envs.base import AbstractEnv, Step
from anyorder.sensors import Sensors

REACH = 2.0
"""Movers turn back this far from the agent."""
SPEED = 0.3
"""Most that a mover covers in a step."""


class MoversState(eqx.Module):
    """Where the movers are and how fast they go."""

    places: Float[Array, " movers"]
    speeds: Float[Array, " movers"]
    time: Int[Array, ""]

    @property
    def nearest(self) -> Int[Array, ""]:
        """The mover the agent should point to."""
        return jnp.argmin(jnp.abs(self.places))


class Movers(AbstractEnv):
    """A sensor per mover shows where it is, seen from the agent; one action, which earns its product
    with the side of the nearest mover, at best 1 a step."""

    movers: int = eqx.field(static=True, default=6)
    length: int = eqx.field(static=True, default=16)

    @property
    def n_sensors(self) -> int:
        return self.movers

    @property
    def n_actions(self) -> int:
        return 1

    @property
    def n_steps(self) -> int:
        return self.length

    def reset(self, key: PRNGKeyArray) -> Step:
        place_key, speed_key = jax.random.split(key)
        places = jax.random.uniform(place_key, (self.movers,), minval=-REACH, maxval=REACH)
        speeds = jax.random.uniform(speed_key, (self.movers,), minval=-SPEED, maxval=SPEED)
        return self._show(MoversState(places, speeds, jnp.zeros((), int)), jnp.zeros(()))

    def step(
        self, state: MoversState, action: Float[Array, " actions"], *, key: PRNGKeyArray
    ) -> Step:
        side = jnp.sign(state.places[state.nearest])
        places = state.places + state.speeds
        speeds = jnp.where(jnp.abs(places) > REACH, -state.speeds, state.speeds)
        later = MoversState(jnp.clip(places, -REACH, REACH), speeds, state.time + 1)
        return self._show(later, jnp.clip(action[0], -1, 1) * side)

    def _show(self, state: MoversState, reward: Float[Array, ""]) -> Step:
        return Step(
            state=state,
            sensors=Sensors.of(state.places),
            reward=reward,
            terminated=jnp.array(False),
            truncated=state.time >= self.length,
        )
