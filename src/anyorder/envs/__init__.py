"""Worlds with sensors, as pure functions."""

from collections.abc import Callable

from anyorder.envs.base import AbstractEnv, EnvState, Step
from anyorder.envs.cartpole import CartPoleSwingUpHarder
from anyorder.envs.channels import Channels
from anyorder.envs.delayed import DelayedEnv, DelayedState
from anyorder.envs.discrete import DiscreteActions
from anyorder.envs.hosted import PREFIX, GymnasiumEnv, hosted
from anyorder.envs.movers import Movers
from anyorder.envs.perturbed import PerturbedEnv
from anyorder.envs.recall import Recall
from anyorder.envs.recorded import RecordedEnv, RecordedState, Recordings

TASKS: dict[str, Callable[[], AbstractEnv]] = {
    "cartpole": CartPoleSwingUpHarder,
    "cartpole-discrete": lambda: DiscreteActions(CartPoleSwingUpHarder(), levels=3),
    "channels": Channels,
    "channels-discrete": lambda: DiscreteActions(Channels(), levels=2),
    "recall": Recall,
    "movers": Movers,
}
"""Every world that can be named on the command line."""


def is_task(name: str) -> bool:
    """Whether a world could be of this name; Gymnasium alone knows which of its own there are."""
    return name in TASKS or name.startswith(PREFIX)


def env_named(task: str) -> AbstractEnv:
    """The world of this name: one of TASKS, or gym: and the id of one of Gymnasium's."""
    if task.startswith(PREFIX):
        return GymnasiumEnv(task.removeprefix(PREFIX))
    return TASKS[task]()


__all__ = [
    "PREFIX",
    "TASKS",
    "AbstractEnv",
    "CartPoleSwingUpHarder",
    "Channels",
    "DelayedEnv",
    "DelayedState",
    "DiscreteActions",
    "EnvState",
    "GymnasiumEnv",
    "Movers",
    "PerturbedEnv",
    "Recall",
    "RecordedEnv",
    "RecordedState",
    "Recordings",
    "Step",
    "env_named",
    "hosted",
    "is_task",
]
