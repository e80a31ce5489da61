import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.probes import Countdown, Delay, Echo, EchoChoice, Recall

from anyorder.envs import CartPoleSwingUpHarder, PerturbedEnv
from anyorder.policies import CONFIGS, POLICIES, InvariantPolicy, PlainPolicy
from anyorder.runs import RunFolder
from anyorder.runs.tree import tensors_of
from anyorder.sensors import Double, Drop, Reshuffle, chain
from anyorder.training import METHODS, Learner
from anyorder.training.experience import collect, relive
from anyorder.training.ppo import PPOConfig, make_ppo, make_train

SMALL = PPOConfig(
    steps=64 * 512, n_envs=32, n_steps=16, unroll=8, epochs=4, minibatches=4, learning_rate=2e-2,
    final_learning_rate=2e-3, gamma=0.5, test_every=8, test_episodes=64, critic_hidden=16, sd=0.6,
)  # fmt: skip


def learner_for(env, kind="mlp", **changes):
    actions = "discrete" if env.discrete else "continuous"
    config = CONFIGS[kind](actions=actions, hidden=8)
    policy = POLICIES[kind](env.n_sensors, env.n_actions, config, key=jax.random.key(0))
    return make_ppo(policy, env, dataclasses.replace(SMALL, **changes), "scan")


def train(learner, updates, state=None):
    state = learner.init(jax.random.key(1)) if state is None else state
    metrics = {}
    for number in range(updates):
        state, metrics = learner.update(state, number)
    return state, metrics


def score(learner, state):
    return float(learner.test(state)[1]["test"])


@pytest.mark.parametrize("world", [Echo(), EchoChoice()], ids=["numbers", "choices"])
def test_learns_to_echo_its_only_sensor(world):
    learner = learner_for(world)
    state, _ = train(learner, 40)
    assert score(learner, state) > 7.2  # of 8


def test_learns_what_is_rewarded_later():
    learner = learner_for(Delay(), gamma=0.9)
    state, _ = train(learner, 40)
    assert score(learner, state) > 0.9


def test_learns_to_remember():
    config = dataclasses.replace(SMALL, sd=1.0, test_every=64)
    learn = make_train(config, Recall(), lambda key: InvariantPolicy(1, 1, key=key))
    scores = jax.jit(jax.vmap(learn))(jax.random.split(jax.random.key(0), 5)).test[:, -1]
    assert float(jnp.median(scores)) > 7  # of 8; a few get stuck half way
    without = learner_for(Recall(), "mlp")
    assert score(without, train(without, 20)[0]) < 2


def values_along(learner, state, n_looks):
    """What the critic says at each step of an episode."""
    model = learner.model(state)
    step, memory = learner.env.reset(jax.random.key(5)), model.init(learner.env.n_sensors)
    found = []
    for _ in range(n_looks):
        judged = model.judge(step.sensors, memory, learner.env.sight(step))
        found.append(float(state.scale.mean + state.scale.sd * judged.value))
        memory = model.acted(judged.memory, jnp.zeros(1))
        step = learner.env.step(step.state, jnp.zeros(1), key=jax.random.key(0))
    return found


def test_values_end_with_the_world_but_not_when_nobody_watches():
    gamma = 0.8
    ends = learner_for(Countdown(lives=3), gamma=gamma)
    sums = [sum(gamma**k for k in range(3 - t)) for t in range(3)]
    np.testing.assert_allclose(values_along(ends, train(ends, 60)[0], 3), sums, atol=0.15)
    goes_on = learner_for(Countdown(lives=99), gamma=gamma)  # truncated after 10 steps
    for value in values_along(goes_on, train(goes_on, 60)[0], 10):
        assert abs(value - 1 / (1 - gamma)) < 0.4


def rollout_of(learner, key):
    state = learner.init(key)
    model = learner.model(state)
    config = learner.config
    later = collect(
        model, learner.env, state.worlds, config.sequences, config.unroll, key=jax.random.key(2)
    )
    return model, *later


@pytest.mark.parametrize("world", [Recall(), PerturbedEnv(Recall(), Drop(lost=1))])
@pytest.mark.parametrize("kind", ["mlp", "attention"])
def test_a_rollout_lived_again_by_the_same_model_is_the_same(kind, world, key):
    learner = learner_for(world, kind)
    model, _, experience = rollout_of(learner, key)
    assert bool(experience.rows.over.any())
    memory = jax.tree.map(lambda leaf: leaf[1, 4], experience.memory)  # in the middle of an episode
    rows = jax.tree.map(lambda leaf: leaf[1, :, 4], experience.rows)
    raw, values = relive(model, learner.env, memory, rows)
    np.testing.assert_allclose(values, rows.value, atol=1e-5)
    away = (rows.drawn - raw)[:, 0] * jnp.exp(-model.log_sd)
    expected = -0.5 * away**2 - model.log_sd - 0.9189385
    np.testing.assert_allclose(rows.log_probability, expected, atol=1e-4)


def test_episodes_are_whole_and_begin_with_nothing_remembered(key):
    learner = learner_for(Countdown(lives=3), "attention", n_steps=24, unroll=24, minibatches=1)
    _, _, experience = rollout_of(learner, key)
    rows = jax.tree.map(lambda leaf: leaf[0], experience.rows)
    times = np.asarray(rows.sensors.values[:, 0, 0])
    np.testing.assert_array_equal(times, np.tile([0, 1, 2, 3], 6))
    np.testing.assert_array_equal(rows.over[:, 0], times == 3)
    np.testing.assert_array_equal(rows.terminated[:, 0][times < 3], times[times < 3] == 2)
    blank = jax.tree.map(lambda leaf: leaf[0, 0], experience.memory)
    fresh = learner.model(learner.init(key)).init(2)
    jax.tree.map(np.testing.assert_array_equal, blank, fresh)
    same = [np.asarray(rows.value[start, 0]) for start in range(0, 24, 4)]
    np.testing.assert_allclose(same, same[0], atol=1e-6)  # what went before is forgotten


def test_a_told_critic_knows_what_the_agent_cannot_see():
    """The agent is blind here, so whoever goes by its code takes all moments for the same."""
    world = PerturbedEnv(Countdown(lives=3), Drop(lost=2))
    told = train(learner_for(world, gamma=0.8), 60)[1]["explained"]
    untold = train(learner_for(world, gamma=0.8, informed_critic=False), 60)[1]["explained"]
    assert float(told) > 0.9
    assert float(untold) < 0.2


def test_what_the_critic_is_told_stays_with_the_critic():
    world = PerturbedEnv(CartPoleSwingUpHarder(), chain(Double(), Reshuffle(every=2)))
    policy = InvariantPolicy(5, 1, key=jax.random.key(0))
    learner = make_ppo(policy, world, SMALL, "scan")
    state, metrics = train(learner, 1)
    assert jax.tree.structure(state.model.policy) == jax.tree.structure(state.best)
    assert bool(jnp.isfinite(metrics["explained"]))
    assert 0 <= float(metrics["clipped"]) <= 1
    best, _ = learner.best(state, episodes=8)
    assert sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(best, eqx.is_array))) == 913


def test_gradients_flow_back_through_memory(key):
    learner = learner_for(Recall(), "attention")
    model, _, experience = rollout_of(learner, key)
    memory = jax.tree.map(lambda leaf: leaf[0, 0], experience.memory)
    rows = jax.tree.map(lambda leaf: leaf[0, :, 0], experience.rows)

    def last_word(readings):
        seen = eqx.tree_at(lambda r: r.sensors.values, rows, readings)
        return relive(model, learner.env, memory, seen)[0][-1, 0]

    slopes = jax.grad(last_word)(rows.sensors.values)
    assert bool((jnp.abs(slopes) > 0).all())


def test_neurons_are_told_the_action_that_was_taken(key):
    learner = learner_for(Echo(), "attention", separate_critic=True)
    _, later, experience = rollout_of(learner, key)
    drawn, over = experience.rows.drawn[-1, -1], experience.rows.over[-1, -1]
    told = later.memory[0].previous_action
    np.testing.assert_allclose(told, jnp.where(over[:, None], 0, jnp.tanh(drawn)), atol=1e-6)
    np.testing.assert_array_equal(later.memory[1].previous_action, told)


@pytest.mark.parametrize("kind", ["mlp", "attention"])
def test_a_run_that_was_saved_goes_on_bit_for_bit(kind, tmp_path):
    learner = learner_for(Recall(), kind)
    straight, _ = train(learner, 4)
    half, _ = learner.test(train(learner, 2)[0])
    folder = RunFolder.create(tmp_path / "run", {})
    folder.save_checkpoint(half, {"updates": 2})
    found = folder.load_checkpoint(learner.init(jax.random.key(9)))
    assert found is not None
    resumed, _ = train(learner, 2, found[0])
    one, other = tensors_of(straight), tensors_of(resumed)
    assert one.keys() == other.keys()
    for name, value in one.items():
        if not name.startswith(".best"):  # of the test in between
            np.testing.assert_array_equal(value, other[name], err_msg=name)


def test_states_are_arrays_of_constant_shape_and_type():
    learner = learner_for(Recall(), "attention")
    state = learner.init(jax.random.key(1))
    later, _ = learner.test(train(learner, 1, state)[0])
    first, then = tensors_of(state), tensors_of(later)
    assert {k: (v.shape, v.dtype) for k, v in first.items()} == {
        k: (v.shape, v.dtype) for k, v in then.items()
    }


def test_many_seeds_at_once_are_the_single_runs():
    config = dataclasses.replace(SMALL, steps=4 * 512, test_every=2)
    world = Echo()

    def start(key):
        return PlainPolicy(1, 1, key=key)

    train_one = make_train(config, world, start)
    keys = jax.random.split(jax.random.key(7), 3)
    together = jax.jit(jax.vmap(train_one))(keys)
    assert together.test.shape == (3, 2)
    assert len({float(x) for x in together.test[:, -1]}) == 3
    one = jax.jit(train_one)
    for number in range(2):
        alone = one(keys[number])
        np.testing.assert_allclose(together.test[number], alone.test, atol=0.05)
        np.testing.assert_array_equal(together.steps[number], alone.steps)
        policy = eqx.combine(alone.policy, start(keys[number]))
        assert policy.reads(1)


def test_steps_count_only_what_was_lived():
    learner = learner_for(Countdown(lives=3), gamma=0.8)
    _, metrics = train(learner, 1)
    assert int(metrics["steps"]) == 32 * 12  # of 16 rows, 4 are last sights
    assert float(metrics["reward"]) == 1


def test_learns_in_worlds_whose_sensors_change():
    world = PerturbedEnv(Countdown(), chain(Double(), Drop(lost=1), Reshuffle(every=2)))
    policy = InvariantPolicy(2, 1, key=jax.random.key(0))
    learner = make_ppo(policy, world, SMALL, "scan")
    state, metrics = train(learner, 2)
    assert all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(state.model))
    assert int(metrics["steps"]) == 32 * 12


def test_before_any_test_the_present_policy_is_the_best():
    learner = learner_for(Echo())
    assert isinstance(learner, Learner)
    state, _ = train(learner, 1)
    policy, _ = learner.best(state, episodes=8)
    present = eqx.filter(policy, eqx.is_inexact_array)
    jax.tree.map(np.testing.assert_array_equal, present, state.model.policy)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_steps": 10, "unroll": 4}, {"minibatches": 7}, {"gamma": 1.0}, {"clip": 0.0},
        {"learning_rate": 0.0}, {"epochs": 0}, {"practice": 1.5}, {"sd": 0.0}, {"trace": 1.1},
    ],
)  # fmt: skip
def test_nonsense_is_refused(wrong):
    with pytest.raises(ValueError, match=r"must"):
        dataclasses.replace(SMALL, **wrong)


def test_practice_needs_a_world_with_an_exercise():
    with pytest.raises(ValueError, match="no exercise"):
        learner_for(Echo(), practice=0.5)


def test_practice_fades():
    config = dataclasses.replace(SMALL, steps=100 * 512, practice=0.8)
    policy = PlainPolicy(5, 1, key=jax.random.key(0))
    learner = make_ppo(policy, CartPoleSwingUpHarder(), config, "scan")
    shares = []
    for updates in (0, 25, 50, 99):
        world = learner.world_at(jnp.array(updates))
        assert isinstance(world, CartPoleSwingUpHarder)
        shares.append(world.practice)
    np.testing.assert_allclose(shares, [0.8, 0.4, 0, 0], atol=1e-6)
    floors = learner.init(jax.random.key(0)).worlds.step.state.floor
    assert 0.5 < float((floors > -1).mean()) < 1  # most of the first worlds are exercises


def test_it_can_be_named():
    assert METHODS["ppo"].config is PPOConfig
