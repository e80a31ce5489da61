"""Gymnasium's worlds as the audit needs them: a vector in, an action out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from anyorder.bridges.registration import CARTPOLE
from anyorder.errors import UsageError

OURS = {"cartpole": CARTPOLE}
"""Tasks of ours under Gymnasium's names."""


@dataclass(frozen=True)
class GymInterface:
    """What an agent must fit: how many sensors a world has and what actions it takes."""

    world: str
    n_sensors: int
    actions: spaces.Space[Any]

    def sample(self, n: int, *, n_sensors: int | None = None) -> np.ndarray:
        """Made-up observations (n, sensors) to try an agent on."""
        rng = np.random.default_rng(0)
        return rng.normal(size=(n, n_sensors or self.n_sensors)).astype(np.float32)


def make_gym(world: str) -> gymnasium.Env:
    """The Gymnasium world of this name; a task of ours may be called by its short one."""
    name = OURS.get(world, world)
    try:
        return gymnasium.make(name, disable_env_checker=True)
    except (gymnasium.error.Error, ImportError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(
            f"Gymnasium cannot make the world {world!r} ({reason}): "
            "give --env an id it knows, as in CartPole-v1."
        ) from error


def gym_interface(world: str) -> GymInterface:
    """What an agent for this world must fit; UsageError if its observations are no vector."""
    env = make_gym(world)
    sight, actions = env.observation_space, env.action_space
    env.close()
    if not (isinstance(sight, spaces.Box) and len(sight.shape) == 1):
        raise UsageError(
            f"An audit shuffles the numbers of a vector, and {world} shows {sight}: "
            "choose a world whose observation is a 1-D Box."
        )
    known = (spaces.Discrete, spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)
    if not isinstance(actions, known):
        raise UsageError(
            f"{world} takes actions from {actions}, which the audit cannot compare: "
            "choose a world with Discrete or Box actions."
        )
    return GymInterface(OURS.get(world, world), sight.shape[0], actions)


def to_actions(answers: np.ndarray, interface: GymInterface, name: str) -> np.ndarray:
    """Actions (batch, *action) from what an agent answered to a batch of observations (batch, ...).

    A world of n choices takes the number of the choice, or n scores whose largest counts. Numbers are
    clipped to what the world allows. UsageError where an answer fits neither.
    """
    space, batch = interface.actions, len(answers)
    flat = np.asarray(answers).reshape(batch, -1)
    if not (np.issubdtype(flat.dtype, np.number) or flat.dtype == bool):
        raise UsageError(f"{name} must answer with numbers, got {flat.dtype}.")
    if not np.isfinite(flat).all():
        raise UsageError(f"{name} answered with numbers that are not finite.")
    if isinstance(space, spaces.Box):
        shape = space.shape
        if flat.shape[1] != np.prod(shape, dtype=int):
            raise _does_not_fit(flat, interface, name)
        return np.clip(flat.reshape(batch, *shape), space.low, space.high).astype(space.dtype)
    whole = bool((flat == np.round(flat)).all())
    if isinstance(space, spaces.Discrete):
        n, start = int(space.n), int(space.start)
        if flat.shape[1] == n and n > 1:
            return start + flat.argmax(axis=1)
        choices = flat[:, 0].astype(np.int64)
        if (
            flat.shape[1] != 1
            or not whole
            or not ((choices >= start) & (choices < start + n)).all()
        ):
            raise _does_not_fit(flat, interface, name)
        return choices
    assert space.shape is not None
    if flat.shape[1] != np.prod(space.shape, dtype=int) or not whole:
        raise _does_not_fit(flat, interface, name)
    return flat.reshape(batch, *space.shape).astype(space.dtype)


def _does_not_fit(flat: np.ndarray, interface: GymInterface, name: str) -> UsageError:
    answer = np.array2string(flat[0], precision=3, threshold=6)
    return UsageError(
        f"{name} answered {answer}, which is no action of {interface.world} ({interface.actions}): "
        "let it answer with an action, or with a score per choice."
    )
