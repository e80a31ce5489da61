"""Sensory neurons: layers that turn any number of sensors, in any order, into a code of fixed size."""

from anyorder.neurons.attention import WEIGHTINGS, dot_scores, sinusoidal_table
from anyorder.neurons.base import AbstractNeuron, Message, NeuronMemory
from anyorder.neurons.relational import RelationalConfig, RelationalNeuron
from anyorder.neurons.stacked import StackedNeuron
from anyorder.neurons.vector import AttentionNeuron, AttentionNeuronConfig

NEURONS: dict[str, type[AbstractNeuron]] = {
    "attention": AttentionNeuron,
    "stacked": StackedNeuron,
    "relational": RelationalNeuron,
}

__all__ = [
    "NEURONS",
    "WEIGHTINGS",
    "AbstractNeuron",
    "AttentionNeuron",
    "AttentionNeuronConfig",
    "Message",
    "NeuronMemory",
    "RelationalConfig",
    "RelationalNeuron",
    "StackedNeuron",
    "dot_scores",
    "sinusoidal_table",
]
