"""Sensors that are there and say nothing."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from anyorder.sensors.observation import Sensors
from anyorder.sensors.perturb import AbstractPerturbation, Plan


class Silent(AbstractPerturbation):
    """In a `share` of episodes, `channels` more sensors that always read zero; absent in the others.

    What they do to attention neurons is to lower the gain on the code, as any extra sensors do: what
    an agent has to live with first of all if it is to live with noise. Compiled kernels can play it.
    """

    channels: int = eqx.field(static=True, default=5)
    share: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        if self.channels < 0 or not 0 <= self.share <= 1:
            raise ValueError(
                "Silent needs channels >= 0 and a share from 0 to 1, "
                f"got {self.channels} and {self.share}."
            )

    def count(self, n_sensors: int) -> int:
        return n_sensors + self.channels

    def draw(self, key: PRNGKeyArray, n_sensors: int, n_steps: int) -> Bool[Array, ""]:
        return jax.random.bernoulli(key, self.share)

    def apply(self, plan: Plan, sensors: Sensors, step: int | Int[Array, ""]) -> Sensors:
        zeros = jnp.zeros((self.channels, *sensors.values.shape[1:]), sensors.values.dtype)
        return sensors.join(Sensors(zeros, jnp.broadcast_to(plan, (self.channels,))))
