"""A layer of sensory neurons with one thing taken away, to see what it was good for.

Everything is done from outside the layer: by what it is told, and by the code that its attention weights
make of the readings. Which ablation it is is data, so that all of them share one compiled program.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from anyorder.neurons import AbstractNeuron, RelationalNeuron
from anyorder.neurons.base import Message
from anyorder.neurons.sensory import AbstractSensoryNeuron
from anyorder.policies import AbstractPolicy
from anyorder.sensors import Sensors

NOTHING, NO_ACTION, BLIND_KEYS, MIXED_QUERIES, ONE_QUERY, FROZEN, UNIFORM, PASSED_ON = range(8)
ABLATIONS: dict[str, tuple[int, str]] = {
    "previous action": (NO_ACTION, "neurons are told that the last action was zero"),
    "observation in keys": (BLIND_KEYS, "neurons' memories see zero; only values see the sensors"),
    "query table, mixed": (MIXED_QUERIES, "slots exchange their queries, by half a turn"),
    "query table, one row": (ONE_QUERY, "all slots ask what the first slot asks"),
    "attention frozen": (FROZEN, "weights of step 50 are kept from there on"),
    "attention uniform": (UNIFORM, "each slot weighs all sensors alike"),
    "attention shuffled": (
        PASSED_ON,
        "each step, weights go to other sensors than they were meant for",
    ),
}
"""By name: number and meaning."""
FREEZE_AT = 50


class AblatedMemory(eqx.Module):
    """The layer's own memory, and the weights it had when they were frozen."""

    neurons: Any
    held: Float[Array, "sensors slots"]
    age: Float[Array, " sensors"]


class AblatedNeuron(AbstractNeuron):
    """`neuron` without what `ablation` takes away."""

    neuron: AbstractNeuron
    ablation: Int[Array, ""]
    slots: int = eqx.field(static=True)

    def init(self, n_sensors: int) -> AblatedMemory:
        nothing = jnp.zeros(n_sensors)
        return AblatedMemory(
            self.neuron.init(n_sensors), jnp.zeros((n_sensors, self.slots)), nothing
        )

    def listen(
        self,
        sensors: Sensors,
        previous_action: Float[Array, " actions"],
        memory: AblatedMemory,
    ) -> Message:
        blind, deaf = self.ablation == BLIND_KEYS, self.ablation == NO_ACTION
        heard = Sensors(jnp.where(blind, 0, sensors.values), sensors.present)
        told = jnp.where(deaf, 0, previous_action)
        message = self.neuron.listen(heard, told, memory.neurons)
        weights, step = message.weights, memory.age[0]
        held = jnp.where(step <= FREEZE_AT, weights.T, memory.held)
        turn = 1 + (step.astype(int) % max(1, sensors.n_sensors - 1))
        mean = weights.mean(axis=1, keepdims=True, where=sensors.present[None])
        chosen = jnp.stack(
            [
                weights,
                weights,
                weights,
                jnp.roll(weights, self.slots // 2, axis=0),
                jnp.broadcast_to(weights[:1], weights.shape),
                held.T,
                jnp.where(sensors.present, mean, 0),
                jnp.roll(weights, turn, axis=1),
            ]
        )[self.ablation]
        code = gathered(self.neuron, chosen, sensors, message)
        assert code is not None
        new = AblatedMemory(message.memory, held, memory.age + 1)
        return Message(code, new, chosen)


def gathered(
    neuron: AbstractNeuron,
    weights: Float[Array, "slots sensors"],
    sensors: Sensors,
    message: Message,
) -> Float[Array, "slots *features"] | None:
    """The code that these weights make of the readings; None for a layer we do not know that of."""
    readings = sensors.readings()
    if isinstance(neuron, AbstractSensoryNeuron):  # some of these do otherwise, which is tried out
        return neuron.gain(sensors) * (weights @ readings)
    if isinstance(neuron, RelationalNeuron):
        rate = neuron.config.rate * message.memory.change
        return weights @ jnp.stack([readings, rate, jnp.ones_like(readings)], axis=1)
    return None


def ablated(policy: AbstractPolicy, ablation: Int[Array, ""], slots: int) -> AbstractPolicy:
    """The same policy, its neurons without what `ablation` takes away."""
    return eqx.tree_at(
        lambda p: p.neuron,
        policy,
        AblatedNeuron(policy.neuron, ablation, slots),  # type: ignore[attr-defined]
    )


def applicable(policy: AbstractPolicy, n_sensors: int) -> tuple[str, ...]:
    """The names of the ablations that mean something for this policy.

    That its code is what its weights make of the readings is tried out, not assumed.
    """
    neuron = getattr(policy, "neuron", None)
    if not isinstance(neuron, AbstractNeuron):
        return ()
    code, own = _codes(policy, n_sensors)
    if code is None or code.shape != own.shape:
        return ()
    if not bool(jnp.allclose(code, own, atol=1e-4, rtol=1e-4)):
        return ()
    # Relational neurons compare the signals they pass on: these cannot be taken from one and left to
    # the other.
    skipped = ("observation in keys",) if isinstance(neuron, RelationalNeuron) else ()
    return tuple(name for name in ABLATIONS if name not in skipped)


@eqx.filter_jit
def _codes(policy: Any, n_sensors: int) -> tuple[Array | None, Array]:
    """The code of a first step as we gather it, and as the policy's neurons do."""
    memory = policy.init(n_sensors)
    sensors = Sensors.of(jnp.linspace(-1.0, 2.0, n_sensors))
    message = policy.neuron.listen(sensors, memory.previous_action, memory.neurons)
    return gathered(policy.neuron, message.weights, sensors, message), message.code


def n_slots(policy: AbstractPolicy, n_sensors: int) -> int | None:
    """Rows of the policy's attention matrix; None for a policy without attention."""
    shown = jax.eval_shape(
        lambda: policy.decide(Sensors.of(jnp.zeros(n_sensors)), policy.init(n_sensors)).weights
    )
    return None if shown is None else shown.shape[0]
