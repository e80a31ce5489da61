"""The agents we ship: sound, invariant, and as good as they are said to be."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.envs import CartPoleSwingUpHarder
from anyorder.errors import UsageError
from anyorder.policies import InvariantPolicy
from anyorder.rollout import choose_engine, rollout
from anyorder.sensors import Sensors
from anyorder.zoo import FOLDER, find, names, open_agent

INVARIANT = [name for name in names() if isinstance(open_agent(name).policy, InvariantPolicy)]


def test_the_promised_agents_are_there():
    assert {"cartpole", "cartpole-mlp"} <= set(names())
    assert open_agent("cartpole").n_parameters == 913
    assert open_agent("cartpole-mlp").n_parameters == 113


def test_an_agent_is_found_by_name_or_folder(tmp_path):
    assert find("cartpole") == FOLDER / "cartpole"
    assert find(tmp_path) == tmp_path
    with pytest.raises(UsageError, match="give a run folder or one of"):
        find("nobody")


@pytest.mark.parametrize("name", names())
def test_how_it_was_made_lies_beside_it(name):
    folder = FOLDER / name
    facts = json.loads((folder / "run.json").read_text())
    assert facts["command"].startswith("anyorder train")
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) >= 5
    assert lines[-1]["update"] == open_agent(name).notes["updates"]


@pytest.mark.parametrize("name", INVARIANT)
def test_any_order_any_padding_same_episode(name):
    """Along a real episode: the memory moves with the sensors and the action does not care."""
    policy = open_agent(name).policy
    env = CartPoleSwingUpHarder()
    seen = rollout(
        policy,
        env,
        key=jax.random.key(3),
        n_steps=60,
        record=lambda s, d: (s.sensors.values, d.action),
    )
    values, actions = seen.trace
    order = jnp.array([3, 1, 4, 0, 2, 5, 6])
    mask = order < 5
    memory = policy.init(7)
    step = jax.jit(lambda sensors, memory: policy(sensors, memory))
    for now, expected in zip(values[: int(seen.length)], actions, strict=False):
        padded = jnp.concatenate([now, jnp.array([jnp.nan, jnp.inf])])
        action, memory = step(Sensors(padded[order], mask), memory)
        np.testing.assert_allclose(action, expected, atol=1e-3)
        # On from the same action, so that chaos does not add up what rounding began.
        memory = type(memory)(memory.neurons, expected)


@pytest.mark.parametrize("name", names())
def test_it_is_as_good_as_its_notes_say(name):
    agent = open_agent(name)
    one = jax.tree.map(lambda x: x[None] if isinstance(x, jax.Array) else x, agent.policy)
    engine = choose_engine(agent.policy, CartPoleSwingUpHarder(), "fused")
    returns, _ = engine(one, jax.random.split(jax.random.key(11), 2000))
    error = float(returns.std()) / 2000**0.5
    assert abs(float(returns.mean()) - agent.notes["score"]) < 4 * error + 10
