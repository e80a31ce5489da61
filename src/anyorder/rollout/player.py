"""A worker's side of the play: episodes of a Gymnasium world, stepped here, decided by a compiled policy.

A work item is so many candidates in so many episodes. It is played as one batch of a fixed shape, in which
every episode keeps its place and takes nothing from the others, and all that is random in it follows from
the episodes' keys. So the same item comes to the same returns, to the last bit, whoever plays it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import cloudpickle
import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from anyorder.envs.base import AbstractEnv
from anyorder.envs.hosted import hosted, make_world
from anyorder.policies import AbstractPolicy, Memory
from anyorder.sensors import Plan, Sensors

QUIET = {
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "OMP_NUM_THREADS": "1",
}
"""The environment of a worker: one thread each, as there are as many workers as cores."""


@dataclass(frozen=True)
class Item:
    """A piece of work: these candidates in these episodes."""

    numbers: tuple[np.ndarray, ...]
    """The candidates' parameters, each array with a leading axis of candidates."""
    keys: np.ndarray
    """(episodes, words): the episodes' keys as plain numbers."""
    shape: tuple[int, int]
    """Candidates and episodes of the batch, which may have places left over."""
    n_steps: int


@dataclass(frozen=True)
class Played:
    """What a work item came to."""

    returns: np.ndarray
    """(candidates, episodes)"""
    lengths: np.ndarray
    """(candidates, episodes)"""


def write_program(env: AbstractEnv, candidates: AbstractPolicy) -> bytes:
    """World, perturbation and the structure of the policy, for a worker to read."""
    arrays, rest = eqx.partition(candidates, eqx.is_inexact_array)
    places = jax.tree.map(lambda _: 0, arrays)
    return cloudpickle.dumps((env, places, rest))


@lru_cache(maxsize=4)
def player_of(program: bytes) -> Player:
    """The player of a program, kept with its worlds and compiled code for the next item."""
    return Player(*cloudpickle.loads(program))


class Player:
    """Holds the worlds of one program and plays items in them."""

    def __init__(self, env: AbstractEnv, places: Any, rest: Any):
        found = hosted(env)
        assert found is not None, f"{type(env).__name__} is no world of Gymnasium"
        self.env, self.perturbation = found
        self.places, self.rest = places, rest
        self.worlds: list[gymnasium.Env] = []
        self._begin = jax.jit(self._start)
        self._act = jax.jit(self._decide)

    def play(self, item: Item) -> Played:
        """All episodes of an item, side by side."""
        candidates, episodes = len(item.numbers[0]), len(item.keys)
        wide, long = item.shape
        numbers = [jnp.asarray(_filled(leaf, wide)) for leaf in item.numbers]
        keys = _filled(item.keys, long)
        memory, plans = self._begin(jax.random.wrap_key_data(jnp.asarray(keys)), numbers)
        readings = np.zeros((wide, long, self.env.n_sensors), np.float32)
        places = [(c, e) for c in range(candidates) for e in range(episodes)]
        worlds = self._worlds(len(places))
        for (c, e), world in zip(places, worlds, strict=True):
            readings[c, e] = world.reset(seed=seed_of(item.keys[e]))[0]
        returns = np.zeros((wide, long))
        lengths = np.zeros((wide, long), np.int64)
        alive = list(zip(places, worlds, strict=True))
        for step in range(item.n_steps):
            action, memory = self._act(numbers, memory, plans, readings, np.int32(step))
            decided = np.asarray(action)
            going_on = []
            for place, world in alive:
                seen, reward, ended, cut, _ = world.step(self.env.spaces.to_world(decided[place]))
                readings[place] = seen
                returns[place] += float(reward)
                lengths[place] += 1
                if not (ended or cut):
                    going_on.append((place, world))
            alive = going_on
            if not alive:
                break
        mine = slice(0, candidates), slice(0, episodes)
        return Played(returns[mine].astype(np.float32), lengths[mine])

    def _worlds(self, count: int) -> list[gymnasium.Env]:
        while len(self.worlds) < count:
            self.worlds.append(make_world(self.env.id))
        return self.worlds[:count]

    def _policy(self, numbers: list[jax.Array]) -> AbstractPolicy:
        structure = jax.tree.structure(self.places)
        return eqx.combine(jax.tree.unflatten(structure, numbers), self.rest)

    def _start(self, keys: jax.Array, numbers: list[jax.Array]) -> tuple[Memory, Plan]:
        """Memories (candidates, episodes, ...) and the episodes' fates (episodes, ...)."""
        seen = self.perturbation.count(self.env.n_sensors)

        def fate(key):  # as PerturbedEnv draws it
            return self.perturbation.draw(
                jax.random.fold_in(key, 1), self.env.n_sensors, self.env.n_steps
            )

        def rest(one, key):
            return self._policy(one).init(seen)

        each = jax.vmap(jax.vmap(rest, in_axes=(None, 0)), in_axes=(0, None))
        return each(numbers, keys), jax.vmap(fate)(keys)

    def _decide(
        self, numbers: list[jax.Array], memory: Memory, plans: Plan, readings: jax.Array, step: Any
    ) -> tuple[jax.Array, Memory]:
        def decide(policy, plan, remembered, seen):
            sensors = self.perturbation.apply(plan, Sensors.of(seen), step)
            return policy(sensors, remembered)

        def of_candidate(one, remembered, seen):
            return jax.vmap(partial(decide, self._policy(one)))(plans, remembered, seen)

        return jax.vmap(of_candidate)(numbers, memory, readings)


def seed_of(key: np.ndarray) -> int:
    """The seed of an episode's world: its key, as one number below 2^63."""
    high, low = int(key[0]), int(key[-1])
    return ((high << 32) | low) & (2**63 - 1)


def _filled(array: np.ndarray, count: int) -> np.ndarray:
    """As many rows as there are places; those left over repeat the last."""
    return np.concatenate([array, np.repeat(array[-1:], count - len(array), axis=0)])
