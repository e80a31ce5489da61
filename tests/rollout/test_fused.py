"""The kernel plays the same episodes as the scan."""

from typing import get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.bridges.authors import import_weights
from anyorder.envs import AbstractEnv, CartPoleSwingUpHarder, PerturbedEnv
from anyorder.neurons import AttentionNeuronConfig
from anyorder.neurons.key_maps import KeyMapName
from anyorder.policies import InvariantConfig, InvariantPolicy, PlainConfig, PlainPolicy
from anyorder.rollout import choose_engine
from anyorder.rollout.fused import fused_returns_on_gpu
from anyorder.rollout.gpu.lanes import BITS, UNITS, by_sums, spread
from anyorder.sensors import Noise, Shuffle, Silent

ENV = CartPoleSwingUpHarder()
POLICIES = {
    "paper": lambda key: InvariantPolicy(5, 1, key=key),
    "biased": lambda key: InvariantPolicy(
        5,
        1,
        InvariantConfig(AttentionNeuronConfig(slots=7, width=5, bias=True, scaled=True)),
        key=key,
    ),
    "mlp": lambda key: PlainPolicy(5, 1, PlainConfig(hidden=9), key=key),
}


def candidates_of(make, count):
    return eqx.filter_vmap(make)(jax.random.split(jax.random.key(0), count))


def both(candidates, keys, n_steps, env: AbstractEnv = ENV):
    template = jax.tree.map(lambda leaf: leaf, candidates)
    fused, scan = (choose_engine(template, env, name) for name in ("fused", "scan"))
    assert fused.fused
    assert not scan.fused
    return fused(candidates, keys, n_steps), eqx.filter_jit(scan)(candidates, keys, n_steps)


@pytest.mark.parametrize("name", POLICIES)
def test_returns_of_the_first_fifty_steps_are_the_same(name):
    keys = jax.random.split(jax.random.key(1), 50)  # more episodes than lanes: they are refilled
    (ours, our_steps), (theirs, their_steps) = both(candidates_of(POLICIES[name], 3), keys, 50)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)
    assert int(our_steps) == int(their_steps)


@pytest.mark.parametrize("company", [Silent(5, 0.5), Noise(3, 0.2, 0.5)], ids=["silent", "noise"])
@pytest.mark.parametrize("gain", [None, 0.7])
def test_extra_sensors_are_the_same(gain, company):
    """In some episodes more sensors read zero or noise; both lower the gain unless it is fixed."""
    config = InvariantConfig(AttentionNeuronConfig(gain=gain))
    candidates = candidates_of(lambda key: InvariantPolicy(5, 1, config, key=key), 2)
    keys = jax.random.split(jax.random.key(4), 20)
    env = PerturbedEnv(ENV, company)
    (ours, _), (theirs, _) = both(candidates, keys, 50, env)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)
    bare, _ = choose_engine(candidates, ENV, "fused")(candidates, keys, 50)
    changed = np.abs(ours - bare).max(axis=0) > 1e-3
    assert changed.sum() < 20
    assert changed.any() == (gain is None or isinstance(company, Noise))


def on_gpu_lanes(candidates, env, keys, n_steps):
    """Interpreted here, since tests run where there is no GPU."""
    return fused_returns_on_gpu(candidates, env, keys, n_steps, interpret=True)


@pytest.mark.parametrize("name", POLICIES)
def test_the_gpu_kernel_plays_the_same_episodes(name):
    keys = jax.random.split(jax.random.key(1), 6)
    candidates = candidates_of(POLICIES[name], 2)
    theirs, their_steps = eqx.filter_jit(choose_engine(candidates, ENV, "scan"))(
        candidates, keys, 50
    )
    ours, our_steps = on_gpu_lanes(candidates, ENV, keys, 50)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)
    assert int(our_steps) == int(their_steps)


@pytest.mark.parametrize("key_map", get_args(KeyMapName))
def test_the_gpu_kernel_knows_every_key_map(key_map):
    config = InvariantConfig(AttentionNeuronConfig(slots=9, key_map=key_map, bias=True))
    candidates = candidates_of(lambda key: InvariantPolicy(5, 1, config, key=key), 2)
    keys = jax.random.split(jax.random.key(1), 4)
    theirs, _ = eqx.filter_jit(choose_engine(candidates, ENV, "scan"))(candidates, keys, 30)
    np.testing.assert_allclose(on_gpu_lanes(candidates, ENV, keys, 30)[0], theirs, atol=1e-3)


@pytest.mark.parametrize("company", [Silent(5, 0.5), Noise(3, 0.2, 0.5)], ids=["silent", "noise"])
def test_the_gpu_kernel_hears_extra_sensors(company):
    candidates = candidates_of(POLICIES["paper"], 2)
    keys = jax.random.split(jax.random.key(4), 8)
    env = PerturbedEnv(ENV, company)
    theirs, _ = eqx.filter_jit(choose_engine(candidates, env, "scan"))(candidates, keys, 30)
    np.testing.assert_allclose(on_gpu_lanes(candidates, env, keys, 30)[0], theirs, atol=1e-3)


def test_one_compiled_gpu_kernel_serves_all_lengths():
    keys = jax.random.split(jax.random.key(1), 4)
    candidates = candidates_of(POLICIES["mlp"], 2)
    play = eqx.filter_jit(lambda limit: on_gpu_lanes(candidates, ENV, keys, limit))
    for limit in (7, 20):
        ours, steps = play(jnp.asarray(limit))
        theirs, their_steps = choose_engine(candidates, ENV, "scan")(candidates, keys, limit)
        np.testing.assert_allclose(ours, theirs, atol=1e-3)
        assert int(steps) == int(their_steps)


def test_lanes_know_all_units_by_sums():
    """What `spread` leaves in each lane, weighed by `by_sums`, is the product with the whole matrix."""
    rng = np.random.default_rng(0)
    weights, units = rng.normal(size=(8, 8)), rng.normal(size=8)
    shape = (1, 2, 2, 2)
    lane = sum(np.indices(shape)[axis] << bit for bit, axis in enumerate(BITS))
    known = spread(jnp.asarray(units[lane]))
    ready = np.asarray(by_sums(jnp.asarray(weights)))
    found = sum(ready[lane, entry] * known[entry] for entry in range(UNITS))
    np.testing.assert_allclose(found, (weights @ units)[lane], atol=1e-5)


def test_means_over_long_episodes_agree_within_their_error(released):
    policy = import_weights(released / "cartpole_pi.npz").policy
    stacked = jax.tree.map(lambda x: x[None] if eqx.is_inexact_array(x) else x, policy)
    keys = jax.random.split(jax.random.key(2), 1500)
    (ours, _), (theirs, _) = both(stacked, keys, 1000)
    error = float(jnp.std(theirs)) / 1500**0.5
    assert abs(float(ours.mean() - theirs.mean())) < error


@pytest.mark.parametrize("episodes", [1, 16, 17])
def test_every_episode_gets_its_own_return(episodes):
    keys = jax.random.split(jax.random.key(3), episodes)
    (ours, _), (theirs, _) = both(candidates_of(POLICIES["paper"], 2), keys, 20)
    assert ours.shape == (2, episodes)
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_what_the_kernel_cannot_do_is_said():
    policy = POLICIES["paper"](jax.random.key(0))
    with pytest.raises(ValueError, match="not Shuffle"):
        choose_engine(policy, PerturbedEnv(ENV, Shuffle()), "fused")
    softmax = InvariantPolicy(
        5, 1, InvariantConfig(AttentionNeuronConfig(weighting="softmax")), key=jax.random.key(0)
    )
    with pytest.raises(ValueError, match="tanh weights"):
        choose_engine(softmax, ENV, "fused")
    assert not choose_engine(softmax, ENV).fused


STRANGE: dict[str, AttentionNeuronConfig] = {
    "memory": AttentionNeuronConfig(memory="gru"),
    "kind": AttentionNeuronConfig(kind="encoder"),
    "key map": AttentionNeuronConfig(key_map="relu"),
    "score": AttentionNeuronConfig(score="cosine"),
    "weighting": AttentionNeuronConfig(weighting="sigmoid"),
    "queries": AttentionNeuronConfig(queries="learned"),
    "heads": AttentionNeuronConfig(heads=2),
    "self-attention": AttentionNeuronConfig(self_attention=True),
    "previous action": AttentionNeuronConfig(previous_action=False),
    "hidden": AttentionNeuronConfig(hidden=4),
}


@pytest.mark.parametrize("name", STRANGE)
def test_what_the_kernel_does_not_know_it_leaves_to_the_scan(name):
    policy = InvariantPolicy(5, 1, InvariantConfig(STRANGE[name]), key=jax.random.key(0))
    assert not choose_engine(policy, ENV, "auto").fused
    with pytest.raises(ValueError, match="No fused rollout"):
        choose_engine(policy, ENV, "fused")


def test_two_names_of_divided_scores_are_one_to_the_kernel():
    returns = []
    for neuron in (AttentionNeuronConfig(scaled=True), AttentionNeuronConfig(score="scaled-dot")):

        def make(key, neuron=neuron):
            return InvariantPolicy(5, 1, InvariantConfig(neuron), key=key)

        keys = jax.random.split(jax.random.key(1), 4)
        returns.append(
            choose_engine(candidates_of(make, 2), ENV, "fused")(candidates_of(make, 2), keys, 50)[0]
        )
    np.testing.assert_array_equal(*returns)
