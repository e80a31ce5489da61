"""The agents we ship, each in a folder with its weights and how it was made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from anyorder.errors import UsageError
from anyorder.runs import AGENT_FILE, Agent, load_agent

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Every shipped agent."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{AGENT_FILE}"))


def find(agent: str | Path) -> Path:
    """The folder of an agent: one of ours by name, or any run folder."""
    if str(agent) in names():
        return FOLDER / str(agent)
    folder = Path(agent)
    if not folder.is_dir():
        raise UsageError(
            f"There is no agent {str(agent)!r}: give a run folder or one of {', '.join(names())}."
        )
    return folder


def open_agent(agent: str | Path) -> Agent:
    """An agent with what is known of it."""
    return load_agent(find(agent))


def measured(name: str) -> dict[str, dict[str, Any]]:
    """What a shipped agent earned, by protocol, as `anyorder evaluate --json` wrote it."""
    return json.loads((FOLDER / name / "evaluation.json").read_text())["protocols"]
