"""Evaluations on disk, as `anyorder evaluate --json` writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anyorder.errors import UsageError
from anyorder.evaluation import PROTOCOLS, Summary
from anyorder.runs import AGENT_FILE, read_facts


def read_evaluations(
    files: Sequence[Path],
) -> tuple[dict[str, dict[str, Summary]], dict[str, str], dict[str, str]]:
    """Summaries by agent and protocol; each agent's kind of policy, where it is known; its task."""
    results: dict[str, dict[str, Summary]] = {}
    kinds: dict[str, str] = {}
    tasks: dict[str, str] = {}
    for path in files:
        facts, found = _read(path)
        name = facts["agent"] if facts["agent"] not in results else f"{facts['agent']} ({path})"
        results[name] = found
        kinds[name] = str(facts.get("policy") or _kind(Path(facts["agent"])))
        tasks[name] = str(facts["task"])
    return results, kinds, tasks


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Summary]]:
    try:
        facts = json.loads(path.read_text())
        found = {name: _summary(numbers) for name, numbers in facts["protocols"].items()}
        if (
            not isinstance(facts["agent"], str)
            or "task" not in facts
            or not found.keys() <= PROTOCOLS.keys()
        ):
            raise ValueError("unknown agent or protocol")
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): give another file.") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{path} is no evaluation of anyorder: "
            "write one with `anyorder evaluate AGENT --json FILE`."
        ) from error
    return facts, found


def _summary(numbers: Mapping[str, Any]) -> Summary:
    low, high = map(float, numbers["ci95"])
    iqm_low, iqm_high = map(float, numbers["iqm_ci95"])
    success = numbers["success"]
    return Summary(
        float(numbers["mean"]), float(numbers["sd"]), float(numbers["iqm"]), (low, high),
        (iqm_low, iqm_high), None if success is None else float(success), int(numbers["episodes"]),
    )  # fmt: skip


def _kind(folder: Path) -> str:
    """The kind of policy of an agent in a folder; empty if the folder has gone."""
    path = folder / AGENT_FILE
    return str(read_facts(path, "agent").get("policy", "")) if path.is_file() else ""
