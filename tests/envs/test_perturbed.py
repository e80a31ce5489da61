import jax
import jax.numpy as jnp
import numpy as np

from anyorder.envs import CartPoleSwingUpHarder, PerturbedEnv
from anyorder.sensors import Double, Noise, Reshuffle, Shuffle, chain

WORLD = CartPoleSwingUpHarder()


def test_the_world_itself_does_not_change(key):
    perturbed = PerturbedEnv(WORLD, Shuffle())
    bare, seen = WORLD.reset(key), perturbed.reset(key)
    np.testing.assert_array_equal(np.sort(seen.sensors.values), np.sort(bare.sensors.values))
    for time in range(5):
        action = jnp.array([0.1 * time])
        bare = WORLD.step(bare.state, action, key=key)
        seen = perturbed.step(seen.state, action, key=key)
        assert float(bare.reward) == float(seen.reward)
        np.testing.assert_array_equal(np.sort(seen.sensors.values), np.sort(bare.sensors.values))


def test_sensors_change_places_in_the_middle_of_an_episode(key):
    perturbed = PerturbedEnv(WORLD, Reshuffle(3))
    step, orders = perturbed.reset(key), []
    for _ in range(9):
        bare = WORLD._observe(step.state.world).sensors.values
        orders.append(
            [int(np.flatnonzero(np.asarray(bare) == value)[0]) for value in step.sensors.values]
        )
        step = perturbed.step(step.state, jnp.zeros(1), key=key)
    assert orders[0] == orders[1] == orders[2]
    assert orders[3] == orders[5]
    assert len({tuple(order) for order in orders}) > 1


def test_sizes_follow_from_the_perturbation():
    perturbed = PerturbedEnv(WORLD, chain(Double(), Noise(3)))
    assert perturbed.n_sensors == 13
    assert perturbed.n_actions == 1
    assert perturbed.n_steps == 1000
    assert perturbed.reset(jax.random.key(0)).sensors.n_sensors == 13
