"""Does a fixed order of the sensors change what the agent does? Tried with every order there is, if few."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from anyorder.evaluation.estimate import Estimate, estimate
from anyorder.evaluation.precision import double_precision, doubled
from anyorder.evaluation.shadows import Footage, in_order, shadow
from anyorder.policies import AbstractPolicy

ALL_UP_TO = 6
"""Sensors up to which every order is tried: 720 orders."""
SOME = 120
"""Orders tried where there are more sensors."""


@dataclass(frozen=True)
class OrdersAudit:
    """The worst any order did, along real episodes; intervals over episodes of each one's worst."""

    orders: int
    exhaustive: bool
    steps: int
    """Of all episodes, each shown in every order."""
    action: dict[str, Estimate]
    """By precision, float32 and float64: change of the action."""
    code: dict[str, Estimate]
    """Change of the code; empty for a policy without neurons, whose code is what it reads."""
    worst_action: float
    """In float64, over everything."""
    worst_code: float


def orders_of(n_sensors: int, rng: np.random.Generator) -> Int[np.ndarray, "orders sensors"]:
    """Every order of a few sensors, or a sample of the orders of many; the world's own comes first."""
    if n_sensors <= ALL_UP_TO:
        return np.array(list(itertools.permutations(range(n_sensors))))
    some = [rng.permutation(n_sensors) for _ in range(SOME)]
    return np.array([np.arange(n_sensors), *some])


def audit_orders(
    policy: AbstractPolicy, footage: Footage, *, has_code: bool, rng: np.random.Generator
) -> OrdersAudit:
    """Show the episodes to the policy in many orders, in single and in double precision."""
    orders = orders_of(footage.sensors.shape[2], rng)
    n_orders = len(orders)
    alive = footage.alive[None]
    found = {}
    for precision in ("float32", "float64"):
        if precision == "float64":
            with double_precision():
                gaps = _gaps(doubled(policy), doubled(footage), orders)
        else:
            gaps = _gaps(policy, footage, orders)
        # The reference is the policy in the world's own order, in the same precision.
        found[precision] = [np.where(alive, gap, 0).max(axis=(0, 2)) for gap in gaps]
    code, action = found["float64"]
    return OrdersAudit(
        orders=n_orders,
        exhaustive=n_orders == math.factorial(footage.sensors.shape[2]),
        steps=int(footage.lengths.sum()),
        action={name: estimate(gaps[1]) for name, gaps in found.items()},
        code={name: estimate(gaps[0]) for name, gaps in found.items()} if has_code else {},
        worst_action=float(action.max()),
        worst_code=float(code.max()) if has_code else math.nan,
    )


def _gaps(
    policy: AbstractPolicy, footage: Footage, orders: Int[np.ndarray, "orders sensors"]
) -> tuple[np.ndarray, np.ndarray]:
    """Changes of code and action from the world's own order, per order and episode, then per step."""
    n_episodes = footage.n_episodes
    rows, columns = np.divmod(np.arange(len(orders) * n_episodes), n_episodes)
    seen = shadow(policy, footage.take(columns), in_order(orders[rows]), whole=False)

    def gaps(found):  # the first order is the world's own
        split = found.reshape(len(orders), n_episodes, found.shape[1], -1)
        return np.abs(split - split[0]).max(axis=3)

    return gaps(seen.code), gaps(seen.action)
