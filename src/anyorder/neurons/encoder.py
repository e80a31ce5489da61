"""A transformer as images are read by, without positions: what is left of it here, for comparison.

    X_0 = rows,  X_l = X_{l-1} + attention and layer,  code = W pool(X_L)

Dosovitskiy et al. (2021, arXiv 2010.11929) add a position to every row; leaving that out makes the
layers equivariant and the pool invariant. With `cls`, one learned row joins the others and is the pool.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.neurons.base import Message, NeuronMemory
from anyorder.neurons.config import AttentionNeuronConfig
from anyorder.neurons.multi_head import Block
from anyorder.neurons.rows import SensorRows, evenly
from anyorder.neurons.sensory import AbstractSensoryNeuron
from anyorder.sensors import Sensors


class EncoderNeuron(AbstractSensoryNeuron):
    """Sensors attend to one another, and their rows are pooled; the code holds `slots` numbers.

    >>> neuron = EncoderNeuron(2, 1, key=jax.random.key(0))
    >>> neuron.listen(Sensors.of([1.0, 2.0]), jnp.zeros(1), neuron.init(2)).weights.shape
    (16, 2)
    """

    rows: SensorRows
    blocks: tuple[Block, ...]
    pool: Float[Array, " width"] | None
    """The row that is the pool, if there is one."""
    after: eqx.nn.LayerNorm
    last: eqx.nn.Linear
    usual_sensors: int = eqx.field(static=True)
    config: AttentionNeuronConfig = eqx.field(static=True)

    def __init__(
        self,
        usual_sensors: int,
        n_actions: int,
        config: AttentionNeuronConfig | None = None,
        *,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `usual_sensors`: sensors the world has by itself; nothing depends on it.
        - `n_actions`: size of the previous action each neuron is told.
        - `config`: sizes and choices.
        """
        config = config or AttentionNeuronConfig(kind="encoder")
        row_key, pool_key, last_key, *block_keys = jax.random.split(key, 3 + config.layers)
        width = config.width
        self.rows = SensorRows(n_actions, config, key=row_key)
        self.blocks = tuple(Block(width, config.heads, key=each) for each in block_keys)
        owned = config.pooling == "cls"
        self.pool = jax.random.normal(pool_key, (width,)) / 2 if owned else None
        self.after = eqx.nn.LayerNorm(width)
        self.last = eqx.nn.Linear(width, config.slots, key=last_key)
        self.usual_sensors = usual_sensors
        self.config = config

    def init(self, n_sensors: int) -> NeuronMemory:
        return self.rows.init(n_sensors)

    def listen(
        self, sensors: Sensors, previous_action: Float[Array, " actions"], memory: NeuronMemory
    ) -> Message:
        n_sensors, there = sensors.n_sensors, sensors.present
        rows, memory = self.rows(self.signals(sensors, previous_action), there, memory)
        if self.pool is not None:
            rows = jnp.concatenate([rows, self.pool[None]])
            there = jnp.concatenate([there, jnp.ones(1, bool)])
        seen = jnp.zeros((1, rows.shape[0], rows.shape[0]))
        for block in self.blocks:
            rows, seen = block(rows, rows, there)
        takers = evenly(there) if self.pool is None else jnp.zeros(n_sensors + 1).at[-1].set(1)
        code = self.last(self.after(takers @ rows))
        shares = (takers @ seen.mean(axis=0))[:n_sensors]  # what the pool drew on, one layer back
        weights = jnp.broadcast_to(shares, (self.config.slots, n_sensors))
        return Message(self.gain(sensors) * code, memory, weights)
