"""The loop of the GPU kernel: a warp plays four episodes of a candidate, and knows neither world nor policy.

Everything an episode needs stays in registers from its first step to its last. Episodes are played in the
order of their prospects, so that those that end soon end together and make room for others.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as pltriton
from jaxtyping import Array, Float, Int

from anyorder.rollout.gpu.lanes import ANYWHERE, BITS, ON_CHIP, UNITS, Arithmetic
from anyorder.rollout.gpu.policies import AbstractPolicyLanes
from anyorder.rollout.gpu.worlds import AbstractWorldLanes

EPISODES = 4
"""Episodes a block plays ..."""
WARPS = 1
"""... on so many times 32 lanes."""


def _play(
    policy: AbstractPolicyLanes, world: AbstractWorldLanes, maths: Arithmetic, n_extra: int,
    weights, starts, extra, limit, returns, lengths,
):  # fmt: skip
    """The kernel: the block's episodes of one candidate, from start to end."""
    shape = (EPISODES, *(2 for _ in BITS))
    row = jax.lax.broadcasted_iota(jnp.int32, shape, 0)
    lane = sum(
        jax.lax.broadcasted_iota(jnp.int32, shape, axis) << bit for bit, axis in enumerate(BITS)
    )
    mine = [weights[0, place, lane] for place in range(weights.shape[1])]
    *start, gain = (starts[number, row] for number in range(world.numbers + 1))
    nothing = jnp.zeros_like(gain)
    n_steps = limit[0]

    def going_on(carry):
        left = carry[4]
        for axis in reversed(range(len(shape))):
            left = jnp.max(left, axis=axis)
        return (carry[0] < n_steps) & (left > 0)

    def step(carry):
        time, state, action, memory, alive, total, length = carry
        sensors = world.observe(state)
        sensors += [extra[number, time, row] for number in range(n_extra)]
        action, memory = policy.act(iter(mine), sensors, gain, action, memory, maths)
        state, reward, over = world.step(state, action, maths)
        total = total + alive * reward
        length = length + alive
        return time + 1, state, action, memory, jnp.where(over, 0.0, alive), total, length

    state = world.enter(start, maths)
    memory = policy.rest(nothing, len(world.observe(state)) + n_extra)
    first = (jnp.int32(0), state, nothing, memory, nothing + 1, nothing, nothing)
    *_, total, length = jax.lax.while_loop(going_on, step, first)
    for result, found in ((returns, total), (lengths, length)):
        for axis in reversed(BITS):
            found = jnp.max(found, axis=axis)  # the same in all lanes
        result[0, :] = found


def gpu_returns(
    weights: Float[Array, "candidates rows 8"],
    starts: Float[Array, "episodes numbers+1"],
    extra: Float[Array, "episodes steps extra"],
    n_steps: int | Int[Array, ""],
    policy: AbstractPolicyLanes,
    world: AbstractWorldLanes,
    *,
    interpret: bool = False,
) -> tuple[Float[Array, "candidates episodes"], Int[Array, ""]]:
    """Returns of every candidate in the episodes from these starts, and all steps taken together.

    **Arguments:**

    - `weights`: rows in the order in which `policy` reads them.
    - `starts`: what `world` starts from, and the gain on the code.
    - `extra`: what sensors beside the world's own read.
    - `n_steps`: an array serves all lengths with one compiled kernel.
    - `interpret`: run on any device, slowly, for tests.
    """
    candidates, episodes = weights.shape[0], starts.shape[0]
    blocks = pl.cdiv(episodes, EPISODES)
    order = jnp.argsort(world.prospects(starts))
    idle = blocks * EPISODES - episodes
    nowhere = jnp.append(world.nowhere(), 1.0).astype(starts.dtype)
    ordered = jnp.concatenate([starts[order], jnp.tile(nowhere, (idle, 1))]).T
    n_extra = extra.shape[2]
    unread = 0 if n_extra else 1  # the kernel needs something to point at
    readings = jnp.pad(extra[order], ((0, idle), (0, 0), (0, unread))).transpose(2, 1, 0)
    filled = jax.ShapeDtypeStruct((candidates, blocks * EPISODES), jnp.float32)
    result = pl.BlockSpec((1, EPISODES), lambda c, b: (c, b))
    totals, lengths = pl.pallas_call(
        partial(_play, policy, world, ANYWHERE if interpret else ON_CHIP, n_extra),
        out_shape=(filled, filled),
        grid=(candidates, blocks),
        in_specs=[
            pl.BlockSpec((1, weights.shape[1], UNITS), lambda c, b: (c, 0, 0)),
            pl.BlockSpec((world.numbers + 1, EPISODES), lambda c, b: (0, b)),
            pl.BlockSpec((*readings.shape[:2], EPISODES), lambda c, b: (0, 0, b)),
            pl.BlockSpec((1,), lambda c, b: (0,)),
        ],
        out_specs=(result, result),
        compiler_params=pltriton.CompilerParams(num_warps=WARPS, num_stages=1),
        interpret=interpret,
    )(weights, ordered, readings, jnp.asarray(n_steps, jnp.int32)[None])
    steps = lengths[:, :episodes].sum().astype(int)
    return jnp.zeros_like(totals[:, :episodes]).at[:, order].set(totals[:, :episodes]), steps
