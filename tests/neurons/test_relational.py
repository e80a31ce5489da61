"""Neurons that compare notes: what they claim beyond invariance."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.neurons import AttentionNeuron, RelationalConfig, RelationalNeuron
from anyorder.sensors import Sensors

STEPS, SHUFFLED_AT = 24, 12
ORDER = jnp.array([3, 0, 4, 1, 2])
WITHIN = 5


def signals():
    """Five smooth signals a good way apart, over time."""
    times, phases = np.arange(STEPS)[:, None], np.arange(WITHIN)
    return jnp.asarray(2.0 * phases - 4 + 0.3 * np.sin(0.1 * times + phases), jnp.float32)


@eqx.filter_jit
def listen(neuron, readings):
    """Codes and memories of a neuron that hears this, step by step."""

    def hear(memory, reading):
        message = neuron.listen(Sensors.of(reading), jnp.zeros(1), memory)
        return message.memory, (message.code, message.memory)

    return jax.lax.scan(hear, neuron.init(readings.shape[1]), readings)[1]


def straight_and_shuffled(neuron):
    """The same episode twice: as it is, and with signals that change places but no memory that does."""
    readings = signals()
    late = (jnp.arange(STEPS) >= SHUFFLED_AT)[:, None]
    return listen(neuron, readings), listen(neuron, jnp.where(late, readings[:, ORDER], readings))


def test_after_a_shuffle_memory_finds_its_way_back():
    fresh = RelationalNeuron(1, key=jax.random.key(0))
    neuron = eqx.tree_at(lambda n: n.sharpness, fresh, 4.0)  # as after some training
    (codes, memory), (moved_codes, moved) = straight_and_shuffled(neuron)
    for step in range(SHUFFLED_AT, STEPS):
        np.testing.assert_allclose(moved.hidden[step], memory.hidden[step][ORDER], atol=0.01)
    gap = jnp.abs(jnp.arcsinh(moved_codes) - jnp.arcsinh(codes))
    assert float(gap[SHUFFLED_AT:].max()) < 0.05
    assert float(jnp.abs(memory.hidden[-1] - memory.hidden[-1][ORDER]).max()) > 0.1


def test_without_recall_memory_stays_with_the_place():
    neuron = AttentionNeuron(WITHIN, 1, key=jax.random.key(0))
    (codes, memory), (moved_codes, moved) = straight_and_shuffled(neuron)
    away = jnp.abs(moved[0] - memory[0][:, ORDER])[SHUFFLED_AT:]
    assert float(away[0].max()) > 0.1
    assert float(jnp.abs(moved_codes - codes)[SHUFFLED_AT:].max()) > 0.1


def test_a_loyal_neuron_keeps_its_own_memory_among_signals_that_are_alike():
    neuron = RelationalNeuron(1, key=jax.random.key(0))
    readings = jnp.zeros((3, 2))
    _, memory = listen(neuron, readings)
    own = jnp.array([[1.0], [-1.0]]) * jnp.ones((2, 24))
    before = eqx.tree_at(lambda m: m.hidden, jax.tree.map(lambda leaf: leaf[-1], memory), own)
    past = neuron._recall(readings[0], jnp.ones(2, bool), before)
    np.testing.assert_allclose(past.hidden, own * np.tanh(neuron.config.loyalty / 2), atol=1e-5)


def test_nobody_is_asked_before_there_is_a_memory():
    neuron = RelationalNeuron(1, key=jax.random.key(0))
    past = neuron._recall(jnp.arange(3.0), jnp.ones(3, bool), neuron.init(3))
    assert not any(np.asarray(leaf).any() for leaf in jax.tree.leaves(past))


def test_absurd_readings_still_make_numbers():
    neuron = RelationalNeuron(1, key=jax.random.key(0))
    codes, memory = listen(neuron, 1e6 * signals())
    assert all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves((codes, memory)))


@pytest.mark.parametrize("wrong", [{"slots": 0}, {"rounds": 0}, {"pair": 10, "heads": 4}])
def test_nonsense_is_refused(wrong):
    with pytest.raises(ValueError, match=r"must be at least 1|cannot be shared"):
        RelationalConfig(**wrong)
