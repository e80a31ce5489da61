"""One agent, compiled: for a controller that must decide now, without JAX in the loop.

Calls of `policy()` cost a fraction of a millisecond before anything is computed. Here the whole decision
is one compiled function on NumPy arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float
from numba import njit

from anyorder.neurons import AttentionNeuron, sinusoidal_table
from anyorder.policies import AbstractPolicy, InvariantPolicy

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


@dataclass(frozen=True)
class SingleMemory:
    """All that the agent carries from one step to the next."""

    hidden: Float[np.ndarray, "sensors hidden"]
    cells: Float[np.ndarray, "sensors hidden"]
    previous_action: Float[np.ndarray, " actions"]


class CompiledAgent:
    """Decides as the policy it is made of: `action, memory = agent(readings, memory)`."""

    def __init__(self, policy: AbstractPolicy):
        if reason := why_not_compiled(policy):
            raise ValueError(f"No compiled agent here: {reason}. Call the policy itself.")
        assert isinstance(policy, InvariantPolicy)
        neuron = policy.neuron
        assert isinstance(neuron, AttentionNeuron)
        self.config = neuron.config
        self.n_actions = policy.n_actions
        self.usual = float(neuron.usual_sensors)
        cell = neuron.cell
        gates = np.concatenate([cell.weight_hh, cell.weight_ih, neuron.bias[:, None]], axis=1)
        layers = [(np.asarray(x.weight), np.asarray(x.bias)) for x in policy.head.layers]
        first = layers[0] if len(layers) == 2 else (np.zeros((0, 0)), np.zeros(0))
        self.numbers: tuple[Any, ...] = tuple(
            np.ascontiguousarray(part, np.float32)
            for part in (gates, _scores(neuron), *first, *layers[-1])
        )
        gain = -1.0 if self.config.gain is None else float(self.config.gain)
        self.softmax = self.config.weighting == "softmax"
        if self.softmax and gain < 0:
            gain = 1.0
        self.gain = np.float32(gain)
        self.choose = policy.actions == "discrete"

    def init(self, n_sensors: int) -> SingleMemory:
        """The memory before the first step."""
        rest = np.zeros((n_sensors, self.config.hidden), np.float32)
        return SingleMemory(rest, rest, np.zeros(self.n_actions, np.float32))

    def __call__(
        self,
        readings: Float[np.ndarray, " sensors"],
        memory: SingleMemory,
        present: Bool[np.ndarray, " sensors"] | None = None,
    ) -> tuple[Float[np.ndarray, " actions"], SingleMemory]:
        """One decision; all sensors are present unless `present` says otherwise."""
        readings = np.asarray(readings, np.float32)
        there = np.ones(len(readings), np.bool_) if present is None else present
        arguments: list[Any] = [
            *self.numbers, np.float32(self.usual), self.gain, self.softmax, self.choose,
            readings, there, memory.previous_action, memory.hidden, memory.cells,
        ]  # fmt: skip
        action, hidden, cells = _decide(*arguments)
        return action, SingleMemory(hidden, cells, action)


def compiled(policy: AbstractPolicy) -> CompiledAgent:
    """The policy as one compiled function; ValueError if it is of a kind that has none."""
    return CompiledAgent(policy)


def why_not_compiled(policy: AbstractPolicy) -> str | None:
    """What stands in the way of a compiled agent, or None if nothing does."""
    if not isinstance(policy, InvariantPolicy):
        return f"{type(policy).__name__} has no compiled step"
    if type(policy.neuron) is not AttentionNeuron:
        return f"{type(policy.neuron).__name__} has no compiled step"
    if not policy.neuron.config.folds:
        return "it knows LSTM neurons with dot scores and tanh or softmax weights"
    return None


def _scores(neuron: AttentionNeuron) -> Float[np.ndarray, "slots inputs"]:
    """Q W_q W_k^T as one matrix on h, and the part of the scores that does not depend on h last."""
    table = jnp.asarray(sinusoidal_table(neuron.config.slots, neuron.config.hidden), jnp.float32)
    queries = jax.vmap(neuron.query_map)(table)
    if neuron.config.divided:
        queries = queries / neuron.config.width**0.5
    key = neuron.key_map
    bias = jnp.zeros(key.weight.shape[0]) if key.bias is None else key.bias
    return np.asarray(queries @ jnp.concatenate([key.weight, bias[:, None]], axis=1))


@njit(**OPTIONS)
def _decide(
    gates, scores, w1, b1, w2, b2, usual, gain, softmax, choose,
    readings, present, previous, h, c,
):  # fmt: skip
    """The LSTM of each sensor, attention, head: arrays as in `CompiledAgent.numbers`."""
    n_sensors, hidden = h.shape
    slots, n_actions = scores.shape[0], previous.shape[0]
    new_h, new_c = h.copy(), c.copy()
    told = gates[:, hidden + 1 + n_actions].copy()  # what all neurons are told alike
    for g in range(4 * hidden):
        for a in range(n_actions):
            told[g] += gates[g, hidden + 1 + a] * previous[a]
    sums = np.empty(4 * hidden, np.float32)
    count = 0
    for n in range(n_sensors):
        if not present[n]:
            continue
        count += 1
        for g in range(4 * hidden):
            total = told[g] + gates[g, hidden] * readings[n]
            for k in range(hidden):
                total += gates[g, k] * h[n, k]
            sums[g] = total
        for j in range(hidden):
            take, keep = _sigmoid(sums[j]), _sigmoid(sums[hidden + j])
            show = _sigmoid(sums[3 * hidden + j])
            new_c[n, j] = keep * c[n, j] + take * np.tanh(sums[2 * hidden + j])
            new_h[n, j] = show * np.tanh(new_c[n, j])
    factor = usual / max(np.float32(count), usual) if gain < 0 else gain
    code = np.zeros(slots, np.float32)
    for m in range(slots):
        highest, total, weighted = np.float32(-1e30), np.float32(0), np.float32(0)
        for n in range(n_sensors):
            if not present[n]:
                continue
            score = scores[m, hidden]
            for k in range(hidden):
                score += scores[m, k] * new_h[n, k]
            if not softmax:
                weighted += np.tanh(score) * readings[n]
                continue
            if score > highest:
                shrink = np.exp(highest - score)
                highest, total, weighted = score, total * shrink, weighted * shrink
            power = np.exp(score - highest)
            total += power
            weighted += power * readings[n]
        if softmax:
            weighted /= max(total, np.float32(1e-30))
        code[m] = np.tanh(factor * weighted)
    if w1.shape[0] > 0:
        code = np.tanh(_linear(w1, b1, code))
    raw = _linear(w2, b2, code)
    if choose:
        action = np.zeros(n_actions, np.float32)
        action[np.argmax(raw)] = np.float32(1)
    else:
        action = np.tanh(raw)
    return action, new_h, new_c


@njit(**OPTIONS)
def _sigmoid(x):
    return np.float32(1) / (np.float32(1) + np.exp(-x))


@njit(**OPTIONS)
def _linear(weight, bias, x):
    out = bias.copy()
    for i in range(weight.shape[0]):
        for j in range(weight.shape[1]):
            out[i] += weight[i, j] * x[j]
    return out
