"""`anyorder audit` on agents from elsewhere, as a person meets it."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from anyorder.cli.audit import main
from anyorder.errors import UsageError
from anyorder.report.audit_page import AUDIT_MARKER

AGENTS = str(Path(__file__).parents[1] / "bridges" / "foreign_agents.py")
FEW = ["--episodes", "6", "--steps", "150"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of its own to work in, with no trace left in the user's cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("anyorder.cli.audit.keep_compiled_code", lambda: None)
    return tmp_path


class Balanced(HTMLParser):
    """Fails where tags do not close in order; keeps the words."""

    def __init__(self, text):
        super().__init__()
        self.open, self.words = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)
        assert tag not in ("script", "link", "img")

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_page_json_and_terminal_say_the_same(here, capsys):
    main(
        [f"{AGENTS}:leaning", "--env", "CartPole-v1", *FEW, "--html", "a.html", "--json", "a.json"]
    )
    said = " ".join(capsys.readouterr().out.split())
    facts = json.loads((here / "a.json").read_text())
    (audit,) = facts["agents"]
    page = (here / "a.html").read_text()
    words = " ".join(" ".join(Balanced(page).words).split())
    assert AUDIT_MARKER in page[:1000]
    assert facts["verdict"] == "order-dependent"
    for text in (said, words):
        assert "order-dependent" in text
        assert f"{audit['closed_loop']['plain']['ret']['value']:.0f} ±" in text
        assert "shuffled once, at step" in text
        assert "of its choices change (23 orders)" in text
    assert facts["command"].startswith("anyorder audit")


def test_an_agent_with_a_memory_gets_its_table(here, capsys):
    main([f"{AGENTS}:Remembering", "--env", "CartPole-v1", *FEW, "--html", "a.html"])
    said = capsys.readouterr().out
    assert "invariant-with-memory" in said
    assert "memories move along" in said
    assert "what becomes of the memories" in (here / "a.html").read_text()


def test_a_trained_model_is_audited(here, capsys):
    sb3 = pytest.importorskip("stable_baselines3", reason='needs pip install "anyorder[sb3]"')
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    model = sb3.PPO(
        "MlpPolicy", "CartPole-v1", n_steps=256, gae_lambda=0.8, gamma=0.98, learning_rate=1e-3,
        seed=0, device="cpu",
    )  # fmt: skip
    model.learn(4096).save("model.zip")
    main(["model.zip", "--env", "CartPole-v1", "--episodes", "8", "--json", "model.json"])
    torch.set_num_threads(threads)
    facts = json.loads((here / "model.json").read_text())
    (audit,) = facts["agents"]
    assert facts["verdict"] == facts["verdicts"]["model.zip"] == "order-dependent"
    assert audit["closed_loop"]["plain"]["ret"]["value"] > 100
    assert audit["kept"]["shuffled"]["value"] < 0.7
    assert audit["orders"]["changed"] > 0.2
    assert "order-dependent" in capsys.readouterr().out


def test_only_an_earlier_audit_is_overwritten(here):
    (here / "notes.html").write_text("mine")
    with pytest.raises(UsageError, match="Nothing was overwritten"):
        main([f"{AGENTS}:leaning", "--env", "CartPole-v1", "--html", "notes.html"])
    assert (here / "notes.html").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cartpole.zip", "--env", "CartPole-v1"], "no file cartpole.zip"),
        ([f"{AGENTS}:leaning"], "--env"),
        ([f"{AGENTS}:leaning", "--env", "CartPole-v1", "--episodes", "0"], "at least 4"),
        ([f"{AGENTS}:leaning", "--env", "CartPole-v1", "--steps", "0"], "at least 1"),
        ([f"{AGENTS}:leaning", "cartpole", "--env", "CartPole-v1"], "audited alone"),
        (["cartpole", "--env", "CartPole-v1"], "--env is for agents from elsewhere"),
    ],
)
def test_mistakes_get_one_sentence(arguments, words, here):
    with pytest.raises(UsageError, match=words):
        main(arguments)
