"""The claim of the package, over every registered neuron and policy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyorder.neurons import NEURONS, AttentionNeuron, AttentionNeuronConfig, StackedNeuron
from anyorder.policies import POLICIES, InvariantConfig, InvariantPolicy, Memory, PlainPolicy
from anyorder.sensors import Sensors

CONFIGS = {
    "paper": AttentionNeuronConfig(),
    "ant": AttentionNeuronConfig(slots=32, bias=True, scaled=True),
    "softmax": AttentionNeuronConfig(weighting="softmax"),
    "fixed gain": AttentionNeuronConfig(gain=0.5),
    "stacked": AttentionNeuronConfig(memory="stacked", stack=3),
}
INVARIANT = {
    **{name: InvariantConfig(neuron) for name, neuron in CONFIGS.items()},
    "head": InvariantConfig(CONFIGS["ant"], hidden=32),
}
COUNTS = st.integers(1, 40)
SEEDS = st.integers(0, 2**31)


def make(name):
    return InvariantPolicy(5, 2, INVARIANT[name], key=jax.random.key(3))


def scene(seed, n_sensors, policy):
    """Random sensors and a memory as it might be after a while."""
    value_key, memory_key, action_key = jax.random.split(jax.random.key(seed), 3)
    rest = policy.init(n_sensors)
    leaves, structure = jax.tree.flatten(rest.neurons)
    keys = jax.random.split(memory_key, len(leaves))
    moved = [0.5 * jax.random.normal(k, leaf.shape) for k, leaf in zip(keys, leaves, strict=True)]
    action = jax.random.uniform(action_key, rest.previous_action.shape, minval=-1.0)
    memory = Memory(jax.tree.unflatten(structure, moved), action)
    return Sensors.of(2 * jax.random.normal(value_key, (n_sensors,))), memory


decide = eqx.filter_jit(lambda policy, sensors, memory: policy.decide(sensors, memory))


def assert_same(one, other, atol=1e-5):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, atol=atol)


def test_every_registered_kind_is_tested():
    assert set(NEURONS.values()) == {AttentionNeuron, StackedNeuron}
    assert set(POLICIES.values()) == {InvariantPolicy, PlainPolicy}


@pytest.mark.parametrize("name", INVARIANT)
@settings(max_examples=8)
@given(seed=SEEDS, n_sensors=COUNTS)
def test_order_moves_memory_and_nothing_else(name, seed, n_sensors):
    policy = make(name)
    sensors, memory = scene(seed, n_sensors, policy)
    order = jax.random.permutation(jax.random.key(seed + 1), n_sensors)
    seen = decide(policy, sensors, memory)
    moved = decide(policy, sensors.take(order), memory.permute(order))
    assert_same(seen.action, moved.action)
    assert_same(seen.code, moved.code, atol=1e-4 if name == "ant" else 1e-5)
    assert_same(seen.memory.permute(order), moved.memory)
    assert_same(seen.weights[:, order], moved.weights)


@pytest.mark.parametrize("name", INVARIANT)
@settings(max_examples=5)
@given(seed=SEEDS, n_sensors=COUNTS, padding=st.integers(1, 20))
def test_an_absent_sensor_is_one_that_is_not_there(name, seed, n_sensors, padding):
    policy = make(name)
    sensors, memory = scene(seed, n_sensors, policy)
    ghosts = Sensors(jnp.full(padding, jnp.nan), jnp.zeros(padding, dtype=bool))
    more = jax.tree.map(
        lambda leaf: jnp.concatenate([leaf, jnp.ones((padding, *leaf.shape[1:]))]), memory.neurons
    )
    seen = decide(policy, sensors, memory)
    padded = decide(policy, sensors.join(ghosts), Memory(more, memory.previous_action))
    assert_same(seen.action, padded.action, atol=1e-6)
    assert_same(seen.code, padded.code, atol=1e-5)
    kept = jax.tree.map(lambda leaf: leaf[:n_sensors], padded.memory.neurons)
    assert_same(seen.memory.neurons, kept, atol=1e-6)


@pytest.mark.parametrize("name", INVARIANT)
def test_an_absent_neuron_remembers_what_it_knew(name):
    policy = make(name)
    sensors, memory = scene(0, 4, policy)
    present = jnp.array([True, False, True, True])
    after = decide(policy, sensors.only(present), memory).memory
    assert_same(memory.permute(jnp.array([1])).neurons, after.permute(jnp.array([1])).neurons, 0)
    changed = jax.tree.map(lambda a, b: bool((a[0] != b[0]).any()), memory.neurons, after.neurons)
    assert all(jax.tree.leaves(changed))


@pytest.mark.parametrize("name", [name for name in INVARIANT if name != "fixed gain"])
@settings(max_examples=3)
@given(seed=SEEDS, n_sensors=st.integers(5, 13), times=st.integers(2, 3))
def test_sensors_repeated_say_nothing_new(name, seed, n_sensors, times):
    policy = InvariantPolicy(n_sensors, 2, INVARIANT[name], key=jax.random.key(3))
    sensors, memory = scene(seed, n_sensors, policy)
    again = jnp.tile(jnp.arange(n_sensors), times)
    assert_same(
        decide(policy, sensors, memory).action,
        decide(policy, sensors.take(again), memory.permute(again)).action,
    )


@pytest.mark.parametrize("name", INVARIANT)
@settings(max_examples=3)
@given(seed=SEEDS, n_sensors=COUNTS)
def test_plain_jitted_and_batched_agree(name, seed, n_sensors):
    policy = make(name)
    sensors, memory = scene(seed, n_sensors, policy)
    plain = policy(sensors, memory)
    pair = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), (sensors, memory))
    batched = jax.vmap(policy)(*pair)
    assert_same(plain, eqx.filter_jit(policy)(sensors, memory))
    assert_same(plain, jax.tree.map(lambda leaf: leaf[1], batched))


@pytest.mark.parametrize("name", INVARIANT)
@pytest.mark.parametrize("n_present", [0, 1, 7])
def test_gradients_are_finite_even_with_nobody_there(name, n_present):
    policy = make(name)
    sensors, memory = scene(1, 7, policy)
    sensors = sensors.only(jnp.arange(7) < n_present)

    @eqx.filter_grad
    def gradient(policy):
        first, after = policy(sensors, memory)
        second, _ = policy(sensors, after)
        return (first + second).sum()

    leaves = jax.tree.leaves(eqx.filter(gradient(policy), eqx.is_inexact_array))
    assert leaves
    assert all(bool(jnp.isfinite(leaf).all()) for leaf in leaves)
    if n_present:
        assert any(bool((leaf != 0).any()) for leaf in leaves)


def test_the_control_does_depend_on_the_order():
    policy = PlainPolicy(5, 1, key=jax.random.key(0))
    sensors, memory = Sensors.of([0.1, -2.0, 0.5, 1.0, 3.0]), policy.init(5)
    straight, _ = policy(sensors, memory)
    turned, _ = policy(sensors.take(jnp.arange(5)[::-1]), memory)
    assert abs(float(straight[0] - turned[0])) > 0.01
