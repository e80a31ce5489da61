"""AttentionNeuron for sensors of one number each (Tang & Ha, 2021, arXiv 2109.02869).

    k_i = LSTM([o_i, a_prev])        one shared cell, a memory per sensor
    m   = sigma(Q W_q (K W_k)^T) o   Q a fixed sinusoidal table, so the code has one number per slot

Departs from the authors' code: memory goes in and out, sensors may be absent, the gain for extra
sensors follows from how many are present unless it is fixed, and every part can be chosen.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.neurons.attention import SlotAttention
from anyorder.neurons.base import Message
from anyorder.neurons.config import AttentionNeuronConfig
from anyorder.neurons.sensory import AbstractSensoryNeuron
from anyorder.sensors import Sensors

CellMemory = tuple[Float[Array, "sensors hidden"], Float[Array, "sensors hidden"]]
EXTRAS = 7
"""Folded into a neuron's key for what goes beyond the paper, whose numbers are thus the same without."""


class AttentionNeuron(AbstractSensoryNeuron):
    """Sensory neurons with LSTM keys; the code holds `slots` numbers."""

    # In the order of the authors' weight files, so that a flat vector reads straight in.
    cell: eqx.nn.LSTMCell
    recurrent_bias: Float[Array, " gates"]
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
        - `config`: sizes and choices; the paper's for CartPole if left out.
        """
        config = config or AttentionNeuronConfig()
        cell_key, bias_key, query_key, key_key = jax.random.split(key, 4)
        hidden, width = config.hidden, config.width
        cell = eqx.nn.LSTMCell(1 + config.actions_told(n_actions), hidden, key=cell_key)
        assert cell.bias is not None
        forget = slice(hidden, 2 * hidden)
        self.cell = eqx.tree_at(lambda c: c.bias, cell, cell.bias.at[forget].add(config.remember))
        limit = 1 / math.sqrt(hidden)
        self.recurrent_bias = jax.random.uniform(
            bias_key, (4 * hidden,), minval=-limit, maxval=limit
        )
        self.query_map = eqx.nn.Linear(hidden, width, use_bias=config.bias, key=query_key)
        self.key_map = eqx.nn.Linear(hidden, width, use_bias=config.bias, key=key_key)
        self.attention = SlotAttention(config, key=jax.random.fold_in(key, EXTRAS))
        self.usual_sensors = usual_sensors
        self.config = config

    @property
    def bias(self) -> Float[Array, " gates"]:
        """The cell's two biases in one."""
        assert self.cell.bias is not None
        return self.cell.bias + self.recurrent_bias

    def init(self, n_sensors: int) -> CellMemory:
        rest = jnp.zeros((n_sensors, self.config.hidden))
        return rest, rest

    def listen(
        self, sensors: Sensors, previous_action: Float[Array, " actions"], memory: CellMemory
    ) -> Message:
        readings = sensors.readings()
        memory = self._remember(readings, sensors.present, self.told(previous_action), memory)
        weights = self.attention(self.query_map, self.key_map, memory[0], sensors.present)
        return Message(self.gain(sensors) * (weights @ readings), memory, weights)

    def _remember(self, readings, present, told, memory: CellMemory) -> CellMemory:
        """Each neuron takes in its signal and the action; those of absent sensors stay as they were."""
        cell = eqx.tree_at(lambda c: c.bias, self.cell, self.bias)

        def step(reading, hidden):
            return cell(jnp.concatenate([reading[None], told]), hidden)

        new = jax.vmap(step)(readings, memory)
        keep = present[:, None]
        return tuple(jnp.where(keep, n, old) for n, old in zip(new, memory, strict=True))  # type: ignore[return-value]
