"""Several hosts play one generation: each its share of candidates, and all learn what came of all of them.

Every host asks, tells and keeps the same state from the same key; only returns travel.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jaxtyping import Array, Float, Int, Key

from anyorder.envs import AbstractEnv
from anyorder.policies import AbstractPolicy
from anyorder.rollout.engine import AbstractEngine, Length


class HostsEngine(AbstractEngine):
    """An engine whose work is shared among the processes that `jax.distributed` has joined."""

    env: AbstractEnv
    engine: AbstractEngine

    def __init__(self, engine: AbstractEngine):
        self.env = engine.env
        self.engine = engine

    @property
    def traceable(self) -> bool:
        return False

    @property
    def name(self) -> str:
        return f"{self.engine.name} on {jax.process_count()} hosts"

    def practising(self, share: Float[Array, ""]) -> HostsEngine:
        return HostsEngine(self.engine.practising(share))

    def __call__(
        self,
        candidates: AbstractPolicy,
        keys: Key[Array, " episodes"],
        n_steps: Length | None = None,
    ) -> tuple[Float[Array, "candidates episodes"], Int[Array, ""]]:
        arrays, rest = eqx.partition(candidates, eqx.is_inexact_array)
        sizes = jax.tree.leaves(arrays)[0].shape[0], keys.shape[0]
        hosts, me = jax.process_count(), jax.process_index()
        by_candidates = sizes[0] >= hosts
        total = sizes[0] if by_candidates else sizes[1]
        starts = np.linspace(0, total, hosts + 1).round().astype(int)
        first, last = starts[me], starts[me + 1]
        if by_candidates:
            arrays = jax.tree.map(lambda leaf: leaf[first:last], arrays)
        else:
            keys = keys[first:last]
        play = eqx.filter_jit(self.engine) if self.engine.traceable else self.engine
        returns, steps = play(eqx.combine(arrays, rest), keys, n_steps)
        mine = np.asarray(returns) if by_candidates else np.asarray(returns).T
        room = np.zeros((int(np.diff(starts).max()), mine.shape[1]), mine.dtype)
        room[: len(mine)] = mine
        shares, made = multihost_utils.process_allgather((room, np.asarray(steps)))
        whole = np.concatenate(
            [share[:count] for share, count in zip(shares, np.diff(starts), strict=True)]
        )
        return jnp.asarray(whole if by_candidates else whole.T), jnp.asarray(made.sum(), dtype=int)
