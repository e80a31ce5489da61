import gymnasium
import jax
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from anyorder.bridges.gym_wrappers import DelayedGym, PerturbedGym
from anyorder.sensors import (
    Double,
    Drop,
    Flip,
    Jitter,
    Noise,
    Reshuffle,
    Sensors,
    Shuffle,
    Unchanged,
    chain,
)


class Counter(gymnasium.Env):
    """Shows 10, 20, 30, ... plus the time; ends after `length` steps."""

    def __init__(self, n_sensors=4, length=60, dtype: type = np.float64):
        self.observation_space = spaces.Box(-1000, 1000, (n_sensors,), dtype)  # type: ignore[arg-type]
        self.action_space = spaces.Discrete(2)
        self.n_sensors, self.length, self.time = n_sensors, length, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self._shown(), {}

    def step(self, action):
        self.time += 1
        return self._shown(), 1.0, self.time == self.length, False, {}

    def _shown(self):
        shown = 10 * (1 + np.arange(self.n_sensors)) + self.time
        return shown.astype(self.observation_space.dtype)


def episode(env, seed, steps=40):
    """Observations (steps + 1, sensors)."""
    return np.stack(
        [env.reset(seed=seed)[0], *(env.step(env.action_space.sample())[0] for _ in range(steps))]
    )


def test_it_does_what_the_plan_says():
    """The host adds nothing: what the agent sees is the perturbation's own apply on the world's readings."""
    perturbation = chain(Double(), Noise(2, 0.5), Reshuffle(7))
    env = PerturbedGym(Counter(), perturbation)
    seen = episode(env, 3)
    assert seen.shape == (41, 10)
    assert seen.dtype == np.float64
    bare = episode(Counter(), 3)
    plan = env._plan
    for time in (0, 6, 7, 40):
        expected = perturbation.apply(plan, Sensors.of(bare[time]), time)
        np.testing.assert_allclose(seen[time], expected.values, rtol=1e-6)
    assert len({tuple(np.argsort(row)) for row in seen[::7]}) > 1


@pytest.mark.filterwarnings("ignore:.*infinity", "ignore:.*different from the unwrapped")
def test_gymnasium_has_nothing_to_object():
    check_env(PerturbedGym(Counter(), Shuffle()), skip_render_check=True)


def test_seeds_decide_world_and_plan():
    env = PerturbedGym(Counter(), Shuffle())
    np.testing.assert_array_equal(episode(env, 5), episode(env, 5))
    orders = {tuple(env.reset(seed=seed)[0]) for seed in range(20)}
    assert len(orders) > 8
    env.reset(seed=1)
    later = [tuple(env.reset()[0]) for _ in range(20)]
    assert len(set(later)) > 8
    env.reset(seed=1)
    assert [tuple(env.reset()[0]) for _ in range(20)] == later
    assert len(PerturbedGym(Counter(), Shuffle()).reset()[0]) == 4  # a first reset needs no seed


def test_the_world_starts_as_the_bare_one_does():
    bare = gymnasium.make("CartPole-v1").reset(seed=11)[0]
    seen = PerturbedGym(gymnasium.make("CartPole-v1"), Shuffle()).reset(seed=11)[0]
    np.testing.assert_array_equal(np.sort(seen), np.sort(bare))


def test_absent_sensors_read_zero_and_are_named():
    env = PerturbedGym(Counter(), Drop(1))
    seen, info = env.reset(seed=0)
    assert (seen == 0).sum() == 1
    np.testing.assert_array_equal(info["present"], seen != 0)
    assert env.step(0)[4]["present"].sum() == 3


def test_nothing_is_what_unchanged_does():
    env = PerturbedGym(Counter(dtype=np.int32), Unchanged())
    assert env.reset(seed=0)[0].dtype == np.int32
    assert env.observation_space == Counter(dtype=np.int32).observation_space


def test_origins_say_where_readings_come_from():
    env = PerturbedGym(Counter(), chain(Flip(2), Noise(1), Reshuffle(5)))
    seen = env.reset(seed=2)[0]
    found = set()
    for time in range(12):
        origins = env.origins()
        assert sorted(origins) == [-1, 0, 1, 2, 3]
        shown = origins >= 0
        world = 10 * (1 + origins[shown]) + time
        np.testing.assert_allclose(np.abs(seen[shown]), world, rtol=1e-6)
        found.add(tuple(origins))
        seen = env.step(0)[0]
    assert len(found) > 1


def test_jitter_is_as_large_as_it_should_be():
    plan = Jitter((0.0, 1.0, 5.0)).draw(jax.random.key(0), 3, 10)
    sensors = Sensors.of([1.0, 2.0, 3.0])
    jitter = jax.jit(Jitter((0.0, 1.0, 5.0)).apply)
    seen = np.stack([jitter(plan, sensors, step).values for step in range(400)])
    np.testing.assert_allclose(seen.std(axis=0), [0, 1, 5], rtol=0.15)
    with pytest.raises(ValueError, match="knows 2 sensors"):
        Jitter((1.0, 1.0)).draw(jax.random.key(0), 3, 10)


def test_late_sensors_show_what_they_read_before():
    env = DelayedGym(Counter(), [0, 1, 3, 3])
    seen = episode(env, 0, steps=5)
    np.testing.assert_array_equal(seen[0], [10, 20, 30, 40])
    np.testing.assert_array_equal(seen[2], [12, 21, 30, 40])
    np.testing.assert_array_equal(seen[5], [15, 24, 32, 42])
    np.testing.assert_array_equal(env.reset()[0], [10, 20, 30, 40])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PerturbedGym(gymnasium.make("Blackjack-v1"), Shuffle()), "1-D Box"),
        (lambda: PerturbedGym(gymnasium.make("FrozenLake-v1"), Shuffle()), "got Discrete"),
        (lambda: PerturbedGym(Counter(), Drop(9)), "does not fit 4 sensors"),
        (lambda: DelayedGym(Counter(), [1, 2]), "a delay >= 0 for each of 4"),
        (lambda: DelayedGym(gymnasium.make("FrozenLake-v1"), [1]), "1-D Box"),
    ],
)
def test_what_cannot_be_wrapped_is_refused_at_construction(make, words):
    with pytest.raises(TypeError, match=words):
        make()
