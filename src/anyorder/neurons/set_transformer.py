"""Set Transformer (Lee et al., 2019, arXiv 1810.00825), for comparison.

    MAB(X, Y) = X' + layer(X'),  X' = X + attention(X, Y)
    ISAB(X)   = MAB(X, MAB(I, X))       learned points I let sensors attend to one another at linear cost
    PMA(X)    = MAB(S, layer(X))        learned seeds S, one per slot, gather the set

Departs from the paper: rows are normalised before attention and layer, not after.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from anyorder.neurons.base import Message, NeuronMemory
from anyorder.neurons.config import AttentionNeuronConfig
from anyorder.neurons.multi_head import Block
from anyorder.neurons.rows import SensorRows
from anyorder.neurons.sensory import AbstractSensoryNeuron
from anyorder.sensors import Sensors


class InducedBlock(eqx.Module):
    """ISAB: sensors attend to a few learned points, which have attended to the sensors."""

    points: Float[Array, "points width"]
    inward: Block
    outward: Block

    def __init__(self, width: int, points: int, heads: int, *, key: PRNGKeyArray):
        point_key, in_key, out_key = jax.random.split(key, 3)
        self.points = jax.random.normal(point_key, (points, width)) / 2
        self.inward = Block(width, heads, key=in_key)
        self.outward = Block(width, heads, key=out_key)

    def __call__(
        self, rows: Float[Array, "sensors width"], present: Bool[Array, " sensors"]
    ) -> Float[Array, "sensors width"]:
        known, _ = self.inward(self.points, rows, present)
        everyone = jnp.ones(known.shape[0], bool)
        return self.outward(rows, known, everyone)[0]


class SetTransformerNeuron(AbstractSensoryNeuron):
    """Sensors meet at learned points, seeds gather them; the code holds one number per seed.

    >>> neuron = SetTransformerNeuron(2, 1, key=jax.random.key(0))
    >>> neuron.listen(Sensors.of([1.0, 2.0]), jnp.zeros(1), neuron.init(2)).weights.shape
    (16, 2)
    """

    rows: SensorRows
    induced: tuple[InducedBlock, ...]
    seeds: Float[Array, "slots width"]
    before: eqx.nn.MLP
    gather: Block
    told_by: eqx.nn.Linear
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
        config = config or AttentionNeuronConfig(kind="set-transformer")
        keys = jax.random.split(key, 5 + config.layers)
        row_key, seed_key, before_key, gather_key, last_key, *block_keys = keys
        width, heads = config.width, config.heads
        self.rows = SensorRows(n_actions, config, key=row_key)
        self.induced = tuple(
            InducedBlock(width, config.points, heads, key=each) for each in block_keys
        )
        self.seeds = jax.random.normal(seed_key, (config.slots, width)) / 2
        self.before = eqx.nn.MLP(width, width, width, 1, activation=jax.nn.gelu, key=before_key)
        self.gather = Block(width, heads, key=gather_key)
        self.told_by = eqx.nn.Linear(width, 1, key=last_key)
        self.usual_sensors = usual_sensors
        self.config = config

    def init(self, n_sensors: int) -> NeuronMemory:
        return self.rows.init(n_sensors)

    def listen(
        self, sensors: Sensors, previous_action: Float[Array, " actions"], memory: NeuronMemory
    ) -> Message:
        present = sensors.present
        rows, memory = self.rows(self.signals(sensors, previous_action), present, memory)
        for block in self.induced:
            rows = block(rows, present)
        found, weights = self.gather(self.seeds, jax.vmap(self.before)(rows), present)
        code = jax.vmap(self.told_by)(found)[:, 0]
        return Message(self.gain(sensors) * code, memory, weights.mean(axis=0))
