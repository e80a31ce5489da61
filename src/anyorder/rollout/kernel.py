"""A compiled loop over whole episodes, many of them side by side in the processor's vector lanes.

Each candidate keeps up to LANES episodes in flight, stored with the lane innermost so that every loop
over lanes becomes vector code. A lane whose episode ends takes the next one that waits: with starts that
nobody can save, that alone nearly doubles the speed. Where none waits any more, those still playing move
together. Neurons lie densely for that, `seats` lanes for each sensor one after the other, in CHUNKs.
"""

from __future__ import annotations

import inspect
import math

import numpy as np
from numba import njit, prange

from anyorder.envs.cartpole import X_LIMIT, dynamics
from anyorder.rollout.simd import HALF, ONE, OPTIONS, ZERO, F, fast_cos, fast_sin, fast_tanh, wrap

LANES = 16
CHUNK = 16
HIDDEN = 8
"""LSTM units the kernel is compiled for."""
OBSERVED = 5

X_END, X_TO_ANGLE = F(X_LIMIT), F(math.pi / 2 / X_LIMIT)
advance_world = njit(inline="always", **OPTIONS)(inspect.unwrap(dynamics(F)))


@njit(**OPTIONS)
def remember(gates, readings, told, h, c, h_new):
    """Advance the LSTM cell of every neuron; sigmoids come as halved arguments of tanh."""
    for n in range(readings.shape[0]):
        for j in range(HIDDEN):
            w = gates[j]
            for lane in range(CHUNK):
                i = w[0, 10] + w[0, 8] * readings[n, lane] + w[0, 9] * told[n, lane]
                f = w[1, 10] + w[1, 8] * readings[n, lane] + w[1, 9] * told[n, lane]
                g = w[2, 10] + w[2, 8] * readings[n, lane] + w[2, 9] * told[n, lane]
                o = w[3, 10] + w[3, 8] * readings[n, lane] + w[3, 9] * told[n, lane]
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
def attend(scores, readout, readings, h, seats, sensors, gain, said, code, action):
    """The code gain * tanh(scores) @ readings, slot by slot, and the action read out of it."""
    slots = scores.shape[0]
    flat = said.reshape(said.size)
    for lane in range(LANES):
        action[lane] = readout[slots]
    for m in range(slots):
        for n in range(readings.shape[0]):
            for lane in range(CHUNK):
                s = scores[m, HIDDEN]
                for k in range(HIDDEN):
                    s += scores[m, k] * h[n, k, lane]
                said[n, lane] = fast_tanh(s) * readings[n, lane]
        for lane in range(LANES):
            code[lane] = ZERO
        for n in range(sensors):
            for lane in range(seats):
                code[lane] += flat[n * seats + lane]
        for lane in range(LANES):
            action[lane] += readout[m] * fast_tanh(gain[lane] * code[lane])
    for lane in range(LANES):
        action[lane] = fast_tanh(action[lane])


@njit(**OPTIONS)
def tell(inputs, action, seats, readings, told):
    """Lay what sensors read and the last action out as the neurons lie."""
    read, heard = readings.reshape(readings.size), told.reshape(told.size)
    for n in range(inputs.shape[0]):
        for lane in range(seats):
            read[n * seats + lane] = inputs[n, lane]
            heard[n * seats + lane] = action[lane]


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
def seat(lane, start, state, floor, gain, action, total, left, n_steps, memory, seats, sensors):
    """Begin an episode in a lane."""
    state[0, lane], state[1, lane] = start[0], start[1]
    state[2, lane], state[3, lane] = wrap(start[2]), start[3]
    floor[lane], gain[lane] = start[4], start[5]
    action[lane] = ZERO
    total[lane] = ZERO
    left[lane] = F(n_steps)
    for n in range(sensors):
        place = n * seats + lane
        memory[:, place // CHUNK, :, place % CHUNK] = ZERO


@njit(**OPTIONS)
def leave(lane, state, floor, gain, action, total, left, owner, memory, seats, sensors):
    """Take a lane away: the last one moves into it, and all neurons move together."""
    last = seats - 1
    for each in (floor, gain, action, total, left):
        each[lane] = each[last]
    owner[lane] = owner[last]
    state[:, lane] = state[:, last]
    for n in range(sensors):
        for to in range(last):
            old = n * seats + (last if to == lane else to)
            new = n * last + to  # never after a place that is still to be read
            memory[:, new // CHUNK, :, new % CHUNK] = memory[:, old // CHUNK, :, old % CHUNK]


@njit(**OPTIONS)
def run_candidate(neurons, gates, layer, readout, starts, extra, n_steps, returns):
    """All episodes of one candidate; fills in their returns and says how many steps they took."""
    episodes = starts.shape[0]
    sensors, seats = OBSERVED + extra.shape[2], min(episodes, LANES)
    state, inputs = np.zeros((4, LANES), F), np.zeros((sensors, LANES), F)
    chunks = -(-sensors * seats // CHUNK)
    memory = np.zeros((3, chunks, HIDDEN, CHUNK), F)  # c, and h before and after the step
    readings, told = np.zeros((chunks, CHUNK), F), np.zeros((chunks, CHUNK), F)
    said = np.zeros((chunks, CHUNK), F)
    action, total, left = np.zeros(LANES, F), np.zeros(LANES, F), np.zeros(LANES, F)
    floor, gain = np.zeros(LANES, F), np.zeros(LANES, F)
    done, code, owner = np.zeros(LANES, F), np.zeros(LANES, F), np.arange(LANES)
    waiting, made, now = seats, 0, 1
    for lane in range(seats):
        seat(
            lane, starts[lane], state, floor, gain, action, total, left, n_steps, memory, seats, sensors
        )  # fmt: skip
    while seats > 0:
        observe(state, inputs)
        for k in range(OBSERVED, sensors):
            for lane in range(seats):
                inputs[k, lane] = extra[owner[lane], n_steps - int(left[lane]), k - OBSERVED]
        if neurons:
            chunks = -(-sensors * seats // CHUNK)
            tell(inputs, action, seats, readings, told)
            h, c, h_new = memory[now, :chunks], memory[0, :chunks], memory[3 - now, :chunks]
            remember(gates, readings[:chunks], told, h, c, h_new)
            now = 3 - now
            attend(
                layer, readout, readings[:chunks], h_new, seats, sensors, gain, said, code, action
            )
        else:
            react(layer, readout, inputs, action)
        made += seats
        if advance(state, inputs, action, floor, total, left, done) > ZERO:
            for lane in range(seats - 1, -1, -1):
                if done[lane] == ZERO:
                    continue
                returns[owner[lane]] = total[lane]
                if waiting < episodes:
                    owner[lane] = waiting
                    start = starts[waiting]
                    seat(
                        lane, start, state, floor, gain, action, total, left, n_steps, memory, seats,
                        sensors,
                    )  # fmt: skip
                    waiting += 1
                else:
                    leave(
                        lane, state, floor, gain, action, total, left, owner, memory, seats, sensors
                    )
                    seats -= 1
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
