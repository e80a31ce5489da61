"""Many runs, sorted into cells: the runs of a cell differ in nothing but their seed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from anyorder.errors import UsageError
from anyorder.runs import AGENT_FILE, RunFolder, read_facts

OWN = ("format", "kind", "seed", "started", "command", "out")
"""Facts of run.json that each run has to itself."""
SCOPES = {
    "config": "method",
    "rollout": "method",
    "policy_config.actions": "task",
    "policy_config": "policy",
}
"""Settings that mean something only beside others of the same method, task or policy."""


@dataclass(frozen=True)
class Run:
    """One training run: its facts, and its held-out tests in the order they were made."""

    path: Path
    facts: Mapping[str, Any]
    steps: Float[np.ndarray, " tests"]
    """Environment steps before each test."""
    seconds: Float[np.ndarray, " tests"]
    score: Float[np.ndarray, " tests"]
    parameters: int | None
    kept: float | None
    """Score of the agent that was kept, on fresh episodes; None while there is no agent."""
    unread: int = 0
    """Lines of the metrics that hold no test with a finite score."""

    @property
    def tested(self) -> bool:
        return len(self.score) > 0

    @property
    def seed(self) -> Any:
        return self.facts.get("seed")

    @property
    def target(self) -> float | None:
        """The score at which the run was told to stop."""
        words = str(self.facts.get("command", "")).split()
        for word, following in zip(words, [*words[1:], ""], strict=True):
            name, equals, value = word.partition("=")
            if name == "--target":
                try:
                    return float(value if equals else following)
                except ValueError:
                    return None
        return None

    @property
    def on_target(self) -> bool:
        """Whether the run stopped because it was good enough."""
        return self.tested and self.target is not None and bool(self.score[-1] >= self.target)


@dataclass(frozen=True)
class Cell:
    """Runs that differ only in their seed."""

    label: str
    settings: Mapping[str, Any]
    """All that the runs have in common, by dotted name."""
    runs: tuple[Run, ...]

    @property
    def tested(self) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if run.tested)


def run_folders(paths: Sequence[Path]) -> list[Path]:
    """The run folders among `paths` and, of folders that are no runs, those up to two levels below."""
    found: dict[Path, Path] = {}
    for path in paths:
        inside = [path] if (path / "run.json").is_file() else []
        for pattern in () if inside else ("*/run.json", "*/*/run.json"):
            inside += [file.parent for file in sorted(path.glob(pattern))]
        inside = [folder for folder in inside if not folder.name.startswith(".")]
        if not inside:
            raise UsageError(
                f"There is no run in {path}: give folders that `anyorder train` made, "
                "or a folder of such folders."
            )
        found |= {folder.resolve(): folder for folder in inside if folder.resolve() not in found}
    return list(found.values())


def read_run(path: Path) -> Run:
    """The run in this folder; one without any test so far is fine."""
    folder = RunFolder.open(path)
    try:
        lines = folder.metrics()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}'s metrics cannot be read: restore them from a copy.") from error
    names = ("steps", "seconds", "test")
    tests = [
        tuple(float(line[name]) for name in names)
        for line in lines
        if isinstance(line, dict) and all(_is_number(line.get(name)) for name in names)
    ]
    steps, seconds, score = np.array(tests, dtype=np.float64).reshape(-1, 3).T
    agent = read_facts(path / AGENT_FILE, "agent") if (path / AGENT_FILE).is_file() else {}
    kept = agent.get("notes", {}).get("score")
    return Run(
        path, folder.facts, steps, seconds, score,
        parameters=agent.get("parameters"),
        kept=float(kept) if _is_number(kept) else None,
        unread=len(lines) - len(tests),
    )  # fmt: skip


def sort_into_cells(runs: Sequence[Run]) -> list[Cell]:
    """Cells in the order their first runs come in, each named by what sets it apart."""
    by_settings: dict[str, list[Run]] = {}
    for run in runs:
        shared = {name: value for name, value in run.facts.items() if name not in OWN}
        by_settings.setdefault(json.dumps(shared, sort_keys=True), []).append(run)
    settings = [flat(json.loads(shared)) for shared in by_settings]
    return [
        Cell(label, facts, tuple(sorted(group, key=lambda run: _seed_order(run.seed))))
        for label, facts, group in zip(
            labels(settings), settings, by_settings.values(), strict=True
        )
    ]


def flat(facts: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested facts under dotted names.

    >>> flat({"config": {"sigma": 0.1}, "policy": "mlp"})
    {'config.sigma': 0.1, 'policy': 'mlp'}
    """
    found: dict[str, Any] = {}
    for name, value in facts.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found


def labels(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """A name for each cell: method, policy, and the settings that differ among the cells."""
    found = []
    for facts in settings:
        words = [" by ".join(str(facts[name]) for name in ("policy", "method") if name in facts)]
        for name in facts:
            scope = SCOPES.get(name, SCOPES.get(name.partition(".")[0]))
            peers = [
                other for other in settings if not scope or other.get(scope) == facts.get(scope)
            ]
            values = {json.dumps(other.get(name)) for other in peers}
            if name not in ("method", "policy") and len(values) > 1:
                words.append(_in_words(name, facts[name]))
        found.append(", ".join(words))
    return found


def _in_words(name: str, value: Any) -> str:
    """A setting as part of a label."""
    word = name.rpartition(".")[2].replace("_", " ")
    if isinstance(value, bool):
        return word if value else f"no {word}"
    if value is None or value == "":
        return f"no {word}"
    return {"device": str(value), "task": f"on {value}"}.get(word, f"{word} {value}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _seed_order(seed: Any) -> tuple[bool, float]:
    return (not _is_number(seed), float(seed) if _is_number(seed) else 0.0)
