"""What every policy has in common: state in, state out."""

import abc
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from anyorder.neurons import NeuronMemory
from anyorder.sensors import Sensors


class Memory(eqx.Module):
    """All that a policy carries from one step to the next."""

    neurons: NeuronMemory
    """One entry per sensor, along the leading axis of every array; `()` for a policy without."""
    previous_action: Float[Array, " actions"]

    def permute(self, order: Int[Array, " sensors"]) -> "Memory":
        """The memory that goes with sensors taken in this order."""
        neurons = jax.tree.map(lambda leaf: leaf[order], self.neurons)
        return Memory(neurons, self.previous_action)


class Decision(eqx.Module):
    """One step of a policy, with all there is to see of it. What nobody reads is not computed."""

    action: Float[Array, " actions"]
    memory: Memory
    code: Float[Array, "slots *features"]
    raw: Float[Array, " actions"]
    """What the head says before it becomes an action: unsquashed numbers, or a value per choice."""
    weights: Float[Array, "slots sensors"] | None
    """Attention paid to each sensor; None for a policy that has none."""


class AbstractPolicy(eqx.Module):
    """A map from sensors and memory to action and memory."""

    n_actions: eqx.AbstractVar[int]

    @property
    @abc.abstractmethod
    def config(self) -> Any:
        """The dataclass this policy is made from."""

    @abc.abstractmethod
    def reads(self, n_sensors: int) -> bool:
        """Whether the policy can act on this many sensors."""

    @abc.abstractmethod
    def init(self, n_sensors: int) -> Memory:
        """The memory before the first step."""

    @abc.abstractmethod
    def decide(self, sensors: Sensors, memory: Memory) -> Decision:
        """Act, and show the code and the attention behind the action."""

    def __call__(self, sensors: Sensors, memory: Memory) -> tuple[Float[Array, " actions"], Memory]:
        """Act: `action, memory = policy(sensors, memory)`."""
        decision = self.decide(sensors, memory)
        return decision.action, decision.memory


ActionKind = Literal["continuous", "discrete"]
"""Numbers from -1 to 1, or one choice among several, one-hot."""


def to_action(raw: Float[Array, " actions"], kind: ActionKind) -> Float[Array, " actions"]:
    """The action a head's output stands for."""
    if kind == "continuous":
        return jnp.tanh(raw)
    return jax.nn.one_hot(jnp.argmax(raw), raw.shape[0], dtype=raw.dtype)


def no_action(n_actions: int) -> Float[Array, " actions"]:
    """The previous action at the first step."""
    return jnp.zeros(n_actions)
