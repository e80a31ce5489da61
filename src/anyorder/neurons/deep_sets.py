"""DeepSets (Zaheer et al., 2017, arXiv 1703.06114): no attention at all, for comparison.

    code = rho( mean_i phi(x_i) )

Departs from the paper: a mean instead of a sum, so that the code does not grow with the sensors.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.neurons.base import Message, NeuronMemory
from anyorder.neurons.config import AttentionNeuronConfig
from anyorder.neurons.rows import SensorRows, evenly
from anyorder.neurons.sensory import AbstractSensoryNeuron
from anyorder.sensors import Sensors


class DeepSetsNeuron(AbstractSensoryNeuron):
    """Every sensor counts the same; the code holds `slots` numbers.

    >>> neuron = DeepSetsNeuron(2, 1, key=jax.random.key(0))
    >>> code, memory = neuron(Sensors.of([1.0, 2.0]), jnp.zeros(1), neuron.init(2))
    >>> code.shape
    (16,)
    """

    rows: SensorRows
    each: eqx.nn.MLP
    together: eqx.nn.MLP
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
        config = config or AttentionNeuronConfig(kind="deep-sets")
        row_key, each_key, together_key = jax.random.split(key, 3)
        width = config.width
        self.rows = SensorRows(n_actions, config, key=row_key)
        self.each = eqx.nn.MLP(width, width, width, 1, activation=jax.nn.gelu, key=each_key)
        self.together = eqx.nn.MLP(
            width, config.slots, width, 1, activation=jax.nn.gelu, key=together_key
        )
        self.usual_sensors = usual_sensors
        self.config = config

    def init(self, n_sensors: int) -> NeuronMemory:
        return self.rows.init(n_sensors)

    def listen(
        self, sensors: Sensors, previous_action: Float[Array, " actions"], memory: NeuronMemory
    ) -> Message:
        present = sensors.present
        rows, memory = self.rows(self.signals(sensors, previous_action), present, memory)
        shares = evenly(present)
        code = self.together(shares @ jax.vmap(self.each)(jax.nn.gelu(rows)))
        weights = jnp.broadcast_to(shares, (self.config.slots, sensors.n_sensors))
        return Message(self.gain(sensors) * code, memory, weights)
