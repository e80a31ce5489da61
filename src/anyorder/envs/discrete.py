"""A world of continuous pushes as a world of choices."""

from __future__ import annotations

import itertools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.envs.base import AbstractEnv, EnvState, Step
from anyorder.envs.perturbed import PerturbedEnv

MOST_CHOICES = 4096


class DiscreteActions(AbstractEnv):
    """The same world, each of its n actions one of `levels` evenly spaced numbers from -1 to 1.

    A choice fixes all actions at once: there are `levels ** n` of them, the first action varying
    slowest, and an action is one-hot among them.
    """

    env: AbstractEnv
    levels: int = eqx.field(static=True)

    def __init__(self, env: AbstractEnv, levels: int):
        """**Arguments:**

        - `env`: a world with continuous actions. To perturb its sensors, wrap the result.
        - `levels`: numbers each action can take, at least 2; odd for one of them to be 0.
        """
        if isinstance(env, PerturbedEnv):
            raise TypeError(
                "DiscreteActions goes inside: write PerturbedEnv(DiscreteActions(env, levels), ...)."
            )
        if env.discrete:
            raise ValueError(f"{type(env).__name__} has discrete actions already.")
        if levels < 2:
            raise ValueError(f"There must be at least 2 levels to choose from, got {levels}.")
        if levels**env.n_actions > MOST_CHOICES:
            raise ValueError(
                f"{levels} levels of {env.n_actions} actions are {levels**env.n_actions:,} choices, "
                f"more than {MOST_CHOICES:,}: take fewer levels."
            )
        self.env = env
        self.levels = levels

    @property
    def pushes(self) -> Float[np.ndarray, "choices actions"]:
        """What each choice does."""
        grid = np.linspace(-1, 1, self.levels, dtype=np.float32)
        return np.array(list(itertools.product(grid, repeat=self.env.n_actions)))

    @property
    def n_sensors(self) -> int:
        return self.env.n_sensors

    @property
    def n_actions(self) -> int:
        return self.levels**self.env.n_actions

    @property
    def discrete(self) -> bool:
        return True

    @property
    def n_steps(self) -> int:
        return self.env.n_steps

    def practising(self, share: Float[Array, ""]) -> DiscreteActions:
        return DiscreteActions(self.env.practising(share), self.levels)

    def reset(self, key: PRNGKeyArray) -> Step:
        return self.env.reset(key)

    def step(self, state: EnvState, action: Float[Array, " actions"], *, key: PRNGKeyArray) -> Step:
        pushes = jnp.asarray(self.pushes, action.dtype)[jnp.argmax(action)]
        return self.env.step(state, pushes, key=key)
