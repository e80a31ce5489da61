"""Whom an agent that lives on the host attends to, and whether its attention follows sensors that move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from anyorder.evaluation.host_episodes import acted
from anyorder.evaluation.host_orders import Observations
from anyorder.evaluation.subject import Attends, AuditSubject

STEPS, ORDERS = 100, 12
"""Steps of one episode that are shown again, and in how many orders."""


@dataclass(frozen=True)
class HostAttention:
    """Attention of one episode."""

    by_sensor: Float[np.ndarray, " sensors"]
    """Share of all attention, whatever its sign, that each sensor gets."""
    worst: float
    """The largest change of a weight when sensors come in another order from the start, sensor by sensor."""
    orders: int

    def as_json(self) -> dict[str, Any]:
        return {
            "by_sensor": self.by_sensor.round(4).tolist(),
            "worst": float(f"{self.worst:.4g}"),
            "orders": self.orders,
        }


def host_attention(
    subject: AuditSubject, seen: Observations, orders: Int[np.ndarray, "orders sensors"]
) -> HostAttention | None:
    """The attention of an agent that can show it."""
    if not isinstance(subject, Attends):
        return None
    episode, some = seen[0][:STEPS], orders[:ORDERS]
    straight = _weights(subject, episode)
    worst = max(
        (
            float(np.abs(_weights(subject, episode[:, order]) - straight[:, :, order]).max())
            for order in some
        ),
        default=0.0,
    )
    paid = np.abs(straight).sum(axis=(0, 1))
    return HostAttention(paid / max(float(paid.sum()), 1e-12), worst, len(some))


def _weights(
    subject: AuditSubject, episode: Float[np.ndarray, "steps sensors"]
) -> Float[np.ndarray, "steps slots sensors"]:
    assert isinstance(subject, Attends)
    subject.reset(episode.shape[1])
    weights = []
    for observation in episode:
        acted(subject, observation)
        weights.append(np.asarray(subject.attention(), dtype=float))
    return np.stack(weights)
