"""A small oracle: coarse, but it plays by the same rules as the one that is used."""

import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.cli.evaluate import Ceiling, play_all, summaries
from anyorder.envs import CartPoleSwingUpHarder, DiscreteActions, PerturbedEnv
from anyorder.envs.cartpole import CartPoleState
from anyorder.evaluation import play
from anyorder.oracle import (
    Level,
    Oracle,
    OracleConfig,
    blind_returns,
    load_oracle,
    oracle_returns,
    start_states,
)
from anyorder.oracle.grid import nodes
from anyorder.report import evaluation_tables
from anyorder.sensors import Reshuffle

SMALL = OracleConfig(
    levels=(
        Level((7, 17, 32, 17), hold=10, sweeps=60),
        Level((9, 25, 40, 25), hold=6, sweeps=20),
    )
)
SHAPE = SMALL.levels[-1].shape


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def oracle(cache):
    return load_oracle(SMALL, folder=cache)


@pytest.fixture(scope="module")
def starts():
    return np.asarray(start_states(jax.random.split(jax.random.key(1), 100)))


def state(x, x_dot, theta, theta_dot):
    values = [jnp.asarray(value, jnp.float32) for value in (x, x_dot, theta, theta_dot)]
    return CartPoleState(
        values[0], values[1], values[2], values[3], jnp.zeros((), int), jnp.array(-2.0)
    )


def states_of(rows):
    return jax.vmap(lambda row: state(*row))(jnp.asarray(rows))


@eqx.filter_jit
def pushes_in_jax(oracle, rows):
    return jax.vmap(oracle.push)(states_of(rows))


@eqx.filter_jit
def values(oracle, rows):
    return jax.vmap(oracle.value)(states_of(rows))


def test_it_saves_most_starts_that_can_be_saved(oracle, starts):
    returns = blind_returns(oracle, starts)
    idle = blind_returns(oracle, starts, blind=1000)
    assert returns.mean() > 550  # the one that is used: 625
    assert (returns > 500).mean() > 0.6
    assert idle.mean() < 50


def test_seeing_later_earns_less(oracle, starts):
    def mean(blind, every=None):
        return blind_returns(oracle, starts, blind=blind, every=every, n_steps=300).mean()

    assert mean(0) > mean(12) + 5 > mean(12, every=25) + 10


def test_values_at_nodes_are_the_table(oracle):
    picked = np.random.default_rng(0).integers(0, oracle.table.shape, (200, 4))
    rows = np.stack(
        [axis[index] for axis, index in zip(nodes(SHAPE), picked.T, strict=True)], axis=1
    )
    found = values(oracle, rows)
    np.testing.assert_allclose(found, oracle.table[tuple(picked.T)], rtol=1e-3, atol=0.02)


def test_values_between_nodes_are_their_mean():
    """With values that are linear along x, interpolation is exact everywhere."""
    xs = nodes(SHAPE)[0]
    table = np.broadcast_to(xs[:, None, None, None], (9, 25, 41, 25))
    rows = np.random.default_rng(0).uniform(-2, 2, (100, 4))
    found = values(Oracle(jnp.asarray(table), 0.99), rows)
    np.testing.assert_allclose(found, np.abs(rows[:, 0]), atol=1e-5)


def test_upright_is_worth_more_than_hanging_and_outside_nothing(oracle):
    upright, hanging, outside, edge = values(
        oracle, [[0, 0, 0, 0], [0, 0, math.pi, 0], [2.41, 0, 0, 0], [2.39, 5, 0, 0]]
    )
    assert upright > hanging + 10
    assert hanging > 10
    assert outside == 0
    assert edge < 1
    assert upright <= 1 / (1 - SMALL.discount)


def test_mirror_images_get_mirrored_pushes(oracle, starts):
    tilted = starts[np.abs(starts[:, 0]) > 1e-3]
    np.testing.assert_allclose(oracle.pushes(-tilted), -oracle.pushes(tilted), atol=1e-3)


def test_both_ways_to_ask_agree(oracle, starts):
    """Also for angles that have gone around."""
    calm = np.random.default_rng(0).normal(0, [0.3, 0.3, 0.2, 0.3], (200, 4))
    rows = np.concatenate([starts, calm, calm + np.array([0, 0, 6 * math.pi, 0])]).astype(
        np.float32
    )
    compiled, traced = oracle.pushes(rows), np.asarray(pushes_in_jax(oracle, rows))
    assert np.abs(compiled - traced).mean() < 1e-3
    assert (np.abs(compiled - traced) > 0.02).mean() < 0.01
    assert np.ptp(compiled) == 2


def test_both_ways_to_play_agree_whatever_happens_to_the_sensors(oracle):
    keys = jax.random.split(jax.random.key(1), 4)
    expected = blind_returns(oracle, np.asarray(start_states(keys)))
    found = play(oracle, PerturbedEnv(CartPoleSwingUpHarder(), Reshuffle(every=25)), keys)
    np.testing.assert_allclose(found, expected, rtol=0.02, atol=1)


def test_it_is_evaluated_like_an_agent(oracle):
    players = {"oracle": Ceiling(oracle)}
    found = play_all(players, ("every25",), 4, 1)
    assert found["oracle"]["every25"].shape == (4,)
    (table,) = evaluation_tables(summaries(players, found, 1), {"oracle": "oracle"})
    mean = found["oracle"]["every25"].mean()
    assert table.rows[0][1:3] == ("oracle", f"{mean:.0f} ± {found['oracle']['every25'].std():.0f}")


def test_it_refuses_other_worlds(oracle):
    keys = jax.random.split(jax.random.key(0), 2)
    with pytest.raises(ValueError, match="CartPoleSwingUpHarder alone"):
        oracle_returns(oracle, DiscreteActions(CartPoleSwingUpHarder(), levels=3), keys)


def never(share):
    raise AssertionError("It was solved again.")


def test_it_is_solved_once(oracle, cache):
    again = load_oracle(SMALL, folder=cache, progress=never)
    np.testing.assert_array_equal(again.table, oracle.table)
    assert len(list(cache.iterdir())) == 1


TINY = OracleConfig(levels=(Level((3, 5, 8, 5), hold=10, sweeps=3),))


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "words"])
def test_a_damaged_cache_is_solved_again(damage, tmp_path):
    table = load_oracle(TINY, folder=tmp_path).table
    (path,) = tmp_path.iterdir()
    data = bytearray(path.read_bytes())
    half = len(data) // 2
    flipped = data[:-9] + bytes([data[-9] ^ 64]) + data[-8:]
    path.write_bytes(
        {"cut": data[:half], "flip": flipped, "empty": b"", "words": b"{}" * 99}[damage]
    )
    shares = []
    again = load_oracle(TINY, folder=tmp_path, progress=shares.append)
    assert shares[-1] == pytest.approx(1)
    assert shares == sorted(shares)
    np.testing.assert_array_equal(again.table, table)
    assert bytes(data) == path.read_bytes()


def test_settings_do_not_share_a_cache(tmp_path):
    tables = [
        load_oracle(OracleConfig(TINY.levels, discount), folder=tmp_path).table
        for discount in (0.9, 0.99)
    ]
    assert len(list(tmp_path.iterdir())) == 2
    assert np.abs(tables[0] - tables[1]).max() > 1


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path):
    taken = tmp_path / "file"
    taken.write_text("in the way")
    assert load_oracle(TINY, folder=taken).table.shape == (3, 5, 9, 5)


def test_nodes_go_up_and_hold_the_special_places():
    xs, speeds, thetas, spins = nodes(SHAPE)
    for axis in (xs, speeds, thetas, spins):
        assert all(low < high for low, high in itertools.pairwise(axis))
    assert xs[0] == 0
    assert xs[-1] == pytest.approx(2.4)
    for axis in (speeds, thetas, spins):
        assert axis[len(axis) // 2] == pytest.approx(0, abs=1e-6)
