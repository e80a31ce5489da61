import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.twins.attention_neuron import Twin

from anyorder.bridges.authors import import_weights, policy_of
from anyorder.neurons import AttentionNeuron, AttentionNeuronConfig
from anyorder.sensors import Sensors
from anyorder.training.space import flatten, unflatten

LAYOUTS = {
    "cartpole": {"n_sensors": 5, "n_actions": 1, "slots": 16, "bias": False, "scaled": False},
    "ant": {
        "n_sensors": 28,
        "n_actions": 8,
        "slots": 32,
        "bias": True,
        "scaled": True,
        "hidden": 32,
    },
}


@pytest.mark.parametrize("kind", LAYOUTS)
def test_agrees_with_the_numpy_twin_step_by_step(kind):
    rng = np.random.default_rng(0)
    template = policy_of(kind)
    flat = rng.normal(0, 0.3, flatten(template).size).astype(np.float32)
    policy, twin = unflatten(template, jnp.asarray(flat)), Twin(flat, **LAYOUTS[kind])
    n_sensors = LAYOUTS[kind]["n_sensors"]
    memory = policy.init(n_sensors)
    step = jax.jit(lambda sensors, memory: policy.decide(sensors, memory))
    for _ in range(20):
        values = rng.normal(size=n_sensors)
        decision = step(Sensors.of(values), memory)
        memory = decision.memory
        action, code, weights = twin.step(values)
        np.testing.assert_allclose(decision.weights, weights, atol=1e-5)
        np.testing.assert_allclose(decision.code, code, atol=1e-4)
        np.testing.assert_allclose(decision.action, action, atol=1e-5)


def test_the_released_agent_agrees_with_the_twin(released):
    flat = np.load(released / "cartpole_pi.npz")["params"]
    policy = import_weights(released / "cartpole_pi.npz").policy
    twin = Twin(flat, **LAYOUTS["cartpole"])
    memory, rng = policy.init(5), np.random.default_rng(1)
    for _ in range(10):
        values = rng.normal(size=5)
        action, memory = policy(Sensors.of(values), memory)
        np.testing.assert_allclose(action, twin.step(values)[0], atol=1e-4)


def test_sizes_are_the_papers():
    assert flatten(policy_of("cartpole")).size == 913
    assert flatten(policy_of("ant")).size == 2504


def test_gain_follows_from_how_many_are_present():
    neuron = AttentionNeuron(5, 1, key=jax.random.key(0))
    ten = Sensors.of(jnp.ones(10))
    assert float(neuron.gain(ten)) == 0.5
    assert float(neuron.gain(ten.only(jnp.arange(10) < 5))) == 1.0
    assert float(neuron.gain(ten.only(jnp.arange(10) < 3))) == 1.0
    fixed = AttentionNeuron(5, 1, AttentionNeuronConfig(gain=0.25), key=jax.random.key(0))
    assert float(fixed.gain(ten)) == 0.25


@pytest.mark.parametrize("wrong", [{"slots": 0}, {"hidden": 0}, {"width": 0}])
def test_nonsense_is_refused(wrong):
    with pytest.raises(ValueError, match=r"neuron|weighting"):
        AttentionNeuronConfig(**wrong)
