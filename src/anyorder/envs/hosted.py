"""Worlds of Gymnasium, which step on the host: what they look like. `rollout/gymnasium.py` plays them."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import equinox as eqx
import gymnasium
import numpy as np
from gymnasium import spaces
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.envs.base import AbstractEnv, EnvState, Step
from anyorder.envs.perturbed import PerturbedEnv
from anyorder.errors import UsageError
from anyorder.sensors import AbstractPerturbation, Unchanged

PREFIX = "gym:"
"""What task names of Gymnasium's worlds begin with: gym:Pendulum-v1."""
UNLIMITED_STEPS = 1000
"""Steps an episode is watched for in worlds that set no limit themselves."""
EXTRAS = {"mujoco": "mujoco"}
"""Modules a world may need, and which of our extras brings them."""


@dataclass(frozen=True)
class Spaces:
    """What an agent meets in a world."""

    n_sensors: int
    n_actions: int
    n_steps: int
    discrete: bool
    low: tuple[float, ...]
    """What -1 stands for, by action; empty where actions are choices."""
    high: tuple[float, ...]
    """What 1 stands for."""
    first: int
    """The number of the first choice."""
    solved: float | None
    """The return from which on the world counts as solved, if it says."""

    def to_world(self, action: Float[np.ndarray, " actions"]) -> Any:
        """What the world is told when an agent decides on this: a choice, or numbers within bounds."""
        if self.discrete:
            return self.first + int(np.argmax(action))
        low, high = np.asarray(self.low), np.asarray(self.high)
        scaled = low + (np.clip(action, -1, 1) + 1) * (high - low) / 2
        return scaled.astype(np.float32)


class GymnasiumEnv(AbstractEnv):
    """A world of Gymnasium by its id: each number it shows is a sensor. Only a host-side engine plays it."""

    id: str = eqx.field(static=True)
    spaces: Spaces = eqx.field(static=True)

    def __init__(self, id: str):
        self.id = id
        self.spaces = look_at(id)

    @property
    def n_sensors(self) -> int:
        return self.spaces.n_sensors

    @property
    def n_actions(self) -> int:
        return self.spaces.n_actions

    @property
    def discrete(self) -> bool:
        return self.spaces.discrete

    @property
    def n_steps(self) -> int:
        return self.spaces.n_steps

    def reset(self, key: PRNGKeyArray) -> Step:
        raise TypeError(f"{PREFIX}{self.id} is no pure function: play it with GymnasiumEngine.")

    def step(self, state: EnvState, action: Float[Array, " actions"], *, key: PRNGKeyArray) -> Step:
        raise TypeError(f"{PREFIX}{self.id} is no pure function: play it with GymnasiumEngine.")


def hosted(env: AbstractEnv) -> tuple[GymnasiumEnv, AbstractPerturbation] | None:
    """The world of Gymnasium in `env` and what happens to its sensors, or None if there is no such in it."""
    if isinstance(env, GymnasiumEnv):
        return env, Unchanged()
    if isinstance(env, PerturbedEnv) and isinstance(env.env, GymnasiumEnv):
        return env.env, env.perturbation
    return None


def make_world(id: str) -> gymnasium.Env:
    """`gymnasium.make`, whose refusals become sentences."""
    try:
        return gymnasium.make(id)
    except gymnasium.error.DependencyNotInstalled as error:
        raise UsageError(_missing(id, str(error))) from error
    except (gymnasium.error.Error, ImportError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise UsageError(f"Gymnasium has no world {id!r} here ({reason}).") from error


@lru_cache
def look_at(id: str) -> Spaces:
    """The spaces of a world; UsageError if sensory neurons cannot read it or it takes other actions."""
    world = make_world(id)
    try:
        seen, taken, spec = world.observation_space, world.action_space, world.spec
    finally:
        world.close()
    if not (isinstance(seen, spaces.Box) and len(seen.shape) == 1):
        raise UsageError(f"{PREFIX}{id} shows {seen}: anyorder reads one-dimensional boxes.")
    limit = None if spec is None else spec.max_episode_steps
    shared: dict[str, Any] = {
        "n_sensors": int(seen.shape[0]),
        "n_steps": int(limit or UNLIMITED_STEPS),
        "solved": None if spec is None else spec.reward_threshold,
    }
    if isinstance(taken, spaces.Discrete):
        return Spaces(
            n_actions=int(taken.n), discrete=True, low=(), high=(), first=int(taken.start), **shared
        )
    if isinstance(taken, spaces.Box) and len(taken.shape) == 1 and taken.is_bounded():
        low, high = (tuple(map(float, bound)) for bound in (taken.low, taken.high))
        return Spaces(n_actions=len(low), discrete=False, low=low, high=high, first=0, **shared)
    raise UsageError(
        f"{PREFIX}{id} takes {taken}: anyorder gives choices, or numbers within a bounded box."
    )


def _missing(id: str, reason: str) -> str:
    for module, extra in EXTRAS.items():
        if module in reason.lower() and importlib.util.find_spec(module) is None:
            return f'{PREFIX}{id} needs {module}: run pip install "anyorder[{extra}]".'
    return f"{PREFIX}{id} needs something that is not installed: {' '.join(reason.split())}"
