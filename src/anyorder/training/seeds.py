"""Many runs of one learner at once, each from a seed of its own, in one compiled update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from anyorder.policies import AbstractPolicy
from anyorder.training.loop import Learner


class ManySeeds(eqx.Module):
    """A learner whose first policies differ from seed to seed; states and metrics carry a leading axis."""

    learner: Any
    """The policies' arrays carry a leading axis of seeds."""

    def __init__(self, learner: Learner, policies: Sequence[AbstractPolicy]):
        """**Arguments:**

        - `learner`: whose `policy` is replaced.
        - `policies`: where each run starts.
        """
        stacked = jax.tree.map(
            lambda *leaves: jnp.stack(leaves) if eqx.is_array(leaves[0]) else leaves[0], *policies
        )
        self.learner = eqx.tree_at(lambda one: one.policy, learner, stacked)

    def init(self, keys: Key[Array, " seeds"]) -> Any:
        """The first states."""
        each = eqx.filter_vmap(lambda one, key: one.init(key), in_axes=(self._axes(), 0))
        return each(self.learner, keys)

    def update(self, states: Any, number: int) -> tuple[Any, dict[str, Array]]:
        """One update of every run, the one after `number` others."""

        def update(one, state):
            return one.update(state, number)

        return eqx.filter_vmap(update, in_axes=(self._axes(), eqx.if_array(0)))(
            self.learner, states
        )

    def test(self, states: Any) -> tuple[Any, dict[str, Array]]:
        """Metrics of every run on the same held-out episodes."""
        each = eqx.filter_vmap(
            lambda one, state: one.test(state), in_axes=(self._axes(), eqx.if_array(0))
        )
        return each(self.learner, states)

    def one(self, number: int) -> Learner:
        """The learner of one seed."""
        policy = jax.tree.map(
            lambda leaf: leaf[number] if eqx.is_array(leaf) else leaf, self.learner.policy
        )
        return eqx.tree_at(lambda one: one.policy, self.learner, policy)

    def _axes(self) -> Any:
        """Which arrays of the learner differ from seed to seed: those of its policy."""
        shared = jax.tree.map(lambda _: None, self.learner)
        mapped = jax.tree.map(lambda leaf: 0 if eqx.is_array(leaf) else None, self.learner.policy)
        return eqx.tree_at(lambda one: one.policy, shared, mapped, is_leaf=lambda x: x is None)


def state_of(states: Any, number: int) -> Any:
    """The state of one run among many."""
    return jax.tree.map(lambda leaf: leaf[number], states)
