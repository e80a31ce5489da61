import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.training.replay import add, empty, sample

BLOCKS, STEPS, WORLDS = 5, 4, 3


def filled(n_blocks):
    """Row t of world w holds (t, w); so does the memory at t, where a block starts."""
    one = jnp.zeros(2, jnp.int32)
    replay = empty(one, one, blocks=BLOCKS, steps=STEPS, worlds=WORLDS)
    for block in range(n_blocks):
        times = block * STEPS + jnp.arange(STEPS)
        rows = jnp.stack(jnp.meshgrid(times, jnp.arange(WORLDS), indexing="ij"), axis=-1)
        replay = add(replay, rows.astype(jnp.int32), rows[0].astype(jnp.int32))
    return replay


@pytest.mark.parametrize("n_blocks", [1, 2, 4, 5, 6, 9, 13])
@pytest.mark.parametrize("window", [1, 4, 5, 9])
def test_windows_are_what_was_lived_in_order(n_blocks, window):
    replay = filled(n_blocks)
    possible = [
        block * STEPS
        for block in range(max(n_blocks - BLOCKS, 0), n_blocks)
        if block * STEPS + window <= n_blocks * STEPS
    ]
    assert int(replay.starts(window)) == len(possible)
    assert bool(replay.ready(window)) == bool(possible)
    if not possible:
        return
    rows, memories = sample(replay, count=400, window=window, key=jax.random.key(n_blocks))
    assert rows.shape == (400, window, 2)
    np.testing.assert_array_equal(rows[:, 0], memories)
    steps = np.asarray(rows) - np.asarray(rows[:, :1])
    assert (steps[..., 0] == np.arange(window)).all()
    assert (steps[..., 1] == 0).all()
    found = {(int(time), int(world)) for time, world in memories}
    assert found == {(time, world) for time in possible for world in range(WORLDS)}


def test_what_is_longer_than_the_buffer_is_never_ready():
    assert not bool(filled(20).ready(BLOCKS * STEPS + 1))
    assert bool(filled(20).ready(BLOCKS * STEPS))


def test_adding_leaves_the_old_buffer_as_it_was():
    before = filled(5)
    copy = np.array(before.rows)
    one = jnp.zeros((STEPS, WORLDS, 2), jnp.int32)
    after = add(before, one - 1, one[0])
    np.testing.assert_array_equal(before.rows, copy)
    assert (np.asarray(after.rows[0]) == -1).all()
    np.testing.assert_array_equal(after.rows[1:], copy[1:])


def test_the_same_key_gives_the_same_sample():
    replay = filled(7)
    one, two = (sample(replay, count=9, window=5, key=jax.random.key(3)) for _ in range(2))
    other = sample(replay, count=9, window=5, key=jax.random.key(4))
    np.testing.assert_array_equal(one[0], two[0])
    assert (np.asarray(one[0]) != np.asarray(other[0])).any()
