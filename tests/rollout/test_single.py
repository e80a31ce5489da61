"""The compiled agent decides as the policy does."""

import jax
import numpy as np
import pytest

from anyorder.neurons import AttentionNeuronConfig
from anyorder.policies import InvariantConfig, InvariantPolicy, PlainPolicy
from anyorder.rollout.single import compiled
from anyorder.sensors import Sensors

SOFT = AttentionNeuronConfig(slots=6, width=5, weighting="softmax", bias=True, scaled=True)
POLICIES = {
    "paper": lambda key: InvariantPolicy(5, 1, key=key),
    "deep": lambda key: InvariantPolicy(
        5, 3, InvariantConfig(AttentionNeuronConfig(gain=0.7), hidden=4), key=key
    ),
    "choices": lambda key: InvariantPolicy(
        5, 3, InvariantConfig(SOFT, actions="discrete"), key=key
    ),
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("n_sensors", [5, 9])
def test_decides_as_the_policy_does(name, n_sensors, key):
    policy = POLICIES[name](key)
    agent, act = compiled(policy), jax.jit(lambda s, m: policy(s, m))
    ours, theirs = agent.init(n_sensors), policy.init(n_sensors)
    random = np.random.default_rng(0)
    for _ in range(12):
        readings = random.normal(size=n_sensors).astype(np.float32)
        present = random.random(n_sensors) < 0.8
        decided, ours = agent(readings, ours, present)
        expected, theirs = act(
            Sensors(jax.numpy.asarray(readings), jax.numpy.asarray(present)), theirs
        )
        np.testing.assert_allclose(decided, expected, atol=2e-5)
        np.testing.assert_allclose(ours.hidden, theirs.neurons[0], atol=2e-5)


def test_what_cannot_be_compiled_is_said(key):
    with pytest.raises(ValueError, match="PlainPolicy has no compiled step"):
        compiled(PlainPolicy(5, 1, key=key))
