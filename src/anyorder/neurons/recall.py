"""What a single neuron goes by: its own past, in one of several forms.

    lstm          a recurrent cell with a state of its own beside what it shows (Hochreiter, 1997)
    gru           a recurrent cell with one state (Cho et al., 2014)
    stacked       a layer over the last few signals
    transformer   causal attention over the last few pairs of signal and action

All neurons share the numbers and none is told which it is. The neuron of an absent sensor keeps what
it remembers as it is.
"""

from __future__ import annotations

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from anyorder.neurons.base import NeuronMemory
from anyorder.neurons.config import AttentionNeuronConfig
from anyorder.neurons.multi_head import Block


class AbstractRecall(eqx.Module):
    """A memory for every neuron, and what neurons make of it."""

    @abc.abstractmethod
    def init(self, n_sensors: int) -> NeuronMemory:
        """The memory before the first step."""

    @abc.abstractmethod
    def __call__(
        self,
        signals: Float[Array, "sensors inputs"],
        present: Bool[Array, " sensors"],
        memory: Any,
    ) -> tuple[Float[Array, "sensors hidden"], NeuronMemory]:
        """Features of every neuron once it has taken in its signal, and its memory then."""


class LSTMRecall(AbstractRecall):
    """h, c = LSTM(signal, (h, c)); the features are h."""

    cell: eqx.nn.LSTMCell

    def __init__(self, inputs: int, config: AttentionNeuronConfig, *, key: PRNGKeyArray):
        cell = eqx.nn.LSTMCell(inputs, config.hidden, key=key)
        assert cell.bias is not None
        forget = cell.bias.at[config.hidden : 2 * config.hidden].add(config.remember)
        self.cell = eqx.tree_at(lambda c: c.bias, cell, forget)

    def init(self, n_sensors):
        rest = jnp.zeros((n_sensors, self.cell.hidden_size))
        return rest, rest

    def __call__(self, signals, present, memory):
        memory = kept(present, jax.vmap(self.cell)(signals, memory), memory)
        return memory[0], memory


class GRURecall(AbstractRecall):
    """h = GRU(signal, h); the features are h."""

    cell: eqx.nn.GRUCell

    def __init__(self, inputs: int, config: AttentionNeuronConfig, *, key: PRNGKeyArray):
        cell = eqx.nn.GRUCell(inputs, config.hidden, key=key)
        assert cell.bias is not None
        keep = cell.bias.at[config.hidden : 2 * config.hidden].add(config.remember)
        self.cell = eqx.tree_at(lambda c: c.bias, cell, keep)

    def init(self, n_sensors):
        return jnp.zeros((n_sensors, self.cell.hidden_size))

    def __call__(self, signals, present, memory):
        memory = kept(present, jax.vmap(self.cell)(signals, memory), memory)
        return memory, memory


class StackRecall(AbstractRecall):
    """tanh(W x), x the last few signals in a row, newest first."""

    layer: eqx.nn.Linear
    stack: int = eqx.field(static=True)
    inputs: int = eqx.field(static=True)

    def __init__(self, inputs: int, config: AttentionNeuronConfig, *, key: PRNGKeyArray):
        self.layer = eqx.nn.Linear(config.stack * inputs, config.hidden, key=key)
        self.stack = config.stack
        self.inputs = inputs

    def init(self, n_sensors):
        return jnp.zeros((n_sensors, self.stack, self.inputs))

    def __call__(self, signals, present, memory):
        memory = onto_stack(signals, present, memory)
        return jnp.tanh(jax.vmap(lambda stack: self.layer(stack.ravel()))(memory)), memory


class Past(eqx.Module):
    """The last signals of every neuron, newest first, and how many of them there have been."""

    signals: Float[Array, "sensors stack inputs"]
    age: Float[Array, " sensors"]


class TransformerRecall(AbstractRecall):
    """Causal self-attention over a neuron's last signals; the features are tanh of its newest row.

    Rows know how long ago they were, which is told by time and not by the sensor's place. Steps before
    the first signal weigh nothing.
    """

    embedding: eqx.nn.Linear
    ages: Float[Array, "stack hidden"]
    """Added to each row by how long ago it was."""
    blocks: tuple[Block, ...]
    last: eqx.nn.Linear
    stack: int = eqx.field(static=True)
    inputs: int = eqx.field(static=True)

    def __init__(self, inputs: int, config: AttentionNeuronConfig, *, key: PRNGKeyArray):
        embed_key, age_key, last_key, *block_keys = jax.random.split(key, 3 + config.layers)
        hidden = config.hidden
        self.embedding = eqx.nn.Linear(inputs, hidden, key=embed_key)
        self.ages = jax.random.normal(age_key, (config.stack, hidden)) / 2
        self.blocks = tuple(Block(hidden, config.heads, key=each) for each in block_keys)
        self.last = eqx.nn.Linear(hidden, hidden, key=last_key)
        self.stack = config.stack
        self.inputs = inputs

    def init(self, n_sensors):
        return Past(jnp.zeros((n_sensors, self.stack, self.inputs)), jnp.zeros(n_sensors))

    def __call__(self, signals, present, memory):
        grown = jnp.minimum(memory.age + 1, self.stack)
        memory = Past(
            onto_stack(signals, present, memory.signals), jnp.where(present, grown, memory.age)
        )
        rows, _ = jax.vmap(self._look_back)(memory.signals, memory.age)
        return rows, memory

    def attention(self, memory: Past) -> Float[Array, "sensors stack"]:
        """How each neuron's newest row weighs its last signals, newest first, over all heads."""
        return jax.vmap(self._look_back)(memory.signals, memory.age)[1]

    def _look_back(
        self, signals: Float[Array, "stack inputs"], age: Float[Array, ""]
    ) -> tuple[Float[Array, " hidden"], Float[Array, " stack"]]:
        rows = jax.vmap(self.embedding)(signals) + self.ages
        ago = jnp.arange(self.stack)
        known = (ago < age) & (ago[None, :] >= ago[:, None])  # nothing knows what came after it
        weights = jnp.zeros((1, self.stack, self.stack))
        for block in self.blocks:
            rows, weights = block(rows, rows, known)
        return jnp.tanh(self.last(rows[0])), weights[:, 0].mean(axis=0)


RECALLS: dict[str, type[AbstractRecall]] = {
    "recurrent": LSTMRecall,
    "gru": GRURecall,
    "stacked": StackRecall,
    "transformer": TransformerRecall,
}
"""By the name of the memory in an AttentionNeuronConfig."""


def onto_stack(
    signals: Float[Array, "sensors inputs"],
    present: Bool[Array, " sensors"],
    stack: Float[Array, "sensors stack inputs"],
) -> Float[Array, "sensors stack inputs"]:
    """The stack with the newest signal first and the oldest gone, where sensors are present."""
    moved = jnp.concatenate([signals[:, None], stack[:, :-1]], axis=1)
    return jnp.where(present[:, None, None], moved, stack)


def kept(present: Bool[Array, " sensors"], new: Any, old: Any) -> Any:
    """The new memory of neurons whose sensors are present, the old one of others."""
    return jax.tree.map(lambda n, o: jnp.where(present[:, None], n, o), new, old)
