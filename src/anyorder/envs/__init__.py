"""Worlds with sensors, as pure functions."""

from collections.abc import Callable

from anyorder.envs.base import AbstractEnv, EnvState, Step
from anyorder.envs.cartpole import CartPoleSwingUpHarder
from anyorder.envs.delayed import DelayedEnv, DelayedState
from anyorder.envs.discrete import DiscreteActions
from anyorder.envs.perturbed import PerturbedEnv
from anyorder.envs.recorded import RecordedEnv, RecordedState, Recordings

TASKS: dict[str, Callable[[], AbstractEnv]] = {
    "cartpole": CartPoleSwingUpHarder,
    "cartpole-discrete": lambda: DiscreteActions(CartPoleSwingUpHarder(), levels=3),
}
"""Every world that can be named on the command line."""

__all__ = [
    "TASKS",
    "AbstractEnv",
    "CartPoleSwingUpHarder",
    "DelayedEnv",
    "DelayedState",
    "DiscreteActions",
    "EnvState",
    "PerturbedEnv",
    "RecordedEnv",
    "RecordedState",
    "Recordings",
    "Step",
]
