import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.neurons import WEIGHTINGS, dot_scores, sinusoidal_table

SCORES = jnp.array([[1.0, -2.0, 0.5], [0.0, 3.0, 300.0]])


def test_table_alternates_sine_and_cosine():
    table = sinusoidal_table(16, 8)
    np.testing.assert_allclose(table[0], [0, 1, 0, 1, 0, 1, 0, 1])
    np.testing.assert_allclose(table[3, 0], np.sin(3))
    np.testing.assert_allclose(table[3, 5], np.cos(3 / 10000 ** (4 / 8)))


def test_scores_are_dot_products():
    queries, keys = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)
    scores = dot_scores(jnp.asarray(queries), jnp.asarray(keys), scaled=False)
    np.testing.assert_allclose(scores, queries @ keys.T)
    scaled = dot_scores(jnp.asarray(queries), jnp.asarray(keys), scaled=True)
    np.testing.assert_allclose(scaled, queries @ keys.T / np.sqrt(3), rtol=1e-6)


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_absent_sensors_weigh_nothing(name):
    present = jnp.array([True, False, True])
    weights = WEIGHTINGS[name](SCORES, present)
    np.testing.assert_array_equal(weights[:, 1], 0)
    np.testing.assert_allclose(
        weights[:, np.array([0, 2])],
        WEIGHTINGS[name](SCORES[:, np.array([0, 2])], jnp.ones(2, bool)),
    )


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_with_nothing_there_all_weighs_nothing(name):
    np.testing.assert_array_equal(WEIGHTINGS[name](SCORES, jnp.zeros(3, bool)), np.zeros((2, 3)))


def test_softmax_shares_one_weight():
    weights = WEIGHTINGS["softmax"](SCORES, jnp.ones(3, bool))
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-6)
