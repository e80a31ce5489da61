"""Value iteration on a grid of states, from coarse grids to fine ones.

A sweep sets the value of every node to the best of a few pushes, each held for some steps of the
world's own dynamics: the rewards on the way plus the value where they lead, interpolated linearly
along all four axes. Leaving the track is worth nothing.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence

import numpy as np
from numba import njit, prange

from anyorder.envs.cartpole import X_LIMIT, dynamics
from anyorder.oracle.grid import Level, Progress, nodes, placing
from anyorder.rollout.simd import HALF, ONE, OPTIONS, TWO_PI, ZERO, F, fast_cos, fast_sin, wrap

X_END, X_TO_ANGLE = F(X_LIMIT), F(math.pi / 2 / X_LIMIT)
PER_TURN = F(0.5 / math.pi)
PUSHES = np.array([-1.0, 0.0, 1.0], F)
"""The pushes a sweep chooses from: more than the extremes are of use only where the pole balances."""

inlined = njit(inline="always", **OPTIONS)
advance_world = inlined(inspect.unwrap(dynamics(F)))
place = inlined(placing(F))


@inlined
def between(table, x, speed, theta, spin):
    """The table's value at fractions of the way along its axes, linear between nodes."""
    a = min(max(x, ZERO), ONE) * F(table.shape[0] - 1)
    b = min(max(speed, ZERO), ONE) * F(table.shape[1] - 1)
    c = min(max(theta, ZERO), ONE) * F(table.shape[2] - 1)
    d = min(max(spin, ZERO), ONE) * F(table.shape[3] - 1)
    i, j = min(int(a), table.shape[0] - 2), min(int(b), table.shape[1] - 2)
    k, m = min(int(c), table.shape[2] - 2), min(int(d), table.shape[3] - 2)
    a, b, c, d = a - F(i), b - F(j), c - F(k), d - F(m)
    total = ZERO
    for p in range(2):
        weight_x = a if p else ONE - a
        for q in range(2):
            weight_speed = weight_x * (b if q else ONE - b)
            for r in range(2):
                weight = weight_speed * (c if r else ONE - c)
                low, high = table[i + p, j + q, k + r, m], table[i + p, j + q, k + r, m + 1]
                total += weight * (low + d * (high - low))
    return total


@inlined
def value_at(table, x, x_dot, theta, theta_dot):
    """The value of any state; theta may have gone around."""
    if abs(x) > X_END:
        return ZERO
    side = ONE if x >= ZERO else -ONE
    theta = side * (theta - TWO_PI * F(round(theta * PER_TURN)))
    a, b, c, d = place(side * x, side * x_dot, theta, fast_sin(theta), side * theta_dot)
    return between(table, a, b, c, d)


@njit(**OPTIONS)
def sweep_row(table, better, i, j, xs, speeds, thetas, spins, pushes, hold, discount):
    """The new values of all nodes with one x and one x', the nodes of theta' side by side."""
    lanes = spins.shape[0]
    x, x_dot = np.empty(lanes, F), np.empty(lanes, F)
    theta, theta_dot = np.empty(lanes, F), np.empty(lanes, F)
    total, weight, best = np.empty(lanes, F), np.empty(lanes, F), np.empty(lanes, F)
    for k in range(thetas.shape[0] - 1):
        best[:] = ZERO
        for push in pushes:
            for lane in range(lanes):
                x[lane], x_dot[lane] = xs[i], speeds[j]
                theta[lane], theta_dot[lane] = thetas[k], spins[lane]
                total[lane], weight[lane] = ZERO, ONE
            for _ in range(hold):
                for lane in range(lanes):
                    angle = theta[lane]
                    x_, x_dot_, angle, theta_dot_ = advance_world(
                        x[lane], x_dot[lane], angle, theta_dot[lane],
                        fast_sin(angle), fast_cos(angle), push,
                    )  # fmt: skip
                    angle = wrap(angle)
                    x[lane], x_dot[lane], theta[lane], theta_dot[lane] = (
                        x_,
                        x_dot_,
                        angle,
                        theta_dot_,
                    )
                    reward = HALF * (fast_cos(angle) + ONE) * fast_cos(x_ * X_TO_ANGLE)
                    weight[lane] = ZERO if abs(x_) > X_END else weight[lane]
                    total[lane] += weight[lane] * reward
                    weight[lane] *= discount
            for lane in range(lanes):
                if weight[lane] > ZERO:
                    ahead = value_at(table, x[lane], x_dot[lane], theta[lane], theta_dot[lane])
                    total[lane] += weight[lane] * ahead
                best[lane] = max(best[lane], total[lane])
        better[i, j, k] = best
    better[i, j, thetas.shape[0] - 1] = better[i, j, 0]


@njit(parallel=True, **OPTIONS)
def sweep(table, better, xs, speeds, thetas, spins, pushes, hold, discount):
    """One sweep: fills `better` from `table`."""
    for row in prange(xs.shape[0] * speeds.shape[0]):
        i, j = row // speeds.shape[0], row % speeds.shape[0]
        sweep_row(table, better, i, j, xs, speeds, thetas, spins, pushes, hold, discount)


@njit(parallel=True, **OPTIONS)
def resample(table, finer, xs, speeds, thetas, spins):
    """Fills `finer` with the values of `table` at its nodes."""
    for i in prange(xs.shape[0]):
        for j in range(speeds.shape[0]):
            for k in range(thetas.shape[0]):
                for m in range(spins.shape[0]):
                    finer[i, j, k, m] = value_at(table, xs[i], speeds[j], thetas[k], spins[m])


def iterate(
    levels: Sequence[Level], discount: float, *, progress: Progress = lambda share: None
) -> np.ndarray:
    """The value table of the last level; `discount` is per step."""
    work = [level.sweeps * math.prod(level.shape) * (level.hold + 3) for level in levels]
    done, table = 0.0, np.zeros((2, 2, 2, 2), F)
    progress(0.0)
    for level, cost in zip(levels, work, strict=True):
        axes = nodes(level.shape)
        finer = np.zeros([axis.size for axis in axes], F)
        resample(table, finer, *axes)
        table, better = finer, np.empty_like(finer)
        for _ in range(level.sweeps):
            sweep(table, better, *axes, PUSHES, level.hold, F(discount))
            table, better = better, table
            done += cost / level.sweeps
            progress(done / sum(work))
    return table
