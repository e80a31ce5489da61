"""AttentionNeuron without recurrence: each neuron goes by its last few signals instead of an LSTM.

    k_i = tanh(W [o_i, a_prev] of the last `stack` steps)       one shared layer
    m   = sigma(Q W_q (K W_k)^T) o                              o the newest readings

The last signals are the neuron's memory and travel with the agent, so the worlds stay as they are.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.neurons.attention import SlotAttention
from anyorder.neurons.base import Message
from anyorder.neurons.config import AttentionNeuronConfig
from anyorder.neurons.recall import onto_stack
from anyorder.neurons.sensory import AbstractSensoryNeuron
from anyorder.neurons.vector import EXTRAS
from anyorder.sensors import Sensors

Stack = Float[Array, "sensors stack signal"]


class StackedNeuron(AbstractSensoryNeuron):
    """Sensory neurons with keys from their last signals, newest first; the code holds `slots` numbers."""

    layer: eqx.nn.Linear
    query_map: eqx.nn.Linear
    key_map: eqx.nn.Linear
    attention: SlotAttention
    usual_sensors: int = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
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
        config = config or AttentionNeuronConfig(memory="stacked")
        layer_key, query_key, key_key = jax.random.split(key, 3)
        hidden, width = config.hidden, config.width
        inputs = 1 + config.actions_told(n_actions)
        self.layer = eqx.nn.Linear(config.stack * inputs, hidden, key=layer_key)
        self.query_map = eqx.nn.Linear(hidden, width, use_bias=config.bias, key=query_key)
        self.key_map = eqx.nn.Linear(hidden, width, use_bias=config.bias, key=key_key)
        self.attention = SlotAttention(config, key=jax.random.fold_in(key, EXTRAS))
        self.usual_sensors = usual_sensors
        self.n_actions = n_actions
        self.config = config

    def init(self, n_sensors: int) -> Stack:
        inputs = 1 + self.config.actions_told(self.n_actions)
        return jnp.zeros((n_sensors, self.config.stack, inputs))

    def listen(
        self, sensors: Sensors, previous_action: Float[Array, " actions"], memory: Stack
    ) -> Message:
        memory = onto_stack(self.signals(sensors, previous_action), sensors.present, memory)
        keys = jnp.tanh(jax.vmap(lambda stack: self.layer(stack.ravel()))(memory))
        weights = self.attention(self.query_map, self.key_map, keys, sensors.present)
        return Message(self.gain(sensors) * (weights @ sensors.readings()), memory, weights)
