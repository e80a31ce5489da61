"""The same layer for very many sensors, a chunk of them at a time.

The plain path holds a weight for every slot and sensor. Here each chunk's weighted sum is added to what
the chunks before it came to, so that beside the neurons' own memory nothing grows with their number.
For shared (softmax) weights the sums are kept relative to the highest score so far and scaled down when a
higher one comes along.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from anyorder.neurons.vector import AttentionNeuron, CellMemory
from anyorder.sensors import Sensors

CHUNK = 4096
"""Sensors at a time: their weights stay in the processor's cache."""
LOWEST = -1e30


def listen_in_chunks(
    neuron: AttentionNeuron,
    sensors: Sensors,
    previous_action: Float[Array, " actions"],
    memory: CellMemory,
    *,
    chunk: int = CHUNK,
) -> tuple[Float[Array, " slots"], CellMemory]:
    """What `neuron(sensors, previous_action, memory)` says: the code and the neurons' new memory."""
    _check(neuron)
    chunk = min(chunk, sensors.n_sensors)
    parts = _cut((sensors.readings(), sensors.present, memory), chunk)

    def absorb(sums, part):
        readings, present, memory = part
        memory = neuron._remember(readings, present, neuron.told(previous_action), memory)
        return _add(neuron, sums, memory[0], readings, present), memory

    sums, memory = jax.lax.scan(absorb, _nothing(neuron), parts)
    return neuron.gain(sensors) * _settled(neuron, sums), _joined(memory, sensors.n_sensors)


class Ragged(eqx.Module):
    """The sensors of several agents, as many as each has, one after the other."""

    sensors: Sensors
    owners: Int[Array, " sensors"]
    """The agent each sensor belongs to."""
    n_agents: int = eqx.field(static=True)

    @classmethod
    def of(cls, each: list[Any]) -> Ragged:
        """From one sequence of readings per agent.

        >>> Ragged.of([[1.0, 2.0], [3.0]]).owners.tolist()
        [0, 0, 1]
        """
        readings = jnp.concatenate([jnp.asarray(one, jnp.result_type(float)) for one in each])
        sizes = jnp.array([len(one) for one in each])
        owners = jnp.repeat(jnp.arange(len(each)), sizes, total_repeat_length=readings.shape[0])
        return cls(Sensors.of(readings), owners, len(each))


def listen_ragged(
    neuron: AttentionNeuron,
    ragged: Ragged,
    previous_actions: Float[Array, "agents actions"],
    memory: CellMemory,
    *,
    chunk: int = CHUNK,
) -> tuple[Float[Array, "agents slots"], CellMemory]:
    """A code for every agent, and the new memory of all neurons, in the order of `ragged.sensors`.

    The work follows the sensors there are, however unevenly agents have them; nothing is padded to the
    longest. `memory` is `neuron.init(ragged.sensors.n_sensors)` at first.
    """
    _check(neuron)
    sensors, agents = ragged.sensors, ragged.n_agents
    chunk = min(chunk, sensors.n_sensors)
    parts = _cut((sensors.readings(), sensors.present, ragged.owners, memory), chunk)

    def remember(reading, present, action, memory):
        one = jax.tree.map(lambda leaf: leaf[None], (reading, present, memory))
        new = neuron._remember(one[0], one[1], neuron.told(action), one[2])
        return jax.tree.map(lambda leaf: leaf[0], new)

    def absorb(sums, part):
        readings, present, owners, memory = part
        memory = jax.vmap(remember)(readings, present, previous_actions[owners], memory)
        return _add(neuron, sums, memory[0], readings, present, owners), memory

    first = jax.tree.map(lambda leaf: jnp.tile(leaf, (agents, 1)), _nothing(neuron))
    sums, memory = jax.lax.scan(absorb, first, parts)

    def gain(agent):
        return neuron.gain(sensors.only(ragged.owners == agent))

    gains = jax.lax.map(gain, jnp.arange(agents))
    return gains[:, None] * _settled(neuron, sums), _joined(memory, sensors.n_sensors)


def padded(each: list[Any]) -> Sensors:
    """Readings of several agents as one batch: Sensors with a leading axis, the shorter ones filled
    up with absent sensors to the next power of two, so that few sizes are ever compiled.

    >>> padded([[1.0, 2.0, 3.0], [4.0]]).present.tolist()
    [[True, True, True, False], [True, False, False, False]]
    """
    size = 1 << (max(map(len, each)) - 1).bit_length()
    values = [
        jnp.pad(jnp.asarray(one, jnp.result_type(float)), (0, size - len(one))) for one in each
    ]
    present = jnp.arange(size) < jnp.array([len(one) for one in each])[:, None]
    return jax.vmap(Sensors)(jnp.stack(values), present)


Sums = tuple[Array, Array, Array]
"""By slot: the highest score so far, the weights' total and the weighted readings, both relative to it."""


def _nothing(neuron: AttentionNeuron) -> Sums:
    zeros = jnp.zeros(neuron.config.slots, neuron.bias.dtype)
    return zeros + LOWEST, zeros, zeros


def _check(neuron: AttentionNeuron) -> None:
    """Raise ValueError for attention that needs all sensors at once."""
    config = neuron.config
    if config.heads > 1 or config.self_attention or config.weighting not in ("tanh", "softmax"):
        raise ValueError(
            "Only one head of tanh or softmax weights, without self-attention, goes in chunks."
        )


def _add(
    neuron: AttentionNeuron,
    sums: Sums,
    keys: Float[Array, "chunk hidden"],
    readings: Float[Array, " chunk"],
    present: Bool[Array, " chunk"],
    owners: Int[Array, " chunk"] | None = None,
) -> Sums:
    """The sums with a chunk's sensors added, all to one agent's or each to its owner's."""
    highest, total, weighted = sums
    scores = neuron.attention.scored(neuron.query_map, neuron.key_map, keys)[0]
    if neuron.config.weighting == "tanh":
        weights = jnp.where(present, jnp.tanh(scores), 0)
        return highest, total, weighted + _sum(weights * readings, owners, highest)
    scores = jnp.where(present, scores, LOWEST)
    if owners is None:
        new = jnp.maximum(highest, scores.max(axis=1))
        above = new[:, None]
    else:
        each = jax.ops.segment_max(scores.T, owners, highest.shape[0])
        new = jnp.maximum(highest, each)
        above = new[owners].T
    powers = jnp.where(present, jnp.exp(scores - above), 0)
    shrink = jnp.exp(highest - new)
    return (
        new,
        shrink * total + _sum(powers, owners, highest),
        shrink * weighted + _sum(powers * readings, owners, highest),
    )


def _sum(
    terms: Float[Array, "slots chunk"], owners: Int[Array, " chunk"] | None, like: Array
) -> Array:
    if owners is None:
        return terms.sum(axis=1)
    return jax.ops.segment_sum(terms.T, owners, like.shape[0])


def _settled(neuron: AttentionNeuron, sums: Sums) -> Array:
    _, total, weighted = sums
    return weighted if neuron.config.weighting == "tanh" else weighted / jnp.maximum(total, 1e-30)


def _cut(tree: Any, chunk: int) -> Any:
    """Leading axes cut into chunks, the last one filled up with zeros: absent sensors."""

    def cut(leaf):
        rest = -leaf.shape[0] % chunk
        full = jnp.pad(leaf, ((0, rest), *((0, 0),) * (leaf.ndim - 1)))
        return full.reshape(-1, chunk, *leaf.shape[1:])

    return jax.tree.map(cut, tree)


def _joined(tree: Any, count: int) -> Any:
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:count], tree)
