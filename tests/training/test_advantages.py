import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anyorder.training.advantages import ReturnScale, advantages


def by_loops(rewards, values, next_values, terminated, done, gamma, trace):
    """Every advantage as the sum it stands for."""
    n_steps, n_envs = rewards.shape
    found = np.zeros_like(rewards)
    for env in range(n_envs):
        for start in range(n_steps):
            for t in range(start, n_steps):
                worth = 0.0 if terminated[t, env] else next_values[t, env]
                surprise = rewards[t, env] + gamma * worth - values[t, env]
                found[start, env] += (gamma * trace) ** (t - start) * surprise
                if done[t, env]:
                    break
    return found


@given(seed=st.integers(0, 10_000), gamma=st.floats(0, 0.999), trace=st.floats(0, 1))
def test_advantages_are_the_sums_they_stand_for(seed, gamma, trace):
    rng = np.random.default_rng(seed)
    rewards, values, next_values = rng.normal(size=(3, 12, 4)).astype(np.float32)
    terminated = rng.random((12, 4)) < 0.15
    done = terminated | (rng.random((12, 4)) < 0.15)
    arrays = (rewards, values, next_values, terminated, done)
    found = advantages(*map(jnp.asarray, arrays), gamma=gamma, trace=trace)
    np.testing.assert_allclose(found, by_loops(*arrays, gamma, trace), atol=2e-5)


def test_without_trace_only_the_next_surprise_counts():
    one, no = jnp.ones(3), jnp.zeros(3, bool)
    found = advantages(one, 2 * one, 4 * one, no, no, gamma=0.5, trace=0.0)
    np.testing.assert_allclose(found, 1 + 0.5 * 4 - 2)


def test_what_follows_an_end_does_not_reach_back():
    zero, no = jnp.zeros(4), jnp.zeros(4, bool)
    rewards = jnp.array([0.0, 0.0, 0.0, 100.0])
    done = no.at[1].set(True)
    found = advantages(rewards, zero, zero, no, done, gamma=1.0, trace=1.0)
    np.testing.assert_allclose(found, [0, 0, 100, 100])


def test_a_scale_holds_the_mean_and_spread_of_what_counts():
    returns = 5 + 3 * jax.random.normal(jax.random.key(0), (200, 50))
    counts = jax.random.bernoulli(jax.random.key(1), 0.5, (200, 50))
    nonsense = jnp.where(counts, returns, 1e6)
    scale = ReturnScale.fresh()
    assert float(scale.mean) == 0
    assert float(scale.sd) == 1
    for _ in range(3):
        scale = scale.after(nonsense, counts)
        np.testing.assert_allclose(scale.mean, 5, atol=0.1)
        np.testing.assert_allclose(scale.sd, 3, atol=0.1)


def test_a_scale_follows_returns_that_change():
    ones = jnp.ones((4, 4))
    scale = ReturnScale.fresh().after(ones, ones > 0)
    for _ in range(60):
        scale = scale.after(7 * ones, ones > 0)
    np.testing.assert_allclose(scale.mean, 7, atol=0.05)
    assert 0.05 < float(scale.sd) < 1  # constant returns have units too
