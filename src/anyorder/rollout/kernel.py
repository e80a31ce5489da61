"""A compiled loop over whole episodes, many of them side by side in the processor's vector lanes.

Each candidate keeps LANES episodes in flight, stored with the lane innermost so that every loop over
lanes becomes vector code. A lane whose episode ends takes the next one that waits: with starts that
nobody can save, that alone nearly doubles the speed.
"""

from __future__ import annotations

import inspect
import math

import numpy as np
from numba import njit, prange

from anyorder.envs.cartpole import X_LIMIT, dynamics
from anyorder.rollout.simd import HALF, ONE, OPTIONS, ZERO, F, fast_cos, fast_sin, fast_tanh, wrap

LANES = 16
HIDDEN = 8
"""LSTM units the kernel is compiled for."""
OBSERVED = 5

X_END, X_TO_ANGLE = F(X_LIMIT), F(math.pi / 2 / X_LIMIT)
advance_world = njit(inline="always", **OPTIONS)(inspect.unwrap(dynamics(F)))


@njit(**OPTIONS)
def remember(gates, inputs, action, h, c, h_new):
    """Advance the LSTM cell of every sensor in all lanes; sigmoids come as halved arguments of tanh."""
    for n in range(inputs.shape[0]):
        for j in range(HIDDEN):
            w = gates[j]
            for lane in range(LANES):
                i = w[0, 10] + w[0, 8] * inputs[n, lane] + w[0, 9] * action[lane]
                f = w[1, 10] + w[1, 8] * inputs[n, lane] + w[1, 9] * action[lane]
                g = w[2, 10] + w[2, 8] * inputs[n, lane] + w[2, 9] * action[lane]
                o = w[3, 10] + w[3, 8] * inputs[n, lane] + w[3, 9] * action[lane]
                for k in range(HIDDEN):
                    i += w[0, k] * h[n, k, lane]
                    f += w[1, k] * h[n, k, lane]
                    g += w[2, k] * h[n, k, lane]
                    o += w[3, k] * h[n, k, lane]
                i = HALF + HALF * fast_tanh(i)
                f = HALF + HALF * fast_tanh(f)
                o = HALF + HALF * fast_tanh(o)
                cell = f * c[n, j, lane] + i * fast_tanh(g)
                c[n, j, lane] = cell
                h_new[n, j, lane] = o * fast_tanh(cell)


@njit(**OPTIONS)
def attend(scores, readout, inputs, h, gain, code, action):
    """The code gain * tanh(scores) @ inputs, slot by slot, and the action read out of it."""
    slots = scores.shape[0]
    for lane in range(LANES):
        action[lane] = readout[slots]
    for m in range(slots):
        for lane in range(LANES):
            code[lane] = ZERO
        for n in range(inputs.shape[0]):
            for lane in range(LANES):
                s = scores[m, HIDDEN]
                for k in range(HIDDEN):
                    s += scores[m, k] * h[n, k, lane]
                code[lane] += fast_tanh(s) * inputs[n, lane]
        for lane in range(LANES):
            action[lane] += readout[m] * fast_tanh(gain[lane] * code[lane])
    for lane in range(LANES):
        action[lane] = fast_tanh(action[lane])


@njit(**OPTIONS)
def react(layer, readout, inputs, action):
    """A two-layer network from inputs to action."""
    units = layer.shape[0]
    for lane in range(LANES):
        action[lane] = readout[units]
    for j in range(units):
        for lane in range(LANES):
            s = layer[j, OBSERVED]
            for k in range(OBSERVED):
                s += layer[j, k] * inputs[k, lane]
            action[lane] += readout[j] * fast_tanh(s)
    for lane in range(LANES):
        action[lane] = fast_tanh(action[lane])


@njit(**OPTIONS)
def observe(state, inputs):
    """Fill the sensors of all lanes: x, x', cos theta, sin theta, theta'."""
    for lane in range(LANES):
        inputs[0, lane] = state[0, lane]
        inputs[1, lane] = state[1, lane]
        inputs[2, lane] = fast_cos(state[2, lane])
        inputs[3, lane] = fast_sin(state[2, lane])
        inputs[4, lane] = state[3, lane]


@njit(**OPTIONS)
def advance(state, inputs, action, floor, total, left, done):
    """Step the world in all lanes and add rewards; returns how many lanes have come to an end."""
    for lane in range(LANES):
        x, x_dot, theta, theta_dot = advance_world(
            state[0, lane], state[1, lane], state[2, lane], state[3, lane],
            inputs[3, lane], inputs[2, lane], action[lane],
        )  # fmt: skip
        theta = wrap(theta)
        state[0, lane], state[1, lane], state[2, lane], state[3, lane] = x, x_dot, theta, theta_dot
        cos = fast_cos(theta)
        total[lane] += HALF * (cos + ONE) * fast_cos(x * X_TO_ANGLE)
        left[lane] -= ONE
        done[lane] = ONE if (abs(x) > X_END or cos < floor[lane] or left[lane] < HALF) else ZERO
    ended = ZERO
    for lane in range(LANES):
        ended += done[lane]
    return ended


@njit(**OPTIONS)
def seat(lane, start, state, floor, gain, memory, action, total, left, n_steps):
    """Begin an episode in a lane."""
    state[0, lane], state[1, lane] = start[0], start[1]
    state[2, lane], state[3, lane] = wrap(start[2]), start[3]
    floor[lane], gain[lane] = start[4], start[5]
    memory[:, :, :, lane] = ZERO
    action[lane] = ZERO
    total[lane] = ZERO
    left[lane] = F(n_steps)


@njit(**OPTIONS)
def run_candidate(neurons, gates, layer, readout, starts, extra, n_steps, returns):
    """All episodes of one candidate; fills in their returns and says how many steps they took."""
    episodes = starts.shape[0]
    sensors = OBSERVED + extra.shape[2]
    state, inputs = np.zeros((4, LANES), F), np.zeros((sensors, LANES), F)
    memory = np.zeros((3, sensors, HIDDEN, LANES), F)  # c, and h before and after the step
    action, total, left = np.zeros(LANES, F), np.zeros(LANES, F), np.zeros(LANES, F)
    floor, gain = np.zeros(LANES, F), np.zeros(LANES, F)
    done, code, owner = np.zeros(LANES, F), np.zeros(LANES, F), np.full(LANES, -1)
    waiting, running, made, now = 0, 0, 0, 1
    for lane in range(min(LANES, episodes)):
        seat(lane, starts[waiting], state, floor, gain, memory, action, total, left, n_steps)
        owner[lane] = waiting
        waiting += 1
        running += 1
    while running > 0:
        observe(state, inputs)
        for k in range(OBSERVED, sensors):
            for lane in range(LANES):
                inputs[k, lane] = extra[
                    max(owner[lane], 0), n_steps - int(left[lane]), k - OBSERVED
                ]
        if neurons:
            remember(gates, inputs, action, memory[now], memory[0], memory[3 - now])
            now = 3 - now
            attend(layer, readout, inputs, memory[now], gain, code, action)
        else:
            react(layer, readout, inputs, action)
        made += running
        if advance(state, inputs, action, floor, total, left, done) > ZERO:
            for lane in range(LANES):
                if done[lane] == ZERO:
                    continue
                if owner[lane] >= 0:
                    returns[owner[lane]] = total[lane]
                    running -= 1
                    owner[lane] = -1
                if waiting < episodes:
                    owner[lane] = waiting
                    running += 1
                    waiting += 1
                start = starts[max(owner[lane], 0)]  # an idle lane plays on, unheard
                seat(lane, start, state, floor, gain, memory, action, total, left, n_steps)
    return made


@njit(parallel=True, **OPTIONS)
def run_candidates(neurons, gates, layer, readout, starts, extra, n_steps, returns, made):
    """Every candidate in the same episodes.

    **Arguments:**

    - `neurons`: whether the candidates are sensory neurons (else two-layer networks).
    - `gates`: (candidates, HIDDEN, 4, HIDDEN + 3), ordered i f g o; unused without neurons.
    - `layer`: (candidates, slots, HIDDEN + 1) scores, or (candidates, units, OBSERVED + 1) weights.
    - `readout`: (candidates, slots or units, + 1 for the bias).
    - `extra`: (episodes, steps, sensors) what sensors beside the world's own read.
    - `starts`: (episodes, 6) state, lowest cos theta, gain on the code; `returns`: (candidates, episodes).
    - `made`: (candidates,) steps taken.
    """
    for index in prange(layer.shape[0]):
        made[index] = run_candidate(
            neurons,
            gates[index],
            layer[index],
            readout[index],
            starts,
            extra,
            n_steps,
            returns[index],
        )
