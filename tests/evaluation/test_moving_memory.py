"""docs/invariance.md, tested: move each neuron's memory with its sensor, and a closed loop stays the same."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.bridges.authors import import_weights
from anyorder.envs import AbstractEnv, CartPoleSwingUpHarder
from anyorder.evaluation.precision import double_precision, doubled
from anyorder.evaluation.trials import (
    ABSOLUTE,
    FIRST_ONLY,
    INVERSE,
    KEPT,
    LATE,
    PERMUTED,
    World,
    altered,
    play_all,
    reshuffled,
    stacked,
    undisturbed,
)
from anyorder.evaluation.twins import GRAIN, meet_again
from anyorder.policies import InvariantPolicy, RelationalPolicy

POLICIES = {
    "attention": InvariantPolicy(5, 1, key=jax.random.key(3)),
    "relational": RelationalPolicy(5, 1, key=jax.random.key(3)),
}


class Endless(AbstractEnv):
    """The pole and its cart on a track without ends, so that every episode is as long as it can be."""

    env: AbstractEnv

    @property
    def n_sensors(self):
        return self.env.n_sensors

    @property
    def n_actions(self):
        return self.env.n_actions

    @property
    def n_steps(self):
        return self.env.n_steps

    def reset(self, key):
        return self.env.reset(key)

    def step(self, state, action, *, key):
        step = self.env.step(state, action, key=key)
        return eqx.tree_at(lambda s: s.terminated, step, jnp.array(False))


@pytest.mark.parametrize("name", POLICIES)
def test_an_episode_of_a_thousand_steps_is_the_same_if_memory_moves_along(name, key):
    world = World(Endless(CartPoleSwingUpHarder()))
    twins = meet_again(POLICIES[name], world, jax.random.split(key, 2), np.random.default_rng(0))
    assert twins.steps == 1000
    assert twins.worst_code < 1e-5
    assert twins.worst_action < 1e-5
    assert twins.worst_return < 1e-5


def test_the_released_agent_s_too_and_only_if_memory_moves_rightly(released, key):
    policy = import_weights(released / "cartpole_pi.npz").policy
    world, keys = World(CartPoleSwingUpHarder()), jax.random.split(key, 8)
    with double_precision():
        policy, world = doubled(policy), doubled(world)
        calm = altered(undisturbed(world, keys), grain=GRAIN)
        often = reshuffled(calm, np.random.default_rng(0))
        ways = (PERMUTED, KEPT, ABSOLUTE, INVERSE, FIRST_ONLY, LATE)
        trials = stacked(calm, *(altered(often, moving=way) for way in ways))
        played = play_all(policy, world, trials, record=lambda s, r, decision: decision.code)
    lengths = played.length.reshape(len(ways) + 1, -1)
    whole = lengths[0] == 1000
    assert whole.sum() >= 3
    code = played.trace.reshape(len(ways) + 1, len(keys), 1000, -1)
    total = played.total.reshape(len(ways) + 1, -1)
    alive = np.arange(1000) < lengths[0][:, None]
    assert np.abs(code[1] - code[0])[alive].max() < 1e-5
    np.testing.assert_allclose(total[1], total[0], atol=1e-9)
    for way in range(
        2, len(ways) + 1
    ):  # all other ways leave the path at the latest by the second shuffle
        changed = np.abs(code[way] - code[0])[whole, 200:210].max(axis=(1, 2))
        assert (changed > 0.01).all()


def test_without_rounding_chaos_parts_them_and_returns_stay_alike(released, key):
    policy = import_weights(released / "cartpole_pi.npz").policy
    twins = meet_again(
        policy, World(CartPoleSwingUpHarder()), jax.random.split(key, 8), np.random.default_rng(0)
    )
    assert twins.worst_code < 1e-5
    assert twins.worst_return < 1e-5
    assert 100 < twins.apart.value < 1000
    assert twins.apart_return.low < 5
    assert not math.isnan(twins.apart_return.value)
