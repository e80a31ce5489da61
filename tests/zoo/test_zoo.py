"""The agents we ship: sound, invariant, and as good as they are said to be."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.envs import CartPoleSwingUpHarder
from anyorder.errors import UsageError
from anyorder.policies import PlainPolicy
from anyorder.rollout import choose_engine, rollout
from anyorder.sensors import Sensors
from anyorder.zoo import FOLDER, find, names, open_agent

INVARIANT = [name for name in names() if not isinstance(open_agent(name).policy, PlainPolicy)]


def test_the_promised_agents_are_there():
    assert {"cartpole", "cartpole-champion", "cartpole-mlp"} <= set(names())
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
def test_it_is_as_good_as_its_table_says(name):
    """Fresh episodes of the bare world, as many as are quick to play."""
    policy = open_agent(name).policy
    table = json.loads((FOLDER / name / "evaluation.json").read_text())["protocols"]
    env = CartPoleSwingUpHarder()
    engine = choose_engine(policy, env)
    episodes = 2000 if engine.fused else 128
    one = jax.tree.map(lambda x: x[None] if isinstance(x, jax.Array) else x, policy)
    play = eqx.filter_jit(engine) if engine.traceable else engine
    returns, _ = play(one, keys(episodes))
    error = float(returns.std()) / episodes**0.5
    assert abs(float(returns.mean()) - table["plain"]["mean"]) < 4 * error + 10
    assert table["plain"]["episodes"] >= 4000


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("cartpole", {"plain": 490, "shuffled": 490, "doubled": 490, "noise5": 475}),
        (
            "cartpole-champion",
            {
                "plain": 575,
                "shuffled": 575,
                "doubled": 575,
                "noise5": 565,
                "every25": 480,
                "every100": 545,
            },
        ),
        ("cartpole-mlp", {"plain": 575}),
    ],
)
def test_its_table_keeps_the_promise(name, least):
    table = json.loads((FOLDER / name / "evaluation.json").read_text())["protocols"]
    missed = {protocol: mean for protocol, mean in least.items() if table[protocol]["mean"] < mean}
    assert not missed


def keys(episodes):
    return jax.random.split(jax.random.key(11), episodes)
