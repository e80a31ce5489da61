"""The policy the package is about: sensory neurons, then a head that reads their code."""

from __future__ import annotations

from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from anyorder.neurons import AbstractSensoryNeuron, AttentionNeuronConfig, make_neuron
from anyorder.policies.base import (
    AbstractPolicy,
    ActionKind,
    Decision,
    Memory,
    no_action,
    to_action,
)
from anyorder.policies.heads import linear_head
from anyorder.sensors import Sensors


@dataclass(frozen=True)
class InvariantConfig:
    """A policy of sensory neurons: any number of sensors, in any order."""

    neuron: AttentionNeuronConfig = field(default_factory=AttentionNeuronConfig)
    """The layer of sensory neurons."""
    hidden: int = 0
    """Units of a tanh layer between code and action; 0 for none."""
    actions: ActionKind = "continuous"
    """What the world takes: numbers from -1 to 1, or one choice among several."""


class InvariantPolicy(AbstractPolicy):
    """action = tanh(head(tanh(code))), or the choice the head values most."""

    neuron: AbstractSensoryNeuron
    head: eqx.nn.MLP
    n_actions: int = eqx.field(static=True)
    hidden: int = eqx.field(static=True)
    actions: ActionKind = eqx.field(static=True)

    def __init__(
        self,
        n_sensors: int,
        n_actions: int,
        config: InvariantConfig | None = None,
        *,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `n_sensors`: sensors the world has by itself; the policy acts on any number of them.
        - `n_actions`: size of the action.
        """
        config = config or InvariantConfig()
        neuron_key, head_key = jax.random.split(key)
        self.neuron = make_neuron(n_sensors, n_actions, config.neuron, key=neuron_key)
        self.head = linear_head(config.neuron.slots, n_actions, config.hidden, key=head_key)
        self.n_actions = n_actions
        self.hidden = config.hidden
        self.actions = config.actions

    @property
    def config(self) -> InvariantConfig:
        return InvariantConfig(self.neuron.config, self.hidden, self.actions)

    def reads(self, n_sensors: int) -> bool:
        return n_sensors > 0

    def init(self, n_sensors: int) -> Memory:
        return Memory(self.neuron.init(n_sensors), no_action(self.n_actions))

    def decide(self, sensors: Sensors, memory: Memory) -> Decision:
        message = self.neuron.listen(sensors, memory.previous_action, memory.neurons)
        raw = self.head(jnp.tanh(message.code))
        action = to_action(raw, self.actions)
        return Decision(action, Memory(message.memory, action), message.code, raw, message.weights)
