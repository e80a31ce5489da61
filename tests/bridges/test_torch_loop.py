"""The torch loop decides as our policy does, so that its time is the time of the same work."""

import equinox as eqx
import jax
import numpy as np
import pytest

from anyorder.neurons import AttentionNeuron
from anyorder.policies import InvariantPolicy
from anyorder.sensors import Sensors


def test_decides_as_the_policy_does(key):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from anyorder.bridges.torch_loop import TorchLoop

    policy, loop = InvariantPolicy(5, 1, key=key), TorchLoop()
    neuron = policy.neuron
    assert isinstance(neuron, AttentionNeuron)

    def copy(parameter, array):
        parameter.data = torch.tensor(np.asarray(array))

    copy(loop.cell.weight_ih, neuron.cell.weight_ih)
    copy(loop.cell.weight_hh, neuron.cell.weight_hh)
    copy(loop.cell.bias_ih, neuron.cell.bias)
    copy(loop.cell.bias_hh, neuron.recurrent_bias)
    copy(loop.query_map.weight, neuron.query_map.weight)
    copy(loop.key_map.weight, neuron.key_map.weight)
    copy(loop.readout.weight, policy.head.layers[0].weight)
    copy(loop.readout.bias, policy.head.layers[0].bias)
    act, memory = eqx.filter_jit(policy), policy.init(5)
    for readings in np.asarray(jax.random.normal(key, (8, 5))):
        expected, memory = act(Sensors.of(readings), memory)
        np.testing.assert_allclose(loop.act(readings.copy()), expected[0], atol=1e-5)


def test_an_episode_comes_to_something():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from anyorder.bridges.torch_loop import TorchLoop

    total, steps = TorchLoop(seed=1).episode()
    assert 0 < steps <= 1000
    assert 0 <= total <= steps
