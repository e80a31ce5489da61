"""Nonlinear maps of keys, K' = phi(K), before they are compared with queries.

Nonlinear attention (arXiv 2506.00691) says that such a map speeds learning up, without saying which.
These are our choices, under our names. K holds what the neurons remember, one row of `hidden` numbers
each, and so does K'; each row is mapped by itself, so nothing depends on the order of the neurons.

    identity     k
    tanh         tanh(k)
    relu         max(k, 0)
    gelu         k P(z < k), z a standard normal number
    polynomial   k + k^2
    fourier      sqrt(2) cos(W k + b), W and b drawn once and for all
    two-layer    W2 relu(W1 k)                           learned
    gated        W2 (tanh(W1 k) * sigmoid(W3 k))         learned
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

KeyMapName = Literal[
    "identity", "tanh", "relu", "gelu", "polynomial", "fourier", "two-layer", "gated"
]


def polynomial(keys: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """k + k^2: tells what is large from what is small whatever its sign, and keeps the sign.

    >>> polynomial(jnp.array([-1.0, 0.5])).tolist()
    [0.0, 0.75]
    """
    return keys + keys**2


ELEMENTWISE: dict[str, Callable[[Array], Array]] = {
    "tanh": jnp.tanh,
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "polynomial": polynomial,
}
"""Maps of each number by itself, without parameters."""


class AbstractKeyMap(eqx.Module):
    """A map of each neuron's key by itself."""

    @abc.abstractmethod
    def __call__(self, keys: Float[Array, "sensors hidden"]) -> Float[Array, "sensors hidden"]:
        """K' = phi(K)."""


class IdentityKeys(AbstractKeyMap):
    """Keys as they are: linear attention, the paper's."""

    def __call__(self, keys):
        return keys


class ElementwiseKeys(AbstractKeyMap):
    """One of ELEMENTWISE.

    >>> ElementwiseKeys("relu")(jnp.array([[-1.0, 2.0]])).tolist()
    [[0.0, 2.0]]
    """

    name: str = eqx.field(static=True)

    def __call__(self, keys):
        return ELEMENTWISE[self.name](keys)


class FourierKeys(AbstractKeyMap):
    """Random Fourier features (Rahimi and Recht, 2007), whose numbers are the same for every agent.

    >>> FourierKeys()(jnp.zeros((3, 8))).shape
    (3, 8)
    """

    def __call__(self, keys):
        turns, shift = self.layer(keys.shape[-1])
        return math.sqrt(2) * jnp.cos(keys @ turns.T.astype(keys.dtype) + shift.astype(keys.dtype))

    @staticmethod
    def layer(hidden: int) -> tuple[Float[Array, "hidden hidden"], Float[Array, " hidden"]]:
        """W and b."""
        turns, shift = _fourier(hidden)
        return jnp.asarray(turns), jnp.asarray(shift)


class TwoLayerKeys(AbstractKeyMap):
    """W2 relu(W1 k), as wide inside as outside."""

    first: eqx.nn.Linear
    second: eqx.nn.Linear

    def __init__(self, hidden: int, *, key: PRNGKeyArray):
        first_key, second_key = jax.random.split(key)
        self.first = eqx.nn.Linear(hidden, hidden, use_bias=False, key=first_key)
        self.second = eqx.nn.Linear(hidden, hidden, use_bias=False, key=second_key)

    def __call__(self, keys):
        return jax.vmap(lambda k: self.second(jax.nn.relu(self.first(k))))(keys)


class GatedKeys(AbstractKeyMap):
    """W2 (tanh(W1 k) * sigmoid(W3 k)), as wide inside as outside."""

    first: eqx.nn.Linear
    gate: eqx.nn.Linear
    second: eqx.nn.Linear

    def __init__(self, hidden: int, *, key: PRNGKeyArray):
        keys = jax.random.split(key, 3)
        self.first, self.gate, self.second = (
            eqx.nn.Linear(hidden, hidden, use_bias=False, key=each) for each in keys
        )

    def __call__(self, keys):
        def one(k):
            return self.second(jnp.tanh(self.first(k)) * jax.nn.sigmoid(self.gate(k)))

        return jax.vmap(one)(keys)


def key_map_named(name: KeyMapName, hidden: int, *, key: PRNGKeyArray) -> AbstractKeyMap:
    """The map of this name, for keys of `hidden` numbers."""
    if name in ELEMENTWISE:
        return ElementwiseKeys(name)
    if name == "fourier":
        return FourierKeys()
    if name == "two-layer":
        return TwoLayerKeys(hidden, key=key)
    if name == "gated":
        return GatedKeys(hidden, key=key)
    return IdentityKeys()


@lru_cache
def _fourier(hidden: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2506)
    return rng.normal(size=(hidden, hidden)), rng.uniform(0, 2 * math.pi, size=hidden)
