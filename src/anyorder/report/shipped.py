"""What the shipped agents earned, in one table beside the paper's agents and the ceiling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anyorder.evaluation import CEILING, PAPER
from anyorder.report.tables import Table

COLUMNS = {
    "plain": "as they are",
    "shuffled": "shuffled",
    "doubled": "twice",
    "noise5": "+5 noise",
    "every25": "every 25",
    "every50": "every 50",
    "every100": "every 100",
    "every200": "every 200",
    "every500": "every 500",
    "dropped": "one lost",
}
"""Protocols shown, as narrow columns call them."""
NAMES = {"attention": "paper, AttentionNeuron", "mlp": "paper, two-layer network"}


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
    rows.append(("oracle, told which is which", ceiling, *["–"] * (len(COLUMNS) - 1)))
    episodes = {found["episodes"] for each in measured.values() for found in each.values()}
    counts = " or ".join(f"{count:,}" for count in sorted(episodes))
    return Table(
        f"Mean return on CartPoleSwingUpHarder, {counts} episodes each (the paper's: 1,000)",
        ("sensors", *COLUMNS.values()),
        tuple(rows),
        "every n: all sensors change places every n steps. – not played: it reads a fixed number of sensors.",
    )
