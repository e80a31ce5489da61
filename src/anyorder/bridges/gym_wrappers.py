"""Perturbations hosted on any Gymnasium world whose observation is a vector.

    env = PerturbedGym(gymnasium.make("Pendulum-v1"), Reshuffle(25))
    observation, info = env.reset(seed=0)

The plans are those of `anyorder.sensors`; here they only meet a world that keeps its own state.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from jaxtyping import Int, PRNGKeyArray

from anyorder.sensors import AbstractPerturbation, Plan, Sensors, Unchanged

UNLIMITED = 1000
"""Steps a plan covers in a world without a step limit; it begins again after that."""


class PerturbedGym(gymnasium.Wrapper, RecordConstructorArgs):
    """The same world, its sensors changed on their way to the agent.

    An absent sensor reads zero, as an array has no room for nothing; `info["present"]`, an array of
    truth values, says which sensors are there, so that an agent of any size can leave the others out.
    `reset(seed=...)` decides the world's start and the perturbation's plan, and the start is the one
    the bare world has with this seed. Later resets without a seed go on from there.
    """

    def __init__(self, env: gymnasium.Env, perturbation: AbstractPerturbation):
        n_sensors = _n_sensors(env, "PerturbedGym")
        if not isinstance(perturbation, AbstractPerturbation):
            raise TypeError(f"PerturbedGym needs a perturbation, got {perturbation!r}.")
        RecordConstructorArgs.__init__(self, perturbation=perturbation)
        gymnasium.Wrapper.__init__(self, env)
        limit = None if env.spec is None else env.spec.max_episode_steps
        self.perturbation = perturbation
        self._n_sensors = n_sensors
        try:
            compiled = _compiled(perturbation, n_sensors, limit or UNLIMITED)
        except TypeError:  # one that holds arrays has no hash, and is compiled anew
            compiled = _compiled.__wrapped__(perturbation, n_sensors, limit or UNLIMITED)
        self._draw, self._apply = compiled
        try:
            jax.eval_shape(self._draw, jax.random.key(0))
        except ValueError as error:
            raise TypeError(f"{perturbation!r} does not fit {n_sensors} sensors.") from error
        dtype = env.observation_space.dtype
        self._dtype = dtype if np.issubdtype(dtype, np.floating) else np.dtype(np.float32)  # pyright: ignore
        if not isinstance(perturbation, Unchanged):
            shape = (perturbation.count(n_sensors),)
            self.observation_space = spaces.Box(-np.inf, np.inf, shape, self._dtype)  # type: ignore[arg-type]
        self._key: PRNGKeyArray | None = None
        self._plan: Plan = ()
        self._time = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        if seed is not None or self._key is None:
            # Only the lowest 32 bits, as many as a JAX key takes on every machine.
            fresh = np.random.SeedSequence().entropy if seed is None else seed
            self._key = jax.random.key(int(fresh) & 0xFFFFFFFF)  # type: ignore[arg-type]
        self._key, plan_key = jax.random.split(self._key)
        self._plan, self._time = self._draw(plan_key), 0
        return self._perturbed(observation, info), info

    def step(self, action: Any) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._time += 1
        return self._perturbed(observation, info), reward, terminated, truncated, info

    def origins(self) -> Int[np.ndarray, " sensors"]:
        """Which of the world's sensors each of the agent's shows now; -1 for those that show none."""
        numbers = 1 + np.arange(self._n_sensors, dtype=np.float32)
        (silent, _), (one, _), (named, present) = (
            self._apply(self._plan, readings, np.int32(self._time))
            for readings in (np.zeros_like(numbers), np.ones_like(numbers), numbers)
        )
        factor = np.asarray(one - silent)  # 0 for what is made up
        shown = np.where(factor == 0, 1, factor)
        number = np.round(np.asarray(named - silent) / shown).astype(int)
        return np.where(np.asarray(present) & (factor != 0), number - 1, -1)

    def _perturbed(self, observation: np.ndarray, info: dict[str, Any]) -> np.ndarray:
        """What the agent sees; `info` is told which sensors are there."""
        if isinstance(self.perturbation, Unchanged):
            info["present"] = np.ones(len(observation), dtype=bool)
            return observation
        values = np.asarray(observation, dtype=np.float32)
        readings, present = self._apply(self._plan, values, np.int32(self._time))
        info["present"] = np.asarray(present)
        return np.asarray(readings).astype(self._dtype, copy=True)


class DelayedGym(gymnasium.Wrapper, RecordConstructorArgs):
    """Sensor i reads what it read `delays[i]` steps ago; until then, what it read at first."""

    def __init__(self, env: gymnasium.Env, delays: Sequence[int]):
        n_sensors = _n_sensors(env, "DelayedGym")
        if len(delays) != n_sensors or min(delays) < 0:
            raise TypeError(
                f"DelayedGym needs a delay >= 0 for each of {n_sensors} sensors, got {list(delays)}."
            )
        RecordConstructorArgs.__init__(self, delays=list(delays))
        gymnasium.Wrapper.__init__(self, env)
        self._delays = np.array(delays, dtype=int)
        self._readings = np.empty((0, n_sensors))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._readings = np.tile(observation, (self._delays.max() + 1, 1))  # newest first
        return observation, info

    def step(self, action: Any) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._readings = np.concatenate([observation[None], self._readings[:-1]])
        late = self._readings[self._delays, np.arange(len(observation))]
        return late, reward, terminated, truncated, info


def _n_sensors(env: gymnasium.Env, wrapper: str) -> int:
    """How many numbers the world shows; TypeError if that is no vector."""
    space = env.observation_space
    if not (isinstance(space, spaces.Box) and len(space.shape) == 1):
        raise TypeError(f"{wrapper} needs a 1-D Box as observation space, got {space}.")
    return space.shape[0]


@functools.lru_cache(maxsize=64)
def _compiled(
    perturbation: AbstractPerturbation, n_sensors: int, n_steps: int
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`draw(key)` and `apply(plan, values, step)`, compiled once for all worlds of a size."""

    def apply(plan, values, step):
        sensors = Sensors(values, jnp.ones(n_sensors, dtype=bool))
        sensors = perturbation.apply(plan, sensors, step)
        return sensors.readings(), sensors.present

    return jax.jit(lambda key: perturbation.draw(key, n_sensors, n_steps)), jax.jit(apply)
