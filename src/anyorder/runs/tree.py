"""Pytrees as named tensors, and back."""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from anyorder.errors import UsageError
from anyorder.runs.document import Tensors

Tree = TypeVar("Tree")


def tensors_of(tree: Any) -> dict[str, np.ndarray]:
    """Every array of the tree under its path; random keys as their words."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path): np.asarray(_words(leaf)) for path, leaf in leaves}


def tree_like(template: Tree, tensors: Tensors, source: str) -> Tree:
    """A tree of the template's structure, filled from `tensors`, which `source` holds."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(template)
    if set(tensors) != {jax.tree_util.keystr(path) for path, _ in leaves}:
        raise UsageError(f"{source} holds other tensors than this run or agent has.")
    return jax.tree_util.tree_unflatten(
        structure,
        [_filled(leaf, tensors[jax.tree_util.keystr(path)], source) for path, leaf in leaves],
    )


def _filled(leaf: Any, tensor: np.ndarray, source: str) -> Any:
    words = _words(leaf)
    if tensor.shape != words.shape or tensor.dtype != words.dtype:
        raise UsageError(f"{source} holds tensors of other sizes than this run or agent has.")
    if _is_key(leaf):
        return jax.random.wrap_key_data(jnp.asarray(tensor), impl=jax.random.key_impl(leaf))
    return jnp.asarray(tensor)


def _words(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
