"""The audit of agents that live on the host, where the answer is known."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.bridges.foreign import open_subject, trial_worlds
from anyorder.errors import UsageError
from anyorder.evaluation.host_attention import host_attention
from anyorder.evaluation.host_audit import host_audit
from anyorder.evaluation.host_episodes import host_episodes
from anyorder.evaluation.host_orders import change_of_actions, orders_to_try, swap_matrix, swaps
from anyorder.evaluation.subject import AuditSubject
from anyorder.policies import InvariantConfig, InvariantPolicy
from anyorder.sensors import Drop, Reshuffle, Sensors, Shuffle, Unchanged

AGENTS = str(Path(__file__).parents[1] / "bridges" / "foreign_agents.py")


def opened(name, world="CartPole-v1"):
    return open_subject(f"{AGENTS}:{name}", world)


def audited(subject, n_episodes=8):
    worlds = trial_worlds(subject.world)
    return host_audit(subject, worlds, n_sensors=4, n_episodes=n_episodes, n_steps=200)


@pytest.fixture(scope="module")
def invariant():
    return audited(opened("sorted_mean"))


@pytest.fixture(scope="module")
def leaning():
    return audited(opened("leaning"))


def test_an_invariant_agent_is_found_invariant(invariant):
    assert invariant.verdict.word == "invariant"
    assert invariant.orders.worst == 0
    assert invariant.orders.orders == 23
    for name in ("shuffled", "once", "every100", "every25", "doubled"):
        np.testing.assert_array_equal(invariant.returns[name], invariant.returns["plain"])
        assert invariant.verdict.kept[name] == (1, 1, 1)


def test_an_order_dependent_agent_is_found_out(leaning):
    assert leaning.verdict.word == "order-dependent"
    assert 0.2 < leaning.orders.share < 0.7
    assert leaning.verdict.kept["shuffled"][0] < 0.8
    assert "doubled" not in leaning.returns
    assert leaning.swaps[0, 1] == 0  # it reads neither of the two
    assert leaning.swaps[2, 3] > 0
    assert leaning.swaps[1, 3] > 0.1


class Nearly:
    """Looks at its first sensor a little, which changes some actions and hardly a return."""

    def __init__(self):
        self.name, self.world = "nearly", "CartPole-v1"
        self.n_sensors: int | None = 4

    def reset(self, n_sensors):
        pass

    def act(self, observation):
        return np.array(int(observation.sum() + 0.02 * observation[0] > 0))


def test_what_changes_and_earns_as_much_is_robust():
    found = audited(Nearly(), n_episodes=12)
    assert found.verdict.word == "robust"
    assert 0 < found.orders.share < 0.1
    assert all(found.verdict.kept[name][0] > 0.9 for name in ("shuffled", "once"))


def test_memory_moving_along_is_told_from_memory_staying():
    found = audited(opened("Remembering"))
    assert found.verdict.word == "invariant-with-memory"
    assert found.orders.unchanged
    assert found.midway["permuted"].unchanged
    assert not found.midway["kept"].unchanged
    assert not found.midway[
        "reset"
    ].unchanged  # a memory begun anew is not the one it would have had
    np.testing.assert_array_equal(found.memory["permuted"], found.returns["plain"])
    assert (found.memory["kept"] != found.returns["plain"]).any()


def test_a_memory_that_is_not_shown_is_asked_for():
    found = audited(opened("Secretive"))
    assert found.orders.unchanged
    assert found.verdict.word in ("robust", "order-dependent")
    assert "memory()" in " ".join(found.verdict.reasons)
    assert not found.memory


def test_chance_is_no_agent():
    with pytest.raises(UsageError, match="differently the second time"):
        audited(opened("chance"))


def test_what_tells_nothing_is_said():
    constant = audited(opened("always"))
    assert constant.verdict.word == "invariant"
    assert "the same at every step" in " ".join(constant.remarks())
    with pytest.raises(UsageError, match="comes in no order"):
        host_audit(Nearly(), trial_worlds("CartPole-v1"), n_sensors=1)


def test_an_action_no_world_takes_is_told():
    class Wild(Nearly):
        def act(self, observation):
            return np.array(7)

    with pytest.raises(UsageError, match="does not take the action 7"):
        audited(Wild())


def test_what_is_written_is_json_and_says_the_same(leaning, invariant):
    for audit in (leaning, invariant):
        facts = json.loads(json.dumps(audit.as_json(), allow_nan=False))
        assert facts["verdict"] == audit.verdict.word
        plain = facts["closed_loop"]["plain"]
        assert plain["ret"]["value"] == pytest.approx(audit.returns["plain"].mean(), abs=1e-3)
        assert plain["change"]["ci95"] == [0, 0]
        names = [row["name"] for row in facts["closed_loop"]["faults"]]
        assert names == ["dropped", "jitter", "rescaled", "flipped", "delayed"]
        assert (facts["doubled"] is None) == (audit is leaning)


class Alone:
    """An agent that is asked one observation at a time."""

    def __init__(self, subject):
        self._subject = subject
        self.name, self.n_sensors, self.world = subject.name, subject.n_sensors, subject.world

    def reset(self, n_sensors):
        self._subject.reset(n_sensors)

    def act(self, observation):
        return self._subject.act(observation)


@pytest.mark.parametrize("perturbation", [Unchanged(), Reshuffle(7), Drop(1)])
def test_side_by_side_is_as_one_after_the_other(perturbation):
    subject, make = opened("sorted_mean"), trial_worlds("CartPole-v1")
    totals = [
        [
            episode.total
            for episode in host_episodes(
                each, lambda: make(perturbation, 0), range(20), n_steps=120
            )
        ]
        for each in (subject, Alone(subject))
    ]
    assert totals[0] == totals[1]
    assert len(set(totals[0])) > 5


def test_many_sensors_are_sampled_and_few_are_all_tried():
    rng = np.random.default_rng(0)
    assert len({tuple(order) for order in orders_to_try(4, rng)}) == 23
    many = orders_to_try(9, rng)
    assert many.shape == (120, 9)
    assert (np.sort(many) == np.arange(9)).all()
    assert swaps(5).shape == (10, 5)
    assert swap_matrix(Nearly(), [np.zeros((3, 40))]) is None


class Attentive:
    """Neurons that attend, as a stranger: a policy of ours behind the host's protocol."""

    def __init__(self):
        self.name, self.world = "attentive", "anyorder/CartPoleSwingUpHarder-v0"
        self.n_sensors: int | None = None
        self._policy = InvariantPolicy(5, 1, InvariantConfig(), key=jax.random.key(0))
        self._step = jax.jit(lambda sensors, memory: self._policy.decide(sensors, memory))
        self._memory = self._policy.init(5)
        self._weights = np.zeros((0, 5))

    def reset(self, n_sensors):
        self._memory = self._policy.init(n_sensors)

    def act(self, observation):
        decision = self._step(Sensors.of(observation), self._memory)
        self._memory, self._weights = decision.memory, np.asarray(decision.weights)
        return np.asarray(decision.action)

    def attention(self):
        return self._weights

    def memory(self):
        return tuple(np.asarray(leaf) for leaf in jax.tree.leaves(self._memory.neurons))

    def set_memory(self, memory):
        leaves, tree = jax.tree.flatten(self._memory.neurons)
        assert [leaf.shape for leaf in leaves] == [leaf.shape for leaf in memory]
        neurons = jax.tree.unflatten(tree, [jnp.asarray(leaf) for leaf in memory])
        self._memory = type(self._memory)(neurons, self._memory.previous_action)


def test_our_own_agent_is_seen_through_a_strangers_eyes():
    subject = Attentive()
    assert isinstance(subject, AuditSubject)
    make = trial_worlds(subject.world)
    (episode,) = host_episodes(subject, lambda: make(Unchanged(), 0), [3], n_steps=60)
    seen, orders = [np.stack(episode.observations)], swaps(5)
    fixed = change_of_actions(subject, seen, orders)
    kept, moved = (
        change_of_actions(subject, seen, orders, midway=True, memory=memory)
        for memory in ("kept", "permuted")
    )
    assert fixed.worst < 1e-4
    assert moved.worst < 1e-4
    assert kept.worst > 1e-3
    attention = host_attention(subject, seen, orders)
    assert attention is not None
    assert attention.worst < 1e-4
    assert attention.by_sensor.sum() == pytest.approx(1)
    assert host_attention(Nearly(), seen, orders) is None


def test_a_shuffled_start_is_the_same_start():
    make = trial_worlds("CartPole-v1")
    plain, shuffled = (make(how, 0).reset(seed=4)[0] for how in (Unchanged(), Shuffle()))
    np.testing.assert_array_equal(np.sort(plain), np.sort(shuffled))
