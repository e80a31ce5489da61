"""Where a state lies among the nodes of the value table.

The world is its own mirror image in x = 0, so the table holds x >= 0 only. Nodes are closer where
values bend: at small velocities and near upright. The angle goes around: its last plane of nodes
repeats the first. The arithmetic serves JAX arrays, NumPy arrays and compiled kernels alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyorder.envs.cartpole import X_LIMIT

SPEED_END, SPEED_BEND = 12.0, 6.0
"""Largest x' of the table, and the x' at which nodes are four times as far apart as at rest."""
SPIN_END, SPIN_BEND = 16.0, 8.0
"""The same for theta'."""
UPRIGHT = 0.4
"""Nodes of theta are (1 + UPRIGHT) / (1 - UPRIGHT) times as close at the top as at the bottom."""

Shape = tuple[int, int, int, int]
"""Nodes along x (from 0 to the end of the track), x', theta (around the circle) and theta'."""

Progress = Callable[[float], object]
"""Told the share of the work that is done."""


@dataclass(frozen=True)
class Level:
    """Some sweeps over one grid."""

    shape: Shape
    """Nodes along x, x', theta, theta'."""
    hold: int
    """Steps a push is held for."""
    sweeps: int


def placing(number: Callable[[float], Any] = float) -> Callable:
    """`place(x, x_dot, theta, sin, theta_dot)`: fractions of the way through the table, axis by axis.

    For x >= 0 and theta in [-pi, pi]; `sin` is that of theta. Velocities beyond the table come out
    below 0 or above 1. Constants are of the type `number`, as a kernel in single precision needs.
    """
    half = number(0.5)
    per_x, per_turn, upright = number(1 / X_LIMIT), number(0.5 / math.pi), number(UPRIGHT)
    speed_bend, per_speed = number(SPEED_BEND), number((SPEED_END + SPEED_BEND) / SPEED_END / 2)
    spin_bend, per_spin = number(SPIN_BEND), number((SPIN_END + SPIN_BEND) / SPIN_END / 2)

    def place(x, x_dot, theta, sin, theta_dot):
        return (
            x * per_x,
            half + per_speed * x_dot / (speed_bend + abs(x_dot)),
            half + per_turn * (theta + upright * sin),
            half + per_spin * theta_dot / (spin_bend + abs(theta_dot)),
        )

    return place


def nodes(shape: Shape) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The states at the nodes: x, x', theta (with the repeated plane) and theta'."""
    n_x, n_speed, n_theta, n_spin = shape
    return (
        np.linspace(0.0, X_LIMIT, n_x, dtype=np.float32),
        _velocities(n_speed, SPEED_END, SPEED_BEND),
        _angles(n_theta),
        _velocities(n_spin, SPIN_END, SPIN_BEND),
    )


def _velocities(count: int, end: float, bend: float) -> np.ndarray:
    ratio = np.linspace(-1.0, 1.0, count) * end / (end + bend)
    return (bend * ratio / (1 - np.abs(ratio))).astype(np.float32)


def _angles(count: int) -> np.ndarray:
    """Angles at which theta + UPRIGHT sin(theta) goes up in equal steps, by Newton's method."""
    target = np.linspace(-math.pi, math.pi, count + 1)
    theta = target.copy()
    for _ in range(30):
        error = theta + UPRIGHT * np.sin(theta) - target
        theta -= error / (1 + UPRIGHT * np.cos(theta))
    return theta.astype(np.float32)
