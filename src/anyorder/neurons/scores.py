"""How well a query fits a key.

    dot          q . k                    Tang and Ha (2021)
    scaled-dot   q . k / sqrt(width)      Vaswani et al. (2017)
    general      q . W k                  Luong et al. (2015)
    additive     v . tanh(q + k)          Bahdanau et al. (2014)
    cosine       b q . k / (|q| |k|)      b learned

Queries and keys have been mapped to a common width by W_q and W_k before, so that additive scores need
no matrices of their own.
"""

from __future__ import annotations

import abc
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

ScoreName = Literal["dot", "scaled-dot", "general", "additive", "cosine"]


def dot_scores(
    queries: Float[Array, "slots width"], keys: Float[Array, "sensors width"], *, scaled: bool
) -> Float[Array, "slots sensors"]:
    """Q K^T, divided by the square root of the width if `scaled`.

    >>> dot_scores(jnp.ones((1, 4)), jnp.ones((2, 4)), scaled=True).tolist()
    [[2.0, 2.0]]
    """
    scores = queries @ keys.T
    return scores / keys.shape[-1] ** 0.5 if scaled else scores


class AbstractScore(eqx.Module):
    """Scores of every query for every key."""

    @abc.abstractmethod
    def __call__(
        self, queries: Float[Array, "slots width"], keys: Float[Array, "sensors width"]
    ) -> Float[Array, "slots sensors"]:
        """One score per slot and sensor."""


class DotScore(AbstractScore):
    """Q K^T, as it is or divided by the square root of the width."""

    scaled: bool = eqx.field(static=True)

    def __call__(self, queries, keys):
        return dot_scores(queries, keys, scaled=self.scaled)


class GeneralScore(AbstractScore):
    """Q W K^T, with a matrix between them that starts as the identity.

    >>> GeneralScore(2)(jnp.ones((1, 2)), jnp.array([[1.0, 2.0]])).tolist()
    [[3.0]]
    """

    between: Float[Array, "width width"]

    def __init__(self, width: int):
        self.between = jnp.eye(width)

    def __call__(self, queries, keys):
        return queries @ self.between @ keys.T


class AdditiveScore(AbstractScore):
    """v . tanh(q + k) for every pair."""

    direction: Float[Array, " width"]

    def __init__(self, width: int, *, key: PRNGKeyArray):
        self.direction = jax.random.normal(key, (width,)) / width**0.5

    def __call__(self, queries, keys):
        return jnp.tanh(queries[:, None] + keys[None, :]) @ self.direction


class CosineScore(AbstractScore):
    """The cosine of the angle between query and key, times a learned sharpness.

    >>> CosineScore()(jnp.array([[3.0, 0.0]]), jnp.array([[9.0, 0.0], [0.0, 1.0]])).round(3).tolist()
    [[4.0, 0.0]]
    """

    sharpness: Float[Array, ""]

    def __init__(self):
        self.sharpness = jnp.array(4.0)

    def __call__(self, queries, keys):
        return self.sharpness * dot_scores(_unit(queries), _unit(keys), scaled=False)


def _unit(rows: Float[Array, "rows width"]) -> Float[Array, "rows width"]:
    """Rows of length one; a row of zeros stays one, with a slope that is a number."""
    return rows / jnp.sqrt((rows**2).sum(axis=-1, keepdims=True) + 1e-8)


def score_named(name: ScoreName, width: int, *, scaled: bool, key: PRNGKeyArray) -> AbstractScore:
    """The score of this name. `scaled` divides dot products, whichever name they go by."""
    if name == "general":
        return GeneralScore(width)
    if name == "additive":
        return AdditiveScore(width, key=key)
    if name == "cosine":
        return CosineScore()
    return DotScore(scaled or name == "scaled-dot")
