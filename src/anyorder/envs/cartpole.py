"""CartPoleSwingUpHarder: swing a pole up from fast, far-flung starts and keep it up in the middle.

After Freeman, Ha and Metz (2019), with the wider starts of Tang and Ha (2021). The arithmetic is
plain, so that one definition serves JAX arrays, compiled kernels and Python floats alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from anyorder.envs.base import AbstractEnv, Step
from anyorder.sensors import Sensors

X_LIMIT = 2.4
N_STEPS = 1000
START_CENTRE = (0.0, 0.0, math.pi, 0.0)
START_SPREAD = (2.4, 10.0, math.pi / 2, 10.0)

EXERCISE_SPREAD = (1.2, 1.0, 0.3, 1.0)
"""Balancing, as an exercise: starts this far from upright in the middle ..."""
EXERCISE_FLOOR = 0.3
"""... and ends as soon as cos theta falls below this."""
NO_FLOOR = -2.0


def dynamics(number: Callable[[float], Any] = float) -> Callable:
    """One explicit Euler step, `advance(x, x_dot, theta, theta_dot, sin, cos, push)`.

    Positions move with the old velocities; `sin` and `cos` are those of theta (0 is up) and `push`
    is within [-1, 1]. Its constants are of the type `number`, as a kernel in single precision needs.
    """
    dt, gravity, friction, force = 0.01, 9.82, 0.1, 10.0
    pole_mass, total_mass, length = 0.5, 1.0, 0.6
    moment = pole_mass * length
    dt_, friction_, force_ = number(dt), number(friction), number(force)
    swing_x, gravity_x, push_x = number(-2 * moment), number(3 * pole_mass * gravity), number(4)
    inertia_x, coupling_x = number(4 * total_mass), number(3 * pole_mass)
    swing_t, gravity_t, push_t = number(-3 * moment), number(6 * total_mass * gravity), number(6)
    inertia_t, coupling_t = number(4 * length * total_mass), number(3 * moment)

    def advance(x, x_dot, theta, theta_dot, sin, cos, push):
        effort = force_ * push - friction_ * x_dot
        spin = theta_dot * theta_dot * sin
        x_ddot = (swing_x * spin + gravity_x * sin * cos + push_x * effort) / (
            inertia_x - coupling_x * cos * cos
        )
        theta_ddot = (swing_t * spin * cos + gravity_t * sin + push_t * effort * cos) / (
            inertia_t - coupling_t * cos * cos
        )
        return (
            x + dt_ * x_dot,
            x_dot + dt_ * x_ddot,
            theta + dt_ * theta_dot,
            theta_dot + dt_ * theta_ddot,
        )

    return advance


advance = dynamics()


def reward_from(cos_theta, cos_x):
    """1 for a pole upright in the middle; `cos_x` is the cosine of x / X_LIMIT * pi / 2."""
    return (cos_theta + 1) / 2 * cos_x


class CartPoleState(eqx.Module):
    """Positions and velocities, the steps taken, and the cos theta below which the episode ends."""

    x: Float[Array, ""]
    x_dot: Float[Array, ""]
    theta: Float[Array, ""]
    theta_dot: Float[Array, ""]
    time: Int[Array, ""]
    floor: Float[Array, ""]


class CartPoleSwingUpHarder(AbstractEnv):
    """Five sensors (x, x', cos theta, sin theta, theta'), one action: a push in [-1, 1]."""

    practice: Float[Array, ""] | None = None
    """Share of episodes that are an exercise in balancing; None for the world as it is tested."""

    @property
    def n_sensors(self) -> int:
        return 5

    @property
    def n_actions(self) -> int:
        return 1

    @property
    def n_steps(self) -> int:
        return N_STEPS

    def reset(self, key: PRNGKeyArray) -> Step:
        noise = jax.random.uniform(key, (4,), minval=-1.0, maxval=1.0)
        start, floor = (
            jnp.array(START_CENTRE) + noise * jnp.array(START_SPREAD),
            jnp.array(NO_FLOOR),
        )
        if self.practice is not None:
            exercise = jax.random.uniform(jax.random.fold_in(key, 2)) < self.practice
            start = jnp.where(exercise, noise * jnp.array(EXERCISE_SPREAD), start)
            floor = jnp.where(exercise, EXERCISE_FLOOR, floor)
        x, x_dot, theta, theta_dot = start
        return self._observe(CartPoleState(x, x_dot, theta, theta_dot, jnp.zeros((), int), floor))

    def practising(self, share: Float[Array, ""]) -> CartPoleSwingUpHarder:
        return CartPoleSwingUpHarder(share)

    def step(
        self, state: CartPoleState, action: Float[Array, " actions"], *, key: PRNGKeyArray
    ) -> Step:
        push = jnp.clip(action[0], -1.0, 1.0)
        moved = advance(
            state.x, state.x_dot, state.theta, state.theta_dot,
            jnp.sin(state.theta), jnp.cos(state.theta), push,
        )  # fmt: skip
        x, x_dot, theta, theta_dot = moved
        time = state.time + 1
        return self._observe(CartPoleState(x, x_dot, theta, theta_dot, time, state.floor))

    def _observe(self, state: CartPoleState) -> Step:
        cos, sin = jnp.cos(state.theta), jnp.sin(state.theta)
        return Step(
            state=state,
            sensors=Sensors.of(jnp.stack([state.x, state.x_dot, cos, sin, state.theta_dot])),
            reward=reward_from(cos, jnp.cos(state.x / X_LIMIT * (math.pi / 2))),
            terminated=(jnp.abs(state.x) > X_LIMIT) | (cos < state.floor),
            truncated=state.time >= self.n_steps,
        )
