"""Agents in torch: TorchScript and `torch.export` files, and modules made in Python."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from anyorder.bridges.extras import load_extra
from anyorder.bridges.gym_worlds import GymInterface
from anyorder.bridges.networks import NetworkSubject
from anyorder.errors import UsageError


def open_torch(path: Path, interface: GymInterface, *, trust: bool = False) -> NetworkSubject:
    """The program in a file written by `torch.jit.save` or `torch.export.save`.

    Weights alone and pickled modules are refused: the first are no agent, the second run foreign code. So,
    unless with `trust`, are exported programs, of which torch unpickles parts. TorchScript holds no Python.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile as error:
        raise UsageError(f"{path} is not a file of torch.") from error
    torch = load_extra("torch", "torch")
    scripted = any("/code/" in name for name in names)
    exported = any(
        name.endswith(("archive_format", "serialized_exported_program.json")) for name in names
    )
    if not scripted and not exported:
        raise UsageError(
            f"{path} holds weights or a pickled module, not a program: save it with torch.jit.script or "
            "torch.export.save, or name the module in Python, as in agent.py:network."
        )
    if exported and not trust:
        raise UsageError(
            f"torch unpickles parts of exported programs such as {path}, which can run Python: add --trust if "
            "you know where the file comes from, or save it with torch.jit.script."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch discourages both, each in favour of the other
            if exported:
                module = torch.export.load(path).module()
            else:
                module = torch.jit.load(str(path), map_location="cpu").eval()
    except Exception as error:  # torch raises whatever its parts raise
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UsageError(f"torch cannot load {path} ({why}).") from error
    return torch_subject(path.name, interface, module)


def is_module(found: Any) -> bool:
    """Whether this is a torch module; asks nothing of those who have no torch."""
    return any(kind.__module__ == "torch.nn.modules.module" for kind in type(found).__mro__)


def torch_subject(name: str, interface: GymInterface, module: Any) -> NetworkSubject:
    """A module, called with observations alone, whose (first) output is the answer."""
    torch = load_extra("torch", "torch")
    dtype = next((weights.dtype for weights in module.parameters()), torch.float32)

    def forward(observations: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            answer = module(torch.from_numpy(observations).to(dtype))
        return (answer[0] if isinstance(answer, tuple | list) else answer).numpy()

    return NetworkSubject(name, interface, forward)
