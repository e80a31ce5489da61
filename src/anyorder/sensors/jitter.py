"""Noise on top of what sensors read, rather than in sensors of its own."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray, UInt32

from anyorder.sensors.observation import Sensors, over_signal
from anyorder.sensors.perturb import AbstractPerturbation, Plan


class Jitter(AbstractPerturbation):
    """Every reading is off by Gaussian noise; `sd` holds a standard deviation for each sensor."""

    sd: tuple[float, ...] = eqx.field(static=True)

    def __check_init__(self):
        if min(self.sd, default=0) < 0:
            raise ValueError(f"Jitter needs standard deviations >= 0, got {self.sd}.")

    def count(self, n_sensors: int) -> int:
        return n_sensors

    def draw(self, key: PRNGKeyArray, n_sensors: int, n_steps: int) -> UInt32[Array, " words"]:
        if len(self.sd) != n_sensors:
            raise ValueError(f"Jitter knows {len(self.sd)} sensors, and there are {n_sensors}.")
        return jax.random.key_data(key)

    def apply(self, plan: Plan, sensors: Sensors, step: int | Int[Array, ""]) -> Sensors:
        key = jax.random.fold_in(jax.random.wrap_key_data(plan), step)
        noise = jax.random.normal(key, sensors.values.shape, sensors.values.dtype)
        sd = over_signal(jnp.asarray(self.sd, sensors.values.dtype), sensors.values)
        return Sensors(sensors.values + sd * noise, sensors.present)
