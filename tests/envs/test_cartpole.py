import jax
import jax.numpy as jnp
import numpy as np
from tests.twins import cartpole as twin

from anyorder.envs import CartPoleSwingUpHarder
from anyorder.envs.cartpole import CartPoleState

ENV = CartPoleSwingUpHarder()


def state_of(values):
    x, x_dot, theta, theta_dot = (jnp.asarray(v, dtype=jnp.result_type(float)) for v in values)
    return CartPoleState(x, x_dot, theta, theta_dot, jnp.zeros((), int), jnp.asarray(-2.0))


def test_every_step_equals_the_numpy_twins():
    rng = np.random.default_rng(0)
    step = jax.jit(lambda state, action: ENV.step(state, action, key=jax.random.key(0)))
    for _ in range(200):
        state = rng.uniform([-2.4, -10, 0, -15], [2.4, 10, 2 * np.pi, 15])
        action = rng.uniform(-2, 2)  # beyond the bounds too: it is clipped
        ours = step(state_of(state), jnp.array([action]))
        expected, reward = twin.step(state, action)
        np.testing.assert_allclose(
            ours.sensors.values, twin.observation(expected), rtol=2e-5, atol=2e-5
        )
        np.testing.assert_allclose(ours.reward, reward, atol=1e-5)
        assert bool(ours.terminated) == twin.ended(expected)


def test_a_whole_episode_in_double_precision_equals_the_twins():
    with jax.enable_x64(True):
        start = ENV.reset(jax.random.key(7)).state
        state = np.array([start.x, start.x_dot, start.theta, start.theta_dot])
        step = jax.jit(lambda state, action: ENV.step(state, action, key=jax.random.key(0)))
        ours, rng = start, np.random.default_rng(1)
        for time in range(300):
            action = rng.uniform(-1, 1)
            now = step(ours, jnp.array([action]))
            ours = now.state
            state, reward = twin.step(state, action)
            np.testing.assert_allclose(
                now.sensors.values, twin.observation(state), rtol=1e-8, atol=1e-8
            )
            np.testing.assert_allclose(now.reward, reward, atol=1e-8)
            assert int(ours.time) == time + 1


def test_starts_fill_the_stated_range():
    keys = jax.random.split(jax.random.key(0), 4000)
    state = jax.vmap(lambda key: ENV.reset(key).state)(keys)
    for values, centre, spread in (
        (state.x, 0, 2.4), (state.x_dot, 0, 10), (state.theta, np.pi, np.pi / 2), (state.theta_dot, 0, 10),
    ):  # fmt: skip
        assert float(values.min()) >= centre - spread
        assert float(values.max()) <= centre + spread
        assert abs(float(values.mean()) - centre) < 0.05 * spread
        assert abs(float(values.std()) - spread / np.sqrt(3)) < 0.05 * spread


def test_an_episode_is_truncated_after_its_last_step_and_not_before():
    nought = jnp.zeros(())
    state = CartPoleState(nought, nought, nought, nought, jnp.array(998), jnp.array(-2.0))
    before = ENV.step(state, jnp.zeros(1), key=jax.random.key(0))
    last = ENV.step(before.state, jnp.zeros(1), key=jax.random.key(0))
    assert not bool(before.truncated)
    assert bool(last.truncated)
    assert not bool(last.terminated)
