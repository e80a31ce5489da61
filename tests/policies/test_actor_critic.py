import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.policies import POLICIES, InvariantPolicy, PlainPolicy, to_action
from anyorder.policies.actor_critic import ActorCritic
from anyorder.policies.exploration import draw, entropy, log_probability
from anyorder.sensors import Sensors

LOG_SD = jnp.log(jnp.array([0.5, 2.0]))
RAW = jnp.array([0.3, -1.0])
KEYS = jax.random.split(jax.random.key(0), 20_000)


def actor_critic(policy, n_sensors, *, separate):
    key = jax.random.key(1)
    return ActorCritic(policy, n_sensors, separate=separate, hidden=8, sd=0.5, key=key)


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("kind", POLICIES)
def test_every_policy_can_be_judged(kind, separate):
    policy = POLICIES[kind](5, 2, key=jax.random.key(0))
    model = actor_critic(policy, 5, separate=separate)
    sensors, memory = Sensors.of(jnp.arange(5.0)), model.init(5)
    judged = model.judge(sensors, memory)
    np.testing.assert_allclose(judged.raw, policy.decide(sensors, policy.init(5)).raw, atol=1e-6)
    taken = model.acted(judged.memory, jnp.array([0.1, 0.2]))
    assert len(taken) == 1 + separate
    for each in taken:
        np.testing.assert_allclose(each.previous_action, [0.1, 0.2])
    assert jax.tree.structure(taken) == jax.tree.structure(memory)


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("kind", [kind for kind in POLICIES if kind != "mlp"])
def test_neither_action_nor_value_knows_the_order_of_sensors(kind, separate):
    policy = POLICIES[kind](5, 1, key=jax.random.key(2))
    model = actor_critic(policy, 5, separate=separate)
    order = jnp.array([3, 0, 2, 4, 1])
    memory, shuffled, values = model.init(5), model.init(5), []
    for step in range(4):
        readings = 3 * jax.random.normal(jax.random.key(step), (5,))
        sensors = Sensors.of(readings).only(jnp.arange(5) != step)  # one is absent
        one, other = model.judge(sensors, memory), model.judge(sensors.take(order), shuffled)
        np.testing.assert_allclose(one.value, other.value, atol=1e-5)
        np.testing.assert_allclose(one.raw, other.raw, atol=1e-5)
        action = jnp.array([0.3 * step])
        memory, shuffled = model.acted(one.memory, action), model.acted(other.memory, action)
        values.append(float(one.value))
    assert np.std(values) > 1e-3


@pytest.mark.parametrize("separate", [False, True])
def test_only_the_value_depends_on_what_the_critic_is_told(separate):
    policy = InvariantPolicy(4, 1, key=jax.random.key(0))
    model = ActorCritic(
        policy, 4, separate=separate, hidden=8, sd=0.5, told=5, key=jax.random.key(1)
    )
    sensors, memory = Sensors.of(jnp.arange(4.0)), model.init(4)
    one = model.judge(sensors, memory, Sensors.of(jnp.arange(5.0)))
    other = model.judge(sensors, memory, Sensors.of(-jnp.arange(5.0)))
    np.testing.assert_array_equal(one.raw, other.raw)
    jax.tree.map(np.testing.assert_array_equal, one.memory, other.memory)
    assert abs(float(one.value - other.value)) > 1e-3
    order = jnp.array([2, 0, 3, 1])  # of the agent's sensors; the world itself has none
    moved = model.judge(sensors.take(order), memory, Sensors.of(jnp.arange(5.0)))
    np.testing.assert_allclose(moved.value, one.value, atol=1e-5)
    np.testing.assert_allclose(moved.raw, one.raw, atol=1e-5)
    with pytest.raises(ValueError, match="told"):
        model.judge(sensors, memory)


def test_values_survive_a_change_of_units():
    model = actor_critic(PlainPolicy(3, 1, key=jax.random.key(0)), 3, separate=False)
    old_mean, old_sd, mean, sd = jnp.array([5.0, 2.0, -3.0, 0.25])
    moved = model.in_units(old_mean, old_sd, mean, sd)
    for seed in range(3):
        sensors = Sensors.of(jax.random.normal(jax.random.key(seed), (3,)))
        before = old_mean + old_sd * model.judge(sensors, model.init(3)).value
        after = mean + sd * moved.judge(sensors, model.init(3)).value
        np.testing.assert_allclose(after, before, atol=1e-4)


def test_the_critic_learns_apart_from_the_actor():
    policy = InvariantPolicy(2, 1, key=jax.random.key(0))
    for separate in (False, True):
        model = actor_critic(policy, 2, separate=separate)

        def value(model):
            return model.judge(Sensors.of([1.0, -2.0]), model.init(2)).value

        slopes = eqx.filter_grad(value)(model)
        reached = any(bool((leaf != 0).any()) for leaf in jax.tree.leaves(slopes.policy))
        assert reached is not separate


def test_numbers_are_drawn_as_likely_as_they_are_said_to_be():
    drawn = jax.vmap(lambda key: draw(RAW, LOG_SD, "continuous", key=key))(KEYS)
    np.testing.assert_allclose(drawn.mean(axis=0), RAW, atol=0.05)
    np.testing.assert_allclose(drawn.std(axis=0), jnp.exp(LOG_SD), rtol=0.03)
    point = jnp.array([0.7, 0.4])
    density = jax.scipy.stats.norm.logpdf(point, RAW, jnp.exp(LOG_SD)).sum()
    np.testing.assert_allclose(
        log_probability(point, RAW, LOG_SD, "continuous"), density, rtol=1e-5
    )


def test_choices_are_drawn_as_likely_as_they_are_said_to_be():
    drawn = jax.vmap(lambda key: draw(RAW, LOG_SD, "discrete", key=key))(KEYS)
    assert set(np.unique(drawn)) == {0.0, 1.0}
    np.testing.assert_allclose(drawn.mean(axis=0), jax.nn.softmax(RAW), atol=0.01)
    for one in jnp.eye(2):
        likely = log_probability(one, RAW, LOG_SD, "discrete")
        np.testing.assert_allclose(jnp.exp(likely), (jax.nn.softmax(RAW) * one).sum(), rtol=1e-5)
        np.testing.assert_array_equal(to_action(one, "discrete"), one)


def test_entropy_is_that_of_the_squashed_action():
    found = jax.vmap(lambda key: entropy(RAW[:1], LOG_SD[:1], "continuous", key=key))(KEYS).mean()
    drawn = jax.vmap(lambda key: draw(RAW[:1], LOG_SD[:1], "continuous", key=key))(KEYS)
    counts, edges = np.histogram(np.tanh(drawn), bins=100, range=(-1, 1))
    share = counts[counts > 0] / counts.sum()
    by_counting = -(share * np.log(share / (edges[1] - edges[0]))).sum()
    np.testing.assert_allclose(found, by_counting, atol=0.03)


def test_entropy_of_choices():
    even = entropy(jnp.zeros(4), jnp.zeros(4), "discrete", key=KEYS[0])
    np.testing.assert_allclose(even, np.log(4), rtol=1e-5)
