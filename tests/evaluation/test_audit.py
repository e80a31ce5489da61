"""The audit of agents whose answers are known."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from anyorder.envs import AbstractEnv, CartPoleSwingUpHarder, Step
from anyorder.evaluation.audit import as_json, audit
from anyorder.evaluation.closed_loop import FAULTS, MEMORY
from anyorder.evaluation.verdict import MEANINGS
from anyorder.policies import AbstractPolicy, Decision, InvariantPolicy, Memory
from anyorder.report.audit_page import AUDIT_MARKER, audit_page
from anyorder.sensors import Sensors


class Push(AbstractEnv):
    """Pays what is pushed. Its three sensors are wobbling constants that say nothing about it."""

    @property
    def n_sensors(self):
        return 3

    @property
    def n_actions(self):
        return 1

    @property
    def n_steps(self):
        return 120

    def reset(self, key):
        return self._show((key, jnp.zeros((), int)), jnp.zeros(()))

    def step(self, state, action, *, key):
        return self._show((state[0], state[1] + 1), action[0])

    def _show(self, state, reward):
        wobble = 0.1 * jax.random.normal(jax.random.fold_in(*state), (3,))
        return Step(
            state=state,
            sensors=Sensors.of(jnp.array([5.0, -5.0, -4.0]) + wobble),
            reward=reward,
            terminated=jnp.array(False),
            truncated=state[1] >= self.n_steps,
        )


class ByHand(AbstractPolicy):
    """action = tanh(bias + weights of the sensors), without memory."""

    weights: Array
    bias: Array
    n_actions: int = eqx.field(static=True)

    def __init__(self, weights: list[float], bias: float):
        self.weights, self.bias, self.n_actions = jnp.array(weights), jnp.array(bias), 1

    @property
    def config(self):
        return None

    def reads(self, n_sensors):
        return n_sensors == 3

    def init(self, n_sensors):
        return Memory((), jnp.zeros(1))

    def decide(self, sensors, memory):
        readings = sensors.readings()
        raw = (self.bias + self.weights @ readings)[None]
        return Decision(jnp.tanh(raw), Memory((), jnp.tanh(raw)), readings, raw, None)


class Brief(CartPoleSwingUpHarder):
    """The swing-up, watched for two seconds."""

    @property
    def n_steps(self):
        return 200


KNOWN = {
    "invariant": ByHand([0.1, 0.1, 0.1], 1.0),
    "robust": ByHand([0.01, 0.0, 0.0], 2.0),
    "order-dependent": ByHand([1.0, 0.0, 0.0], 0.0),
}


@pytest.mark.parametrize("verdict", KNOWN)
def test_the_verdict_is_the_known_one(verdict, key):
    found = audit(KNOWN[verdict], Push(), key=key, episodes=8)
    assert found.verdict == verdict
    assert found.orders.orders == 6
    assert found.orders.exhaustive
    assert (found.orders.worst_action < 1e-12) == (verdict == "invariant")
    assert found.twins is None
    assert found.noise is None
    assert found.attention is None
    assert found.identification is None
    assert len(found.remarks) == 2
    assert found.closed_loop.plain.ret.value > 50
    assert found.closed_loop.idle.ret.value == 0


@pytest.fixture(scope="module")
def neurons():
    told = []
    policy = InvariantPolicy(5, 1, key=jax.random.key(3))
    found = audit(
        policy, Brief(), key=jax.random.key(1), name="my <neurons>", kind="attention",
        task="cartpole", episodes=8, most_noise=5, progress=lambda share, what: told.append((share, what)),
    )  # fmt: skip
    return found, told


def test_attention_neurons_are_invariant_with_memory(neurons):
    found, told = neurons
    assert found.verdict == "invariant-with-memory"
    assert MEANINGS[found.verdict].split(";")[0][1:] in found.sentence
    assert found.orders.orders == 120
    assert found.orders.worst_code < 1e-10
    assert found.recovery.along_code < 1e-10 < found.recovery.kept_code
    assert found.twins.worst_code < 1e-10
    assert found.twins.worst_return < 1e-10
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_everything_has_its_row(neurons):
    loop = neurons[0].closed_loop
    assert [row.name for row in loop.memory] == list(MEMORY)
    assert len(loop.slips) == 4
    assert len(loop.signals) == 7
    assert len(loop.faults) == 5 * len(FAULTS) + len(FAULTS) - 1
    along = next(row for row in loop.memory if row.name == "memory permuted along")
    assert abs(along.change.value) < 1e-3
    rows = neurons[0].noise.rows
    assert [row.channels for row in rows] == [0, 1, 5]
    assert rows[0].mass.value == 0
    assert 0.2 < rows[-1].mass.value < 0.8
    assert abs(neurons[0].doubled.change.value) < 1


def test_attention_moved_along_is_the_same_and_left_behind_is_not(neurons):
    found = neurons[0].attention
    assert found.kept[0].value > 10 * found.along[0].value
    assert found.along[0].value < 1e-4
    for matrix in found.example.values():
        assert matrix.shape == (16, 5)


def test_json_is_plain_and_the_page_stands_alone(neurons):
    found = neurons[0]
    facts = json.loads(json.dumps(as_json(found), allow_nan=False))
    assert facts["verdict"] == "invariant-with-memory"
    assert facts["orders"]["action"]["float64"]["episodes"] == 4
    page = audit_page([found, found], version="0", command="anyorder audit my <neurons>")
    assert AUDIT_MARKER in page[:200]
    assert "my &lt;neurons&gt;" in page
    assert "<neurons>" not in page
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org", "")
    for heading in ("In a fixed order", "moved along", "Attention before and after", "fail or lie"):
        assert heading in page
    assert page.count("<figure") >= 8
    assert np.isfinite(found.seconds)
