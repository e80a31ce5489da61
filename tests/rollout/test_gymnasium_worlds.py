"""Episodes in Gymnasium's worlds: the same whoever plays them, whatever happens to the players."""

import os
import signal

import equinox as eqx
import gymnasium
import jax
import numpy as np
import pytest
from tests.rollout.uneven import ID, SLOW

from anyorder.bridges.registration import CARTPOLE
from anyorder.envs import CartPoleSwingUpHarder, GymnasiumEnv, PerturbedEnv
from anyorder.errors import UsageError
from anyorder.policies import InvariantConfig, InvariantPolicy, PlainPolicy
from anyorder.rollout import GymnasiumEngine, choose_engine
from anyorder.rollout.gymnasium import cut
from anyorder.rollout.player import Player, player_of, seed_of, write_program
from anyorder.rollout.pool import AbstractPool
from anyorder.rollout.processes import ProcessPool
from anyorder.sensors import Noise, Reshuffle, Sensors, chain

KEYS = jax.random.split(jax.random.key(7), 20)


class Here(AbstractPool):
    """Plays in this process."""

    def play(self, program, items):
        return [player_of(program).play(item) for item in items]

    def close(self):
        pass

    def describe(self):
        return "here"


def candidates_for(env, count, kind=InvariantPolicy):
    def make(key):
        if kind is PlainPolicy:
            return PlainPolicy(env.n_sensors, env.n_actions, key=key)
        config = InvariantConfig(actions="discrete" if env.discrete else "continuous")
        return InvariantPolicy(env.n_sensors, env.n_actions, config, key=key)

    return eqx.filter_vmap(make)(jax.random.split(jax.random.key(0), count))


@pytest.fixture(scope="module")
def uneven():
    """A world, candidates, and what they earn when nothing happens."""
    env = GymnasiumEnv(ID)
    candidates = candidates_for(env, 5)
    returns, steps = GymnasiumEngine(env, Here())(candidates, KEYS)
    return env, candidates, np.asarray(returns), int(steps)


def test_spaces_are_read():
    uneven, pendulum = GymnasiumEnv(ID), GymnasiumEnv("Pendulum-v1")
    assert (uneven.n_sensors, uneven.n_actions, uneven.n_steps) == (3, 3, 30)
    assert uneven.discrete
    assert uneven.spaces.to_world(np.array([0.0, 1.0, 0.0])) == 4
    assert (pendulum.n_sensors, pendulum.n_actions, pendulum.n_steps) == (3, 1, 200)
    np.testing.assert_allclose(pendulum.spaces.to_world(np.array([-0.5])), [-1.0])  # within ± 2


@pytest.mark.parametrize(
    ("id", "reason"),
    [
        ("Blackjack-v1", "one-dimensional boxes"),
        ("Nowhere-v0", "no world 'Nowhere-v0'"),
        ("tests.nowhere:Nowhere-v0", "no world"),
    ],
)
def test_what_cannot_be_played_is_refused_in_a_sentence(id, reason):
    with pytest.raises(UsageError, match=reason):
        GymnasiumEnv(id)


def test_missing_extras_are_named(monkeypatch):
    def make(id):
        raise gymnasium.error.DependencyNotInstalled("MuJoCo is not installed")

    monkeypatch.setattr(gymnasium, "make", make)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r'pip install "anyorder\[mujoco\]"'):
        GymnasiumEnv("Ant-v5")


def test_agrees_with_a_plain_python_loop(uneven):
    _env, candidates, returns, steps = uneven
    world, total, lengths = gymnasium.make(ID), np.zeros((5, len(KEYS))), 0
    act = eqx.filter_jit(lambda policy, sensors, memory: policy(sensors, memory))
    for c in range(5):
        policy = jax.tree.map(lambda x, c=c: x[c] if eqx.is_inexact_array(x) else x, candidates)
        for e, key in enumerate(jax.random.key_data(KEYS)):
            memory, over = policy.init(3), False
            seen, _ = world.reset(seed=seed_of(np.asarray(key)))
            while not over:
                action, memory = act(policy, Sensors.of(seen), memory)
                seen, reward, ended, stopped, _ = world.step(3 + int(np.argmax(action)))
                total[c, e], over, lengths = total[c, e] + reward, ended or stopped, lengths + 1
    np.testing.assert_allclose(returns, total, rtol=1e-5)
    assert steps == lengths


def test_plays_what_our_own_engine_plays():
    """The swing-up in Gymnasium's clothes, from one start: the first steps are those of our scan."""
    ours, theirs = CartPoleSwingUpHarder(), GymnasiumEnv(CARTPOLE)
    candidates, key = candidates_for(ours, 2), jax.random.key(3)
    start = ours.reset(key).state
    state = [float(x) for x in (start.x, start.x_dot, start.theta, start.theta_dot)]
    world = gymnasium.make(CARTPOLE)

    class FromThere(gymnasium.Wrapper):
        def reset(self, *, seed=None, options=None):
            return self.env.reset(seed=seed, options={"state": state})

    def player(program):
        found = player_of(program)
        found.worlds = [FromThere(world), FromThere(gymnasium.make(CARTPOLE))]
        return found

    class There(Here):
        def play(self, program, items):
            return [player(program).play(item) for item in items]

    returns, _ = GymnasiumEngine(theirs, There())(candidates, key[None], 40)
    expected, _ = eqx.filter_jit(choose_engine(candidates, ours, "scan"))(candidates, key[None], 40)
    np.testing.assert_allclose(returns, expected, atol=1e-3)


def test_sensors_are_perturbed_by_the_same_plans():
    """What the policy is shown is what PerturbedEnv's plan makes of the readings."""
    env = GymnasiumEnv(ID)
    harder = chain(Noise(2), Reshuffle(3))
    world = PerturbedEnv(env, harder)
    candidates = candidates_for(env, 1)
    player = Player(*_parts(write_program(world, candidates)))
    numbers = [leaf[:1] for leaf in jax.tree.leaves(eqx.filter(candidates, eqx.is_inexact_array))]
    memory, plans = player._begin(KEYS[:2], numbers)
    readings = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    action, _ = player._act(numbers, memory, plans, readings, np.int32(4))
    policy = jax.tree.map(lambda x: x[0] if eqx.is_inexact_array(x) else x, candidates)

    @jax.jit
    def decide(key, readings):
        plan = harder.draw(jax.random.fold_in(key, 1), 3, world.n_steps)
        return policy(harder.apply(plan, Sensors.of(readings), 4), policy.init(5))[0]

    for e in range(2):
        expected = decide(KEYS[e], readings[0, e])
        np.testing.assert_allclose(action[0, e], expected, atol=1e-6)


def test_how_work_is_cut_depends_on_its_size_alone():
    numbers, words = [np.arange(10.0).reshape(5, 2)], np.arange(40).reshape(20, 2)
    corners, items = cut(numbers, words, 9)
    assert [item.shape for item in items] == [(1, 16)] * 10
    assert sum(len(item.numbers[0]) * len(item.keys) for item in items) == 5 * 20
    assert len(set(corners)) == len(corners)
    _, few = cut(numbers, words[:3], 9)
    assert [len(item.numbers[0]) for item in few] == [5]


def test_a_killed_worker_changes_nothing(uneven, monkeypatch):
    env, candidates, returns, steps = uneven
    monkeypatch.setenv(SLOW, "0.001")
    killed = []

    with ProcessPool(2) as pool:

        def watch(done, total):
            if done == 2:
                killed.append(pool.workers[0].process.pid)
                os.kill(killed[0], signal.SIGKILL)

        pool.watch = watch
        again, made = GymnasiumEngine(env, pool)(candidates, KEYS)
        workers = [worker.process for worker in pool.workers]
        assert killed[0] not in [process.pid for process in workers]
        # And the pool is whole again.
        once_more, _ = GymnasiumEngine(env, pool)(candidates, KEYS[:3])
    np.testing.assert_array_equal(again, returns)
    assert int(made) == steps
    np.testing.assert_allclose(once_more, returns[:, :3], rtol=1e-6)
    assert all(process.returncode is not None for process in workers)


def test_workers_that_keep_dying_end_in_a_sentence(monkeypatch):
    env = GymnasiumEnv(ID)
    monkeypatch.setattr("anyorder.rollout.processes.sys.executable", "/bin/false")
    with ProcessPool(1) as pool, pytest.raises(UsageError, match="keep dying"):
        GymnasiumEngine(env, pool)(candidates_for(env, 1), KEYS[:1])


def test_a_world_that_fails_says_so(monkeypatch):
    env = GymnasiumEnv(ID)
    monkeypatch.setenv(SLOW, "forever")
    with ProcessPool(1) as pool, pytest.raises(RuntimeError, match="could not play: ValueError"):
        GymnasiumEngine(env, pool)(candidates_for(env, 1), KEYS[:1])


def _parts(program):
    import cloudpickle

    return cloudpickle.loads(program)
