"""Attention from a fixed number of slots to any number of sensors, in small parts that compose."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

Weighting = Callable[
    [Float[Array, "slots sensors"], Bool[Array, " sensors"]], Float[Array, "slots sensors"]
]


@lru_cache
def sinusoidal_table(n_slots: int, width: int) -> Float[np.ndarray, "slots width"]:
    """The fixed queries: slot r, column c holds sin (even c) or cos (odd c) of r / 10000^(2 (c // 2) / width).

    >>> sinusoidal_table(16, 8).shape
    (16, 8)
    """
    slots, columns = np.arange(n_slots)[:, None], np.arange(width)[None, :]
    angles = slots / np.power(10_000.0, 2 * (columns // 2) / width)
    return np.where(columns % 2 == 0, np.sin(angles), np.cos(angles))


def dot_scores(
    queries: Float[Array, "slots width"], keys: Float[Array, "sensors width"], *, scaled: bool
) -> Float[Array, "slots sensors"]:
    """Q K^T, divided by the square root of the width if `scaled`."""
    scores = queries @ keys.T
    return scores / keys.shape[-1] ** 0.5 if scaled else scores


def tanh_weights(
    scores: Float[Array, "slots sensors"], present: Bool[Array, " sensors"]
) -> Float[Array, "slots sensors"]:
    """Each sensor is weighed by itself, from -1 to 1; absent sensors weigh nothing."""
    return jnp.where(present, jnp.tanh(scores), 0)


def softmax_weights(
    scores: Float[Array, "slots sensors"], present: Bool[Array, " sensors"]
) -> Float[Array, "slots sensors"]:
    """The sensors that are there share a weight of 1 per slot; with none there, all weigh nothing."""
    highest = jnp.max(scores, axis=-1, keepdims=True, where=present, initial=-1e30)
    powers = jnp.where(present, jnp.exp(jnp.where(present, scores - highest, 0)), 0)
    return powers / jnp.maximum(powers.sum(axis=-1, keepdims=True), 1e-30)


WEIGHTINGS: dict[str, Weighting] = {"tanh": tanh_weights, "softmax": softmax_weights}
