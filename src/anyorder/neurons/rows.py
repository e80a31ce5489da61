"""Sensors as the rows that encoders for comparison start from, and the code they end with."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from anyorder.neurons.base import NeuronMemory
from anyorder.neurons.config import AttentionNeuronConfig
from anyorder.neurons.recall import RECALLS, AbstractRecall


class SensorRows(eqx.Module):
    """x_i = W [o_i, recall(o_i, a_prev)] + b: what each neuron has to say, in `width` numbers."""

    recall: AbstractRecall
    embedding: eqx.nn.Linear

    def __init__(self, n_actions: int, config: AttentionNeuronConfig, *, key: PRNGKeyArray):
        recall_key, embed_key = jax.random.split(key)
        inputs = 1 + config.actions_told(n_actions)
        self.recall = RECALLS[config.memory](inputs, config, key=recall_key)  # type: ignore[call-arg]
        self.embedding = eqx.nn.Linear(1 + config.hidden, config.width, key=embed_key)

    def init(self, n_sensors: int) -> NeuronMemory:
        """The memory before the first step."""
        return self.recall.init(n_sensors)

    def __call__(
        self,
        signals: Float[Array, "sensors inputs"],
        present: Bool[Array, " sensors"],
        memory: NeuronMemory,
    ) -> tuple[Float[Array, "sensors width"], NeuronMemory]:
        """One row per sensor, and the neurons' new memory."""
        features, memory = self.recall(signals, present, memory)
        both = jnp.concatenate([signals[:, :1], features], axis=1)
        return jax.vmap(self.embedding)(both), memory


def evenly(present: Bool[Array, " sensors"]) -> Float[Array, " sensors"]:
    """Equal shares of one weight for the sensors that are there; nothing for anyone if none is."""
    return present / jnp.maximum(present.sum(), 1)
