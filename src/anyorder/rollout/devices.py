"""The devices of this host share the work: some candidates each, and where those run out, some episodes each.

Nothing passes between devices while they play, so each does what one device alone would have done.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float, Int, Key

Returns = Float[Array, "candidates episodes"]
Play = Callable[[Any, Key[Array, " episodes"]], tuple[Returns, Int[Array, ""]]]


def over_devices(play: Play, candidates: Any, keys: Key[Array, " episodes"]) -> tuple[Returns, Any]:
    """`play(candidates, keys)`, every device of this host taking its share.

    **Arguments:**

    - `play`: returns (candidates, episodes) and all steps; may stand inside jit.
    - `candidates`: arrays with a leading axis of candidates.
    - `keys`: one per episode.
    """
    arrays, rest = eqx.partition(candidates, eqx.is_array)
    rows, columns = split(jax.tree.leaves(arrays)[0].shape[0], keys.shape[0])
    if rows * columns == 1:
        return play(candidates, keys)
    devices = np.array(jax.local_devices()[: rows * columns]).reshape(rows, columns)
    each, every = PartitionSpec("candidates"), PartitionSpec("episodes")
    both = PartitionSpec("candidates", "episodes")

    def share(arrays, keys):
        returns, steps = play(eqx.combine(arrays, rest), keys)
        return returns, steps.reshape(1, 1)

    returns, steps = jax.shard_map(
        share,
        mesh=Mesh(devices, ("candidates", "episodes")),
        in_specs=(each, every),
        out_specs=(both, both),
        check_vma=False,
    )(arrays, keys)
    return returns, steps.sum()


def split(candidates: int, episodes: int, devices: int | None = None) -> tuple[int, int]:
    """Among how many devices candidates and episodes are split, without a remainder.

    >>> split(256, 16, devices=8), split(2, 1024, devices=8), split(5, 7, devices=8)
    ((8, 1), (2, 4), (1, 7))
    """
    devices = devices or jax.local_device_count()
    return max(
        ((r, c) for r in _divisors(candidates, devices) for c in _divisors(episodes, devices // r)),
        key=lambda pair: (math.prod(pair), pair[0]),
    )


def _divisors(count: int, most: int) -> list[int]:
    return [n for n in range(1, max(most, 1) + 1) if count % n == 0] or [1]
