"""The same arithmetic with twice the digits, to tell rounding from disagreement."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import numpy as np


@contextlib.contextmanager
def double_precision() -> Iterator[None]:
    """Inside, JAX computes with float64."""
    with jax.enable_x64(True):
        yield


def doubled(tree: Any) -> Any:
    """The same tree with its floating numbers in float64; for use inside `double_precision`."""
    return jax.tree.map(
        lambda leaf: np.asarray(leaf, np.float64) if eqx.is_inexact_array_like(leaf) else leaf, tree
    )
