"""Contestants side by side: what `anyorder bench` has measured, as a table and a figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anyorder.report.tables import Table


def contest_table(facts: Mapping[str, Any], names: Mapping[str, str]) -> Table:
    """A row for each contestant, those that are not installed with what would bring them.

    `facts` is what `anyorder bench --json` writes; `names` gives each contestant's full name.
    """
    rows: Mapping[str, Mapping[str, Any]] = facts["rows"]
    reference = rows.get("evojax", {}).get("ms_per_generation")
    columns = ["contestant", "ms", "range", "M steps/s", "x EvoJAX"]
    columns += ["cold s", "warm s", "MiB"]
    if facts.get("score") is not None:
        columns.append(f"s to {facts['score']:g}")
    notes = [
        f"{names[name]} is not installed: {row['not_installed']}"
        for name, row in rows.items()
        if "not_installed" in row
    ]
    if any(row.get("worked_out") for row in rows.values()):
        notes.append("≈ worked out from a few episodes.")
    cells = [_cells(names[name], row, reference, len(columns)) for name, row in rows.items()]
    title = (
        f"A generation of {facts['candidates']} candidates x {facts['episodes']} episodes x 1000 steps, "
        f"on {facts['device']}"
    )
    return Table(title, tuple(columns), tuple(cells), "\n  ".join(notes))


def contest_figure(facts: Mapping[str, Any], names: Mapping[str, str], path: Path) -> None:
    """Steps a second of each contestant as bars, on a logarithmic axis."""
    from matplotlib.figure import Figure

    found = {
        names[name]: row["steps_per_second"]
        for name, row in facts["rows"].items()
        if "steps_per_second" in row
    }
    figure = Figure(figsize=(7, 0.8 + 0.5 * max(len(found), 1)), layout="constrained")
    axes = figure.add_subplot()
    bars = axes.barh(list(found), list(found.values()), color="#30456b")
    axes.bar_label(bars, [f" {speed:,.0f}" for speed in found.values()])
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.margins(x=0.25)
    axes.set_xlabel(f"environment steps a second, on {facts['device']}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def _cells(
    name: str, row: Mapping[str, Any], reference: float | None, width: int
) -> tuple[str, ...]:
    if "not_installed" in row:
        return (name, *("not installed",), *("–",) * (width - 2))
    about = "≈ " if row.get("worked_out") else ""
    found = [
        name,
        f"{about}{row['ms_per_generation']:,.0f}",
        f"{row['ms_fastest']:,.0f}–{row['ms_slowest']:,.0f}",
        f"{row['steps_per_second'] / 1e6:.3g}",
        "–" if reference is None else f"{reference / row['ms_per_generation']:.3g}",
        f"{row['cold_start_seconds']:.1f}",
        f"{row['warm_start_seconds']:.1f}",
        f"{row['peak_memory_mib']:,.0f}",
    ]
    if "seconds_to_score" in row:
        seconds = row["seconds_to_score"]
        found.append("–" if seconds is None else f"{seconds:.0f}")
    return tuple(found)
