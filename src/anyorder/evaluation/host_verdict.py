"""One word on an agent, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from anyorder.evaluation.host_orders import Change
from anyorder.evaluation.statistics import interval

Word = Literal["invariant", "invariant-with-memory", "robust", "order-dependent"]
KEPT = 0.9
"""A robust agent keeps so much of what its sensors earn it, whatever their order."""
REORDERED = ("shuffled", "every100", "every25")
"""Trials in which nothing but the order changes."""


@dataclass(frozen=True)
class HostVerdict:
    """The word, the sentences behind it, and how much of its earnings an agent keeps in other orders."""

    word: Word
    reasons: tuple[str, ...]
    kept: Mapping[str, tuple[float, float, float]]
    """By trial: the share kept and its 95% interval; 1 is as plain, 0 as if all sensors read zero."""

    def as_json(self) -> dict[str, Any]:
        return {
            "word": self.word,
            "reasons": list(self.reasons),
            "kept": {
                name: {"share": round(share, 4), "ci95": [round(low, 4), round(high, 4)]}
                for name, (share, low, high) in self.kept.items()
            },
        }


def verdict_of(
    orders: Change,
    midway: Mapping[str, Change],
    returns: Mapping[str, Float[np.ndarray, " episodes"]],
    *,
    seed: int,
) -> HostVerdict:
    """Invariant if no order changes an action; with memory, if that holds once memory moves along."""
    kept = shares_kept(returns, seed=seed)
    fixed, moved = _said(orders), _said(midway["kept"])
    if orders.unchanged:
        first = f"In another order from the start, {fixed}."
        if midway["kept"].unchanged:
            return HostVerdict(
                "invariant", (first, f"Changing places in mid-episode, {moved}."), kept
            )
        if "permuted" not in midway:
            last = (
                "It does not show its memory, so whether moving that along mends it was not tried."
            )
            return HostVerdict(
                "invariant-with-memory",
                (first, f"When sensors change places in mid-episode, {moved}.", last),
                kept,
            )
        if midway["permuted"].unchanged:
            last = f"If the memories move along with them, {_said(midway['permuted'])}."
            return HostVerdict(
                "invariant-with-memory",
                (first, f"When sensors change places in mid-episode, {moved}.", last),
                kept,
            )
    first = f"In another order, {fixed}."
    if not kept:
        return HostVerdict(
            "order-dependent",
            (first, "With all sensors reading zero it earns as much, so returns tell nothing."),
            kept,
        )
    worst = min(kept, key=lambda name: kept[name][1])
    share, low, high = kept[worst]
    earned = (
        f"It keeps {100 * share:.0f}% (95% interval {100 * low:.0f} to {100 * high:.0f}%) of what its sensors "
        f"earn it when they are {WORDS[worst]}."
    )
    return HostVerdict("robust" if low >= KEPT else "order-dependent", (first, earned), kept)


WORDS = {
    "shuffled": "shuffled at the start",
    "every100": "reshuffled every 100 steps",
    "every25": "reshuffled every 25 steps",
}


def shares_kept(
    returns: Mapping[str, Float[np.ndarray, " episodes"]], *, seed: int
) -> dict[str, tuple[float, float, float]]:
    """How much of the plain return's lead over the blind one remains, with its interval.

    Empty where the plain return has no lead to speak of.
    """
    plain, blind = returns["plain"], returns["blind"]
    if interval(plain - blind, np.mean, seed=seed)[0] <= 0:
        return {}
    lead = float((plain - blind).mean())
    found = {}
    for name in REORDERED:
        lost = (plain - returns[name]) / lead
        low, high = interval(lost, np.mean, seed=seed)
        found[name] = (1 - float(lost.mean()), 1 - high, 1 - low)
    return found


def _said(change: Change) -> str:
    what = f"{change.orders} orders"
    if change.unchanged:
        if change.choices:
            return f"no choice changes ({what}, {change.actions:,} choices)"
        return f"actions stay the same to {change.worst:.1g} ({what}, {change.actions:,} actions)"
    if change.choices:
        return f"{100 * change.share:.0f}% of its choices change ({what})"
    return f"{100 * change.share:.0f}% of its actions change, by up to {change.worst:.2g} ({what})"
