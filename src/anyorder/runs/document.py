"""A document: facts in JSON and the tensors they speak of, on disk together or not at all.

The tensors go to a new file named after their content; the JSON, which names that file, is then
replaced in one step. Whatever happens in between, the JSON that is there and its tensors belong
together. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as parse_tensors
from safetensors.numpy import save as tensors_to_bytes

from anyorder.errors import UsageError

FORMAT = 1
Tensors = Mapping[str, np.ndarray]


def write_text(path: Path, text: str) -> None:
    """Replace a file in one step."""
    _replace(path, text.encode())


def write_document(path: Path, kind: str, facts: Mapping[str, Any], tensors: Tensors) -> None:
    """Write `facts` to `path` (a .json) and `tensors` beside it, replacing what was there."""
    data = tensors_to_bytes({name: np.asarray(value, order="C") for name, value in tensors.items()})
    digest = hashlib.sha256(data).hexdigest()
    tensor_path = path.with_name(f"{path.stem}-{digest[:12]}.safetensors")
    _replace(tensor_path, data)
    header = {"format": FORMAT, "kind": kind, "tensors": tensor_path.name, "sha256": digest}
    write_text(path, json.dumps(header | dict(facts), indent=2) + "\n")
    for stale in path.parent.glob(f"{path.stem}-*.safetensors"):
        if stale != tensor_path:
            stale.unlink(missing_ok=True)


def read_facts(path: Path, kind: str) -> dict[str, Any]:
    """The JSON part of a document of this kind."""
    try:
        facts = json.loads(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: give a folder that anyorder wrote.") from error
    except json.JSONDecodeError as error:
        raise UsageError(f"{path} is not valid JSON: restore it from a copy.") from error
    if not isinstance(facts, dict) or facts.get("kind") != kind:
        raise UsageError(f"{path} is no {kind} of anyorder: give a folder that anyorder wrote.")
    if not isinstance(facts.get("format"), int) or facts["format"] > FORMAT:
        raise UsageError(
            f"{path} has format {facts.get('format')} and this anyorder reads up to {FORMAT}: "
            "upgrade with `pip install -U anyorder`."
        )
    return facts


def read_document(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Facts and tensors, checked against each other."""
    facts = read_facts(path, kind)
    tensor_path = path.with_name(Path(str(facts.get("tensors"))).name)
    try:
        data = tensor_path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} names {tensor_path.name}, which is not there.") from error
    if hashlib.sha256(data).hexdigest() != facts.get("sha256"):
        raise UsageError(f"{tensor_path} is cut short or altered: restore it from a copy.")
    try:
        return facts, parse_tensors(data)
    except SafetensorError as error:
        raise UsageError(f"{tensor_path} is not a safetensors file: restore it.") from error


def _replace(path: Path, data: bytes) -> None:
    """Write beside the file, flush to disk, and rename over it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
