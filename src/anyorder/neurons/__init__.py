"""Sensory neurons: layers that turn any number of sensors, in any order, into a code of fixed size."""

from jaxtyping import PRNGKeyArray

from anyorder.neurons.attention import SlotAttention
from anyorder.neurons.base import AbstractNeuron, Message, NeuronMemory
from anyorder.neurons.config import AttentionNeuronConfig
from anyorder.neurons.deep_sets import DeepSetsNeuron
from anyorder.neurons.encoder import EncoderNeuron
from anyorder.neurons.queries import sinusoidal_table
from anyorder.neurons.recall import RECALLS, TransformerRecall
from anyorder.neurons.recalling import RecallingNeuron
from anyorder.neurons.relational import RelationalConfig, RelationalNeuron
from anyorder.neurons.scores import dot_scores
from anyorder.neurons.sensory import AbstractSensoryNeuron
from anyorder.neurons.set_transformer import SetTransformerNeuron
from anyorder.neurons.stacked import StackedNeuron
from anyorder.neurons.vector import AttentionNeuron
from anyorder.neurons.weightings import WEIGHTINGS

NEURONS: dict[str, type[AbstractNeuron]] = {
    "attention": AttentionNeuron,
    "stacked": StackedNeuron,
    "recalling": RecallingNeuron,
    "relational": RelationalNeuron,
    "deep-sets": DeepSetsNeuron,
    "set-transformer": SetTransformerNeuron,
    "encoder": EncoderNeuron,
}


def make_neuron(
    usual_sensors: int, n_actions: int, config: AttentionNeuronConfig, *, key: PRNGKeyArray
) -> AbstractSensoryNeuron:
    """The layer of sensory neurons these settings describe.

    **Arguments:**

    - `usual_sensors`: sensors the world has by itself.
    - `n_actions`: size of the previous action each neuron is told.
    """
    kinds = {
        "deep-sets": DeepSetsNeuron,
        "set-transformer": SetTransformerNeuron,
        "encoder": EncoderNeuron,
    }
    by_memory = {"recurrent": AttentionNeuron, "stacked": StackedNeuron}
    kind = kinds.get(config.kind) or by_memory.get(config.memory, RecallingNeuron)
    return kind(usual_sensors, n_actions, config, key=key)


__all__ = [
    "NEURONS",
    "RECALLS",
    "WEIGHTINGS",
    "AbstractNeuron",
    "AbstractSensoryNeuron",
    "AttentionNeuron",
    "AttentionNeuronConfig",
    "DeepSetsNeuron",
    "EncoderNeuron",
    "Message",
    "NeuronMemory",
    "RecallingNeuron",
    "RelationalConfig",
    "RelationalNeuron",
    "SetTransformerNeuron",
    "SlotAttention",
    "StackedNeuron",
    "TransformerRecall",
    "dot_scores",
    "make_neuron",
    "sinusoidal_table",
]
