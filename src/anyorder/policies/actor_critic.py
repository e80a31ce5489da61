"""A policy, what it adds to its actions by chance, and a judge of how things stand."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.policies.base import AbstractPolicy, Memory
from anyorder.sensors import Sensors

Memories = tuple[Memory, ...]
"""The policy's memory and, if it has sensory neurons of its own, the critic's."""


class Judgement(eqx.Module):
    """What an actor-critic makes of one step."""

    raw: Float[Array, " actions"]
    """What the policy's head says; see `Decision.raw`."""
    value: Float[Array, ""]
    memory: Memories
    """As if the most likely action had been taken: `acted` puts in the one that was."""


class ActorCritic(eqx.Module):
    """The value is read from a policy's code, so it is as invariant to the order of sensors as that.

    A critic may be told more than the actor (Pinto et al., 2017, arXiv 1710.06542): what the world itself
    shows, before anything happens to its sensors. It is needed for training alone, so the actor remains
    as free of order as it is.
    """

    policy: AbstractPolicy
    critic: AbstractPolicy | None
    """Whose code the value is read from, if not the policy's own."""
    value: eqx.nn.MLP
    log_sd: Float[Array, " actions"]
    told: int = eqx.field(static=True)
    """Sensors of the bare world that the critic is shown."""

    def __init__(
        self,
        policy: AbstractPolicy,
        n_sensors: int,
        *,
        separate: bool,
        hidden: int,
        sd: float,
        told: int = 0,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `policy`: the actor, and where a separate critic starts from.
        - `n_sensors`: sensors of some world the policy can read.
        - `hidden`: units in each of the value's two tanh layers.
        - `sd`: of the noise on a continuous action, before it is squashed.
        - `told`: sensors of the bare world that the critic is shown; 0 to show it none.
        """
        code = jax.eval_shape(
            lambda: policy.decide(Sensors.of(jnp.zeros(n_sensors)), policy.init(n_sensors)).code
        )
        self.policy = policy
        self.critic = policy if separate else None
        self.value = eqx.nn.MLP(
            math.prod(code.shape) + told, "scalar", hidden, depth=2, activation=jnp.tanh, key=key
        )
        self.told = told
        self.log_sd = jnp.full(policy.n_actions, math.log(sd))

    def init(self, n_sensors: int) -> Memories:
        """The memory before the first step."""
        both = (self.policy,) if self.critic is None else (self.policy, self.critic)
        return tuple(each.init(n_sensors) for each in both)

    def judge(self, sensors: Sensors, memory: Memories, sight: Sensors | None = None) -> Judgement:
        """**Arguments:**

        - `sight`: what the bare world shows, for a critic that is told.
        """
        decision = self.policy.decide(sensors, memory[0])
        if self.critic is None:
            return Judgement(decision.raw, self._value(decision.code, sight), (decision.memory,))
        own = self.critic.decide(sensors, memory[1])
        return Judgement(decision.raw, self._value(own.code, sight), (decision.memory, own.memory))

    def _value(
        self, code: Float[Array, "slots *features"], sight: Sensors | None
    ) -> Float[Array, ""]:
        flat = code.reshape(-1)
        if self.told:
            if sight is None:
                raise ValueError("This critic has to be told what the world shows.")
            flat = jnp.concatenate([flat, sight.readings()])
        return self.value(jnp.sign(flat) * jnp.log1p(jnp.abs(flat)))  # readings have no bounds

    def in_units(
        self,
        mean: Float[Array, ""],
        sd: Float[Array, ""],
        new_mean: Float[Array, ""],
        new_sd: Float[Array, ""],
    ) -> ActorCritic:
        """The same judgements, `mean + sd * value`, for a new mean and sd."""
        last = self.value.layers[-1]
        assert last.bias is not None
        bias = (last.bias * sd + mean - new_mean) / new_sd
        return eqx.tree_at(
            lambda m: (m.value.layers[-1].weight, m.value.layers[-1].bias),
            self,
            (last.weight * sd / new_sd, bias),
        )

    @staticmethod
    def acted(memory: Memories, action: Float[Array, " actions"]) -> Memories:
        """The memory of having taken this action."""
        return tuple(Memory(each.neurons, action) for each in memory)
