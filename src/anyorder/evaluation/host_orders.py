"""What other orders of its sensors do to the actions of an agent that lives on the host.

Nothing is played here: observations recorded in the undisturbed world are shown again in other orders, so
whatever changes in the actions is due to the order alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from anyorder.evaluation.host_episodes import ActsOnMany, Treatment, acted
from anyorder.evaluation.orders import orders_of
from anyorder.evaluation.subject import AuditSubject, Remembers, permuted

SWAPPED = 16
"""Up to so many sensors, every pair is swapped, to see which are told apart."""
BUDGET, ALONE_BUDGET = 400_000, 40_000
"""Actions asked for in all, of an agent that acts on many observations at once and of one that does not."""
TOLERANCE = 1e-4
"""Actions further apart than this share of the largest are different: rounding does not reach it."""
TIES = 1e-4
"""Share of choices that rounding may decide."""
BATCH = 8192

Observations = Sequence[Float[np.ndarray, "_ sensors"]]
"""What an agent saw in some episodes."""


@dataclass(frozen=True)
class Change:
    """How far actions moved, over many orders."""

    orders: int
    actions: int
    """Actions compared."""
    share: float
    """Of actions that changed."""
    worst: float
    """The largest change: a difference of numbers, or 1 for another choice."""
    mean: float
    by_order: Float[np.ndarray, " orders"]
    """Share of actions changed under each order."""
    choices: bool
    """Whether actions are choices, which change or do not."""

    @property
    def unchanged(self) -> bool:
        """Whether no order matters; a rare choice may be a tie that rounding decides."""
        return self.share <= (TIES if self.choices else 0)

    def as_json(self) -> dict[str, float | int]:
        return {
            "orders": self.orders,
            "actions": self.actions,
            "changed": round(self.share, 6),
            "worst_action": float(f"{self.worst:.4g}"),
            "mean_action": float(f"{self.mean:.4g}"),
        }


def orders_to_try(n_sensors: int, rng: np.random.Generator) -> Int[np.ndarray, "orders sensors"]:
    """Every order but the usual one, or a sample of them where there are too many."""
    orders = orders_of(n_sensors, rng)
    return orders[(orders != np.arange(n_sensors)).any(axis=1)]


def swaps(n_sensors: int) -> Int[np.ndarray, "pairs sensors"]:
    """The orders in which two sensors change places."""
    pairs = list(itertools.combinations(range(n_sensors), 2))
    orders = np.tile(np.arange(n_sensors), (len(pairs), 1))
    for order, (one, other) in zip(orders, pairs, strict=True):
        order[[one, other]] = other, one
    return orders


def affordable(subject: AuditSubject, seen: Observations, n_orders: int) -> Observations:
    """As much of the beginning of each episode as can be shown again in so many orders."""
    budget = BUDGET if isinstance(subject, ActsOnMany) else ALONE_BUDGET
    share = budget // max(1, (n_orders + 2) * len(seen))
    return [episode[: max(8, share)] for episode in seen]


Tell = Callable[[int], None]
"""Is told how many orders have been tried so far."""


def change_of_actions(
    subject: AuditSubject,
    seen: Observations,
    orders: Int[np.ndarray, "orders sensors"],
    *,
    midway: bool = False,
    memory: Treatment = "kept",
    tell: Tell = lambda done: None,
) -> Change:
    """Show what was seen again, from the start or from the middle of each episode on in another order.

    At the change, memory is kept, reset, or permuted along with the sensors; what the agent did undisturbed
    is what it is compared with.
    """
    usual = np.arange(seen[0].shape[1])
    actions = np.concatenate(_answers(subject, seen, usual, False, "kept"))
    choices = actions.dtype.kind in "iub"
    scale = 1.0 if choices else max(1.0, float(np.abs(actions).max()))
    moved = np.empty((len(orders), len(actions)))
    for index, order in enumerate(orders):
        others = np.concatenate(_answers(subject, seen, order, midway, memory))
        difference = others != actions if choices else np.abs(others - actions) / scale
        moved[index] = difference.reshape(len(actions), -1).max(axis=1)
        tell(index + 1)
    if midway:
        moved = moved[:, np.concatenate([_after_middle(len(episode)) for episode in seen])]
    changed: Bool[np.ndarray, "orders actions"] = moved > TOLERANCE
    return Change(
        orders=len(orders),
        actions=moved.size,
        share=float(changed.mean()),
        worst=float(moved.max() * scale),
        mean=float(moved.mean() * scale),
        by_order=changed.mean(axis=1),
        choices=choices,
    )


def repeats_itself(subject: AuditSubject, seen: Observations) -> bool:
    """Whether the same observations after the same reset give the same actions."""
    usual = np.arange(seen[0].shape[1])
    once, again = (np.concatenate(_answers(subject, seen, usual, False, "kept")) for _ in range(2))
    return bool(np.allclose(once, again, atol=TOLERANCE * max(1.0, float(np.abs(once).max()))))


def swap_matrix(
    subject: AuditSubject, seen: Observations, tell: Tell = lambda done: None
) -> Float[np.ndarray, "sensors sensors"] | None:
    """The share of actions that change when two sensors change places; None for too many sensors."""
    n_sensors = seen[0].shape[1]
    if not 2 <= n_sensors <= SWAPPED:
        return None
    orders = swaps(n_sensors)
    change = change_of_actions(subject, affordable(subject, seen, len(orders)), orders, tell=tell)
    matrix = np.zeros((n_sensors, n_sensors))
    rows, columns = np.triu_indices(n_sensors, 1)
    matrix[rows, columns] = matrix[columns, rows] = change.by_order
    return matrix


def _after_middle(steps: int) -> Bool[np.ndarray, " steps"]:
    return np.arange(steps) >= steps // 2


def _answers(
    subject: AuditSubject,
    seen: Observations,
    order: Int[np.ndarray, " sensors"],
    midway: bool,
    memory: Treatment,
) -> list[np.ndarray]:
    """The actions of each episode, whose sensors come in this order, all along or from the middle on."""
    usual = np.arange(len(order))
    shown = []
    for episode in seen:
        middle = len(episode) // 2 if midway else 0
        shown.append(np.concatenate([episode[:middle][:, usual], episode[middle:][:, order]]))
    if isinstance(subject, ActsOnMany):
        rows = np.concatenate(shown)
        blocks = range(0, len(rows), BATCH)
        return [subject.act_on_many(rows[first : first + BATCH]) for first in blocks]
    answers = []
    for episode in shown:
        subject.reset(len(order))
        empty = subject.memory() if isinstance(subject, Remembers) else ()
        for step, observation in enumerate(episode):
            if midway and step == len(episode) // 2 and isinstance(subject, Remembers):
                if memory == "permuted":
                    subject.set_memory(permuted(subject.memory(), order))
                elif memory == "reset":
                    subject.set_memory(empty)
            answers.append(acted(subject, observation)[None])
    return answers
