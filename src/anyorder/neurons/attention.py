"""Attention from a fixed number of slots to any number of neurons, composed of small parts.

    m = sigma( score(Q W_q, phi(K) W_k) ) V

Q, the scores, sigma and phi are chosen one by one; see queries.py, scores.py, weightings.py and
key_maps.py. W_q and W_k belong to the neurons, whose fields lie in the order of the authors' files; what
further numbers a choice brings are held here. The paper's choices bring none.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from anyorder.neurons.config import AttentionNeuronConfig
from anyorder.neurons.key_maps import AbstractKeyMap, key_map_named
from anyorder.neurons.multi_head import MultiHead
from anyorder.neurons.queries import FIXED, LEARNED, given_table, sinusoidal_table
from anyorder.neurons.scores import AbstractScore, score_named
from anyorder.neurons.weightings import weighting_named


class SlotAttention(eqx.Module):
    """How slots weigh neurons by their keys.

    >>> attention = SlotAttention(AttentionNeuronConfig(slots=2), key=jax.random.key(0))
    >>> attention.queries().shape
    (2, 8)
    """

    among: MultiHead | None
    key_map: AbstractKeyMap
    table: Float[Array, "slots hidden"] | None
    """Learned queries."""
    scores: tuple[AbstractScore, ...]
    """One for each head."""
    mix: Float[Array, " heads"] | None
    """What each head counts for, if there are several."""
    config: AttentionNeuronConfig = eqx.field(static=True)

    def __init__(self, config: AttentionNeuronConfig, *, key: PRNGKeyArray):
        among_key, map_key, table_key, score_key = jax.random.split(key, 4)
        hidden, heads = config.hidden, config.heads
        self.among = MultiHead(hidden, heads, key=among_key) if config.self_attention else None
        self.key_map = key_map_named(config.key_map, hidden, key=map_key)
        learned = config.queries == LEARNED
        self.table = jax.random.normal(table_key, (config.slots, hidden)) if learned else None
        self.scores = tuple(
            score_named(config.score, config.width // heads, scaled=config.scaled, key=each)
            for each in jax.random.split(score_key, heads)
        )
        self.mix = jnp.full(heads, 1 / heads) if heads > 1 else None
        self.config = config

    def queries(self) -> Float[Array, "slots hidden"]:
        """Q, before W_q."""
        if self.table is not None:
            return self.table
        config = self.config
        fixed = config.queries == FIXED
        table = (
            sinusoidal_table(config.slots, config.hidden) if fixed else given_table(config.queries)
        )
        return jnp.asarray(table, jnp.result_type(float))

    def __call__(
        self,
        query_map: eqx.nn.Linear,
        key_map: eqx.nn.Linear,
        keys: Float[Array, "sensors hidden"],
        present: Bool[Array, " sensors"],
    ) -> Float[Array, "slots sensors"]:
        """Weights of all neurons for each slot; those of several heads in one."""
        if self.among is not None:
            keys = keys + self.among(keys, keys, present)[0]
        weigh = weighting_named(self.config.weighting, self.config.top)
        each = [weigh(scores, present) for scores in self.scored(query_map, key_map, keys)]
        if self.mix is None:
            return each[0]
        return jnp.tensordot(self.mix, jnp.stack(each), axes=1)

    def scored(
        self, query_map: eqx.nn.Linear, key_map: eqx.nn.Linear, keys: Float[Array, "sensors hidden"]
    ) -> list[Float[Array, "slots sensors"]]:
        """How well each slot's query fits each key, for every head."""
        queries = jax.vmap(query_map)(self.queries())
        keys = jax.vmap(key_map)(self.key_map(keys))
        heads = len(self.scores)
        both = (jnp.split(queries, heads, axis=1), jnp.split(keys, heads, axis=1))
        return [score(q, k) for score, q, k in zip(self.scores, *both, strict=True)]
