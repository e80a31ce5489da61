"""The set of sensors an agent reads at one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, Shaped


class Sensors(eqx.Module):
    """Readings of N sensors, and which of them are there at all.

    An absent sensor is not a reading of zero: it takes no part in anything a neuron computes.
    """

    values: Float[Array, "sensors *signal"]
    present: Bool[Array, " sensors"]

    @classmethod
    def of(cls, values: ArrayLike | Sequence[Any]) -> Sensors:
        """All sensors present, e.g. `Sensors.of([0.1, -2.0, 0.7])`."""
        readings = jnp.asarray(values, dtype=jnp.result_type(float))
        return cls(readings, jnp.ones(readings.shape[0], dtype=bool))

    @property
    def n_sensors(self) -> int:
        return self.values.shape[0]

    def take(self, order: Int[Array, " taken"]) -> Sensors:
        """The sensors numbered by `order`: a permutation, a subset or a repetition."""
        return Sensors(self.values[order], self.present[order])

    def join(self, other: Sensors) -> Sensors:
        """These sensors followed by `other`."""
        return Sensors(
            jnp.concatenate([self.values, other.values]),
            jnp.concatenate([self.present, other.present]),
        )

    def only(self, present: Bool[Array, " sensors"]) -> Sensors:
        """The same sensors, of which those not `present` are absent as well."""
        return Sensors(self.values, self.present & present)

    def readings(self) -> Float[Array, "sensors *signal"]:
        """Values with absent sensors read as zero, so that whatever they hold (NaN too) is gone."""
        return jnp.where(over_signal(self.present, self.values), self.values, 0)


def over_signal(
    per_sensor: Shaped[Array, " sensors"], values: Shaped[Array, "sensors *signal"]
) -> Shaped[Array, "sensors *ones"]:
    """One number per sensor, shaped to broadcast over each sensor's signal."""
    return per_sensor.reshape(per_sensor.shape + (1,) * (values.ndim - 1))
