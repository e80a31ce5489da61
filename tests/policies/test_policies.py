import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.policies import CONFIGS, POLICIES, InvariantPolicy, PlainPolicy
from anyorder.sensors import Sensors


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_can_be_made_again_from_its_config(name):
    first = POLICIES[name](5, 2, CONFIGS[name](hidden=4), key=jax.random.key(0))
    again = POLICIES[name](5, 2, first.config, key=jax.random.key(0))
    assert jax.tree.structure(first) == jax.tree.structure(again)
    assert first.config == CONFIGS[name](hidden=4)


@pytest.mark.parametrize("name", POLICIES)
def test_actions_stay_in_bounds_and_are_remembered(name):
    policy = POLICIES[name](5, 2, key=jax.random.key(1))
    action, memory = policy(Sensors.of(1e3 * jnp.ones(5)), policy.init(5))
    assert bool((jnp.abs(action) <= 1).all())
    np.testing.assert_array_equal(memory.previous_action, action)


def test_the_previous_action_reaches_the_neurons():
    policy = InvariantPolicy(3, 1, key=jax.random.key(2))
    memory = policy.init(3)
    other = type(memory)(memory.neurons, jnp.ones(1))
    sensors = Sensors.of([0.3, 0.2, 0.1])
    assert float(policy(sensors, memory)[0][0]) != float(policy(sensors, other)[0][0])


def test_the_control_refuses_other_numbers_of_sensors():
    policy = PlainPolicy(5, 1, key=jax.random.key(0))
    assert policy.reads(5)
    assert not policy.reads(10)
    with pytest.raises(ValueError, match="reads 5 sensors, got 10"):
        policy.init(10)
