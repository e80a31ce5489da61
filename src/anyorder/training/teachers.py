"""Who a student learns from. A teacher sees the world as it is, whatever happens to the student's sensors."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from anyorder.envs import CartPoleSwingUpHarder, EnvState, RecordedState
from anyorder.oracle import Oracle
from anyorder.policies import AbstractPolicy, Memory
from anyorder.sensors import Sensors


class AbstractTeacher(eqx.Module):
    """Shows what to do in every state, and may remember."""

    def init(self, n_sensors: int) -> Any:
        """The memory before the first step, of a world with that many sensors."""
        return ()

    def told(self, memory: Any, action: Float[Array, " actions"]) -> Any:
        """The memory of a teacher who was told what was done in the end."""
        return memory

    @abc.abstractmethod
    def act(
        self, state: EnvState, sensors: Sensors, memory: Any
    ) -> tuple[Float[Array, " actions"], Any]:
        """The action to imitate, and the memory to go on with.

        **Arguments:**

        - `state`: the world's own, without what happens to its sensors.
        - `sensors`: what the world shows, in its own order.
        """


class OracleTeacher(AbstractTeacher):
    """The near-optimal controller of the cart-pole."""

    oracle: Oracle

    def act(self, state, sensors, memory):
        return self.oracle.push(state)[None], memory


class PolicyTeacher(AbstractTeacher):
    """Any policy of ours, such as one that depends on the order of its sensors."""

    policy: AbstractPolicy

    def init(self, n_sensors):
        return self.policy.init(n_sensors)

    def act(self, state, sensors, memory):
        return self.policy(sensors, memory)

    def told(self, memory, action):
        return Memory(memory.neurons, action)


class FunctionTeacher(AbstractTeacher):
    """Any function from a state to an action that JAX can trace."""

    function: Callable[[EnvState], Float[Array, " actions"]]

    def act(self, state, sensors, memory):
        return self.function(state), memory


class RecordedTeacher(AbstractTeacher):
    """Whoever acted in recorded episodes."""

    def act(self, state, sensors, memory):
        assert isinstance(state, RecordedState)
        return state.action, memory


def check_teacher(teacher: AbstractTeacher, world: Any) -> None:
    """Raise ValueError if the teacher does not know this world."""
    if isinstance(teacher, OracleTeacher) and not isinstance(world, CartPoleSwingUpHarder):
        raise ValueError("the oracle teaches the task cartpole only: name an agent as the teacher")
    if not isinstance(teacher, PolicyTeacher):
        return
    if not teacher.policy.reads(world.n_sensors):
        raise ValueError(f"the teacher cannot read this world's {world.n_sensors} sensors")
    if teacher.policy.n_actions != world.n_actions:
        raise ValueError(
            f"the teacher's actions have {teacher.policy.n_actions} numbers, "
            f"this world's {world.n_actions}"
        )
