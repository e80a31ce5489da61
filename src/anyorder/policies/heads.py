"""From a code of fixed size to an action."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray


def linear_head(n_inputs: int, n_actions: int, hidden: int, *, key: PRNGKeyArray) -> eqx.nn.MLP:
    """One linear map, or one tanh layer of `hidden` units before it. The policy squashes the result."""
    return eqx.nn.MLP(
        n_inputs,
        n_actions,
        width_size=hidden,
        depth=1 if hidden else 0,
        activation=jnp.tanh,
        key=key,
    )
