"""What layers of sensory neurons made from an AttentionNeuronConfig have in common."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from anyorder.neurons.base import AbstractNeuron
from anyorder.neurons.config import AttentionNeuronConfig
from anyorder.neurons.weightings import SHARING
from anyorder.sensors import Sensors


class AbstractSensoryNeuron(AbstractNeuron):
    """Sensory neurons for sensors of one number each, whose code holds `config.slots` numbers."""

    usual_sensors: eqx.AbstractVar[int]
    """Sensors the world has by itself."""
    config: eqx.AbstractVar[AttentionNeuronConfig]

    def gain(self, sensors: Sensors) -> Float[Array, ""]:
        """The factor on the code for this many sensors."""
        dtype = sensors.values.dtype
        if self.config.gain is not None:
            return jnp.asarray(self.config.gain, dtype=dtype)
        if self.config.kind != "attention" or self.config.weighting in SHARING:  # means already
            return jnp.ones((), dtype=dtype)
        return self.usual_sensors / jnp.maximum(sensors.present.sum(), self.usual_sensors)

    def told(self, previous_action: Float[Array, " actions"]) -> Float[Array, " told"]:
        """What neurons are told of the previous action: all of it, or nothing."""
        return previous_action if self.config.previous_action else previous_action[:0]

    def signals(
        self, sensors: Sensors, previous_action: Float[Array, " actions"]
    ) -> Float[Array, "sensors inputs"]:
        """What each neuron takes in: its reading, then what it is told."""
        told = self.told(previous_action)
        same = jnp.broadcast_to(told, (sensors.n_sensors, told.shape[0]))
        return jnp.concatenate([sensors.readings()[:, None], same], axis=1)
