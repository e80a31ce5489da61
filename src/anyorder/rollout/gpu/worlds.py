"""Worlds on the lanes of a GPU."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from anyorder.envs.cartpole import X_LIMIT, advance, reward_from
from anyorder.rollout.gpu.lanes import Arithmetic, Lanes


class AbstractWorldLanes(abc.ABC):
    """A world whose episodes a kernel plays."""

    numbers: int
    """How many an episode starts from."""

    @abc.abstractmethod
    def enter(self, start: list[Lanes], maths: Arithmetic) -> Any:
        """The state at the start."""

    @abc.abstractmethod
    def observe(self, state: Any) -> list[Lanes]:
        """What each sensor reads."""

    @abc.abstractmethod
    def step(self, state: Any, action: Lanes, maths: Arithmetic) -> tuple[Any, Lanes, Lanes]:
        """Next state, reward, and whether the episode is over."""

    @abc.abstractmethod
    def prospects(self, starts: Float[Array, "episodes numbers"]) -> Float[Array, " episodes"]:
        """Larger for episodes that may last longer: those alike are played side by side."""

    @abc.abstractmethod
    def nowhere(self) -> Float[Array, " numbers"]:
        """A start whose episode ends after one step."""


@dataclass(frozen=True)
class CartPoleLanes(AbstractWorldLanes):
    """CartPoleSwingUpHarder, started from x, x', theta, theta' and the lowest cos theta."""

    numbers = 5
    brake = 20.0
    """Twice what the cart slows down by per second: v^2 / brake is the way it needs to stop."""

    def enter(self, start, maths):
        x, x_dot, theta, theta_dot, floor = start
        theta = _wrap(theta)
        return x, x_dot, theta, theta_dot, maths.sin(theta), maths.cos(theta), floor

    def observe(self, state):
        x, x_dot, _, theta_dot, sin, cos, _ = state
        return [x, x_dot, cos, sin, theta_dot]

    def step(self, state, action, maths):
        x, x_dot, theta, theta_dot, sin, cos, floor = state
        x, x_dot, theta, theta_dot = advance(x, x_dot, theta, theta_dot, sin, cos, action)
        theta = _wrap(theta)
        sin, cos = maths.sin(theta), maths.cos(theta)
        reward = reward_from(cos, maths.cos(x * (math.pi / 2 / X_LIMIT)))
        over = (jnp.abs(x) > X_LIMIT) | (cos < floor)
        return (x, x_dot, theta, theta_dot, sin, cos, floor), reward, over

    def prospects(self, starts):
        x, x_dot = starts[:, 0], starts[:, 1]
        return X_LIMIT - jnp.abs(x + x_dot * jnp.abs(x_dot) / self.brake)

    def nowhere(self):
        return jnp.array([2 * X_LIMIT, 0.0, 0.0, 0.0, 2.0])


def _wrap(angle: Lanes) -> Lanes:
    """Bring an angle within a turn of it back to [-pi, pi]."""
    angle = jnp.where(angle > math.pi, angle - 2 * math.pi, angle)
    return jnp.where(angle < -math.pi, angle + 2 * math.pi, angle)
