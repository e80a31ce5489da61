"""The tests an agent is put to: each a perturbation, played for many episodes from the same starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray

from anyorder.envs import AbstractEnv, PerturbedEnv, env_named, hosted
from anyorder.oracle import Oracle, oracle_returns
from anyorder.policies import AbstractPolicy
from anyorder.rollout import AbstractPool, GymnasiumEngine, episodes
from anyorder.sensors import (
    AbstractPerturbation,
    Double,
    Drop,
    Flicker,
    Noise,
    Reshuffle,
    Shuffle,
    Unchanged,
)

PROTOCOLS: dict[str, AbstractPerturbation] = {
    "plain": Unchanged(),
    "shuffled": Shuffle(),
    "doubled": Double(),
    "noise5": Noise(channels=5, sd=0.1),
    "every25": Reshuffle(every=25),
    "every50": Reshuffle(every=50),
    "every100": Reshuffle(every=100),
    "every200": Reshuffle(every=200),
    "every500": Reshuffle(every=500),
    "dropped": Drop(lost=1),
    "flicker": Flicker(probability=0.1, every=10),
}
"""Every test by name."""

SUITES: dict[str, tuple[str, ...]] = {
    "paper": (
        "plain", "shuffled", "doubled", "noise5",
        "every25", "every50", "every100", "every200", "every500",
    ),
    "faults": ("plain", "dropped", "flicker"),
    "all": tuple(PROTOCOLS),
}  # fmt: skip
"""Several tests under one name."""

SUCCESS = {
    "cartpole": 500.0,
    "cartpole-discrete": 500.0,
    "channels": 12.0,
    "channels-discrete": 12.0,
    "recall": 0.9,
    "movers": 10.0,
}
"""The return above which an episode counts as a success."""


def success_of(task: str) -> float | None:
    """The return above which an episode of this task counts as a success, if somebody has said so."""
    found = hosted(env_named(task)) if task not in SUCCESS else None
    return found[0].spaces.solved if found else SUCCESS.get(task)


BATCH = 500
Player = Callable[[Any, AbstractEnv, Key[Array, " episodes"]], Float[Array, " episodes"]]


@eqx.filter_jit
def play(
    policy: AbstractPolicy | Oracle, env: AbstractEnv, keys: Key[Array, " episodes"]
) -> Float[Array, " episodes"]:
    """Returns of one episode per key: a policy goes by its sensors, the oracle by the true state."""
    if isinstance(policy, Oracle):
        return oracle_returns(policy, env, keys)
    return episodes(policy, env, keys=keys).total


def player_on(pool: AbstractPool | None) -> Player:
    """Plays worlds of ours here and Gymnasium's on the pool's workers."""

    def play_anywhere(
        policy: Any, env: AbstractEnv, keys: Key[Array, " episodes"]
    ) -> Float[Array, " episodes"]:
        if pool is None or hosted(env) is None:
            return play(policy, env, keys)
        one = jax.tree.map(lambda leaf: leaf[None] if eqx.is_inexact_array(leaf) else leaf, policy)
        returns, _ = GymnasiumEngine(env, pool)(one, keys)
        return returns[0]

    return play_anywhere


def protocol_returns(
    policy: AbstractPolicy | Oracle,
    env: AbstractEnv,
    perturbation: AbstractPerturbation,
    *,
    n_episodes: int,
    key: PRNGKeyArray,
    player: Player = play,
) -> Iterator[Float[np.ndarray, " batch"]]:
    """Returns of `n_episodes` episodes, a batch at a time.

    With the same key, episode i starts in the same state under every protocol and for every agent.
    """
    perturbed = env if isinstance(perturbation, Unchanged) else PerturbedEnv(env, perturbation)
    keys = jax.random.split(key, n_episodes)
    for first in range(0, n_episodes, BATCH):
        yield np.asarray(player(policy, perturbed, keys[first : first + BATCH]))
