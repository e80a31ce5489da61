"""anyorder zoo."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyorder.cli.console import console, parse, show, write_file, write_json
from anyorder.report import shipped_table
from anyorder.report.tables import Table
from anyorder.zoo import FOLDER, measured, names, open_agent

DESCRIPTION = """List the agents that come with anyorder, and what they earned.

  anyorder zoo
  anyorder zoo --markdown table.md

Each is a folder with its weights, the command that made it, and the log of its training."""


@dataclass(frozen=True)
class ZooOptions:
    """Options of `anyorder zoo`."""

    json: Path | None = None
    """Write the list here as JSON."""
    markdown: Path | None = None
    """Write the table of what they earned here."""


def main(arguments: list[str]) -> None:
    """Show a table of all shipped agents, and one of their scores."""
    options = parse(ZooOptions, "zoo", DESCRIPTION, arguments)
    agents = {name: open_agent(name) for name in names()}
    tables = {name: measured(name) for name in agents}
    rows = tuple(
        (name, agent.task, agent.kind, f"{agent.n_parameters:,}", _made(agent.notes))
        for name, agent in agents.items()
    )
    show(Table("Shipped agents", ("agent", "task", "policy", "parameters", "made by"), rows))
    earned = shipped_table(tables)
    show(earned)
    console.print(f"  folders: {FOLDER}", style="dim")
    if options.json is not None:
        facts = [
            {"agent": name, "task": agent.task, "policy": agent.kind,
             "parameters": agent.n_parameters, **agent.notes, "protocols": tables[name]}
            for name, agent in agents.items()
        ]  # fmt: skip
        write_json(options.json, {"agents": facts})
    if options.markdown is not None:
        write_file(options.markdown, earned.markdown() + "\n")
        console.print(f"Written: {options.markdown}")


def _made(notes: Any) -> str:
    """The method an agent was made with."""
    words = str(notes.get("made", "")).split()
    if "train" not in words:
        return str(notes.get("made", ""))
    method = words[words.index("--method") + 1] if "--method" in words else "es"
    return {"es": "evolution", "clone": "cloning the oracle"}.get(method, method)
