import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyorder.sensors import (
    PERTURBATIONS,
    Double,
    Drop,
    Flicker,
    Flip,
    Noise,
    Ordeal,
    Rescale,
    Reshuffle,
    Sensors,
    Shuffle,
    Silent,
    Unchanged,
    chain,
)

EXAMPLES = {
    "unchanged": Unchanged(),
    "shuffle": Shuffle(),
    "reshuffle": Reshuffle(7),
    "double": Double(),
    "noise": Noise(3),
    "drop": Drop(2),
    "flicker": Flicker(0.5, 4),
    "silent": Silent(3, 0.5),
    "ordeal": Ordeal(5),
    "rescale": Rescale(0.5, 2),
    "flip": Flip(2),
}
SENSORS = Sensors.of([1.0, 2.0, 3.0, 4.0, 5.0])


def see(perturbation, seed, step, n_steps=40):
    plan = perturbation.draw(jax.random.key(seed), SENSORS.n_sensors, n_steps)
    return perturbation.apply(plan, SENSORS, step)


def test_every_registered_perturbation_has_an_example():
    assert set(EXAMPLES) == set(PERTURBATIONS)


@pytest.mark.parametrize("name", EXAMPLES)
@given(seed=st.integers(0, 2**31), step=st.integers(0, 40))
def test_plans_are_followed_the_same_inside_jit(name, seed, step):
    perturbation = EXAMPLES[name]
    plan = perturbation.draw(jax.random.key(seed), 5, 40)
    plain = perturbation.apply(plan, SENSORS, step)
    jitted = jax.jit(perturbation.apply)(plan, SENSORS, step)
    assert plain.n_sensors == perturbation.count(5)
    np.testing.assert_allclose(plain.values, jitted.values, rtol=1e-6)
    np.testing.assert_array_equal(plain.present, jitted.present)


@pytest.mark.parametrize("name", EXAMPLES)
def test_plans_are_plain_arrays(name):
    plan = EXAMPLES[name].draw(jax.random.key(0), 5, 40)
    for leaf in jax.tree.leaves(plan):
        assert not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        np.asarray(leaf)


@given(seed=st.integers(0, 2**31))
def test_a_shuffle_keeps_every_reading_and_its_order(seed):
    first, later = see(Shuffle(), seed, 0), see(Shuffle(), seed, 33)
    np.testing.assert_array_equal(np.sort(first.values), SENSORS.values)
    np.testing.assert_array_equal(first.values, later.values)


def test_shuffles_reach_every_order_equally_often():
    keys = jax.random.split(jax.random.key(1), 6000)
    orders = jax.vmap(lambda key: Shuffle().draw(key, 3, 1))(keys)
    _, counts = np.unique(np.asarray(orders), axis=0, return_counts=True)
    assert len(counts) == 6
    assert counts.min() > 850  # 1000 expected, sd 29


def test_reshuffle_changes_the_order_on_time_and_only_then():
    perturbation = Reshuffle(25)
    plan = perturbation.draw(jax.random.key(2), 20, 1000)
    sensors = Sensors.of(jnp.arange(20.0))
    orders = np.array([perturbation.apply(plan, sensors, step).values for step in range(101)])
    changes = np.flatnonzero((np.diff(orders, axis=0) != 0).any(axis=1)) + 1
    np.testing.assert_array_equal(changes, [25, 50, 75, 100])


def test_doubling_repeats_every_reading():
    np.testing.assert_array_equal(see(Double(), 0, 0).values, [1, 2, 3, 4, 5, 1, 2, 3, 4, 5])


def test_noise_has_the_asked_spread_and_changes_with_every_step():
    perturbation = Noise(channels=500, sd=0.1)
    now, then = see(perturbation, 3, 0).values[5:], see(perturbation, 3, 1).values[5:]
    assert abs(float(now.std()) - 0.1) < 0.01
    assert abs(float(now.mean())) < 0.02
    assert abs(np.corrcoef(now, then)[0, 1]) < 0.15
    np.testing.assert_array_equal(see(perturbation, 3, 0).values[:5], SENSORS.values)


@given(seed=st.integers(0, 2**31), lost=st.integers(0, 5))
def test_drop_loses_exactly_as_many_for_good(seed, lost):
    first, later = see(Drop(lost), seed, 0), see(Drop(lost), seed, 39)
    assert int((~first.present).sum()) == lost
    np.testing.assert_array_equal(first.present, later.present)


def test_flicker_fails_as_often_as_asked():
    perturbation = Flicker(0.25, 10)
    plan = perturbation.draw(jax.random.key(4), 50, 2000)
    seen = np.array(
        [
            perturbation.apply(plan, Sensors.of(jnp.ones(50)), step).present
            for step in range(0, 2000, 10)
        ]
    )
    assert abs(1 - seen.mean() - 0.25) < 0.02
    early, late = (
        perturbation.apply(plan, Sensors.of(jnp.ones(50)), step).present for step in (10, 19)
    )
    np.testing.assert_array_equal(early, late)


def test_chains_work_from_left_to_right():
    perturbation = chain(Noise(1, 0.0), Double(), Shuffle())
    assert perturbation.count(5) == 12
    seen = see(perturbation, 5, 0)
    np.testing.assert_array_equal(np.sort(seen.values), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5])


def test_parts_of_a_chain_do_not_share_randomness():
    plans = chain(Shuffle(), Shuffle()).draw(jax.random.key(6), 30, 10)
    assert (np.asarray(plans[0]) != np.asarray(plans[1])).any()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Reshuffle(0),
        lambda: Double(0),
        lambda: Noise(-1),
        lambda: Noise(1, -0.1),
        lambda: Noise(1, 0.1, 1.5),
        lambda: Silent(-1),
        lambda: Silent(1, 2.0),
        lambda: Drop(-1),
        lambda: Flicker(1.5),
        lambda: Flicker(0.5, 0),
        lambda: Drop(6).draw(jax.random.key(0), 5, 10),
    ],
)
def test_nonsense_is_refused_with_a_reason(make):
    with pytest.raises(ValueError, match=r"got|Cannot"):
        make()


def test_rescaled_and_flipped_sensors_are_as_many_as_asked():
    for seed in range(20):
        halved, turned = see(Rescale(0.5, 2), seed, 3), see(Flip(1), seed, 3)
        factors = np.asarray(halved.values / SENSORS.values)
        assert sorted(factors) == [0.5, 0.5, 1, 1, 1]
        assert sorted(np.asarray(turned.values / SENSORS.values)) == [-1, 1, 1, 1, 1]
        assert halved.present.all()
        assert turned.present.all()
    for wrong in (lambda: Rescale(float("nan")), lambda: Rescale(2.0, -1), lambda: Flip(-1)):
        with pytest.raises(ValueError, match="affected >= 0"):
            wrong()
    with pytest.raises(ValueError, match="Cannot change 6 of 5"):
        Flip(6).draw(jax.random.key(0), 5, 1)
