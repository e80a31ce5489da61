import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.sensors import Ordeal, Sensors
from anyorder.sensors.ordeal import DOUBLES, NOISES, ORDERS

READINGS = jnp.array([10.0, 20.0, 30.0, 40.0, 50.0])
EPISODES = 3000


def plans(perturbation, count=EPISODES):
    draw = jax.jit(jax.vmap(lambda key: perturbation.draw(key, 5, 1000)))
    return draw(jax.random.split(jax.random.key(0), count))


def seen(perturbation, all_plans, step):
    apply = jax.jit(jax.vmap(perturbation.apply, in_axes=(0, None, None)))
    found = apply(all_plans, Sensors.of(READINGS), step)
    return np.asarray(found.values), np.asarray(found.present)


@pytest.fixture(scope="module")
def ordeal():
    perturbation = Ordeal(5)
    return perturbation, plans(perturbation)


def kinds(values, present):
    """Of each episode: how many of the world's readings are there, how often, and how many others."""
    world = np.isin(values, READINGS) & present
    distinct = np.array([len(set(v[w])) for v, w in zip(values, world, strict=True)])
    return distinct, world.sum(axis=1), (present & ~world).sum(axis=1)


def test_all_of_it_happens_as_often_as_it_should(ordeal):
    perturbation, drawn = ordeal
    values, present = seen(perturbation, drawn, 0)
    assert values.shape == (EPISODES, perturbation.count(5)) == (EPISODES, 10)
    distinct, repeated, made_up = kinds(values, present)
    assert set(distinct) == {4, 5}
    assert abs((distinct == 4).mean() - 0.15) < 0.03  # four standard errors
    doubled = repeated > distinct
    assert (
        repeated[doubled] == 2 * distinct[doubled]
    ).all()  # a lost sensor's copy is lost as well
    assert abs(doubled.mean() - DOUBLES) < 0.035
    noisy = made_up > 0
    assert not (noisy & doubled).any()
    assert (
        abs(noisy.mean() - NOISES * 5 / 6) < 0.04
    )  # the number of extra sensors is even from 0 to 5
    assert set(made_up[noisy]) == {1, 2, 3, 4, 5}


def test_noise_is_new_at_every_step_and_small(ordeal):
    perturbation, drawn = ordeal
    noise = []
    for step in (3, 4):
        values, present = seen(perturbation, drawn, step)
        noise.append(np.sort(np.where(present & ~np.isin(values, READINGS), values, 0), axis=1))
    made_up = noise[0][noise[0] != 0]
    assert 0.05 < made_up.std() < 0.2
    assert abs(made_up.mean()) < 0.01
    some = (noise[0] != 0).any(axis=1)
    assert (noise[0][some] != noise[1][some]).any(axis=1).all()


def test_orders_change_at_random_times_and_begin_anew_when_they_run_out():
    perturbation = Ordeal(0, 0.0)
    drawn = plans(perturbation, 200)
    apply = jax.jit(
        jax.vmap(jax.vmap(perturbation.apply, in_axes=(None, None, 0)), in_axes=(0, None, None))
    )
    orders = np.asarray(apply(drawn, Sensors.of(READINGS), jnp.arange(1001)).values)
    assert (np.sort(orders, axis=2) == READINGS).all()
    moved = (orders[:, 1:] != orders[:, :-1]).any(axis=2)
    ends, restless = np.asarray(drawn.changes[:, -1]), np.isfinite(np.asarray(drawn.changes[:, -1]))
    assert abs(restless.mean() - 4 / 6) < 0.14
    assert not moved[~restless].any()
    waits = np.diff(np.asarray(drawn.changes[restless]), axis=1)
    assert waits.min() > 7
    assert waits.max() < 150
    assert (ends[restless] < 900).any()
    for episode in np.flatnonzero(ends < 900):  # to the very end, if every 15 or 25 steps
        assert moved[episode, -100:].any()
        assert moved[episode].sum() > ORDERS


@pytest.mark.parametrize("wrong", [{"extra": -1}, {"lost": 1.5}, {"lost": -0.1}])
def test_nonsense_is_refused(wrong):
    with pytest.raises(ValueError, match="Ordeal needs extra >= 0 and lost from 0 to 1"):
        Ordeal(**wrong)
