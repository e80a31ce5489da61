"""What every layer of sensory neurons has in common."""

from __future__ import annotations

import abc

import equinox as eqx
from jaxtyping import Array, Float, PyTree

from anyorder.sensors import Sensors

NeuronMemory = PyTree
"""What the neurons remember: arrays whose leading axis is the sensors'."""


class Message(eqx.Module):
    """What a layer says about its sensors at one step."""

    code: Float[Array, "slots *features"]
    memory: NeuronMemory
    weights: Float[Array, "slots sensors"]


class AbstractNeuron(eqx.Module):
    """Identical sensory neurons, one per sensor, whose messages meet in a code of fixed size.

    A neuron is told its own signal and the agent's previous action, never an index. Whatever the
    order of the sensors, the code is the same, as long as each neuron's memory stays with its sensor.
    """

    @abc.abstractmethod
    def init(self, n_sensors: int) -> NeuronMemory:
        """The memory of `n_sensors` neurons before the first step."""

    @abc.abstractmethod
    def listen(
        self, sensors: Sensors, previous_action: Float[Array, " actions"], memory: NeuronMemory
    ) -> Message:
        """One step: the code, the neurons' new memory and the attention paid to each sensor."""

    def __call__(
        self, sensors: Sensors, previous_action: Float[Array, " actions"], memory: NeuronMemory
    ) -> tuple[Float[Array, "slots *features"], NeuronMemory]:
        """One step: the code and the neurons' new memory."""
        message = self.listen(sensors, previous_action, memory)
        return message.code, message.memory
