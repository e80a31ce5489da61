"""Policies on the lanes of a GPU: one unit of every neuron, and every eighth slot, to a lane.

Each kind of policy says how its weights are dealt to the lanes, as rows of eight numbers, and reads them
in the same order. A lane keeps its weights in registers for the whole episode. Arguments of powers come
multiplied by what turns them into powers of two.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from anyorder.neurons.key_maps import KeyMapName
from anyorder.rollout.gpu.lanes import (
    LARGEST,
    LOG2_E,
    UNITS,
    Arithmetic,
    Lanes,
    by_sums,
    spread,
    sum_of_lanes,
)

SIGMOID, TANH = -LOG2_E, 2 * LOG2_E
"""Factors that make arguments exponents of 2, as in sigmoid(x) = 1 / (1 + 2^(SIGMOID x))."""


class AbstractPolicyLanes(abc.ABC):
    """A policy a kernel can play; `weights` are its rows, in order."""

    @abc.abstractmethod
    def rest(self, nothing: Lanes, n_sensors: int) -> Any:
        """Memory before the first step."""

    @abc.abstractmethod
    def act(
        self, weights: Iterator[Lanes], sensors: list[Lanes], gain: Lanes, action: Lanes, memory: Any,
        maths: Arithmetic,
    ) -> tuple[Lanes, Any]:  # fmt: skip
        """The next action and memory."""


@dataclass(frozen=True)
class Listener(AbstractPolicyLanes):
    """Sensory neurons with tanh attention. Memory is c and what `spread` tells of h, by sensor."""

    groups: int
    """Slots a lane has."""
    key_map: KeyMapName = "identity"

    def rest(self, nothing, n_sensors):
        return [(nothing, [nothing] * UNITS) for _ in range(n_sensors)]

    def act(self, weights, sensors, gain, action, memory, maths):
        gates = [_take(weights, UNITS + 3) for _ in range(4)]
        common = [row[UNITS + 2] + row[UNITS + 1] * action for row in gates]
        inner = [_take(weights, UNITS + 1) for _ in range(INNER_LAYERS.get(self.key_map, 0))]
        remembered, keys = [], []
        for sensor, (cell, hidden) in zip(sensors, memory, strict=True):
            sums = [
                _dot(row, hidden, start + row[UNITS] * sensor)
                for row, start in zip(gates, common, strict=True)
            ]
            cell, unit = _lstm(sums, cell, maths)
            hidden = spread(unit)
            remembered.append((cell, hidden))
            keys.append(self._key(unit, hidden, inner, maths))
        push = jnp.zeros_like(action)
        for _ in range(self.groups):
            *row, start, out = _take(weights, UNITS + 2)
            code = jnp.zeros_like(action)
            for sensor, key in zip(sensors, keys, strict=True):
                code = code + _tanh(_dot(row, key, start), maths) * sensor
            push = push + out * _tanh(TANH * gain * code, maths)
        (bias,) = _take(weights, 1)
        return _tanh(sum_of_lanes(push) + bias, maths), remembered

    def _key(
        self, unit: Lanes, hidden: list[Lanes], inner: list[list[Lanes]], maths: Arithmetic
    ) -> list[Lanes]:
        """What `spread` tells of phi(h); a last linear layer of phi is part of the scores."""
        sums = [_dot(row, hidden, row[UNITS]) for row in inner]
        match self.key_map:
            case "identity":
                return hidden
            case "tanh":
                return spread(_tanh(TANH * unit, maths))
            case "relu":
                return spread(jnp.maximum(unit, 0.0))
            case "gelu":
                inside = math.sqrt(2 / math.pi) * (unit + 0.044715 * unit * unit * unit)
                return spread(0.5 * unit * (1 + _tanh(TANH * inside, maths)))
            case "polynomial":
                return spread(unit + unit * unit)
            case "fourier":
                return spread(math.sqrt(2) * maths.cos(_turned_back(sums[0])))
            case "two-layer":
                return spread(jnp.maximum(sums[0], 0.0))
            case "gated":
                gate = maths.inverse(1 + maths.exp2(SIGMOID * sums[1]))
                return spread(_tanh(TANH * sums[0], maths) * gate)


INNER_LAYERS = {"fourier": 1, "two-layer": 1, "gated": 2}
"""Linear layers of key maps before their nonlinearity."""


def listener_rows(
    gates: Float[Array, "candidates 8 4 11"],
    inner: Float[Array, "candidates layers 8 9"],
    scores: Float[Array, "candidates slots 9"],
    readout: Float[Array, "candidates slots+1"],
) -> tuple[Float[Array, "candidates rows 8"], int]:
    """The rows of sensory neurons, and the slots a lane has.

    **Arguments:**

    - `gates`: by unit and gate (i f g o), on h, the reading, the action and the bias; arguments of
      sigmoids halved.
    - `inner`: first layers of the key map, on h and the bias.
    - `scores`: of each slot, on the key and the bias.
    """
    halved = 2 * SIGMOID
    scale = jnp.array([halved, halved, TANH, halved])
    by_gate = gates.swapaxes(1, 2) * scale[:, None, None]
    idle = -scores.shape[1] % UNITS
    slots = jnp.pad(TANH * scores, ((0, 0), (0, idle), (0, 0)))
    slots = slots.reshape(slots.shape[0], -1, UNITS, slots.shape[2])
    out = jnp.pad(TANH * readout[:, :-1], ((0, 0), (0, idle))).reshape(*slots.shape[:3], 1)
    bias = jnp.repeat(TANH * readout[:, -1:, None], UNITS, axis=2)
    parts = [_rows(by_gate), _rows(inner), _rows(jnp.concatenate([slots, out], axis=3)), bias]
    return jnp.concatenate(parts, axis=1), slots.shape[1]


def _rows(layers: Float[Array, "candidates layers 8 inputs"]) -> Float[Array, "candidates rows 8"]:
    """Layers (unit, input), the first eight inputs being units, as rows over lanes."""
    ready = jnp.concatenate([by_sums(layers[..., :UNITS]), layers[..., UNITS:]], axis=-1)
    return ready.swapaxes(2, 3).reshape(layers.shape[0], -1, UNITS)


@dataclass(frozen=True)
class Reactor(AbstractPolicyLanes):
    """A two-layer tanh network, without memory."""

    groups: int
    """Hidden units a lane has."""

    def rest(self, nothing, n_sensors):
        return ()

    def act(self, weights, sensors, gain, action, memory, maths):
        push = jnp.zeros_like(action)
        for _ in range(self.groups):
            *row, start, out = _take(weights, len(sensors) + 2)
            push = push + out * _tanh(_dot(row, sensors, start), maths)
        (bias,) = _take(weights, 1)
        return _tanh(sum_of_lanes(push) + bias, maths), memory


def reactor_rows(
    layer: Float[Array, "candidates units inputs+1"], readout: Float[Array, "candidates units+1"]
) -> tuple[Float[Array, "candidates rows 8"], int]:
    """The rows of a two-layer network, and the hidden units a lane has."""
    both = TANH * jnp.concatenate([layer, readout[:, :-1, None]], axis=2)
    both = jnp.pad(both, ((0, 0), (0, -layer.shape[1] % UNITS), (0, 0)))
    by_lane = both.reshape(both.shape[0], -1, UNITS, both.shape[2]).swapaxes(2, 3)
    bias = jnp.repeat(TANH * readout[:, -1:, None], UNITS, axis=2)
    rows = by_lane.reshape(both.shape[0], -1, UNITS)
    return jnp.concatenate([rows, bias], axis=1), by_lane.shape[1]


def _take(weights: Iterator[Lanes], count: int) -> list[Lanes]:
    return [next(weights) for _ in range(count)]


def _dot(row: list[Lanes], inputs: list[Lanes], start: Lanes) -> Lanes:
    for weight, number in zip(row[: len(inputs)], inputs, strict=True):
        start = start + weight * number
    return start


def _tanh(power: Lanes, maths: Arithmetic) -> Lanes:
    """tanh(power / TANH)."""
    return 1 - 2 * maths.inverse(maths.exp2(power) + 1)


def _lstm(gates: list[Lanes], cell: Lanes, maths: Arithmetic) -> tuple[Lanes, Lanes]:
    """Cell and output from exponents of the gates. Inverses are dear, so divisors are multiplied first."""
    take, keep, new, show = (maths.exp2(jnp.minimum(power, LARGEST)) for power in gates)
    both = (1 + take) * (1 + new)
    cell = (cell * both + (new - 1) * (1 + keep)) * maths.inverse((1 + keep) * both)
    shown = maths.exp2(jnp.minimum(TANH * cell, LARGEST))
    return cell, (shown - 1) * maths.inverse((1 + show) * (1 + shown))


def _turned_back(angle: Lanes) -> Lanes:
    """The same angle within [-pi, pi]."""
    return angle - 2 * math.pi * jnp.floor(angle / (2 * math.pi) + 0.5)
