"""anyorder zoo."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anyorder.cli.console import parse, show, write_json
from anyorder.report import Table
from anyorder.zoo import FOLDER, names, open_agent

DESCRIPTION = """List the agents that come with anyorder.

Each lies in a folder of its own, with its weights and the command, settings and log that made it."""


@dataclass(frozen=True)
class ZooOptions:
    """Options of `anyorder zoo`."""

    json: Path | None = None
    """Write the list here as JSON."""


def main(arguments: list[str]) -> None:
    """Show a table of all shipped agents."""
    options = parse(ZooOptions, "zoo", DESCRIPTION, arguments)
    agents = {name: open_agent(name) for name in names()}
    rows = tuple(
        (
            name, agent.task, agent.kind, f"{agent.n_parameters:,}",
            str(agent.notes.get("score", "")), str(agent.notes.get("made", "")),
        )
        for name, agent in agents.items()
    )  # fmt: skip
    columns = ("agent", "task", "policy", "parameters", "score", "made by")
    show(Table("Shipped agents", columns, rows, f"folders: {FOLDER}"))
    if options.json is not None:
        facts = [
            {"agent": name, "task": agent.task, "policy": agent.kind,
             "parameters": agent.n_parameters, **agent.notes}
            for name, agent in agents.items()
        ]  # fmt: skip
        write_json(options.json, {"agents": facts})
