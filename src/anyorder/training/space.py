"""Which numbers of a policy evolution searches over."""

from __future__ import annotations

from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from anyorder.neurons import AttentionNeuron
from anyorder.policies import AbstractPolicy, InvariantPolicy

SpaceName = Literal["full", "folded"]
Vector = Float[Array, " numbers"]
INNER_SCALE = 2.8
"""A step in the folded matrix moves the scores about as far as the same step in both its factors."""


def check_space(name: SpaceName, policy: AbstractPolicy) -> None:
    """Raise ValueError if the policy cannot be searched in this space."""
    if name == "folded" and not (
        isinstance(policy, InvariantPolicy)
        and isinstance(policy.neuron, AttentionNeuron)
        and not policy.neuron.config.bias
        and policy.neuron.config.score in ("dot", "scaled-dot")
        and policy.neuron.config.heads == 1
        and policy.neuron.config.width >= policy.neuron.config.hidden
    ):
        raise ValueError(
            "the folded space is for recurrent attention neurons with one head of dot scores "
            "without biases"
        )


def to_vector(name: SpaceName, policy: AbstractPolicy) -> Vector:
    """The numbers to search over, starting from a policy."""
    if name == "full":
        return flatten(policy)
    neuron = _neuron(policy)
    assert isinstance(policy, InvariantPolicy)
    query, key = neuron.query_map.weight, neuron.key_map.weight
    inner = query.T @ key / INNER_SCALE
    cell = (neuron.cell.weight_ih, neuron.cell.weight_hh, neuron.bias)
    head = eqx.filter(policy.head, eqx.is_inexact_array)
    chosen = eqx.filter(neuron.attention, eqx.is_inexact_array)
    return ravel_pytree((cell, inner, head, chosen))[0]


def to_policy(name: SpaceName, template: AbstractPolicy, vector: Vector) -> AbstractPolicy:
    """The policy with these numbers.

    Scores depend on W_q and W_k through W_q^T W_k alone, and gates on the sum of two biases. The
    folded space searches over that product and that sum, 433 numbers instead of 913 for the paper's
    agent, and writes them back as W_q = E, W_k = E (W_q^T W_k), with E fixed and orthonormal. What
    further numbers the attention has, such as those of a learned key map, are searched as they are.
    """
    if name == "full":
        return unflatten(template, vector)
    neuron = _neuron(template)
    assert isinstance(template, InvariantPolicy)
    cell = (neuron.cell.weight_ih, neuron.cell.weight_hh, neuron.bias)
    hidden, width = neuron.config.hidden, neuron.config.width
    head, head_rest = eqx.partition(template.head, eqx.is_inexact_array)
    chosen, chosen_rest = eqx.partition(neuron.attention, eqx.is_inexact_array)
    shapes = (cell, jnp.zeros((hidden, hidden)), head, chosen)
    (w_ih, w_hh, bias), inner, head, chosen = ravel_pytree(shapes)[1](vector)
    basis = jnp.asarray(_orthonormal(width, hidden))
    return eqx.tree_at(
        lambda p: (
            p.neuron.cell.weight_ih,
            p.neuron.cell.weight_hh,
            p.neuron.cell.bias,
            p.neuron.recurrent_bias,
            p.neuron.query_map.weight,
            p.neuron.key_map.weight,
            p.head,
            p.neuron.attention,
        ),
        template,
        (
            w_ih,
            w_hh,
            bias,
            jnp.zeros_like(bias),
            basis,
            basis @ (INNER_SCALE * inner),
            eqx.combine(head, head_rest),
            eqx.combine(chosen, chosen_rest),
        ),
    )


def flatten(policy: AbstractPolicy) -> Vector:
    """All parameters as one vector, in the order of the policy's fields."""
    return ravel_pytree(eqx.filter(policy, eqx.is_inexact_array))[0]


def unflatten(policy: AbstractPolicy, vector: Vector) -> AbstractPolicy:
    """`policy` with the parameters of `vector`."""
    arrays, rest = eqx.partition(policy, eqx.is_inexact_array)
    return eqx.combine(ravel_pytree(arrays)[1](vector), rest)


def _neuron(policy: AbstractPolicy) -> AttentionNeuron:
    assert isinstance(policy, InvariantPolicy)
    assert isinstance(policy.neuron, AttentionNeuron)
    return policy.neuron


def _orthonormal(rows: int, columns: int) -> np.ndarray:
    """A fixed matrix with orthonormal columns."""
    return np.linalg.qr(np.random.default_rng(0).normal(size=(rows, columns)))[0]
