"""One change of places in mid-episode."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from anyorder.sensors.observation import Sensors
from anyorder.sensors.perturb import AbstractPerturbation, Plan


class ShuffleAt(AbstractPerturbation):
    """Sensors are in their own order before step `at`, and in a random one from there on."""

    at: int = eqx.field(static=True)

    def __check_init__(self):
        if self.at < 0:
            raise ValueError(f"ShuffleAt needs at >= 0, got {self.at}.")

    def count(self, n_sensors: int) -> int:
        return n_sensors

    def draw(self, key: PRNGKeyArray, n_sensors: int, n_steps: int) -> Int[Array, " sensors"]:
        return jax.random.permutation(key, n_sensors)

    def apply(self, plan: Plan, sensors: Sensors, step: int | Int[Array, ""]) -> Sensors:
        return sensors.take(jnp.where(jnp.asarray(step) < self.at, jnp.arange(len(plan)), plan))
