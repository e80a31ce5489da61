"""Sensory neurons that compare notes, and so find out within steps what each of them holds.

Three things are added to an AttentionNeuron, all of them the same for every neuron:

    recall        a neuron asks whose last signal its present one continues, and takes over the memory
                  of whoever that was: after a reshuffle, memories find their way back to their signals
    comparison    each pair of neurons tests learned relations between their signals and the changes of
                  these; a relation that holds is a coincidence, and coincidences tell signals apart
    gathering     slots share their attention among the neurons, and nobody, by what these have found

Nothing is told of which sensor is which, and any number of neurons can take part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from anyorder.neurons.base import AbstractNeuron, Message
from anyorder.neurons.weightings import softmax_weights
from anyorder.sensors import Sensors

LARGEST = 1e18
"""Far above all that sensible signals come to."""


@dataclass(frozen=True)
class RelationalConfig:
    """A layer of sensory neurons that compare notes."""

    slots: int = 8
    """Places in the code; each gathers a signal, its rate of change and how sure it is of them."""
    hidden: int = 24
    """Units of each neuron's memory."""
    relations: int = 16
    """Relations tested between each pair of neurons, in each round."""
    pair: int = 24
    """Features of a pair."""
    heads: int = 4
    """Ways in which a neuron attends to the others."""
    rounds: int = 2
    """Times the neurons compare notes in a step."""
    rate: float = 100.0
    """Steps per unit of time: turns changes between steps into rates of change."""
    loyalty: float = 4.0
    """At first, how much (in nats) a neuron prefers its own memory to that of others."""

    def __post_init__(self):
        sizes = (self.slots, self.hidden, self.relations, self.pair, self.heads, self.rounds)
        if min(sizes) < 1:
            raise ValueError("All sizes of a relational neuron must be at least 1.")
        if self.pair % self.heads:
            raise ValueError(f"{self.pair} pair features cannot be shared by {self.heads} heads.")


class NeuronState(eqx.Module):
    """What each neuron carries from step to step."""

    signal: Float[Array, " sensors"]
    change: Float[Array, " sensors"]
    """From the signal before to this one."""
    hidden: Float[Array, "sensors hidden"]
    age: Float[Array, " sensors"]
    """Signals taken in, counted up to 2: from 1 there is a last signal, from 2 a last change."""


class PairForms(eqx.Module):
    """Functions of two neurons' quantities: what each brings by itself, and products of these."""

    alone: Float[Array, "two forms quantities"]
    together: Float[Array, "two rank forms quantities"]

    def __init__(self, quantities: int, forms: int, rank: int, *, key: PRNGKeyArray):
        alone_key, together_key = jax.random.split(key)
        self.alone = jax.random.normal(alone_key, (2, forms, quantities)) / quantities
        size = (2, rank, forms, quantities)
        self.together = jax.random.normal(together_key, size) / quantities

    def __call__(
        self, quantities: Float[Array, "sensors quantities"]
    ) -> Float[Array, "sensors others forms"]:
        mine, yours = (quantities @ weight.T for weight in self.alone)
        found = mine[:, None] + yours[None, :]
        for left, right in zip(*self.together, strict=True):
            found = found + (quantities @ left.T)[:, None] * (quantities @ right.T)[None, :]
        return found


class Comparison(eqx.Module):
    """One round: every pair tests relations, and every neuron gathers what its pairs found."""

    relation: PairForms
    tolerance: Float[Array, " relations"]
    """Logarithms of how exactly relations must hold."""
    from_relations: eqx.nn.Linear
    from_own: eqx.nn.Linear
    from_other: eqx.nn.Linear
    attention: eqx.nn.Linear
    derived: PairForms

    def __init__(self, quantities: int, features: int, config: RelationalConfig, *, key):
        keys = jax.random.split(key, 6)
        pair, relations = config.pair, config.relations
        self.relation = PairForms(quantities, relations, 1, key=keys[0])
        self.tolerance = jnp.full(relations, math.log(0.1))
        self.from_relations = eqx.nn.Linear(relations, pair, key=keys[1])
        self.from_own = eqx.nn.Linear(features, pair, use_bias=False, key=keys[2])
        self.from_other = eqx.nn.Linear(features, pair, use_bias=False, key=keys[3])
        self.attention = eqx.nn.Linear(pair, config.heads, key=keys[4])
        self.derived = PairForms(quantities, config.heads, 2, key=keys[5])

    def __call__(
        self,
        quantities: Float[Array, "sensors quantities"],
        features: Float[Array, "sensors features"],
        present: Bool[Array, " sensors"],
    ) -> tuple[Float[Array, "sensors pair"], Float[Array, "sensors heads"]]:
        """What each neuron gathers from its pairs: features, and new quantities to compare."""
        n_sensors, heads = quantities.shape[0], self.attention.out_features
        residual = _bounded(self.relation(quantities))
        coincidence = -0.5 * jnp.log(jnp.exp(2 * self.tolerance) + residual**2)
        own, other = features @ self.from_own.weight.T, features @ self.from_other.weight.T
        over_pairs = jax.vmap(jax.vmap(self.from_relations))(coincidence)
        found = jax.nn.relu(over_pairs + own[:, None] + other[None, :])
        scores = jax.vmap(jax.vmap(self.attention))(found)
        scores = jnp.moveaxis(scores, 2, 1)  # (sensors, heads, others)
        others = present[None, :] & ~jnp.eye(n_sensors, dtype=bool)
        shares = jax.vmap(softmax_weights)(scores, others)
        by_head = found.reshape(n_sensors, n_sensors, heads, -1)
        shares = jnp.moveaxis(shares, 1, 2)  # (sensors, others, heads)
        gathered = (shares[..., None] * by_head).sum(axis=1).reshape(n_sensors, -1)
        return gathered, (shares * _bounded(self.derived(quantities))).sum(axis=1)


class RelationalNeuron(AbstractNeuron):
    """The code holds three numbers per slot: a signal, its rate of change, and a share of certainty."""

    comparisons: tuple[Comparison, ...]
    cell: eqx.nn.GRUCell
    slot_map: eqx.nn.Linear
    sharpness: Float[Array, ""]
    nearness: Float[Array, ""]
    loyalty: Float[Array, ""]
    n_actions: int = eqx.field(static=True)
    config: RelationalConfig = eqx.field(static=True)

    def __init__(
        self, n_actions: int, config: RelationalConfig | None = None, *, key: PRNGKeyArray
    ):
        config = config or RelationalConfig()
        *round_keys, cell_key, slot_key = jax.random.split(key, config.rounds + 2)
        comparisons, quantities, features = [], 5, 5 + config.hidden + n_actions
        for round_key in round_keys:
            comparisons.append(Comparison(quantities, features, config, key=round_key))
            quantities, features = quantities + config.heads, features + config.pair
        self.comparisons = tuple(comparisons)
        inputs = features - config.hidden
        self.cell = eqx.nn.GRUCell(inputs, config.hidden, key=cell_key)
        self.slot_map = eqx.nn.Linear(config.hidden, config.slots, key=slot_key)
        self.sharpness = jnp.array(2.0)
        self.nearness = jnp.array(math.log(0.01))
        self.loyalty = jnp.array(config.loyalty)
        self.n_actions = n_actions
        self.config = config

    def init(self, n_sensors: int) -> NeuronState:
        nothing = jnp.zeros(n_sensors)
        return NeuronState(nothing, nothing, jnp.zeros((n_sensors, self.config.hidden)), nothing)

    def listen(
        self, sensors: Sensors, previous_action: Float[Array, " actions"], memory: NeuronState
    ) -> Message:
        readings, present = sensors.readings(), sensors.present
        past = self._recall(readings, present, memory)
        known, moving = jnp.minimum(past.age, 1), jnp.maximum(past.age - 1, 0)
        change = (readings - past.signal) * known
        rate = self.config.rate * change
        quantities = jnp.stack(
            [jnp.ones_like(readings), readings, past.signal * known, rate, readings**2], axis=1
        )
        action = jnp.broadcast_to(previous_action, (readings.shape[0], self.n_actions))
        own = jnp.stack(
            [jnp.arcsinh(readings), jnp.arcsinh(rate),
             jnp.arcsinh(rate - self.config.rate * past.change * known) * moving, known, moving],
            axis=1,
        )  # fmt: skip
        features = jnp.concatenate([past.hidden, own, action], axis=1)
        for comparison in self.comparisons:
            gathered, derived = comparison(quantities, features, present)
            quantities = jnp.concatenate([quantities, derived], axis=1)
            features = jnp.concatenate([features, gathered], axis=1)
        hidden = jax.vmap(self.cell)(features[:, self.config.hidden :], past.hidden)
        new = NeuronState(readings, change, hidden, jnp.minimum(past.age + 1, 2.0))
        memory = jax.tree.map(
            lambda now, before: jnp.where(
                present.reshape(-1, *[1] * (now.ndim - 1)), now, before
            ),
            new, memory,
        )  # fmt: skip
        weights = self._gather(hidden, present)
        told = jnp.stack([readings, rate, jnp.ones_like(readings)], axis=1)
        code = _mix(weights, told)
        return Message(code, memory, weights)

    def _recall(
        self,
        readings: Float[Array, " sensors"],
        present: Bool[Array, " sensors"],
        memory: NeuronState,
    ) -> NeuronState:
        """For every neuron the memory that its signal continues, mixed where that is uncertain."""
        expected = memory.signal + memory.change
        squares = (readings[:, None] - expected[None, :]) ** 2
        own = jnp.eye(readings.shape[0])
        scores = self.loyalty * own - self.sharpness * 0.5 * jnp.log(
            jnp.exp(2 * self.nearness) + squares
        )
        shares = softmax_weights(scores, present & (memory.age > 0))
        return jax.tree.map(lambda leaf: _mix(shares, leaf), memory)

    def _gather(
        self, hidden: Float[Array, "sensors hidden"], present: Bool[Array, " sensors"]
    ) -> Float[Array, "slots sensors"]:
        """How slots share their attention among the neurons and nobody (whose score is 0)."""
        scores = jax.vmap(self.slot_map)(hidden).T
        nobody = jnp.zeros((scores.shape[0], 1))
        all_scores = jnp.concatenate([scores, nobody], axis=1)
        return softmax_weights(all_scores, jnp.append(present, True))[:, :-1]


def _bounded(numbers: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Numbers whose squares single precision can hold, even of products of absurd readings."""
    return jnp.clip(numbers, -LARGEST, LARGEST)


def _mix(
    shares: Float[Array, "takers sensors"], leaf: Float[Array, "sensors *features"]
) -> Float[Array, "takers *features"]:
    """`shares @ leaf`, in the way that costs processors least for matrices as small as these."""
    shares = shares.reshape(*shares.shape, *[1] * (leaf.ndim - 1))
    return (shares * leaf).sum(axis=1)
