"""The policy whose neurons compare notes, and a larger head that reads their code."""

from __future__ import annotations

from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from anyorder.neurons import RelationalConfig, RelationalNeuron
from anyorder.policies.base import (
    AbstractPolicy,
    ActionKind,
    Decision,
    Memory,
    no_action,
    to_action,
)
from anyorder.sensors import Sensors


@dataclass(frozen=True)
class RelationalPolicyConfig:
    """A policy of neurons that compare notes: any number of sensors, in any order."""

    neuron: RelationalConfig = field(default_factory=RelationalConfig)
    """The layer of sensory neurons."""
    hidden: int = 64
    """Units in each of the two layers between code and action."""
    actions: ActionKind = "continuous"
    """What the world takes: numbers from -1 to 1, or one choice among several."""

    def __post_init__(self):
        if self.hidden < 1:
            raise ValueError(
                f"A relational policy needs hidden units in its head, got {self.hidden}."
            )


class RelationalPolicy(AbstractPolicy):
    """action = tanh(head(asinh(code))), or the choice the head values most."""

    neuron: RelationalNeuron
    head: eqx.nn.MLP
    n_actions: int = eqx.field(static=True)
    hidden: int = eqx.field(static=True)
    actions: ActionKind = eqx.field(static=True)

    def __init__(
        self,
        n_sensors: int,
        n_actions: int,
        config: RelationalPolicyConfig | None = None,
        *,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `n_sensors`: sensors the world has by itself; nothing depends on it.
        - `n_actions`: size of the action.
        """
        config = config or RelationalPolicyConfig()
        neuron_key, head_key = jax.random.split(key)
        self.neuron = RelationalNeuron(n_actions, config.neuron, key=neuron_key)
        self.head = eqx.nn.MLP(
            3 * config.neuron.slots, n_actions, config.hidden, depth=2, key=head_key
        )
        self.n_actions = n_actions
        self.hidden = config.hidden
        self.actions = config.actions

    @property
    def config(self) -> RelationalPolicyConfig:
        return RelationalPolicyConfig(self.neuron.config, self.hidden, self.actions)

    def reads(self, n_sensors: int) -> bool:
        return n_sensors > 0

    def init(self, n_sensors: int) -> Memory:
        return Memory(self.neuron.init(n_sensors), no_action(self.n_actions))

    def decide(self, sensors: Sensors, memory: Memory) -> Decision:
        message = self.neuron.listen(sensors, memory.previous_action, memory.neurons)
        raw = self.head(jnp.arcsinh(message.code.reshape(-1)))
        action = to_action(raw, self.actions)
        return Decision(action, Memory(message.memory, action), message.code, raw, message.weights)
