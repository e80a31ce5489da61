"""A run on disk: what was asked for, how it went, and where to go on.

run.json          what was asked for
metrics.jsonl     one line per test
checkpoint.json   where to go on, with its tensors
agent.json        the best agent so far, with its tensors
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from anyorder.errors import UsageError
from anyorder.runs.document import FORMAT, read_document, read_facts, write_document, write_text
from anyorder.runs.tree import tensors_of, tree_like

RUN_FILE = "run.json"
METRICS_FILE = "metrics.jsonl"
CHECKPOINT_FILE = "checkpoint.json"
State = TypeVar("State")


class RunFolder:
    """One training run's folder. Make one with `create` or `open`."""

    def __init__(self, path: Path, facts: dict[str, Any]):
        self.path = path
        self.facts = facts

    @classmethod
    def create(cls, path: Path, facts: Mapping[str, Any]) -> RunFolder:
        """A new run: the folder appears with its `run.json` inside, or not at all."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise UsageError(
                f"{path} is occupied: choose another --out, or go on with --resume {path}."
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
        except OSError as error:
            raise UsageError(
                f"{path} cannot be made ({error.strerror}): choose another --out."
            ) from error
        try:
            facts = {"format": FORMAT, "kind": "run", **facts}
            write_text(draft / RUN_FILE, json.dumps(facts, indent=2) + "\n")
            os.chmod(draft, 0o755)
            os.replace(draft, path)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        return cls(path, facts)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """A run that is there."""
        if not (path / RUN_FILE).is_file():
            raise UsageError(f"There is no run in {path}: it has no {RUN_FILE}.")
        return cls(path, read_facts(path / RUN_FILE, "run"))

    def save_checkpoint(self, state: Any, facts: Mapping[str, Any]) -> None:
        """Replace the checkpoint. `facts` says how far the run has come."""
        write_document(self.path / CHECKPOINT_FILE, "checkpoint", facts, tensors_of(state))

    def load_checkpoint(self, template: State) -> tuple[State, dict[str, Any]] | None:
        """The state to go on from, in the template's structure, or None before the first checkpoint."""
        path = self.path / CHECKPOINT_FILE
        if not path.exists():
            return None
        facts, tensors = read_document(path, "checkpoint")
        return tree_like(template, tensors, str(path)), facts

    def metrics(self) -> list[dict[str, Any]]:
        """All whole lines of the metrics; a line cut short by a crash is left out."""
        path = self.path / METRICS_FILE
        if not path.exists():
            return []
        lines = []
        for line in path.read_text().splitlines():
            try:
                lines.append(json.loads(line))
            except json.JSONDecodeError:
                continue
        return lines

    def keep_metrics_until(self, updates: int) -> None:
        """Forget lines after a checkpoint: they will be written again."""
        kept = [line for line in self.metrics() if line["update"] <= updates]
        write_text(self.path / METRICS_FILE, "".join(json.dumps(line) + "\n" for line in kept))


class MetricsLog:
    """Appends to a run's metrics, and to TensorBoard where its writer is installed."""

    def __init__(self, folder: RunFolder):
        self._file = (folder.path / METRICS_FILE).open("a")
        self._board = _tensorboard(folder.path / "tensorboard")

    def write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in line.items():
                if name != "update":
                    self._board.add_scalar(name, value, line["update"])

    def close(self) -> None:
        self._file.close()
        if self._board is not None:
            self._board.close()


def _tensorboard(path: Path) -> Any | None:
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(path))
