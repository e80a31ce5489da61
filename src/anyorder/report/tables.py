"""Results as tables: rows of plain strings, for a terminal or for Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anyorder.evaluation import CEILING, PAPER, Summary

HEADINGS: dict[str, str] = {
    "plain": "as they are",
    "shuffled": "shuffled",
    "doubled": "each twice",
    "noise5": "5 more, of noise",
    "every25": "every 25 steps",
    "every50": "every 50 steps",
    "every100": "every 100 steps",
    "every200": "every 200 steps",
    "every500": "every 500 steps",
    "dropped": "one dropped",
    "flicker": "each absent 10%",
}
WORLDS = {
    "cartpole": "CartPoleSwingUpHarder",
    "cartpole-discrete": "CartPoleSwingUpHarder by choices",
}
"""Tasks as tables call them."""
FIXED = ("plain", "shuffled", "doubled", "noise5")
RESHUFFLED_TITLE = "Sensors reshuffled during the episode"
COLUMNS = ("sensors", "agent", "mean ± sd", "95% CI", "IQM", "success", "ceiling", "paper")
RESHUFFLED = ("every25", "every50", "every100", "every200", "every500", "plain")


@dataclass(frozen=True)
class Table:
    """A titled table."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def markdown(self) -> str:
        """The table as Markdown."""
        lines = ["| " + " | ".join(self.columns) + " |", "|" + "---|" * len(self.columns)]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join(lines) + (f"\n\n{self.note}" if self.note else "")


Results = Mapping[str, Mapping[str, Summary]]
"""Summaries by agent, then by protocol."""


def evaluation_tables(
    results: Results, kinds: Mapping[str, str], tasks: Mapping[str, str] | None = None
) -> list[Table]:
    """One table per family of protocols.

    `kinds` gives each agent's kind of policy and `tasks` its world, cartpole for those left out. The
    paper's figures stand beside agents of its own world only.
    """
    tasks = {name: (tasks or {}).get(name, "cartpole") for name in results}
    title = " and ".join(dict.fromkeys(WORLDS.get(task, task) for task in tasks.values()))
    ceilings = {name: CEILING[task][0] for name, task in tasks.items() if task in CEILING}
    kinds = {name: kind for name, kind in kinds.items() if tasks.get(name) == "cartpole"}
    asked = {protocol for found in results.values() for protocol in found}
    counts = {summary.episodes for found in results.values() for summary in found.values()}
    episodes = f"{' or '.join(f'{count:,}' for count in sorted(counts))} episodes each"
    tables = []
    fixed = [name for name in FIXED if name in asked]
    reshuffled = [name for name in RESHUFFLED if name in asked]
    others = [name for name in HEADINGS if name in asked - {*FIXED, *RESHUFFLED}]
    if fixed:
        tables.append(_table(f"{title}, {episodes}", fixed, results, kinds, ceilings))
    if reshuffled not in ([], ["plain"]):
        tables.append(_table(RESHUFFLED_TITLE, reshuffled, results, kinds, ceilings))
    if others:
        tables.append(_table("Sensors that fail", others, results, kinds, ceilings))
    return tables


def _table(
    title: str,
    protocols: Sequence[str],
    results: Results,
    kinds: Mapping[str, str],
    ceilings: Mapping[str, float],
) -> Table:
    rows = []
    for protocol in protocols:
        heading = HEADINGS[protocol]
        if title == RESHUFFLED_TITLE and protocol == "plain":
            heading = "never"
        for agent, found in results.items():
            cells = _cells(found[protocol]) if protocol in found else ("–",) * 4
            ceiling = f"{ceilings[agent]:.0f}" if agent in ceilings else ""
            beside = (ceiling, _paper(kinds.get(agent), protocol))
            rows.append((heading, Path(agent).name, *cells, *beside))
            heading = ""
    notes = []
    if any("–" in row[2:] for row in rows):
        notes.append("– cannot be played: the agent reads a fixed number of sensors.")
    if ceilings:
        notes.append("ceiling: the oracle, which is told which sensor is which.")
    return Table(title, COLUMNS, tuple(rows), " ".join(notes))


def _cells(summary: Summary) -> tuple[str, str, str, str]:
    low, high = summary.ci95
    return (
        f"{summary.mean:.0f} ± {summary.sd:.0f}",
        f"{low:.0f}–{high:.0f}",
        f"{summary.iqm:.0f}",
        "" if summary.success is None else f"{100 * summary.success:.0f}%",
    )


def _paper(kind: str | None, protocol: str) -> str:
    found = PAPER.get(kind or "", {}).get(protocol)
    return f"{found[0]} ± {found[1]}" if found else ""
