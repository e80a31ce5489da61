"""Attention where reinforcement learning has a use for it: it is learned, and it is used.

Three small worlds that cannot be mastered without it: some of many inputs, one of many past steps, one
of several others.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from anyorder.envs import TASKS, Channels, DiscreteActions, Movers, Recall
from anyorder.neurons import AttentionNeuronConfig, RecallingNeuron, TransformerRecall
from anyorder.policies import InvariantConfig, InvariantPolicy
from anyorder.rollout import rollout
from anyorder.training import DQNConfig, QLearning
from anyorder.training.ppo import PPOConfig, make_ppo

WATCHFUL = AttentionNeuronConfig(
    slots=4, memory="stacked", stack=8, hidden=16, weighting="softmax", score="scaled-dot"
)
LOOKING_BACK = AttentionNeuronConfig(slots=4, memory="transformer", stack=8)
AT_ONCE = AttentionNeuronConfig(
    slots=2, memory="stacked", stack=1, weighting="softmax", score="scaled-dot"
)


def by_ppo(env, neuron, updates, gamma=0.5, n_envs=64, told=True):
    config = PPOConfig(
        steps=updates * n_envs * 32, n_envs=n_envs, n_steps=32, unroll=32, epochs=4, minibatches=4,
        learning_rate=1e-2, final_learning_rate=2e-3, gamma=gamma, critic_hidden=16, sd=0.6,
        informed_critic=told,
    )  # fmt: skip
    policy = InvariantPolicy(
        env.n_sensors, env.n_actions, InvariantConfig(neuron), key=jax.random.key(0)
    )
    learner = make_ppo(policy, env, config, "scan")
    state = learner.init(jax.random.key(1))
    for number in range(updates):
        state, _ = learner.update(state, number)
    return eqx.combine(state.model.policy, policy)


def by_dqn(env, neuron, updates):
    config = DQNConfig(
        updates=updates, worlds=16, steps=8, batch=32, gradient_steps=8, capacity=16384,
        warm_up=256, discount=0.5, n_step=1, learning_rate=5e-3, target_share=0.1,
        reward_scale=1.0, exploration=0.5, value_hidden=8, burn_in=6,
    )  # fmt: skip
    config_of = InvariantConfig(neuron, actions="discrete")
    policy = InvariantPolicy(env.n_sensors, env.n_actions, config_of, key=jax.random.key(0))
    learner = QLearning(policy, env, config)
    state = learner.init(jax.random.key(1))
    for number in range(updates):
        state, _ = learner.update(state, number)
    return eqx.combine(state.network.policy, policy)


def played(policy, env, record, n_episodes=128):
    """Mean return, and what was recorded: (episodes, steps, ...)."""
    play = eqx.filter_jit(
        lambda policy, keys: jax.vmap(lambda key: rollout(policy, env, key=key, record=record))(
            keys
        )
    )
    episodes = play(policy, jax.random.split(jax.random.key(9), n_episodes))
    return float(episodes.total.mean()), episodes.trace


def on_the_informed(step, decision):
    """The largest share of a slot's weight that lies on sensors that know the answer."""
    return (decision.weights * step.state.informative).sum(axis=-1).max()


@pytest.mark.parametrize("method", ["ppo", "dqn"])
def test_few_inputs_among_many_are_found_and_attended_to(method):
    if method == "ppo":
        # Places mean nothing here, so there is nothing to tell a critic.
        env, policy = Channels(), by_ppo(Channels(), WATCHFUL, 20, n_envs=32, told=False)
    else:
        env = DiscreteActions(Channels(), levels=2)
        policy = by_dqn(env, WATCHFUL, 40)
    score, shares = played(policy, env, on_the_informed)
    assert score > 9  # of 16; whoever trusts all 50 alike gets 5
    assert float(shares[:, -4:].mean()) > 0.5  # 3 of 50 are 0.06


def test_a_past_step_is_looked_back_at_when_it_is_asked_for():
    policy = by_ppo(Recall(), LOOKING_BACK, 40, gamma=0.95, n_envs=32)
    assert isinstance(policy.neuron, RecallingNeuron)
    recall = policy.neuron.recall
    assert isinstance(recall, TransformerRecall)

    def looked_back(step, decision):
        return recall.attention(decision.memory.neurons)[0]

    score, weights = played(policy, Recall(), looked_back)
    assert score > 0.9  # of 1
    at_the_question = weights[:, -1].mean(axis=0)  # newest step first
    assert int(jnp.argmax(at_the_question)) == Recall().delay + 1
    assert float(at_the_question[-1]) > 2 / 8


def test_the_nearest_of_several_others_is_attended_to():
    env = Movers()
    policy = by_ppo(env, AT_ONCE, 60)

    def on_the_nearest(step, decision):
        return decision.weights[:, step.state.nearest].max()

    score, shares = played(policy, env, on_the_nearest)
    assert score > 8  # of 16
    assert float(shares.mean()) > 0.5  # one of 6 is 0.17


@pytest.mark.parametrize("task", ["channels", "channels-discrete", "recall", "movers"])
def test_the_worlds_can_be_named(task):
    env = TASKS[task]()
    step = env.reset(jax.random.key(0))
    assert step.sensors.values.shape == (env.n_sensors,)
    following = env.step(step.state, jnp.ones(env.n_actions), key=jax.random.key(1))
    assert jax.tree.structure(following) == jax.tree.structure(step)
