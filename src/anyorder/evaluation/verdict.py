"""One word on an agent, and a sentence."""

from __future__ import annotations

import math
from typing import Literal

from anyorder.evaluation.closed_loop import ClosedLoop
from anyorder.evaluation.orders import OrdersAudit
from anyorder.evaluation.recovery import RecoveryAudit

Verdict = Literal["invariant", "invariant-with-memory", "robust", "order-dependent"]
MEANINGS: dict[Verdict, str] = {
    "invariant": "its sensors may change places at any time, and its memory need not know",
    "invariant-with-memory": "any fixed order gives the same actions; so does a change of places in "
    "mid-episode if the neurons' memory moves along",
    "robust": "the order changes what it does, and its return hardly",
    "order-dependent": "the order of its sensors changes what it does and what it earns",
}
TOLERANCE = 1e-5
"""What is smaller is rounding, in float64."""
KEEPS = 0.9
"""Share of its return that a robust agent keeps."""


def verdict_on(
    orders: OrdersAudit, recovery: RecoveryAudit, loop: ClosedLoop, *, remembers: bool
) -> Verdict:
    """What an agent is, by what was measured."""
    if largest(orders.worst_action, orders.worst_code) < TOLERANCE:
        if largest(recovery.kept_action, recovery.kept_code) < TOLERANCE:
            return "invariant"
        if remembers and largest(recovery.along_action, recovery.along_code) < TOLERANCE:
            return "invariant-with-memory"
    return "robust" if keeps_return(loop) else "order-dependent"


def keeps_return(loop: ClosedLoop) -> bool:
    """Whether an agent that earns more than no agent at all still does so in other orders."""
    has_any = loop.plain.ret.low > loop.idle.ret.high
    return has_any and all(row.ret.value >= KEEPS * loop.plain.ret.value for row in loop.orders)


def largest(*gaps: float) -> float:
    """The largest of those that were measured."""
    return max((gap for gap in gaps if not math.isnan(gap)), default=math.inf)


def sentence_on(
    verdict: Verdict, orders: OrdersAudit, recovery: RecoveryAudit, loop: ClosedLoop
) -> str:
    """The verdict with its numbers."""
    plain = loop.plain.ret.value
    shuffled, once = (row.ret.value for row in loop.orders)
    every = "all " if orders.exhaustive else ""
    fixed = f"Over {every}{orders.orders} orders its action changes by at most {orders.worst_action:.1g}"
    earned = (
        f"It earns {plain:.0f} as it is, {shuffled:.0f} in other orders and {once:.0f} with one change of "
        "places in mid-episode."
    )
    if verdict == "invariant":
        middle = f", and at a change in mid-episode by at most {recovery.kept_action:.1g}. "
    elif verdict == "invariant-with-memory":
        moved, jump = recovery.along_action, recovery.watching.action.size.value
        middle = (
            f"; at a change in mid-episode by {jump:.2g} on average, but by at most "
            f"{moved:.1g} if memory moves along. "
        )
    else:
        middle = f" (mean of the worst {orders.action['float64'].value:.2g}). "
    return f"{MEANINGS[verdict][0].upper()}{MEANINGS[verdict][1:]}. {fixed}{middle}{earned}"
