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

from anyorder.neurons.attention import WEIGHTINGS
from anyorder.neurons.base import AbstractNeuron, Message
from anyorder.neurons.vector import AttentionNeuronConfig, gain, table_scores
from anyorder.sensors import Sensors

Stack = Float[Array, "sensors stack signal"]


class StackedNeuron(AbstractNeuron):
    """Sensory neurons with keys from their last signals, newest first; the code holds `slots` numbers."""

    layer: eqx.nn.Linear
    query_map: eqx.nn.Linear
    key_map: eqx.nn.Linear
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
        self.layer = eqx.nn.Linear(config.stack * (1 + n_actions), hidden, key=layer_key)
        self.query_map = eqx.nn.Linear(hidden, width, use_bias=config.bias, key=query_key)
        self.key_map = eqx.nn.Linear(hidden, width, use_bias=config.bias, key=key_key)
        self.usual_sensors = usual_sensors
        self.n_actions = n_actions
        self.config = config

    def init(self, n_sensors: int) -> Stack:
        return jnp.zeros((n_sensors, self.config.stack, 1 + self.n_actions))

    def listen(
        self, sensors: Sensors, previous_action: Float[Array, " actions"], memory: Stack
    ) -> Message:
        readings = sensors.readings()
        told = jnp.broadcast_to(previous_action, (sensors.n_sensors, self.n_actions))
        signals = jnp.concatenate([readings[:, None], told], axis=1)
        moved = jnp.concatenate([signals[:, None], memory[:, :-1]], axis=1)
        memory = jnp.where(sensors.present[:, None, None], moved, memory)
        keys = jnp.tanh(jax.vmap(lambda stack: self.layer(stack.ravel()))(memory))
        scores = table_scores(self.config, self.query_map, self.key_map, keys)
        weights = WEIGHTINGS[self.config.weighting](scores, sensors.present)
        factor = gain(self.config, self.usual_sensors, sensors)
        return Message(factor * (weights @ readings), memory, weights)
