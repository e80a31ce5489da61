import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.neurons import (
    WEIGHTINGS,
    AttentionNeuronConfig,
    SlotAttention,
    TransformerRecall,
    dot_scores,
    sinusoidal_table,
)
from anyorder.neurons.key_maps import FourierKeys
from anyorder.neurons.scores import AdditiveScore, CosineScore, GeneralScore
from anyorder.neurons.weightings import SHARING, sparsemax_weights, top_weights

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


@pytest.mark.parametrize("name", SHARING)
def test_sensors_share_one_weight(name):
    weights = WEIGHTINGS[name](SCORES, jnp.ones(3, bool))
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-6)


def test_sparsemax_is_the_nearest_point_of_the_simplex():
    scores = jax.random.normal(jax.random.key(0), (20, 7))
    weights = np.asarray(sparsemax_weights(scores, jnp.ones(7, bool)))
    for row, found in zip(np.asarray(scores), weights, strict=True):
        low, high = row.min() - 1, row.max()
        for _ in range(60):  # the threshold by bisection
            middle = (low + high) / 2
            low, high = (middle, high) if np.maximum(row - middle, 0).sum() > 1 else (low, middle)
        np.testing.assert_allclose(found, np.maximum(row - low, 0), atol=1e-5)
    assert (weights == 0).mean() > 0.2


def test_top_is_hard_but_its_slopes_are_not():
    scores = jnp.array([[3.0, 2.0, 1.0, 0.0]])
    everyone = jnp.ones(4, bool)
    weights = top_weights(scores, everyone, top=2)
    np.testing.assert_array_equal(weights[0, 2:], 0)
    np.testing.assert_allclose(weights[0, :2], jax.nn.softmax(scores[0, :2]), rtol=1e-6)

    def heard(scores, weigh):
        return weigh(scores) @ jnp.array([0.0, 0.0, 5.0, 0.0])

    hard = jax.grad(lambda s: heard(s, lambda s: top_weights(s, everyone, top=2))[0])(scores)
    soft = jax.grad(lambda s: heard(s, lambda s: jax.nn.softmax(s))[0])(scores)
    np.testing.assert_allclose(hard, soft, rtol=1e-5)


def test_scores_are_what_their_papers_say():
    rng = np.random.default_rng(0)
    queries, keys = rng.normal(size=(2, 4)), rng.normal(size=(3, 4))
    q, k = jnp.asarray(queries, jnp.float32), jnp.asarray(keys, jnp.float32)
    additive = AdditiveScore(4, key=jax.random.key(0))
    between = GeneralScore(4)
    expected = {
        "additive": np.tanh(queries[:, None] + keys) @ np.asarray(additive.direction),
        "general": queries @ keys.T,
        "cosine": 4
        * (queries @ keys.T)
        / np.outer(np.linalg.norm(queries, axis=1), np.linalg.norm(keys, axis=1)),
    }
    found = {"additive": additive(q, k), "general": between(q, k), "cosine": CosineScore()(q, k)}
    for name, scores in expected.items():
        np.testing.assert_allclose(found[name], scores, atol=1e-5, err_msg=name)


def test_fourier_keys_approximate_a_gaussian_kernel_of_what_they_map():
    keys = 0.3 * jax.random.normal(jax.random.key(0), (4, 512))
    mapped = FourierKeys()(keys)
    distances = ((keys[:, None] - keys[None]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(mapped @ mapped.T / 512, np.exp(-distances / 2), atol=0.2)


def test_heads_that_are_alike_attend_as_one():
    config = AttentionNeuronConfig(width=4, heads=2, weighting="softmax", queries="learned")
    attention = SlotAttention(config, key=jax.random.key(0))
    rng = np.random.default_rng(0)
    half = rng.normal(size=(2, 2, 8)).astype(np.float32)
    query_map = _linear(np.concatenate([half[0], half[0]]))
    key_map = _linear(np.concatenate([half[1], half[1]]))
    keys = jnp.asarray(rng.normal(size=(3, 8)), jnp.float32)
    weights = attention(query_map, key_map, keys, jnp.ones(3, bool))
    assert attention.table is not None
    scores = (attention.table @ half[0].T) @ (keys @ half[1].T).T
    np.testing.assert_allclose(weights, jax.nn.softmax(scores), atol=1e-5)


def _linear(weight):
    import equinox as eqx

    layer = eqx.nn.Linear(weight.shape[1], weight.shape[0], use_bias=False, key=jax.random.key(0))
    return eqx.tree_at(lambda one: one.weight, layer, jnp.asarray(weight))


def test_a_transformer_neuron_looks_back_at_what_there_was_and_no_further():
    recall = TransformerRecall(1, AttentionNeuronConfig(stack=4), key=jax.random.key(0))
    memory, everyone = recall.init(2), jnp.ones(2, bool)
    for step in range(6):
        features, memory = recall(jnp.full((2, 1), float(step)), everyone, memory)
        weights = recall.attention(memory)
        np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-5)
        np.testing.assert_array_equal(weights[:, step + 1 :], 0)
        assert features.shape == (2, 8)
    np.testing.assert_array_equal(memory.signals[0, :, 0], [5, 4, 3, 2])
