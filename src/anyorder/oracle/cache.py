"""The oracle, solved once and kept in the user's cache folder."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as parse_tensors
from safetensors.numpy import save as tensors_to_bytes

from anyorder.oracle import grid
from anyorder.oracle.controller import Oracle
from anyorder.oracle.grid import Level, Progress

FORMAT = 1


@dataclass(frozen=True)
class OracleConfig:
    """How the oracle is solved."""

    levels: tuple[Level, ...] = (
        Level((9, 25, 40, 25), hold=10, sweeps=80),
        Level((13, 33, 48, 33), hold=8, sweeps=20),
        Level((21, 49, 64, 49), hold=3, sweeps=40),
    )
    """From the coarsest grid to the one that is used."""
    discount: float = 0.994
    """Per step. Anything from 0.985 to 0.998 saves the same starts; this side of 0.996 balances best."""


def load_oracle(
    config: OracleConfig | None = None,
    *,
    folder: Path | None = None,
    progress: Progress = lambda share: None,
) -> Oracle:
    """The oracle, from the cache or else solved (some seconds) and put there.

    `folder` is the cache; by default the user's. `progress` is told the share of the solving done.
    """
    config = config or OracleConfig()
    path = (folder or cache_folder()) / f"oracle-{_digest(config)}.safetensors"
    *_, (*shape,) = (level.shape for level in config.levels)
    shape[2] += 1
    table = _read(path, tuple(shape))
    if table is None:
        from anyorder.oracle.iteration import iterate  # compiled on import

        table = iterate(config.levels, config.discount, progress=progress)
        _write(path, table)
    return Oracle(jnp.asarray(table), config.discount)


def cache_folder() -> Path:
    """Where anyorder keeps what it can make again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anyorder"


def _digest(config: OracleConfig) -> str:
    """Names all the table depends on."""
    ends = (grid.SPEED_END, grid.SPEED_BEND, grid.SPIN_END, grid.SPIN_BEND, grid.UPRIGHT)
    facts = json.dumps([FORMAT, dataclasses.asdict(config), ends])
    return hashlib.sha256(facts.encode()).hexdigest()[:12]


def _read(path: Path, shape: tuple[int, ...]) -> np.ndarray | None:
    """The table, unless there is none or it is damaged."""
    try:
        tensors = parse_tensors(path.read_bytes())
        table, checksum = tensors["values"], tensors["crc32"]
    except (OSError, SafetensorError, KeyError):
        return None
    sound = table.shape == shape and table.dtype == np.float32
    return table if sound and _checksum(table) == checksum.item() else None


def _write(path: Path, table: np.ndarray) -> None:
    """Keep the table, in one step; a folder that cannot be written is no reason to fail."""
    data = tensors_to_bytes({"values": table, "crc32": np.array([_checksum(table)], np.uint32)})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except OSError:
        return


def _checksum(table: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(table).tobytes())
