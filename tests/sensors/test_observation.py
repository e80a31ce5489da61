import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.sensors import Sensors


def test_of_takes_plain_lists_and_marks_all_present():
    sensors = Sensors.of([1.0, 2.0, 3.0])
    assert sensors.n_sensors == 3
    assert bool(sensors.present.all())


def test_take_carries_presence_along():
    sensors = Sensors(jnp.array([1.0, 2.0]), jnp.array([True, False])).take(jnp.array([1, 0, 1]))
    np.testing.assert_array_equal(sensors.values, [2, 1, 2])
    np.testing.assert_array_equal(sensors.present, [False, True, False])


def test_absent_sensors_read_as_zero_whatever_they_hold():
    sensors = Sensors(jnp.array([1.0, jnp.nan]), jnp.array([True, False]))
    np.testing.assert_array_equal(sensors.readings(), [1, 0])


def test_readings_of_images_are_masked_whole():
    sensors = Sensors(jnp.ones((2, 3, 3)), jnp.array([False, True]))
    np.testing.assert_array_equal(sensors.readings().sum((1, 2)), [0, 9])


def test_mismatched_mask_is_refused():
    with pytest.raises(Exception, match="sensors"):
        Sensors(jnp.ones(3), jnp.ones(2, dtype=bool))
