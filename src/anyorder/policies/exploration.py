"""Acting by chance around what a head says, as learners by gradient need it.

Numbers are drawn from a Gaussian around the head's output and squashed afterwards, just as the policy
squashes the output itself; probabilities are those of the draw before squashing, whose ratios are the
same. Choices are drawn with the head's output as log-odds. Either way `to_action(drawn, kind)` is the
action, and the policy's own action is the most likely one.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.policies.base import ActionKind


def draw(
    raw: Float[Array, " actions"],
    log_sd: Float[Array, " actions"],
    kind: ActionKind,
    *,
    key: PRNGKeyArray,
) -> Float[Array, " actions"]:
    """An action before `to_action`, drawn around `raw`; a choice is one-hot."""
    if kind == "continuous":
        return raw + jnp.exp(log_sd) * jax.random.normal(key, raw.shape)
    return jax.nn.one_hot(jax.random.categorical(key, raw), raw.shape[0], dtype=raw.dtype)


def log_probability(
    drawn: Float[Array, " actions"],
    raw: Float[Array, " actions"],
    log_sd: Float[Array, " actions"],
    kind: ActionKind,
) -> Float[Array, ""]:
    """How likely `draw` gives this, as a logarithm."""
    if kind == "continuous":
        away = (drawn - raw) * jnp.exp(-log_sd)
        return -(0.5 * away**2 + log_sd + 0.5 * math.log(2 * math.pi)).sum()
    return (jax.nn.log_softmax(raw) * drawn).sum()


def entropy(
    raw: Float[Array, " actions"],
    log_sd: Float[Array, " actions"],
    kind: ActionKind,
    *,
    key: PRNGKeyArray,
) -> Float[Array, ""]:
    """Entropy of the action; after the squashing it has no formula, and is estimated from one draw."""
    if kind == "continuous":
        drawn = draw(raw, log_sd, kind, key=key)
        slope = 2 * (math.log(2) - drawn - jax.nn.softplus(-2 * drawn))  # log of tanh's derivative
        return (log_sd + 0.5 * math.log(2 * math.pi * math.e) + slope).sum()
    return -(jax.nn.softmax(raw) * jax.nn.log_softmax(raw)).sum()
