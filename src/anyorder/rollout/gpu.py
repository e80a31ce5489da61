"""Whole episodes in one GPU kernel: a thread plays an episode and keeps all of it in registers.

A block of threads shares a candidate, whose weights it reads again at every step from the cache. The
world's step, the neurons' step and the head are plain functions on arrays with one entry per episode,
called by a loop that knows neither: another world or policy brings its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as pltriton
from jaxtyping import Array, Float, Int

from anyorder.envs.cartpole import X_LIMIT, advance, reward_from

BLOCK = 128
"""Episodes a block of threads plays."""
OBSERVED = 5
STARTS = 6
"""Numbers an episode starts from: the state, lowest cos theta, gain on the code."""
HIDDEN = 8

Lanes = Array
"""One number per episode of the block."""
Weight = Callable[[int], Array]
"""A candidate's weight by its place."""
React = Callable[[Weight, list[Lanes], Lanes, Lanes, Any], tuple[Lanes, Any]]
"""One step of a policy: `action, memory = react(weight, sensors, gain, previous_action, memory)`."""


def tanh(x: Lanes) -> Lanes:
    """Two special-function instructions, good to about 1e-6 everywhere."""
    return 1 - 2 / (jnp.exp(2 * x) + 1)


def listen(
    slots: int, weight: Weight, sensors: list[Lanes], gain: Lanes, action: Lanes, memory: Any
) -> tuple[Lanes, Any]:
    """Sensory neurons with tanh attention: `memory` holds h and c, by sensor and unit.

    Weights lie in the order of `fused.pack`: gates (unit, gate, input), scores (slot, input), readout.
    Arguments of sigmoids come halved, as sigmoid(x) = (1 + tanh(x / 2)) / 2.
    """
    hidden, cells = memory
    n_sensors = len(sensors)
    inputs = HIDDEN + 3
    new_hidden: list[list[Lanes]] = [[] for _ in range(n_sensors)]
    new_cells: list[list[Lanes]] = [[] for _ in range(n_sensors)]
    for unit in range(HIDDEN):
        sums: list[list[Lanes]] = [[] for _ in range(n_sensors)]
        for gate in range(4):
            base = (unit * 4 + gate) * inputs
            row = [weight(base + k) for k in range(inputs)]
            common = row[HIDDEN + 2] + row[HIDDEN + 1] * action
            for n in range(n_sensors):
                total = common + row[HIDDEN] * sensors[n]
                for k in range(HIDDEN):
                    total = total + row[k] * hidden[n][k]
                sums[n].append(total)
        for n in range(n_sensors):
            take, keep, new, show = sums[n]
            take, keep, show = (0.5 + 0.5 * tanh(x) for x in (take, keep, show))
            cell = keep * cells[n][unit] + take * tanh(new)
            new_cells[n].append(cell)
            new_hidden[n].append(show * tanh(cell))
    scores = HIDDEN * 4 * inputs
    readout = scores + slots * (HIDDEN + 1)
    push = jnp.zeros_like(action) + weight(readout + slots)
    for slot in range(slots):
        base = scores + slot * (HIDDEN + 1)
        row = [weight(base + k) for k in range(HIDDEN + 1)]
        code = jnp.zeros_like(action)
        for n in range(n_sensors):
            score = row[HIDDEN] + row[0] * new_hidden[n][0]
            for k in range(1, HIDDEN):
                score = score + row[k] * new_hidden[n][k]
            code = code + tanh(score) * sensors[n]
        push = push + weight(readout + slot) * tanh(gain * code)
    return tanh(push), (new_hidden, new_cells)


def react(
    units: int, weight: Weight, sensors: list[Lanes], gain: Lanes, action: Lanes, memory: Any
) -> tuple[Lanes, Any]:
    """A two-layer network: layer (unit, input) with biases last, then readout."""
    inputs = len(sensors) + 1
    readout = units * inputs
    push = jnp.zeros_like(action) + weight(readout + units)
    for unit in range(units):
        total = jnp.zeros_like(action) + weight(unit * inputs + inputs - 1)
        for k, sensor in enumerate(sensors):
            total = total + weight(unit * inputs + k) * sensor
        push = push + weight(readout + unit) * tanh(total)
    return tanh(push), memory


def _episodes(policy: React, neurons: bool, n_steps: int, weights, starts, zero, totals, lengths):
    """The kernel: one block of episodes of one candidate, from start to end."""
    x, x_dot, theta, theta_dot, floor, gain = (starts[k, :] for k in range(STARTS))
    nothing = jnp.zeros_like(x)
    memory: Any = ()
    if neurons:
        rest = [[nothing] * HIDDEN for _ in range(OBSERVED)]
        memory = (rest, rest)

    def going_on(carry):
        time, _, _, _, alive, _, _ = carry
        return (time < n_steps) & (jnp.max(alive) > 0)

    def step(carry):
        time, offset, state, (action, memory), alive, total, length = carry
        # The compiler cannot know that the offset stays 0, so it leaves the weights in the cache
        # instead of holding hundreds of them in registers.
        offset = offset & time
        x, x_dot, theta, theta_dot = state
        sin, cos = jnp.sin(theta), jnp.cos(theta)
        action, memory = policy(
            lambda place: weights[0, place + offset],
            [x, x_dot, cos, sin, theta_dot], gain, action, memory,
        )  # fmt: skip
        state = advance(x, x_dot, theta, theta_dot, sin, cos, action)
        cos = jnp.cos(state[2])
        total = total + alive * reward_from(cos, jnp.cos(state[0] * (math.pi / 2 / X_LIMIT)))
        length = length + alive
        over = (jnp.abs(state[0]) > X_LIMIT) | (cos < floor)
        alive = jnp.where(over, 0.0, alive)
        return time + 1, offset, state, (action, memory), alive, total, length

    first = (
        jnp.int32(0), zero[0], (x, x_dot, theta, theta_dot), (nothing, memory),
        nothing + 1, nothing, nothing,
    )  # fmt: skip
    *_, total, length = jax.lax.while_loop(going_on, step, first)
    totals[0, :] = total
    lengths[0, :] = length


def gpu_returns(
    weights: Float[Array, "candidates weights"],
    starts: Float[Array, "episodes 6"],
    n_steps: int,
    policy: React,
    *,
    neurons: bool,
    interpret: bool = False,
) -> tuple[Float[Array, "candidates episodes"], Int[Array, ""]]:
    """Returns of every candidate in the episodes from these starts, and all steps taken together.

    **Arguments:**

    - `weights`: as `policy` reads them.
    - `neurons`: whether the policy has the memory of sensory neurons.
    - `interpret`: run on any device, slowly, for tests.
    """
    candidates, episodes = weights.shape[0], starts.shape[0]
    blocks = pl.cdiv(episodes, BLOCK)
    idle = jnp.tile(
        jnp.array([[2 * X_LIMIT, 0.0, 0.0, 0.0, 2.0, 1.0]]), (blocks * BLOCK - episodes, 1)
    )
    padded = jnp.concatenate([starts, idle.astype(starts.dtype)]).T
    filled = jax.ShapeDtypeStruct((candidates, blocks * BLOCK), jnp.float32)
    totals, lengths = pl.pallas_call(
        partial(_episodes, policy, neurons, n_steps),
        out_shape=(filled, filled),
        grid=(candidates, blocks),
        in_specs=[
            pl.BlockSpec((1, weights.shape[1]), lambda c, b: (c, 0)),
            pl.BlockSpec((STARTS, BLOCK), lambda c, b: (0, b)),
            pl.BlockSpec((1,), lambda c, b: (0,)),
        ],
        out_specs=(
            pl.BlockSpec((1, BLOCK), lambda c, b: (c, b)),
            pl.BlockSpec((1, BLOCK), lambda c, b: (c, b)),
        ),
        compiler_params=pltriton.CompilerParams(num_warps=BLOCK // 32, num_stages=1),
        interpret=interpret,
    )(weights, padded, jnp.zeros(1, jnp.int32))
    return totals[:, :episodes], lengths[:, :episodes].sum().astype(int)
