"""Attention before and after a shuffle, its columns in the order of the world's own sensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from anyorder.evaluation.estimate import Estimate, estimate
from anyorder.evaluation.shuffled_once import Seen

LATER = (0, 1, 3, 10, 30, 100)
"""Steps since the shuffle at which attention is compared."""


@dataclass(frozen=True)
class AttentionAudit:
    """How far attention is from where it would have been, as a share of all there is."""

    later: tuple[int, ...]
    kept: tuple[Estimate, ...]
    """Memory stays on its wire."""
    along: tuple[Estimate, ...]
    """Memory moves along with its sensor."""
    example_step: int
    example_order: Int[np.ndarray, " sensors"]
    example: dict[str, Float[np.ndarray, "slots sensors"]]
    """Matrices of one episode, by when and what: the columns are the world's sensors."""


def audit_attention(seen: Seen) -> AttentionAudit:
    """Compare the attention of shadows whose sensors were and were not shuffled."""
    footage, at, orders = seen.footage, seen.at, seen.orders
    straight, kept, along = seen.straight, seen.kept, seen.along
    assert straight.weights is not None
    assert kept.weights is not None
    assert along.weights is not None
    usual, stayed, moved = (np.asarray(each.weights) for each in (straight, kept, along))
    lengths = np.asarray(footage.lengths)
    later = tuple(step for step in LATER if (at + step < lengths).sum() >= 0.5 * len(lengths))

    def apart(weights, step):
        there = at + step < lengths
        rows, steps = np.flatnonzero(there), (at + step)[there]
        gap = np.abs(weights[rows, steps] - usual[rows, steps]).mean(axis=(1, 2))
        size = np.abs(usual[rows, steps]).mean(axis=(1, 2))
        return estimate(gap / np.maximum(size, 1e-12))

    # The most ordinary episode: that whose jump is the median one.
    jumps = np.array([np.abs(stayed[e, s] - usual[e, s]).mean() for e, s in enumerate(at)])
    shown = int(np.argsort(jumps)[len(jumps) // 2])
    step = int(at[shown])
    end = min(step + later[-1], int(lengths[shown]) - 1)
    return AttentionAudit(
        later=later,
        kept=tuple(apart(stayed, step) for step in later),
        along=tuple(apart(moved, step) for step in later),
        example_step=step,
        example_order=orders[shown],
        example={
            "undisturbed": usual[shown, step],
            "shuffled": stayed[shown, step],
            "shuffled, memory moved along": moved[shown, step],
            f"undisturbed, {end - step} steps later": usual[shown, end],
            f"shuffled, {end - step} steps later": stayed[shown, end],
        },
    )
