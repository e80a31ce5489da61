"""A chunk at a time says what all at once say."""

import json
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.neurons import AttentionNeuron, AttentionNeuronConfig
from anyorder.neurons.chunked import Ragged, listen_in_chunks, listen_ragged, padded
from anyorder.sensors import Sensors

CONFIGS = {
    "paper": AttentionNeuronConfig(),
    "softmax": AttentionNeuronConfig(slots=7, weighting="softmax", bias=True, scaled=True),
}
ACTION = jnp.array([0.3, -0.2])


@pytest.fixture(params=CONFIGS.values(), ids=list(CONFIGS))
def neuron(request, key):
    return AttentionNeuron(5, 2, request.param, key=key)


def some_memory(neuron, count):
    keys = jax.random.split(jax.random.key(3))
    shape = (count, neuron.config.hidden)
    return jax.random.normal(keys[0], shape), jax.random.normal(keys[1], shape)


@pytest.mark.parametrize("chunk", [1, 4, 10, 64])
def test_chunks_say_what_the_plain_path_says(neuron, chunk):
    readings = 3 * jax.random.normal(jax.random.key(1), (10,))
    sensors = Sensors(readings.at[4].set(jnp.nan), jnp.arange(10) % 5 != 4)
    memory = some_memory(neuron, 10)
    code, moved = eqx.filter_jit(listen_in_chunks)(neuron, sensors, ACTION, memory, chunk=chunk)
    expected, expected_memory = eqx.filter_jit(neuron)(sensors, ACTION, memory)
    np.testing.assert_allclose(code, expected, atol=1e-5)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), moved, expected_memory)


def test_a_million_sensors_stay_within_four_gibibytes():
    script = Path(__file__).parents[2] / "benchmarks" / "many_sensors.py"
    done = subprocess.run(
        [sys.executable, script, "--measure", "chunks", "1000000", "0"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[-1])["peak"] < 4 * 2**30


def test_with_no_sensor_present_nothing_is_said(neuron):
    sensors = Sensors(jnp.full(6, jnp.nan), jnp.zeros(6, bool))
    code, _ = listen_in_chunks(neuron, sensors, ACTION, neuron.init(6), chunk=4)
    np.testing.assert_array_equal(code, np.zeros(neuron.config.slots))


def test_ragged_and_padded_batches_say_what_each_agent_alone_says(neuron):
    each = [[0.5, -1.0, 2.0], [3.0], [0.1] * 9]
    actions = jnp.array([[0.1, 0.2], [-0.5, 0.0], [1.0, -1.0]])
    ragged = Ragged.of(each)
    memory = some_memory(neuron, 13)
    codes, moved = eqx.filter_jit(listen_ragged)(neuron, ragged, actions, memory, chunk=4)
    batch = padded(each)
    assert batch.values.shape == (3, 16)
    fresh, _ = jax.vmap(neuron)(batch, actions, jax.vmap(lambda _: neuron.init(16))(actions))
    first = 0
    for agent, readings in enumerate(each):
        mine = slice(first, first + len(readings))
        own = jax.tree.map(lambda leaf, mine=mine: leaf[mine], memory)
        expected, expected_memory = neuron(Sensors.of(readings), actions[agent], own)
        np.testing.assert_allclose(codes[agent], expected, atol=1e-5)
        np.testing.assert_allclose(moved[0][mine], expected_memory[0], atol=1e-6)
        alone, _ = neuron(Sensors.of(readings), actions[agent], neuron.init(len(readings)))
        np.testing.assert_allclose(fresh[agent], alone, atol=1e-5)
        first += len(readings)
