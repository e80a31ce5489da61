"""Steps are counted exactly, though nobody waits for them."""

import jax.numpy as jnp
import numpy as np

from anyorder.training.loop import AHEAD, StepCount


def test_the_last_few_are_left_where_they_are():
    count = StepCount(100)
    for _ in range(AHEAD + 3):
        count.add(jnp.asarray(7))
    assert int(count.counted) == 100 + 3 * 7
    assert int(count.all()) == 100 + (AHEAD + 3) * 7
    assert int(count.counted) == int(count.all())


def test_many_thousand_million_steps_are_no_trouble():
    count = StepCount()
    for _ in range(AHEAD + 5):
        count.add(jnp.asarray(2**30))
    assert int(count.all()) == (AHEAD + 5) * 2**30


def test_runs_side_by_side_are_counted_apart():
    count = StepCount(np.zeros(2, np.int64))
    count.add(jnp.array([1, 10]))
    count.add(jnp.array([2, 20]))
    np.testing.assert_array_equal(count.all(), [3, 30])
