"""Recorded episodes on disk: `recordings.json`, and a safetensors file it names.

The tensors, for E episodes of at most T steps, N sensors and A actions:

    sensors  (E, T, N) float32    what was seen before each action, undisturbed and in the world's order
    actions  (E, T, A) float32    what was done then (one-hot where actions are choices)
    rewards  (E, T)    float32    what each action earned
    lengths  (E,)      int32      steps of each episode; what is stored after them holds no meaning

The JSON says the task (`task`) and who played (`by`).
"""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import numpy as np

from anyorder.envs import Recordings
from anyorder.errors import UsageError
from anyorder.runs.document import read_document, write_document

RECORDINGS_FILE = "recordings.json"
KIND = "recordings"
RANKS = {"sensors": 3, "actions": 3, "rewards": 2, "lengths": 1}
TYPES = {name: np.int32 if name == "lengths" else np.float32 for name in RANKS}


def save_recordings(recordings: Recordings, folder: Path, *, task: str, by: str) -> None:
    """Write episodes into a folder, which is made if need be and must not hold any yet."""
    require_no_recordings(folder)
    tensors = {name: np.asarray(getattr(recordings, name), TYPES[name]) for name in RANKS}
    facts = {"task": task, "by": by, "episodes": len(tensors["lengths"])}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_document(folder / RECORDINGS_FILE, KIND, facts, tensors)
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written ({error.strerror}): choose another folder."
        ) from error


def require_no_recordings(folder: Path) -> None:
    """Raise UsageError if the folder holds recordings, which nothing replaces."""
    if (folder / RECORDINGS_FILE).exists():
        raise UsageError(f"{folder} holds recordings already: choose another folder.")


def load_recordings(folder: Path, *, task: str) -> Recordings:
    """Read episodes of this task back."""
    path = folder / RECORDINGS_FILE
    if not path.is_file():
        raise UsageError(f"There are no recordings in {folder}: it has no {RECORDINGS_FILE}.")
    facts, tensors = read_document(path, KIND)
    if facts.get("task") != task:
        raise UsageError(f"{folder} holds episodes of {facts.get('task')!r}, not of {task!r}.")
    if {name: tensor.ndim for name, tensor in tensors.items()} != RANKS:
        raise UsageError(f"{path} must hold {', '.join(RANKS)}, as the documentation says.")
    try:
        recordings = Recordings(
            **{name: jnp.asarray(tensor, TYPES[name]) for name, tensor in tensors.items()}
        )
    except (ValueError, TypeError) as error:
        raise UsageError(f"{path} is damaged: its tensors are not of the same episodes.") from error
    if obstacle := _nonsense(recordings):
        raise UsageError(f"{path} is damaged: {obstacle}.")
    return recordings


def _nonsense(recordings: Recordings) -> str | None:
    """What is wrong with the numbers of these episodes, if anything is."""
    longest, lengths = recordings.rewards.shape[1], np.asarray(recordings.lengths)
    if lengths.min() < 1 or lengths.max() > longest:
        return f"lengths must be from 1 to {longest}, the steps that are stored"
    happened = np.arange(longest) < lengths[:, None]
    for name in ("sensors", "actions", "rewards"):
        if not np.isfinite(np.asarray(getattr(recordings, name))[happened]).all():
            return f"{name} must be finite numbers"
    return None
