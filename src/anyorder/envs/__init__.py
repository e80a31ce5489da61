"""Worlds with sensors, as pure functions."""

from anyorder.envs.base import AbstractEnv, EnvState, Step
from anyorder.envs.cartpole import CartPoleSwingUpHarder
from anyorder.envs.perturbed import PerturbedEnv

TASKS: dict[str, type[AbstractEnv]] = {"cartpole": CartPoleSwingUpHarder}
"""Every world that can be named on the command line."""

__all__ = ["TASKS", "AbstractEnv", "CartPoleSwingUpHarder", "EnvState", "PerturbedEnv", "Step"]
