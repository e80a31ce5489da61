"""anyorder audit, as a person meets it."""

import json

import jax
import pytest

from anyorder.cli import main
from anyorder.policies import PlainPolicy
from anyorder.runs import Agent, save_agent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two agents of the control, as different as chance made them."""
    home = tmp_path_factory.mktemp("agents")
    for seed, updates in ((0, 10), (1, 5)):
        (home / f"mlp{seed}").mkdir()
        policy = PlainPolicy(5, 1, key=jax.random.key(seed))
        save_agent(Agent(policy, "cartpole", 5, {"updates": updates}), home / f"mlp{seed}")
    return home


def test_the_page_and_the_json_say_the_verdict(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    one, other = str(folder / "mlp0"), str(folder / "mlp1")
    main(
        ["audit", one, "--against", other, "--checkpoints", one, other, "--episodes", "4",
         "--html", "pages/audit.html", "--json", "audit.json"]
    )  # fmt: skip
    facts = json.loads((tmp_path / "audit.json").read_text())
    page = (tmp_path / "pages" / "audit.html").read_text()
    assert facts["kind"] == "audit"
    assert facts["verdict"] == facts["agents"][0]["verdict"] == "order-dependent"
    assert list(facts["verdicts"]) == ["mlp0", "mlp1"]
    assert [each["updates"] for each in facts["checkpoints"]] == [5, 10]
    assert facts["verdict"] in page
    assert "order-dependent" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nobody"], "There is no agent 'nobody'"),
        ([], "There is nothing to audit"),
        (["AGENT", "--episodes", "1"], "--episodes must be at least 4"),
        (["AGENT", "--noise", "-1"], "--noise must not be negative"),
        (["AGENT", "--html", "a", "--json", "a"], "name the same file"),
        (["AGENT", "--html", "taken.html"], "no audit of anyorder"),
    ],
)
def test_mistakes_get_one_sentence(arguments, words, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken.html").write_text("mine")
    arguments = [str(folder / "mlp0") if word == "AGENT" else word for word in arguments]
    with pytest.raises(SystemExit) as stopped:
        main(["audit", *arguments])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert (tmp_path / "taken.html").read_text() == "mine"
