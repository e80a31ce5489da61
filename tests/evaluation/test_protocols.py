import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.probes import Countdown

from anyorder.envs import TASKS, CartPoleSwingUpHarder
from anyorder.evaluation import PAPER, PROTOCOLS, SUCCESS, SUITES, protocol_returns
from anyorder.policies import InvariantPolicy, PlainPolicy


def test_suites_and_the_papers_numbers_name_known_protocols():
    for names in SUITES.values():
        assert set(names) <= set(PROTOCOLS)
    for found in PAPER.values():
        assert set(found) <= set(PROTOCOLS)
    assert set(PAPER["attention"]) == set(SUITES["paper"])


def test_every_protocol_is_played_from_the_same_starts(monkeypatch):
    starts = {}

    def spy(policy, env, keys):
        starts.setdefault(type(env).__name__, []).append(jax.random.key_data(keys))
        return jnp.zeros(len(keys))

    policy = PlainPolicy(5, 1, key=jax.random.key(0))
    for name in ("plain", "shuffled"):
        list(
            protocol_returns(
                policy,
                CartPoleSwingUpHarder(),
                PROTOCOLS[name],
                n_episodes=7,
                key=jax.random.key(1),
                player=spy,
            )
        )
    plain, shuffled = starts["CartPoleSwingUpHarder"], starts["PerturbedEnv"]
    np.testing.assert_array_equal(np.concatenate(plain), np.concatenate(shuffled))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_plays_every_episode(protocol):
    policy = InvariantPolicy(2, 1, key=jax.random.key(0))
    batches = list(
        protocol_returns(
            policy, Countdown(3), PROTOCOLS[protocol], n_episodes=5, key=jax.random.key(1)
        )
    )
    np.testing.assert_array_equal(np.concatenate(batches), np.full(5, 3.0))


def test_every_world_knows_what_success_is():
    assert set(SUCCESS) == set(TASKS)
