import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.envs import CartPoleSwingUpHarder, PerturbedEnv
from anyorder.sensors import (
    PERTURBATIONS,
    Double,
    Drop,
    Noise,
    Reshuffle,
    Shuffle,
    chain,
    perturbation_named,
)

WORLD = CartPoleSwingUpHarder()
NUMBERED = {
    "reshuffle": "reshuffle:3",
    "drop": "drop:2",
    "flicker": "flicker:0.5:2",
    "ordeal": "ordeal:5",
}


def test_the_world_itself_does_not_change(key):
    perturbed = PerturbedEnv(WORLD, Shuffle())
    bare, seen = WORLD.reset(key), perturbed.reset(key)
    np.testing.assert_array_equal(np.sort(seen.sensors.values), np.sort(bare.sensors.values))
    for time in range(5):
        action = jnp.array([0.1 * time])
        bare = WORLD.step(bare.state, action, key=key)
        seen = perturbed.step(seen.state, action, key=key)
        assert float(bare.reward) == float(seen.reward)
        np.testing.assert_array_equal(np.sort(seen.sensors.values), np.sort(bare.sensors.values))


def test_what_the_world_itself_shows_can_be_seen_through_every_perturbation(key):
    twice = PerturbedEnv(PerturbedEnv(WORLD, Shuffle()), Double())
    assert twice.bare is WORLD
    bare, seen = WORLD.reset(key), twice.reset(key)
    for _ in range(3):
        np.testing.assert_array_equal(twice.sight(seen).values, WORLD.sight(bare).values)
        bare = WORLD.step(bare.state, jnp.ones(1), key=key)
        seen = twice.step(seen.state, jnp.ones(1), key=key)


def test_sensors_change_places_in_the_middle_of_an_episode(key):
    perturbed = PerturbedEnv(WORLD, Reshuffle(3))
    step, orders = perturbed.reset(key), []
    for _ in range(9):
        bare = WORLD._observe(step.state.world).sensors.values
        orders.append(
            [int(np.flatnonzero(np.asarray(bare) == value)[0]) for value in step.sensors.values]
        )
        step = perturbed.step(step.state, jnp.zeros(1), key=key)
    assert orders[0] == orders[1] == orders[2]
    assert orders[3] == orders[5]
    assert len({tuple(order) for order in orders}) > 1


def test_sizes_follow_from_the_perturbation():
    perturbed = PerturbedEnv(WORLD, chain(Double(), Noise(3)))
    assert perturbed.n_sensors == 13
    assert perturbed.n_actions == 1
    assert perturbed.n_steps == 1000
    assert perturbed.reset(jax.random.key(0)).sensors.n_sensors == 13


ORIGINS = {
    **{name: perturbation_named(NUMBERED.get(name, name)) for name in PERTURBATIONS},
    "huge noise": Noise(3, 1e7),
    "restless": perturbation_named("double+noise:4+drop:3+reshuffle:2"),
    "everything": perturbation_named("flicker:0.5:1+ordeal:5+double+shuffle"),
}
WRONG = {"rescale": 2.0, "flip": -1.0}
"""By how much some of the sensors read wrongly."""


MADE_UP = {"noise", "huge noise", "silent", "restless", "ordeal", "everything"}
"""Those that add sensors of their own."""


@pytest.mark.parametrize("name", ORIGINS)
def test_origins_name_the_sensor_behind_each_signal(name):
    world = PerturbedEnv(WORLD, ORIGINS[name])

    @jax.jit
    def look(key):
        step = world.reset(key)

        def go_on(step, _):
            seen = (step.state.sight.values, step.sensors, world.origins(step.state))
            return world.step(step.state, jnp.ones(1), key=key), seen

        return jax.lax.scan(go_on, step, length=8)[1]

    sight, sensors, origins = jax.vmap(look)(jax.random.split(jax.random.key(0), 40))
    origins, present = np.asarray(origins), np.asarray(sensors.present)
    assert origins.shape == (40, 8, world.n_sensors)
    expected = np.take_along_axis(np.asarray(sight), np.maximum(origins, 0), axis=2)
    shows = origins >= 0
    values, factor = np.asarray(sensors.values), WRONG.get(name, 1.0)
    assert ((values == expected) | (values == factor * expected))[shows].all()
    assert set(np.unique(origins)) <= {-1, 0, 1, 2, 3, 4}
    assert not (shows & ~present).any()
    made_up = present & ~shows
    same = values[..., None] == np.asarray(sight)[:, :, None, :]
    assert not (same.any(axis=3) & made_up).any()  # whoever shows a sensor is known to
    assert made_up.any() == (name in MADE_UP)


def test_a_perturbation_that_does_not_fit_is_refused_at_once():
    with pytest.raises(ValueError, match="Cannot drop 6 of 5 sensors"):
        PerturbedEnv(WORLD, Drop(6))


def test_the_exercise_is_perturbed_as_well():
    world = PerturbedEnv(WORLD, Shuffle()).practising(jnp.ones(()))
    assert isinstance(world.env, CartPoleSwingUpHarder)
    assert world.env.practice == 1
    assert world.perturbation == Shuffle()
