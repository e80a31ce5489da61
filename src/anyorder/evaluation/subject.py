"""What the audit needs of an agent that is not one of our policies: it lives on the host, in NumPy.

An agent of any framework is a subject when it has the four members of `AuditSubject`. What it can show
beyond that (a memory per sensor, attention) is found out by looking for the methods, so that an agent
that cannot show it simply leaves them out:

>>> import numpy as np
>>> class Sum:
...     name, n_sensors, world = "sum", None, "cartpole"
...     def reset(self, n_sensors): ...
...     def act(self, observation): return np.tanh(observation.sum(keepdims=True))
>>> isinstance(Sum(), AuditSubject), isinstance(Sum(), Remembers), isinstance(Sum(), Attends)
(True, False, False)
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

SensorMemory = tuple[np.ndarray, ...]
"""What neurons remember, as arrays with the sensors along the leading axis: `(h, c)` of an LSTM."""


@runtime_checkable
class AuditSubject(Protocol):
    """An agent that acts on a vector of sensors, one world at a time."""

    name: str
    """What reports call it."""
    n_sensors: int | None
    """Sensors it can read; None for an agent that reads any number of them."""
    world: str
    """Where it plays: a task of ours ("cartpole") or a Gymnasium id ("CartPole-v1")."""

    def reset(self, n_sensors: int) -> None:
        """Begin an episode with this many sensors and forget the one before."""

    def act(self, observation: Float[np.ndarray, " sensors"]) -> np.ndarray:
        """One step: take in what the sensors read and return what the world's `step` takes.

        That is a vector of numbers for continuous actions, or the number of a choice as an integer
        array without dimensions. The same observations after the same `reset` must give the same actions.
        """
        ...


@runtime_checkable
class Remembers(Protocol):
    """A subject whose memory per sensor can be read and replaced between two steps."""

    def memory(self) -> SensorMemory:
        """What it would go into the next step with. Copies: later steps must not change them."""
        ...

    def set_memory(self, memory: SensorMemory) -> None:
        """Go into the next step with this memory, of as many sensors as `reset` was told.

        Only what belongs to a sensor: a previous action or a head's own state stays as it is.
        """


@runtime_checkable
class Attends(Protocol):
    """A subject that can show what it attended to."""

    def attention(self) -> Float[np.ndarray, "slots sensors"]:
        """The weights of the last `act`, its sensors in the order they were given."""
        ...


def permuted(memory: SensorMemory, order: Int[np.ndarray, " sensors"]) -> SensorMemory:
    """The memory that goes with sensors taken in this order.

    >>> permuted((np.array([10, 20, 30]),), np.array([2, 0, 1]))
    (array([30, 10, 20]),)
    """
    return tuple(leaf[order] for leaf in memory)
