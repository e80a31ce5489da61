"""Gymnasium's worlds from the command line."""

import json

import pytest

from anyorder.cli import main

TASK = "gym:CartPole-v1"
SMALL = [
    "--es.population", "4", "--es.episodes", "2", "--es.test-every", "2", "--es.test-episodes", "4",
    "--es.finalists", "1", "--perturb", "reshuffle:50", "--policy", "mlp",
]  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of two generations, and the same whose second is played by other workers."""
    home = tmp_path_factory.mktemp("hosted")
    train = ["train", TASK, *SMALL, "--workers", "1"]
    main([*train, "--updates", "2", "--out", str(home / "straight")])
    main([*train, "--updates", "1", "--out", str(home / "carried")])
    main(["train", TASK, "--resume", str(home / "carried"), "--updates", "2", "--workers", "2"])
    return home


def test_a_run_goes_on_bit_for_bit_whoever_plays(run):
    straight, carried = (
        json.loads((run / name / "checkpoint.json").read_text()) for name in ("straight", "carried")
    )
    assert straight["sha256"] == carried["sha256"]
    assert straight["steps"] == carried["steps"]


def test_its_agent_is_tested_like_any_other(run, tmp_path, capsys):
    results = tmp_path / "results.json"
    main(["evaluate", str(run / "straight"), "--protocol", "plain", "--episodes", "6",
          "--workers", "1", "--json", str(results)])  # fmt: skip
    found = json.loads(results.read_text())
    assert found["task"] == TASK
    assert found["protocols"]["plain"]["success"] is not None  # CartPole says what solves it
    assert TASK in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["train", "gym:Nowhere-v0"], "no world"),
        (["train", TASK, "--method", "ppo"], "by evolution"),
        (["train", TASK, "--workers", "0"], "at least 1"),
        (["train", TASK, "--address", "auto"], "--engine ray"),
        (["train", TASK, "--rollout", "fused"], "--engine local or ray"),
        (["train", TASK, "--es.practice", "0.5"], "no exercise"),
        (["train", TASK, "--seeds", "2"], "one seed at a time"),
        (["train", "cartpole", "--engine", "ray"], "are for gym: worlds"),
    ],
)
def test_mistakes_end_in_one_sentence(arguments, reason, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert reason in said
    assert said.count("\n") == 1
