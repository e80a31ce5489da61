"""Attention in several heads from one set of rows to another, or to itself."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from anyorder.neurons.scores import dot_scores
from anyorder.neurons.weightings import softmax_weights


class MultiHead(eqx.Module):
    """softmax(X W_q (Y W_k)^T / sqrt(d)) Y W_v in each head, and one matrix over what all heads found.

    With Y = X it is self-attention. Rows of Y that are not there weigh nothing.

    >>> attention = MultiHead(8, 2, key=jax.random.key(0))
    >>> found, weights = attention(jnp.ones((3, 8)), jnp.ones((5, 8)), jnp.ones(5, bool))
    >>> found.shape, weights.shape
    ((3, 8), (2, 3, 5))
    """

    query_map: eqx.nn.Linear
    key_map: eqx.nn.Linear
    value_map: eqx.nn.Linear
    output_map: eqx.nn.Linear
    heads: int = eqx.field(static=True)

    def __init__(self, width: int, heads: int, *, key: PRNGKeyArray):
        """**Arguments:**

        - `width`: of the rows; a multiple of `heads`.
        """
        self.query_map, self.key_map, self.value_map, self.output_map = (
            eqx.nn.Linear(width, width, key=each) for each in jax.random.split(key, 4)
        )
        self.heads = heads

    def __call__(
        self,
        takers: Float[Array, "takers width"],
        givers: Float[Array, "givers width"],
        present: Bool[Array, " givers"] | Bool[Array, "takers givers"],
    ) -> tuple[Float[Array, "takers width"], Float[Array, "heads takers givers"]]:
        """What every taker found among the givers that are there for it, and how it weighed them."""
        seen = jnp.broadcast_to(present, (takers.shape[0], givers.shape[0]))

        def weigh(queries, keys):
            scores = dot_scores(queries, keys, scaled=True)
            return jax.vmap(lambda row, there: softmax_weights(row[None], there)[0])(scores, seen)

        queries, keys = self._split(self.query_map, takers), self._split(self.key_map, givers)
        weights = jax.vmap(weigh)(queries, keys)
        found = weights @ self._split(self.value_map, givers)
        joined = jnp.moveaxis(found, 0, 1).reshape(takers.shape[0], -1)
        return jax.vmap(self.output_map)(joined), weights

    def _split(
        self, layer: eqx.nn.Linear, rows: Float[Array, "rows width"]
    ) -> Float[Array, "heads rows part"]:
        mapped = jax.vmap(layer)(rows)
        return jnp.moveaxis(mapped.reshape(rows.shape[0], self.heads, -1), 1, 0)


class Block(eqx.Module):
    """Attention, then a layer for each row by itself; both are added to what came in, normalised before.

    Givers are normalised like takers, so that `block(rows, rows, present)` is a transformer's layer.
    """

    before: eqx.nn.LayerNorm
    attention: MultiHead
    between: eqx.nn.LayerNorm
    layer: eqx.nn.MLP

    def __init__(self, width: int, heads: int, *, key: PRNGKeyArray):
        attention_key, layer_key = jax.random.split(key)
        self.before = eqx.nn.LayerNorm(width)
        self.attention = MultiHead(width, heads, key=attention_key)
        self.between = eqx.nn.LayerNorm(width)
        self.layer = eqx.nn.MLP(width, width, 2 * width, 1, activation=jax.nn.gelu, key=layer_key)

    def __call__(
        self,
        takers: Float[Array, "takers width"],
        givers: Float[Array, "givers width"],
        present: Bool[Array, " givers"] | Bool[Array, "takers givers"],
    ) -> tuple[Float[Array, "takers width"], Float[Array, "heads takers givers"]]:
        """Takers with what they found added, and how they weighed the givers."""
        found, weights = self.attention(
            jax.vmap(self.before)(takers), jax.vmap(self.before)(givers), present
        )
        rows = takers + found
        return rows + jax.vmap(lambda row: self.layer(self.between(row)))(rows), weights
