"""AttentionNeuron whose neurons remember in any of the forms of recall.py.

k_i = recall(o_i, a_prev)
m   = sigma( score(Q W_q, phi(K) W_k) ) o
"""

from __future__ import annotations

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.neurons.attention import SlotAttention
from anyorder.neurons.base import Message, NeuronMemory
from anyorder.neurons.config import AttentionNeuronConfig
from anyorder.neurons.recall import RECALLS, AbstractRecall
from anyorder.neurons.sensory import AbstractSensoryNeuron
from anyorder.sensors import Sensors


class RecallingNeuron(AbstractSensoryNeuron):
    """Sensory neurons with keys from any memory; the code holds `slots` numbers."""

    recall: AbstractRecall
    query_map: eqx.nn.Linear
    key_map: eqx.nn.Linear
    attention: SlotAttention
    usual_sensors: int = eqx.field(static=True)
    config: AttentionNeuronConfig = eqx.field(static=True)

    def __init__(
        self,
        usual_sensors: int,
        n_actions: int,
        config: AttentionNeuronConfig | None = None,
        *,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `usual_sensors`: sensors the world has by itself; more of them lower the gain.
        - `n_actions`: size of the previous action each neuron is told.
        - `config`: sizes and choices.
        """
        config = config or AttentionNeuronConfig(memory="gru")
        recall_key, query_key, key_key, attention_key = jax.random.split(key, 4)
        hidden, width = config.hidden, config.width
        inputs = 1 + config.actions_told(n_actions)
        self.recall = RECALLS[config.memory](inputs, config, key=recall_key)  # type: ignore[call-arg]
        self.query_map = eqx.nn.Linear(hidden, width, use_bias=config.bias, key=query_key)
        self.key_map = eqx.nn.Linear(hidden, width, use_bias=config.bias, key=key_key)
        self.attention = SlotAttention(config, key=attention_key)
        self.usual_sensors = usual_sensors
        self.config = config

    def init(self, n_sensors: int) -> NeuronMemory:
        return self.recall.init(n_sensors)

    def listen(
        self, sensors: Sensors, previous_action: Float[Array, " actions"], memory: NeuronMemory
    ) -> Message:
        signals = self.signals(sensors, previous_action)
        keys, memory = self.recall(signals, sensors.present, memory)
        weights = self.attention(self.query_map, self.key_map, keys, sensors.present)
        return Message(self.gain(sensors) * (weights @ sensors.readings()), memory, weights)
