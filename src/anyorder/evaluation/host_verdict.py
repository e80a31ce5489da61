"""One word on an agent that lives on the host, and why: the words, and the rule, of `anyorder audit`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from anyorder.evaluation.host_orders import Change
from anyorder.evaluation.statistics import interval
from anyorder.evaluation.verdict import KEEPS, Verdict

DECISIVE = {"shuffled": "in another order", "once": "once they have changed places in mid-episode"}
"""Trials that decide whether it is robust: the order changes, and nothing else."""


@dataclass(frozen=True)
class HostVerdict:
    """The word, the sentences behind it, and how much of its earnings an agent keeps."""

    word: Verdict
    reasons: tuple[str, ...]
    kept: Mapping[str, tuple[float, float, float]]
    """By trial: the share kept and its 95% interval; 1 is as plain, 0 as if all sensors read zero."""


def verdict_of(
    orders: Change,
    midway: Mapping[str, Change],
    returns: Mapping[str, Float[np.ndarray, " episodes"]],
    *,
    seed: int,
) -> HostVerdict:
    """Invariant if no order changes an action; with memory, if that holds once memory moves along.

    Robust if orders change actions, but the agent keeps nine tenths of what it earns above an agent whose
    sensors all read zero. A memory that is not shown cannot move along, so an agent that keeps it to itself
    is judged by the rest.
    """
    kept = shares_kept(returns, seed=seed)
    reasons = [f"In another order from the start, {_said(orders)}."]
    if orders.unchanged:
        reasons.append(f"When sensors change places in mid-episode, {_said(midway['kept'])}.")
        if midway["kept"].unchanged:
            return HostVerdict("invariant", tuple(reasons), kept)
        if "permuted" in midway:
            reasons.append(f"If memories move along with them, {_said(midway['permuted'])}.")
            if midway["permuted"].unchanged:
                return HostVerdict("invariant-with-memory", tuple(reasons), kept)
        else:
            reasons.append(
                "Its memory is not shown: give it memory() and set_memory() to learn if that is all it is."
            )
    if not kept:
        reasons.append("With all sensors reading zero it earns as much, so returns tell nothing.")
        return HostVerdict("order-dependent", tuple(reasons), kept)
    for name, when in DECISIVE.items():
        share, low, high = kept[name]
        reasons.append(
            f"It keeps {100 * share:.0f}% ({100 * low:.0f} to {100 * high:.0f}%) of what its sensors earn it "
            f"{when}."
        )
    robust = all(kept[name][0] >= KEEPS for name in DECISIVE)
    return HostVerdict("robust" if robust else "order-dependent", tuple(reasons), kept)


def shares_kept(
    returns: Mapping[str, Float[np.ndarray, " episodes"]], *, seed: int
) -> dict[str, tuple[float, float, float]]:
    """How much of the plain return's lead over the blind one remains in each trial, with its interval.

    Empty where the intervals of the two overlap, so that there is no lead to keep.
    """
    plain, blind = returns["plain"], returns["blind"]
    if interval(plain, np.mean, seed=seed)[0] <= interval(blind, np.mean, seed=seed)[1]:
        return {}
    lead = float((plain - blind).mean())
    found = {}
    for name, each in returns.items():
        low, high = interval((plain - each) / lead, np.mean, seed=seed)
        found[name] = (1 - float((plain - each).mean()) / lead, 1 - high, 1 - low)
    return found


def _said(change: Change) -> str:
    what = f"{change.orders} orders"
    if change.unchanged:
        if change.choices:
            return f"no choice changes ({what}, {change.actions:,} choices)"
        return f"actions stay the same to {change.worst:.1g} ({what}, {change.actions:,} actions)"
    if change.choices:
        return f"{_percent(change.share)} of its choices change ({what})"
    return f"{_percent(change.share)} of its actions change, by up to {change.worst:.2g} ({what})"


def _percent(share: float) -> str:
    return "less than 1%" if share < 0.005 else f"{100 * share:.0f}%"
