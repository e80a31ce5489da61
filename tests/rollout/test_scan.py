import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from tests.probes import Countdown

from anyorder.envs import CartPoleSwingUpHarder, PerturbedEnv
from anyorder.policies import InvariantPolicy, PlainPolicy
from anyorder.rollout import episodes, rollout
from anyorder.sensors import Shuffle

ENV = CartPoleSwingUpHarder()


def test_agrees_with_a_plain_python_loop(key):
    policy = InvariantPolicy(5, 1, key=jax.random.key(1))
    step, memory, total, length = ENV.reset(key), policy.init(5), 0.0, 0
    act, move = eqx.filter_jit(policy), eqx.filter_jit(ENV.step)
    while not bool(step.done) and length < 120:
        action, memory = act(step.sensors, memory)
        step = move(step.state, action, key=key)
        total, length = total + float(step.reward), length + 1
    played = rollout(policy, ENV, key=key, n_steps=120)
    assert int(played.length) == length
    np.testing.assert_allclose(played.total, total, rtol=1e-4)


def test_nothing_counts_after_the_end(key):
    policy = PlainPolicy(2, 1, key=key)
    played = rollout(policy, Countdown(3), key=key)
    assert float(played.total) == 3
    assert int(played.length) == 3


def test_an_invariant_policy_earns_the_same_shuffled():
    policy = InvariantPolicy(5, 1, key=jax.random.key(2))
    keys = jax.random.split(jax.random.key(3), 20)
    plain = episodes(policy, ENV, keys=keys, n_steps=60).total
    shuffled = episodes(policy, PerturbedEnv(ENV, Shuffle()), keys=keys, n_steps=60).total
    np.testing.assert_allclose(plain, shuffled, rtol=1e-3, atol=1e-3)


def test_records_what_is_asked_for(key):
    policy = InvariantPolicy(5, 1, key=key)

    def record(step, decision):
        return {"seen": step.sensors.values, "attention": decision.weights}

    trace = rollout(policy, ENV, key=key, n_steps=7, record=record).trace
    assert trace["seen"].shape == (7, 5)
    assert trace["attention"].shape == (7, 16, 5)
    np.testing.assert_array_equal(trace["seen"][0], ENV.reset(key).sensors.values)


def test_the_same_key_gives_the_same_episode(key):
    policy = InvariantPolicy(5, 1, key=key)
    first, again = (float(rollout(policy, ENV, key=key, n_steps=50).total) for _ in range(2))
    other = float(rollout(policy, ENV, key=jax.random.key(9), n_steps=50).total)
    assert first == again
    assert first != other
    assert jnp.isfinite(first)
