import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import anyorder.bridges.registration
from anyorder.bridges.gymnasium_cartpole import GymnasiumCartPole
from anyorder.envs import CartPoleSwingUpHarder
from anyorder.envs.cartpole import CartPoleState

NAME = anyorder.bridges.registration.CARTPOLE


@pytest.mark.filterwarnings("ignore:.*infinity")  # velocities have no bound
def test_gymnasium_finds_the_world_and_has_nothing_to_object():
    env = gymnasium.make(NAME, render_mode="rgb_array")
    check_env(env.unwrapped)
    env.close()


def test_it_is_the_same_world_as_the_pure_one():
    world, env = CartPoleSwingUpHarder(), gymnasium.make(NAME)
    step = jax.jit(lambda state, action: world.step(state, action, key=jax.random.key(0)))
    rng, compared = np.random.default_rng(0), 0
    for _ in range(5):
        start = rng.uniform([-1, -2, 2, -3], [1, 2, 4, 3])
        seen, _ = env.reset(options={"state": start})
        x, x_dot, theta, theta_dot = (jnp.asarray(v, jnp.float32) for v in start)
        state = CartPoleState(x, x_dot, theta, theta_dot, jnp.zeros((), int), jnp.asarray(-2.0))
        for _ in range(40):
            action = rng.uniform(-1, 1, 1).astype(np.float32)
            ours = step(state, jnp.asarray(action))
            state = ours.state
            seen, reward, terminated, _, _ = env.step(action)
            np.testing.assert_allclose(seen, ours.sensors.values, atol=2e-3)
            assert abs(float(reward) - float(ours.reward)) < 1e-3
            assert terminated == bool(ours.terminated)
            compared += 1
            if terminated:
                break
    assert compared > 100


def test_episodes_are_truncated_after_a_thousand_steps():
    env = gymnasium.make(NAME)
    env.reset(options={"state": [0, 0, np.pi, 0]})
    for time in range(1000):
        _, _, terminated, truncated, _ = env.step(np.zeros(1, np.float32))
        assert not terminated
        assert truncated == (time == 999)


def test_seeds_decide_the_start():
    env = gymnasium.make(NAME)
    first, again, other = (env.reset(seed=seed)[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_pictures_show_where_the_cart_is():
    env = gymnasium.make(NAME, render_mode="rgb_array")
    env.reset(options={"state": [-1.5, 0, 0, 0]})
    left = np.asarray(env.render())
    env.reset(options={"state": [1.5, 0, 0, 0]})
    right = np.asarray(env.render())
    assert left.shape == (400, 600, 3)
    assert left.dtype == np.uint8
    cart = np.array([0x30, 0x45, 0x6B])
    columns = [
        np.flatnonzero(np.equal(picture, cart).all(axis=2).any(axis=0)) for picture in (left, right)
    ]
    assert columns[0].max() < 300 < columns[1].min()


def test_using_it_wrongly_is_explained():
    env = gymnasium.make(NAME).unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(1))
    with pytest.raises(ValueError, match="rgb_array"):
        GymnasiumCartPole(render_mode="human")
