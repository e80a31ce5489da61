"""What the shipped agents earned, in one table beside the paper's agents and the ceiling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anyorder.evaluation import CEILING, PAPER
from anyorder.report.tables import Table

COLUMNS = {
    "plain": "plain",
    "shuffled": "shuffled",
    "doubled": "twice",
    "noise5": "+noise",
    "every25": "/25",
    "every50": "/50",
    "every100": "/100",
    "every200": "/200",
    "every500": "/500",
    "dropped": "lost",
}
"""Protocols shown, as narrow columns call them."""
NAMES = {"attention": "paper: attention", "mlp": "paper: mlp"}


def shipped_table(measured: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Table:
    """Mean returns by agent and protocol; of each agent what `anyorder evaluate --json` wrote."""
    rows = [
        (NAMES[kind], *(f"{found[p][0]}" if p in found else "–" for p in COLUMNS))
        for kind, found in PAPER.items()
    ]
    rows += [
        (name, *(f"{found[p]['mean']:.0f}" if p in found else "–" for p in COLUMNS))
        for name, found in measured.items()
    ]
    ceiling = f"{CEILING['cartpole'][0]:.0f}"
    rows.append(("oracle", ceiling, *["–"] * (len(COLUMNS) - 1)))
    episodes = {found["episodes"] for each in measured.values() for found in each.values()}
    counts = " or ".join(f"{count:,}" for count in sorted(episodes))
    return Table(
        f"Mean return on CartPoleSwingUpHarder, {counts} episodes each (the paper's: 1,000)",
        ("sensors", *COLUMNS.values()),
        tuple(rows),
        "twice: each sensor is there two times; +noise: five more that carry noise; /n: all change places "
        "every n steps; lost: one is missing.",
    )
