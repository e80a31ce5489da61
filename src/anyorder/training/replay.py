"""What was lived, kept on the device to learn from again.

Many worlds run side by side and are written a block of steps at a time, each block with the memories
the agent had at its start. A sample is a window: consecutive steps of one world from the start of a
block on, as far as one likes into the blocks after it. All of it is arrays, so that it is saved with
a run and goes on bit for bit; a checkpoint is therefore as large as what is kept.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree


class Replay(eqx.Module):
    """The last few blocks; a new one takes the place of the oldest."""

    rows: PyTree
    """What was lived, each array of shape (blocks, steps, worlds, ...)."""
    memories: PyTree
    """What the agent remembered at the start of each block, each array (blocks, worlds, ...)."""
    added: Int[Array, ""]
    """Blocks ever written."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Blocks there is room for, steps in a block, worlds."""
        blocks, steps, worlds = jax.tree.leaves(self.rows)[0].shape[:3]
        return blocks, steps, worlds

    def starts(self, window: int) -> Int[Array, ""]:
        """Blocks from whose first step a window of this many steps has been written; at least 0."""
        blocks, steps, _ = self.shape
        spanned = -(-window // steps)
        return jnp.maximum(jnp.minimum(self.added, blocks) - spanned + 1, 0)

    def ready(self, window: int) -> Bool[Array, ""]:
        """Whether windows of this length can be sampled."""
        return self.starts(window) > 0


def empty(row: PyTree, memory: PyTree, *, blocks: int, steps: int, worlds: int) -> Replay:
    """A replay buffer with nothing in it, for rows and memories of one world like these."""

    def room(*shape: int):
        return lambda leaf: jnp.zeros((*shape, worlds, *leaf.shape), leaf.dtype)

    rows = jax.tree.map(room(blocks, steps), row)
    return Replay(rows, jax.tree.map(room(blocks), memory), jnp.zeros((), jnp.int32))


def add(replay: Replay, rows: PyTree, memories: PyTree) -> Replay:
    """Write a block: rows of shape (steps, worlds, ...), memories of shape (worlds, ...)."""
    place = replay.added % replay.shape[0]

    def write(kept: Array, new: Array) -> Array:
        return kept.at[place].set(new)

    return Replay(
        jax.tree.map(write, replay.rows, rows),
        jax.tree.map(write, replay.memories, memories),
        replay.added + 1,
    )


def sample(replay: Replay, *, count: int, window: int, key: PRNGKeyArray) -> tuple[Any, Any]:
    """Rows (count, window, ...) and the memories (count, ...) that go with their first steps.

    Windows start at a random block of a random world and never span the seam between newest and
    oldest. What comes out of a buffer that is not `ready` for the window holds no meaning.
    """
    blocks, steps, worlds = replay.shape
    block_key, world_key = jax.random.split(key)
    oldest = jnp.maximum(replay.added - blocks, 0)
    starts = jnp.maximum(replay.starts(window), 1)
    block = oldest + jax.random.randint(block_key, (count,), 0, starts)
    world = jax.random.randint(world_key, (count,), 0, worlds)
    times = block[:, None] * steps + jnp.arange(window)
    place, step = (times // steps) % blocks, times % steps
    rows = jax.tree.map(lambda kept: kept[place, step, world[:, None]], replay.rows)
    memories = jax.tree.map(lambda kept: kept[block % blocks, world], replay.memories)
    return rows, memories
