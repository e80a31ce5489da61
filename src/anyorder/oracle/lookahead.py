"""What the oracle does, compiled for many states at once on the processor."""

from __future__ import annotations

from numba import njit, prange

from anyorder.oracle.iteration import (
    PER_TURN,
    X_END,
    X_TO_ANGLE,
    advance_world,
    inlined,
    value_at,
)
from anyorder.rollout.simd import HALF, ONE, OPTIONS, TWO_PI, ZERO, F, fast_cos, fast_sin, wrap

TWO = F(2)


@inlined
def turned(theta):
    """An angle in [-pi, pi], whatever turns it has made."""
    return theta - TWO_PI * F(round(theta * PER_TURN))


@njit(**OPTIONS)
def worth(table, x, x_dot, theta, theta_dot, push, hold, discount):
    """Discounted rewards of holding a push for some steps and doing the best from there."""
    total, weight = ZERO, ONE
    for _ in range(hold):
        x, x_dot, theta, theta_dot = advance_world(
            x, x_dot, theta, theta_dot, fast_sin(theta), fast_cos(theta), push
        )
        theta = wrap(theta)
        if abs(x) > X_END:
            return total
        total += weight * HALF * (fast_cos(theta) + ONE) * fast_cos(x * X_TO_ANGLE)
        weight *= discount
    return total + weight * value_at(table, x, x_dot, theta, theta_dot)


@njit(parallel=True, **OPTIONS)
def push_each(table, states, hold, discount, flatness, found):
    """Fills `found` with the push for every state: the top of the parabola through three pushes."""
    for n in prange(states.shape[0]):
        x, x_dot, theta_dot = states[n, 0], states[n, 1], states[n, 3]
        theta = turned(states[n, 2])
        left = worth(table, x, x_dot, theta, theta_dot, -ONE, hold, discount)
        none = worth(table, x, x_dot, theta, theta_dot, ZERO, hold, discount)
        right = worth(table, x, x_dot, theta, theta_dot, ONE, hold, discount)
        curvature = max(TWO * none - left - right, ZERO) + flatness
        found[n] = max(min((right - left) / (TWO * curvature), ONE), -ONE)
