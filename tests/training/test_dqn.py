from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.probes import Delay, EchoChoice, Recall, Steady

from anyorder.envs import CartPoleSwingUpHarder, DiscreteActions
from anyorder.neurons import AttentionNeuronConfig
from anyorder.policies import InvariantConfig, InvariantPolicy, PlainConfig, PlainPolicy
from anyorder.runs.tree import tensors_of, tree_like
from anyorder.sensors import Sensors
from anyorder.training import DQNConfig, Learner, Progress, QLearning, Stop, learn
from anyorder.training.choices import best_values, highest_values, n_step_targets

QUICK = {
    "updates": 100, "worlds": 8, "steps": 8, "batch": 16, "gradient_steps": 8, "capacity": 4096,
    "warm_up": 256, "discount": 0.5, "n_step": 1, "learning_rate": 5e-3, "target_share": 0.1,
    "reward_scale": 1.0, "exploration": 0.5, "value_hidden": 8, "burn_in": 2, "test_every": 50,
    "test_episodes": 64,
}  # fmt: skip


def plain(env, hidden=16):
    config = PlainConfig(hidden, "discrete")
    return PlainPolicy(env.n_sensors, env.n_actions, config, key=jax.random.key(0))


def neurons(env, memory):
    config = InvariantConfig(
        AttentionNeuronConfig(slots=4, memory=memory, stack=2), hidden=8, actions="discrete"
    )
    return InvariantPolicy(env.n_sensors, env.n_actions, config, key=jax.random.key(0))


def q_learning(policy, env, **changes):
    return QLearning(policy, env, DQNConfig(**{**QUICK, **changes}))


def score(learner, updates=None, target=None):
    """What the agent scores in the end, or as soon as a test comes to `target`."""
    stop = Stop(updates or learner.planned, score=target)
    *_, last = learn(learner, learner.init(jax.random.key(1)), Progress(), stop)
    policy, found = learner.best(last.state, episodes=64)
    assert policy.reads(learner.env.n_sensors)
    return found


@pytest.mark.parametrize("switches", [{}, {"double": False, "dueling": False, "target_every": 20}])
def test_learns_to_echo_its_only_sensor(switches):
    env = EchoChoice()
    learner = q_learning(plain(env), env, **switches)
    assert isinstance(learner, Learner)
    assert score(learner) == 8


def test_what_is_paid_late_is_learned_if_enough_rewards_are_counted():
    env = DiscreteActions(Delay(), 2)  # nothing in between tells right from wrong
    assert score(q_learning(plain(env), env, n_step=4)) == 1


@pytest.mark.parametrize("memory", ["recurrent", "stacked"])
def test_neurons_learn_what_takes_a_memory(memory):
    env = DiscreteActions(Recall(), 2)
    learner = q_learning(neurons(env, memory), env, updates=400, final_epsilon=0.1)
    assert score(learner, target=7.9) > 7.5  # of 8, and 0 without a memory


@pytest.mark.parametrize("ends", [True, False])
def test_a_world_that_ends_is_worth_less_than_one_that_is_left(ends):
    env = Steady(length=1, ends=ends)
    learner = q_learning(plain(env), env, n_step=3)
    state = learner.init(jax.random.key(1))
    for number in range(learner.planned):
        state, _ = learner.update(state, number)
    network = learner.network(state)
    seen = network.policy.decide(Sensors.of(jnp.ones(1)), network.policy.init(1))
    np.testing.assert_allclose(network.values(seen), 1.0 if ends else 2.0, atol=0.1)


def slow_targets(reward, terminated, over, ours, theirs, n, discount, double):
    """Row by row, in plain Python."""
    targets = []
    for start in range(len(reward) - n):
        total, factor, row = 0.0, 1.0, start
        for row in range(start + 1, start + n + 1):
            total += factor * reward[row]
            factor *= discount
            if terminated[row]:
                factor = 0.0
            if over[row]:
                break
        value = theirs[row][np.argmax(ours[row])] if double else max(theirs[row])
        targets.append(total + factor * value)
    return np.array(targets)


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("n", [1, 3, 5])
def test_targets_are_those_of_a_plain_loop(n, double):
    rng = np.random.default_rng(n)
    for _ in range(5):
        reward, over = rng.normal(size=12), rng.random(12) < 0.3
        terminated = over & (rng.random(12) < 0.5)
        ours, theirs = rng.normal(size=(2, 12, 3))
        judge = best_values if double else highest_values
        values = judge(jnp.asarray(ours), jnp.asarray(theirs))
        found = n_step_targets(
            jnp.asarray(reward),
            jnp.asarray(terminated),
            jnp.asarray(over),
            values,
            n=n,
            discount=0.9,
        )
        expected = slow_targets(reward, terminated, over, ours, theirs, n, 0.9, double)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@cache
def small():
    """A learner with some of everything, and its first state."""
    env = DiscreteActions(Recall(), 2)
    learner = q_learning(neurons(env, "recurrent"), env, warm_up=100, gradient_steps=2, n_step=2)
    return learner, learner.init(jax.random.key(1))


def test_rows_are_the_episodes_as_lived():
    learner, state = small()
    for number in range(4):
        state, _ = learner.update(state, number)
    rows = jax.tree.map(
        lambda leaf: np.asarray(leaf)[:4].reshape(32, *leaf.shape[2:]), state.replay.rows
    )
    over = np.flatnonzero(rows.over[:, 0])
    np.testing.assert_array_equal(over, [9, 19, 29])  # nine steps, their end, and anew
    assert not rows.terminated.any()
    sign, choice = rows.sensors.values[..., 0], 2 * rows.choice - 1
    for world in range(8):
        for row in range(
            2, 9
        ):  # what a row pays is for the choice before it and the sign before that
            assert rows.reward[row, world] == choice[row - 1, world] * sign[row - 2, world]
    starts = state.replay.memories.previous_action[:4]
    expected = jax.nn.one_hot(rows.choice[[7, 15, 23]], 2)
    np.testing.assert_array_equal(starts[1:], expected)
    assert (starts[0] == 0).all()


def test_the_agent_chooses_as_its_network_does():
    learner, state = small()
    network = learner.network(state)
    for seed in range(20):
        sensors = Sensors.of(jax.random.normal(jax.random.key(seed), (1,)))
        decision = network.policy.decide(sensors, network.policy.init(1))
        assert int(decision.action.argmax()) == int(network.values(decision).argmax())
    assert network.value is not None


def test_goes_on_bit_for_bit_from_what_was_saved():
    learner, state = small()
    middle = None
    for number in range(6):
        state, _ = learner.update(state, number)
        if number == 2:
            middle = tensors_of(state)
    assert middle is not None
    again = tree_like(learner.init(jax.random.key(5)), middle, "here")
    for number in range(3, 6):
        again, _ = learner.update(again, number)
    expected, found = tensors_of(state), tensors_of(again)
    assert int(state.gradient_steps) > 0
    for name, tensor in expected.items():
        np.testing.assert_array_equal(found[name], tensor, err_msg=name)
        assert found[name].dtype == tensor.dtype


def test_seeds_learn_side_by_side():
    env = EchoChoice()
    learner = q_learning(plain(env), env, warm_up=100, gradient_steps=2)
    states = jax.vmap(learner.init)(jax.random.split(jax.random.key(2), 2))
    one = learner.init(jax.random.split(jax.random.key(2), 2)[1])
    both = jax.jit(jax.vmap(lambda state: learner.update(state, 0)[0]))
    for number in range(4):
        states, (one, _) = both(states), learner.update(one, number)
    numbers = jax.tree.leaves(states.network)
    for several, single in zip(numbers, jax.tree.leaves(one.network), strict=True):
        np.testing.assert_allclose(several[1], single, atol=1e-4)
        assert (np.asarray(several[0]) != np.asarray(several[1])).any()


def test_random_choices_run_out():
    learner, state = small()
    shares = []
    for number in range(3):
        state, metrics = learner.update(state, number)
        shares.append(float(metrics["epsilon"]))
        assert int(metrics["steps"]) == 64
    np.testing.assert_allclose(shares, [1, 1 - 0.95 / 50, 1 - 2 * 0.95 / 50], rtol=1e-5)


def test_worlds_and_policies_without_choices_are_refused():
    world, policy = CartPoleSwingUpHarder(), PlainPolicy(5, 1, key=jax.random.key(0))
    with pytest.raises(ValueError, match="train cartpole-discrete"):
        QLearning(policy, world, DQNConfig())
    with pytest.raises(ValueError, match="discrete"):
        QLearning(PlainPolicy(1, 2, key=jax.random.key(0)), EchoChoice(), DQNConfig())


@pytest.mark.parametrize(
    "wrong",
    [
        {"updates": 0}, {"n_step": 0}, {"burn_in": -1}, {"discount": 1.0}, {"epsilon": 1.5},
        {"learning_rate": 0.0}, {"reward_scale": -1.0}, {"capacity": 1000},
    ],
)  # fmt: skip
def test_nonsense_is_refused(wrong):
    with pytest.raises(ValueError, match=r"must|capacity"):
        DQNConfig(**wrong)
