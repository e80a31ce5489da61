"""How an episode lies on the lanes of a GPU, and the arithmetic there.

Eight neighbouring lanes share an episode, one unit of every neuron each. Arrays have the axes
(episodes, 2, 2, 2), the last three being the bits of the lane's number: a sum over one of them costs one
exchange between lanes and leaves its result in all of them. What belongs to the episode as a whole is
computed by all eight alike, which costs no more than if seven were idle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas import triton as pltriton
from jaxtyping import Array, Float

UNITS = 8
"""Lanes an episode has."""
BITS = (1, 2, 3)
"""Axes that number the lanes."""

Lanes = Array
"""(episodes, 2, 2, 2): a number for each lane of each episode of a block."""


class Arithmetic(NamedTuple):
    """Functions for which a GPU has instructions of its own."""

    exp2: Callable[[Lanes], Lanes]
    inverse: Callable[[Lanes], Lanes]
    sin: Callable[[Lanes], Lanes]
    """On [-pi, pi]."""
    cos: Callable[[Lanes], Lanes]
    """On [-pi, pi]."""


def _instruction(name: str) -> Callable[[Lanes], Lanes]:
    def apply(x):
        (result,) = pltriton.elementwise_inline_asm(
            f"{name} $0, $1;",
            args=[x],
            constraints="=f,f",
            pack=1,
            result_shape_dtypes=[jax.ShapeDtypeStruct(x.shape, x.dtype)],
        )
        return result

    return apply


ON_CHIP = Arithmetic(
    *(_instruction(f"{name}.approx.ftz.f32") for name in ("ex2", "rcp", "sin", "cos"))
)
"""NVIDIA's, good to about 1e-6 on the arguments they are used for."""
ANYWHERE = Arithmetic(jnp.exp2, lambda x: 1 / x, jnp.sin, jnp.cos)
"""For runs without a GPU."""

LOG2_E = float(np.log2(np.e))
LARGEST = 30.0
"""Exponents are kept below this where several powers are multiplied: e^-20 is as good as nothing."""


def total(x: Lanes, axis: int) -> Lanes:
    """Sums along an axis, in all places of that axis."""
    return jnp.broadcast_to(jnp.sum(x, axis=axis, keepdims=True), x.shape)


def sum_of_lanes(x: Lanes) -> Lanes:
    """The sum over an episode's lanes, in all of them."""
    for axis in BITS:
        x = total(x, axis)
    return x


def spread(x: Lanes) -> list[Lanes]:
    """All that eight lanes know, in each of them, by seven exchanges.

    Entry S is the sum over the lanes that differ from one's own in bits of S alone: one's own number,
    then sums of two, four and eight lanes. `by_sums` gives the weights that go with these.
    """
    known = [x]
    for axis in BITS:
        known += [total(each, axis) for each in known]
    return known


def by_sums(weights: Float[Array, "*more 8 8"]) -> Float[Array, "*more 8 8"]:
    """Weights (lane, unit) turned into weights (lane, entry of `spread`).

    Möbius inversion: x of the lane that differs in bits T is the sum over all S within T of
    (-1)^|T - S| spread(x)[S].
    """
    lane, bits = np.arange(UNITS)[:, None], np.arange(UNITS)[None, :]
    by_difference = jnp.take_along_axis(
        weights, jnp.broadcast_to(lane ^ bits, weights.shape), axis=-1
    )
    within = (lane & bits) == bits  # row T, column S
    odd = np.vectorize(lambda t, s: (t & ~s).bit_count() % 2)(lane, bits)
    return by_difference @ jnp.asarray(np.where(within, 1.0 - 2.0 * odd, 0.0), weights.dtype)
