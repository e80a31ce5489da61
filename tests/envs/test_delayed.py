"""Sensors that report late."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.envs import CartPoleSwingUpHarder, DelayedEnv


def seen(env, n_steps, key):
    def advance(step, index):
        action = jnp.sin(index.astype(float))[None]
        following = env.step(step.state, action, key=jax.random.fold_in(key, index))
        return following, (step.sensors.values, step.reward)

    return jax.lax.scan(advance, env.reset(key), jnp.arange(n_steps))[1]


def test_each_sensor_is_late_by_its_own_delay_and_the_world_is_the_same(key):
    delays = jnp.array([0, 3, 1, 0, 5])
    world = CartPoleSwingUpHarder()
    straight, rewards = seen(world, 12, key)
    late, late_rewards = seen(DelayedEnv(world, delays, 5), 12, key)
    np.testing.assert_array_equal(rewards, late_rewards)
    for sensor, delay in enumerate(delays):
        then = np.maximum(np.arange(12) - int(delay), 0)
        np.testing.assert_array_equal(late[:, sensor], straight[then, sensor])


def test_delays_must_fit_the_world():
    with pytest.raises(ValueError, match="one delay for each of 5"):
        DelayedEnv(CartPoleSwingUpHarder(), jnp.zeros(4, int), 5)
