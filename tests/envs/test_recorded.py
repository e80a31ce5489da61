import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.envs import RecordedEnv, Recordings

LENGTHS = [3, 5, 1]


def recordings():
    """Three episodes of 2 sensors; the numbers say which episode and step, 99 what never happened."""
    happened = np.arange(5) < np.array(LENGTHS)[:, None]
    numbers = np.where(happened, 10.0 * np.arange(3)[:, None] + np.arange(5), 99.0)
    sensors = np.stack([numbers, -numbers], axis=2)
    return Recordings(
        jnp.asarray(sensors, float), jnp.asarray(numbers[..., None], float),
        jnp.asarray(numbers + 0.5, float), jnp.array(LENGTHS),
    )  # fmt: skip


def test_what_happened_happens_again_whatever_one_does():
    world = RecordedEnv(recordings())
    assert (world.n_sensors, world.n_actions, world.n_steps, world.discrete) == (2, 1, 5, False)
    played = set()
    for seed in range(12):
        step = world.reset(jax.random.key(seed))
        episode = int(step.sensors.values[0]) // 10
        played.add(episode)
        for time in range(LENGTHS[episode]):
            number = 10.0 * episode + time
            np.testing.assert_array_equal(step.sensors.values, [number, -number])
            assert float(step.state.action[0]) == number  # what was done, for a teacher to show
            assert not bool(step.done)
            step = world.step(step.state, jnp.array([seed / 7]), key=jax.random.key(1))
            assert float(step.reward) == number + 0.5
        assert bool(step.truncated)
        assert not bool(step.terminated)
    assert played == {0, 1, 2}


def test_every_episode_is_played_as_often():
    world = RecordedEnv(recordings())
    starts = jax.vmap(lambda key: world.reset(key).state.episode)(
        jax.random.split(jax.random.key(0), 3000)
    )
    assert np.bincount(np.asarray(starts)).min() > 880  # 1000 expected, sd 26


def test_choices_are_choices():
    assert RecordedEnv(recordings(), True).discrete


def test_parts_that_do_not_fit_are_refused():
    good = recordings()
    wrong = [
        (good.sensors[:2], good.actions, good.rewards, good.lengths),
        (good.sensors, good.actions, good.rewards, good.lengths[:2]),
        (good.sensors[:, :0], good.actions[:, :0], good.rewards[:, :0], good.lengths),
    ]
    for parts in wrong:  # where shapes are checked, as here, that may be noticed first
        with pytest.raises((ValueError, TypeError)):
            Recordings(*parts)
