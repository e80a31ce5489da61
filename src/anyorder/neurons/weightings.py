"""How scores become weights: each sensor by itself, or all sharing a weight of one.

Absent sensors weigh nothing, and with none there, all weigh nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

Weighting = Callable[
    [Float[Array, "slots sensors"], Bool[Array, " sensors"]], Float[Array, "slots sensors"]
]
LOWEST = -1e30
"""Stands in for the scores of absent sensors: below all others, and still a number."""


def tanh_weights(
    scores: Float[Array, "slots sensors"], present: Bool[Array, " sensors"]
) -> Float[Array, "slots sensors"]:
    """Each sensor is weighed by itself, from -1 to 1: w = tanh(s).

    >>> tanh_weights(jnp.array([[0.0, 9.0, 9.0]]), jnp.array([True, True, False])).round(2).tolist()
    [[0.0, 1.0, 0.0]]
    """
    return jnp.where(present, jnp.tanh(scores), 0)


def sigmoid_weights(
    scores: Float[Array, "slots sensors"], present: Bool[Array, " sensors"]
) -> Float[Array, "slots sensors"]:
    """Each sensor is weighed by itself, from 0 to 1: w = 1 / (1 + exp(-s)).

    >>> sigmoid_weights(jnp.array([[0.0, 9.0, 9.0]]), jnp.array([True, True, False])).round(2).tolist()
    [[0.5, 1.0, 0.0]]
    """
    return jnp.where(present, jax.nn.sigmoid(scores), 0)


def softmax_weights(
    scores: Float[Array, "slots sensors"], present: Bool[Array, " sensors"]
) -> Float[Array, "slots sensors"]:
    """The sensors that are there share a weight of 1 per slot: w_i = exp(s_i) / sum_j exp(s_j).

    >>> softmax_weights(jnp.zeros((1, 3)), jnp.array([True, True, False])).tolist()
    [[0.5, 0.5, 0.0]]
    """
    highest = jnp.max(scores, axis=-1, keepdims=True, where=present, initial=LOWEST)
    powers = jnp.where(present, jnp.exp(jnp.where(present, scores - highest, 0)), 0)
    return powers / jnp.maximum(powers.sum(axis=-1, keepdims=True), 1e-30)


def sparsemax_weights(
    scores: Float[Array, "slots sensors"], present: Bool[Array, " sensors"]
) -> Float[Array, "slots sensors"]:
    """The nearest shares to the scores, many of them 0: w_i = max(s_i - t, 0), t such that they sum to 1.

    Martins and Astudillo (2016), arXiv 1602.02068.

    >>> sparsemax_weights(jnp.array([[1.0, 0.5, -1.0]]), jnp.ones(3, bool)).tolist()
    [[0.75, 0.25, 0.0]]
    """
    highest = jnp.max(scores, axis=-1, keepdims=True, where=present, initial=LOWEST)
    above = jnp.where(present, scores - jax.lax.stop_gradient(highest), LOWEST)
    # From the second highest on all scores that matter are within 1 of the highest.
    falling = -jnp.sort(-jnp.maximum(above, -2.0), axis=-1)
    places = jnp.arange(1, scores.shape[-1] + 1)
    sums = jnp.cumsum(falling, axis=-1)
    count = (1 + places * falling > sums).sum(axis=-1, keepdims=True)
    threshold = (jnp.take_along_axis(sums, jnp.maximum(count - 1, 0), axis=-1) - 1) / count
    return jnp.where(present, jnp.maximum(above - threshold, 0), 0)


def top_weights(
    scores: Float[Array, "slots sensors"], present: Bool[Array, " sensors"], *, top: int
) -> Float[Array, "slots sensors"]:
    """Softmax among the `top` highest scores alone, and all that equal the last of these.

    What is left out has no slope of its own, so gradients flow as if nothing had been left out: a
    sensor that would have been of use is found out about.

    >>> top_weights(jnp.array([[1.0, 1.0, -1.0]]), jnp.ones(3, bool), top=2).tolist()
    [[0.5, 0.5, 0.0]]
    """
    falling = -jnp.sort(-jnp.where(present, scores, LOWEST), axis=-1)
    last = falling[:, min(top, scores.shape[-1]) - 1][:, None]
    chosen = present & (scores >= last)
    hard = jax.vmap(lambda row, kept: softmax_weights(row[None], kept)[0])(scores, chosen)
    soft = softmax_weights(scores, present)
    return jax.lax.stop_gradient(hard - soft) + jnp.where(present, soft, 0)


WEIGHTINGS: dict[str, Weighting] = {
    "tanh": tanh_weights,
    "sigmoid": sigmoid_weights,
    "softmax": softmax_weights,
    "sparsemax": sparsemax_weights,
    "top-k": partial(top_weights, top=4),
}
"""By name; `weighting_named` also says how many `top-k` keeps."""
SHARING = ("softmax", "sparsemax", "top-k")
"""Those in which sensors share a weight of one, so that the code is a mean, whatever their number."""


def weighting_named(name: str, top: int) -> Weighting:
    """The weighting of this name; `top` sensors are kept by `top-k`."""
    return partial(top_weights, top=top) if name == "top-k" else WEIGHTINGS[name]
