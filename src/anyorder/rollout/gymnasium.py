"""Episodes in Gymnasium's worlds, many candidates at once, on the workers of a pool."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from anyorder.envs import AbstractEnv
from anyorder.envs.hosted import hosted
from anyorder.policies import AbstractPolicy
from anyorder.rollout.engine import AbstractEngine, Length
from anyorder.rollout.player import Item, write_program
from anyorder.rollout.pool import AbstractPool

PLACES = 16
"""Episodes an item plays side by side: enough to share the cost of a decision, few enough to balance."""


class GymnasiumEngine(AbstractEngine):
    """Plays on the host: the same call as every engine, but not inside jit."""

    env: AbstractEnv
    pool: AbstractPool = eqx.field(static=True)

    def __check_init__(self):
        if hosted(self.env) is None:
            raise ValueError(f"{type(self.env).__name__} is no world of Gymnasium")

    @property
    def traceable(self) -> bool:
        return False

    @property
    def name(self) -> str:
        return self.pool.describe()

    def practising(self, share: Float[Array, ""]) -> GymnasiumEngine:
        return GymnasiumEngine(self.env.practising(share), self.pool)

    def __call__(
        self,
        candidates: AbstractPolicy,
        keys: Key[Array, " episodes"],
        n_steps: Length | None = None,
    ) -> tuple[Float[Array, "candidates episodes"], Int[Array, ""]]:
        limit = self.env.n_steps if n_steps is None else min(int(n_steps), self.env.n_steps)
        arrays = eqx.filter(candidates, eqx.is_inexact_array)
        numbers = [np.asarray(leaf) for leaf in jax.tree.leaves(arrays)]
        words = np.asarray(jax.random.key_data(keys))
        corners, items = cut(numbers, words, limit)
        played = self.pool.play(write_program(self.env, candidates), items)
        returns = np.zeros((len(numbers[0]), len(words)), np.float32)
        for (first, early), one in zip(corners, played, strict=True):
            wide, long = one.returns.shape
            returns[first : first + wide, early : early + long] = one.returns
        steps = sum(int(one.lengths.sum()) for one in played)
        return jnp.asarray(returns), jnp.asarray(steps, dtype=int)


def cut(
    numbers: list[np.ndarray], keys: np.ndarray, n_steps: int
) -> tuple[list[tuple[int, int]], list[Item]]:
    """Work items, and the first candidate and episode of each.

    How it is cut depends on how many candidates and episodes there are and on nothing else: the same
    items come out on every machine.
    """
    long = min(PLACES, len(keys))
    wide = max(1, min(PLACES // long, len(numbers[0])))
    corners = [(c, e) for e in range(0, len(keys), long) for c in range(0, len(numbers[0]), wide)]
    items = [
        Item(
            numbers=tuple(leaf[c : c + wide] for leaf in numbers),
            keys=keys[e : e + long],
            shape=(wide, long),
            n_steps=n_steps,
        )
        for c, e in corners
    ]
    return corners, items
