import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.probes import Countdown, EchoChoice

from anyorder.envs import TASKS, AbstractEnv, CartPoleSwingUpHarder, DiscreteActions, PerturbedEnv
from anyorder.sensors import Double, Unchanged


class TwoPushes(Countdown):
    """A world of two actions that pays the first and ten times the second."""

    @property
    def n_actions(self) -> int:
        return 2

    def step(self, state, action, *, key):
        import equinox as eqx

        pay = action[0] + 10 * action[1]
        return eqx.tree_at(lambda s: s.reward, super().step(state, action, key=key), pay)


def test_every_choice_is_its_push(key):
    plain, chosen = CartPoleSwingUpHarder(), DiscreteActions(CartPoleSwingUpHarder(), 5)
    first = plain.reset(key)
    assert chosen.n_actions == 5
    assert chosen.discrete
    for choice, push in enumerate([-1.0, -0.5, 0.0, 0.5, 1.0]):
        ours = chosen.step(first.state, jax.nn.one_hot(choice, 5), key=key)
        theirs = plain.step(first.state, jnp.array([push]), key=key)
        np.testing.assert_array_equal(ours.sensors.values, theirs.sensors.values)


def test_choices_of_several_actions_are_all_combinations(key):
    env = DiscreteActions(TwoPushes(), 3)
    assert env.n_actions == 9
    pays = [
        float(env.step(env.reset(key).state, jax.nn.one_hot(choice, 9), key=key).reward)
        for choice in range(9)
    ]
    assert pays == [-11, -1, 9, -10, 0, 10, -9, 1, 11]


def test_the_task_starts_and_ends_like_the_world_inside(key):
    task, world = TASKS["cartpole-discrete"](), CartPoleSwingUpHarder()
    assert isinstance(task, AbstractEnv)
    np.testing.assert_array_equal(task.reset(key).sensors.values, world.reset(key).sensors.values)
    assert (task.n_sensors, task.n_steps) == (world.n_sensors, world.n_steps)


def test_practises_and_is_perturbed_like_any_world(key):
    env = DiscreteActions(CartPoleSwingUpHarder(), 3)
    assert float(env.practising(jnp.array(1.0)).reset(key).sensors.values[2]) > 0.9
    perturbed = PerturbedEnv(env, Double())
    assert perturbed.discrete
    assert (perturbed.n_sensors, perturbed.n_actions) == (10, 3)


@pytest.mark.parametrize(
    ("wrong", "levels", "error", "why"),
    [
        (CartPoleSwingUpHarder(), 1, ValueError, "at least 2 levels"),
        (EchoChoice(), 3, ValueError, "discrete actions already"),
        (TwoPushes(), 65, ValueError, "4,225 choices"),
        (PerturbedEnv(CartPoleSwingUpHarder(), Unchanged()), 3, TypeError, "goes inside"),
    ],
)
def test_what_cannot_be_wrapped_is_refused(wrong, levels, error, why):
    with pytest.raises(error, match=why):
        DiscreteActions(wrong, levels)
