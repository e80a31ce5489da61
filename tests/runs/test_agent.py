import dataclasses
import json

import jax
import numpy as np
import pytest

from anyorder.errors import UsageError
from anyorder.neurons import AttentionNeuronConfig
from anyorder.policies import InvariantConfig, InvariantPolicy, PlainPolicy
from anyorder.runs import Agent, config_from, load_agent, save_agent
from anyorder.sensors import Sensors

POLICIES = {
    "attention": InvariantPolicy(5, 1, key=jax.random.key(0)),
    "head": InvariantPolicy(
        7,
        3,
        InvariantConfig(AttentionNeuronConfig(slots=4, bias=True), hidden=6),
        key=jax.random.key(1),
    ),
    "mlp": PlainPolicy(5, 1, key=jax.random.key(2)),
}


@pytest.mark.parametrize("name", POLICIES)
def test_an_agent_acts_the_same_after_a_round_trip(name, tmp_path):
    policy = POLICIES[name]
    n_sensors = 7 if name == "head" else 5
    save_agent(Agent(policy, "cartpole", n_sensors, {"made": "by hand"}), tmp_path)
    agent = load_agent(tmp_path)
    assert agent.kind == ("mlp" if name == "mlp" else "attention")
    assert agent.notes["made"] == "by hand"
    assert agent.policy.config == policy.config
    sensors = Sensors.of(np.linspace(-1, 1, n_sensors))
    ours, theirs = (p(sensors, p.init(n_sensors))[0] for p in (policy, agent.policy))
    np.testing.assert_array_equal(ours, theirs)


def test_an_empty_folder_has_no_agent(tmp_path):
    with pytest.raises(UsageError, match="There is no agent"):
        load_agent(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"policy": "oracle-of-delphi"}, "does not know"),
        ({"task": "chess"}, "does not know"),
        ({"sensors": "five"}, "damaged"),
        ({"config": {"hidden": 0, "neuron": {"feelers": 3}}}, "damaged"),
        ({"config": {"hidden": 99}}, "other"),
    ],
)
def test_an_agent_that_does_not_fit_is_refused(change, words, tmp_path):
    save_agent(Agent(POLICIES["attention"], "cartpole", 5), tmp_path)
    path = tmp_path / "agent.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UsageError, match=words):
        load_agent(tmp_path)


def test_configs_survive_json():
    config = InvariantConfig(AttentionNeuronConfig(slots=3, gain=0.25), hidden=9)
    again = json.loads(json.dumps(dataclasses.asdict(config)))
    assert config_from(InvariantConfig, again) == config


def test_an_agent_from_before_there_was_a_choice_is_read_as_the_paper_has_it(tmp_path):
    policy = POLICIES["head"]
    save_agent(Agent(policy, "cartpole", 7), tmp_path)
    path = tmp_path / "agent.json"
    facts = json.loads(path.read_text())
    old = ("slots", "memory", "stack", "hidden", "width", "weighting", "bias", "scaled", "remember")
    neuron = facts["config"]["neuron"]
    facts["config"]["neuron"] = {name: neuron[name] for name in (*old, "gain")}
    path.write_text(json.dumps(facts))
    assert load_agent(tmp_path).policy.config == policy.config


def test_an_agent_with_choices_of_its_own_comes_back(tmp_path):
    neuron = AttentionNeuronConfig(
        memory="transformer", score="additive", key_map="gated", queries="learned", heads=2
    )
    policy = InvariantPolicy(5, 1, InvariantConfig(neuron), key=jax.random.key(3))
    save_agent(Agent(policy, "cartpole", 5), tmp_path)
    found = load_agent(tmp_path).policy
    sensors = Sensors.of(np.linspace(-1, 1, 5))
    np.testing.assert_array_equal(
        policy(sensors, policy.init(5))[0], found(sensors, found.init(5))[0]
    )
