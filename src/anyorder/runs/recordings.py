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


def save_recordings(recordings: Recordings, folder: Path, *, task: str, by: str) -> None:
    """Write episodes into a folder, which is made if need be and must not hold any yet."""
    path = folder / RECORDINGS_FILE
    if path.exists():
        raise UsageError(f"{folder} holds recordings already: choose another folder.")
    tensors = {name: np.asarray(getattr(recordings, name)) for name in RANKS}
    tensors = {
        name: tensor.astype(np.int32 if name == "lengths" else np.float32)
        for name, tensor in tensors.items()
    }
    facts = {"task": task, "by": by, "episodes": len(tensors["lengths"])}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_document(path, KIND, facts, tensors)
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written ({error.strerror}): choose another folder."
        ) from error


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
        return Recordings(**{name: jnp.asarray(tensor) for name, tensor in tensors.items()})
    except ValueError as error:
        raise UsageError(f"{path} is damaged: {error}") from error
