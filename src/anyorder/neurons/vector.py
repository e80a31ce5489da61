"""AttentionNeuron for sensors of one number each (Tang & Ha, 2021, arXiv 2109.02869).

    k_i = LSTM([o_i, a_prev])        one shared cell, a memory per sensor
    m   = sigma(Q W_q (K W_k)^T) o   Q a fixed sinusoidal table, so the code has one number per slot

Departs from the authors' code: memory goes in and out, sensors may be absent, and the gain for
extra sensors follows from how many are present unless it is fixed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.neurons.attention import WEIGHTINGS, dot_scores, sinusoidal_table
from anyorder.neurons.base import AbstractNeuron, Message
from anyorder.sensors import Sensors

CellMemory = tuple[Float[Array, "sensors hidden"], Float[Array, "sensors hidden"]]


@dataclass(frozen=True)
class AttentionNeuronConfig:
    """The layer of sensory neurons. The defaults are the paper's for CartPole."""

    slots: int = 16
    """Size of the code: queries that attend to the sensors."""
    memory: Literal["recurrent", "stacked"] = "recurrent"
    """What a neuron goes by: an LSTM's memory, or a layer that reads its last few signals."""
    stack: int = 4
    """Signals a stacked neuron goes by, the newest among them."""
    hidden: int = 8
    """Units in each neuron, LSTM or layer; also the width of the query table."""
    width: int = 32
    """Width in which queries and keys are compared."""
    weighting: Literal["tanh", "softmax"] = "tanh"
    """How scores become weights: tanh weighs each sensor by itself, softmax shares one weight."""
    bias: bool = False
    """Add biases to the query and key maps (the paper's Ant has them)."""
    scaled: bool = False
    """Divide scores by the square root of the width (the paper's Ant does)."""
    remember: float = 2.0
    """Added to the forget gates' biases of fresh neurons, so that they start with some memory of
    which sensor they hold: without it half of it is gone after a step."""
    gain: float | None = None
    """Factor on the code. Without one: usual sensors / present sensors, at most 1, so that a world
    whose every sensor is doubled gives the same code (0.5 for 10 inputs, as in the paper)."""

    def __post_init__(self):
        if min(self.slots, self.hidden, self.width, self.stack) < 1:
            raise ValueError(
                "A neuron needs at least one slot, one hidden unit, a width and a stack of one."
            )
        if self.memory not in ("recurrent", "stacked"):
            raise ValueError(f"Unknown memory {self.memory!r}: try recurrent or stacked.")
        if self.weighting not in WEIGHTINGS:
            raise ValueError(f"Unknown weighting {self.weighting!r}: try {', '.join(WEIGHTINGS)}.")


class AttentionNeuron(AbstractNeuron):
    """Sensory neurons with LSTM keys; the code holds `slots` numbers."""

    # In the order of the authors' weight files, so that a flat vector reads straight in.
    cell: eqx.nn.LSTMCell
    recurrent_bias: Float[Array, " gates"]
    query_map: eqx.nn.Linear
    key_map: eqx.nn.Linear
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
        cell = eqx.nn.LSTMCell(1 + n_actions, hidden, key=cell_key)
        assert cell.bias is not None
        forget = slice(hidden, 2 * hidden)
        self.cell = eqx.tree_at(lambda c: c.bias, cell, cell.bias.at[forget].add(config.remember))
        limit = 1 / math.sqrt(hidden)
        self.recurrent_bias = jax.random.uniform(
            bias_key, (4 * hidden,), minval=-limit, maxval=limit
        )
        self.query_map = eqx.nn.Linear(hidden, width, use_bias=config.bias, key=query_key)
        self.key_map = eqx.nn.Linear(hidden, width, use_bias=config.bias, key=key_key)
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
        memory = self._remember(readings, sensors.present, previous_action, memory)
        weights = WEIGHTINGS[self.config.weighting](self._scores(memory[0]), sensors.present)
        return Message(self.gain(sensors) * (weights @ readings), memory, weights)

    def gain(self, sensors: Sensors) -> Float[Array, ""]:
        """The factor on the code for this many sensors."""
        return gain(self.config, self.usual_sensors, sensors)

    def _remember(self, readings, present, previous_action, memory: CellMemory) -> CellMemory:
        """Each neuron takes in its signal and the action; those of absent sensors stay as they were."""
        cell = eqx.tree_at(lambda c: c.bias, self.cell, self.bias)

        def step(reading, hidden):
            return cell(jnp.concatenate([reading[None], previous_action]), hidden)

        new = jax.vmap(step)(readings, memory)
        keep = present[:, None]
        return tuple(jnp.where(keep, n, old) for n, old in zip(new, memory, strict=True))  # type: ignore[return-value]

    def _scores(self, keys: Float[Array, "sensors hidden"]) -> Float[Array, "slots sensors"]:
        return table_scores(self.config, self.query_map, self.key_map, keys)


def gain(config: AttentionNeuronConfig, usual_sensors: int, sensors: Sensors) -> Float[Array, ""]:
    """The factor on the code for this many sensors, of neurons that usually have `usual_sensors`."""
    if config.gain is not None:
        return jnp.asarray(config.gain, dtype=sensors.values.dtype)
    if config.weighting == "softmax":  # a mean already
        return jnp.ones((), dtype=sensors.values.dtype)
    return usual_sensors / jnp.maximum(sensors.present.sum(), usual_sensors)


def table_scores(
    config: AttentionNeuronConfig,
    query_map: eqx.nn.Linear,
    key_map: eqx.nn.Linear,
    keys: Float[Array, "sensors hidden"],
) -> Float[Array, "slots sensors"]:
    """Scores of every slot's place in the query table for every neuron."""
    table = jnp.asarray(sinusoidal_table(config.slots, config.hidden), keys.dtype)
    return dot_scores(jax.vmap(query_map)(table), jax.vmap(key_map)(keys), scaled=config.scaled)
