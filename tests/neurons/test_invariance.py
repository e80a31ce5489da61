"""The claim of the package, over every registered neuron and policy.

Compiling is what takes time here, so most scenes have room for 40 sensors, of which any 1 to 40 are there;
that being absent equals not being there at all is a test of its own.
"""

from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyorder.neurons import (
    NEURONS,
    AttentionNeuronConfig,
    RelationalConfig,
)
from anyorder.policies import (
    POLICIES,
    InvariantConfig,
    InvariantPolicy,
    Memory,
    PlainPolicy,
    RelationalPolicy,
    RelationalPolicyConfig,
)
from anyorder.sensors import Sensors

CONFIGS = {
    "paper": AttentionNeuronConfig(),
    "ant": AttentionNeuronConfig(slots=32, bias=True, scaled=True),
    "softmax": AttentionNeuronConfig(weighting="softmax"),
    "fixed gain": AttentionNeuronConfig(gain=0.5),
    "stacked": AttentionNeuronConfig(memory="stacked", stack=3),
    "additive": AttentionNeuronConfig(
        memory="gru", score="additive", weighting="sigmoid", key_map="gated", queries="learned"
    ),
    "sparse": AttentionNeuronConfig(
        memory="transformer", score="general", weighting="sparsemax", key_map="fourier", heads=2,
        self_attention=True,
    ),
    "few": AttentionNeuronConfig(
        slots=2, hidden=4, score="cosine", weighting="top-k", top=3, key_map="polynomial",
        queries="1,0,0,0;0,1,-1,0", previous_action=False,
    ),
    "deep sets": AttentionNeuronConfig(kind="deep-sets"),
    "set transformer": AttentionNeuronConfig(
        kind="set-transformer", memory="gru", slots=4, width=16, heads=2, points=3
    ),
    "encoder": AttentionNeuronConfig(kind="encoder", memory="stacked", width=16),
}  # fmt: skip
INVARIANT: dict[str, InvariantConfig | RelationalPolicyConfig] = {
    **{name: InvariantConfig(neuron) for name, neuron in CONFIGS.items()},
    "head": InvariantConfig(CONFIGS["ant"], hidden=32),
    "relational": RelationalPolicyConfig(),
    "one round": RelationalPolicyConfig(
        RelationalConfig(slots=3, hidden=6, relations=5, pair=6, heads=2, rounds=1, loyalty=0.0),
        hidden=8,
        actions="discrete",
    ),
}
COARSE = {"ant": 10, "relational": 10, "one round": 10}
"""How much coarser codes are: sums of larger numbers, or, as rates are, changes times a hundred."""
ROOM = 40
COUNTS = st.integers(1, ROOM)
SEEDS = st.integers(0, 2**31)


@lru_cache
def make(name):
    config, key = INVARIANT[name], jax.random.key(3)
    if isinstance(config, RelationalPolicyConfig):
        return RelationalPolicy(5, 2, config, key=key)
    return InvariantPolicy(5, 2, config, key=key)


@eqx.filter_jit
def live(policy, present, key, n_steps):
    """Sensors whose signals drift, and the memory of a policy that has watched them for some steps."""
    start_key, drift_key, action_key = jax.random.split(key, 3)
    start = 2 * jax.random.normal(start_key, (ROOM,))
    drifts = 0.05 * jax.random.normal(drift_key, (4, ROOM))
    actions = jax.random.uniform(action_key, (4, policy.n_actions), minval=-1.0)

    def watch(memory, index):
        sensors = Sensors.of(start + drifts.cumsum(axis=0)[index]).only(present)
        neurons = policy.decide(sensors, memory).memory.neurons
        new = Memory(neurons, actions[index])
        return jax.tree.map(lambda a, b: jnp.where(index < n_steps, a, b), new, memory), None

    memory, _ = jax.lax.scan(watch, policy.init(ROOM), jnp.arange(3))
    return Sensors.of(start + drifts.sum(axis=0)).only(present), memory


def scene(policy, seed, n_sensors, n_steps=3):
    """`n_sensors` sensors anywhere in the room, a memory as it might be, and where they are."""
    places = np.random.default_rng(seed).permutation(ROOM)[:n_sensors]
    present = jnp.zeros(ROOM, bool).at[places].set(True)
    return *live(policy, present, jax.random.key(seed), jnp.array(n_steps)), jnp.asarray(places)


decide = eqx.filter_jit(lambda policy, sensors, memory: policy.decide(sensors, memory))


def assert_same(one, other, atol=1e-5):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, atol=atol, rtol=1e-6)


def test_every_registered_kind_is_tested():
    policies = [make(name) for name in INVARIANT]
    kinds = {type(policy.neuron) for policy in policies}
    assert set(NEURONS.values()) == kinds
    assert set(POLICIES.values()) - {PlainPolicy} == {type(policy) for policy in policies}


@pytest.mark.parametrize("name", INVARIANT)
@settings(max_examples=12)
@given(seed=SEEDS, n_sensors=COUNTS)
def test_order_moves_memory_and_nothing_else(name, seed, n_sensors):
    policy = make(name)
    sensors, memory, _ = scene(policy, seed, n_sensors)
    order = jax.random.permutation(jax.random.key(seed + 1), ROOM)
    seen = decide(policy, sensors, memory)
    moved = decide(policy, sensors.take(order), memory.permute(order))
    assert_same(seen.action, moved.action)
    assert_same(seen.raw, moved.raw)
    assert_same(seen.code, moved.code, atol=1e-5 * COARSE.get(name, 1))
    assert_same(seen.memory.permute(order), moved.memory, atol=1e-5 * COARSE.get(name, 1))
    assert_same(seen.weights[:, order], moved.weights)


@pytest.mark.parametrize("name", INVARIANT)
@settings(max_examples=6)
@given(seed=SEEDS, n_sensors=st.sampled_from([1, 9]), blank=st.booleans())
def test_an_absent_sensor_is_one_that_is_not_there(name, seed, n_sensors, blank):
    policy = make(name)
    sensors, memory, places = scene(policy, seed, n_sensors, n_steps=0 if blank else 3)
    gone = ~sensors.present
    ghosts = Sensors(jnp.where(gone, jnp.nan, sensors.values), sensors.present)
    haunted = jax.tree.map(
        lambda leaf: jnp.where(gone.reshape(-1, *[1] * (leaf.ndim - 1)), 1, leaf), memory.neurons
    )
    alone = decide(policy, sensors.take(places), memory.permute(places))
    among = decide(policy, ghosts, Memory(haunted, memory.previous_action))
    assert_same(alone.action, among.action, atol=1e-6)
    assert_same(alone.code, among.code, atol=1e-5 * COARSE.get(name, 1))
    assert_same(alone.memory, among.memory.permute(places), atol=1e-6 * COARSE.get(name, 1))
    assert not np.asarray(among.weights[:, gone]).any()


@pytest.mark.parametrize("name", INVARIANT)
def test_an_absent_neuron_remembers_what_it_knew(name):
    policy = make(name)
    sensors, memory, _ = scene(policy, 0, ROOM, n_steps=1)
    after = decide(policy, sensors.only(jnp.arange(ROOM) != 1), memory).memory
    here, gone = jnp.array([0]), jnp.array([1])
    assert_same(memory.permute(gone).neurons, after.permute(gone).neurons, 0)
    changed = jax.tree.map(
        lambda a, b: bool((a != b).any()), memory.permute(here).neurons, after.permute(here).neurons
    )
    assert all(jax.tree.leaves(changed))


# Not so where neurons compare notes: a copy agrees with its original in all it says, which is news, and
# slots share one weight between the sensors and nobody, of which copies take more. Nor where a slot's
# weight goes to the few highest scores: with copies these are fewer signals.
NEWS = ("fixed gain", "sparse", "few")
REPEATABLE = [
    name
    for name, config in INVARIANT.items()
    if name not in NEWS and isinstance(config, InvariantConfig)
]


@pytest.mark.parametrize("name", REPEATABLE)
@settings(max_examples=6)
@given(seed=SEEDS, n_sensors=st.integers(5, 13), times=st.integers(2, 3))
def test_sensors_repeated_say_nothing_new(name, seed, n_sensors, times):
    policy = make(name)  # of worlds with 5 sensors: with more, the gain falls
    sensors, memory, places = scene(policy, seed, n_sensors)
    gone = jnp.flatnonzero(~sensors.present, size=ROOM, fill_value=-1)
    again = jnp.concatenate([jnp.tile(places, times), gone])[:ROOM]
    more = sensors.take(again).only(jnp.arange(ROOM) < n_sensors * times)
    assert int(more.present.sum()) == n_sensors * times
    assert_same(
        decide(policy, sensors, memory).action, decide(policy, more, memory.permute(again)).action
    )


@pytest.mark.parametrize("name", INVARIANT)
def test_plain_jitted_and_batched_agree(name):
    policy = make(name)
    scenes = []
    for seed in range(2):
        sensors, memory, places = scene(policy, seed, 7)
        scenes.append((sensors.take(places).only(jnp.arange(7) != 3), memory.permute(places)))
    batched = jax.jit(jax.vmap(policy))(*jax.tree.map(lambda *leaves: jnp.stack(leaves), *scenes))
    for index, (sensors, memory) in enumerate(scenes):
        plain = policy(sensors, memory)
        jitted = decide(policy, sensors, memory)
        assert_same(plain, (jitted.action, jitted.memory))
        assert_same(plain, jax.tree.map(lambda leaf, i=index: leaf[i], batched))


@eqx.filter_jit
def gradient(policy, sensors, memory):
    def acts(policy):
        def act(memory, _):
            decision = policy.decide(sensors, memory)
            return decision.memory, decision.raw

        return jax.lax.scan(act, memory, length=2)[1].sum()

    return eqx.filter_grad(acts)(policy)


@pytest.mark.parametrize("name", INVARIANT)
def test_gradients_are_finite_even_with_nobody_there(name):
    policy = make(name)
    for n_steps in (0, 3):
        sensors, memory, _ = scene(policy, 1, ROOM, n_steps)
        for n_present in (0, 1, 7):
            some = sensors.only(jnp.arange(ROOM) < n_present)
            for values in (some.values, jnp.zeros(ROOM), 1e4 * some.values):
                slopes = gradient(policy, Sensors(values, some.present), memory)
                leaves = jax.tree.leaves(eqx.filter(slopes, eqx.is_inexact_array))
                assert leaves
                assert all(bool(jnp.isfinite(leaf).all()) for leaf in leaves)
                if n_present:
                    assert any(bool((leaf != 0).any()) for leaf in leaves)


def test_the_control_does_depend_on_the_order():
    policy = PlainPolicy(5, 1, key=jax.random.key(0))
    sensors, memory = Sensors.of([0.1, -2.0, 0.5, 1.0, 3.0]), policy.init(5)
    straight = decide(policy, sensors, memory).action
    turned = decide(policy, sensors.take(jnp.arange(5)[::-1]), memory).action
    assert abs(float(straight[0] - turned[0])) > 0.01
