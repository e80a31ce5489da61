"""The command line as a person meets it: real processes, real folders."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from anyorder.cli import main

SMALL = [
    "--es.population", "8", "--es.episodes", "4", "--es.test-every", "5", "--es.test-episodes", "32",
    "--es.finalists", "2",
]  # fmt: skip


def anyorder(*arguments, cwd, check=True, **more):
    done = subprocess.run(
        [sys.executable, "-m", "anyorder", *map(str, arguments)],
        cwd=cwd, capture_output=True, text=True, timeout=240, check=False, **more,
    )  # fmt: skip
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


def refused(*arguments, cwd):
    """The sentence on a mistake: exit code 2, one line, no traceback."""
    done = anyorder(*arguments, cwd=cwd, check=False)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    return done.stderr


def train(*arguments, cwd, generations=12):
    return anyorder(
        "train",
        "cartpole",
        "--policy",
        "mlp",
        *SMALL,
        "--es.generations",
        generations,
        *arguments,
        cwd=cwd,
    )


def checkpoint(folder):
    return (folder / "checkpoint.json").read_bytes()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small finished run."""
    home = tmp_path_factory.mktemp("runs")
    train("--out", "run", cwd=home)
    return home / "run"


def test_help_is_quick_and_names_every_command(tmp_path):
    began = time.monotonic()
    text = anyorder("--help", cwd=tmp_path).stdout
    assert time.monotonic() - began < 2  # 0.03 s on an idle machine
    for word in ("train", "evaluate", "zoo", "import", "demo"):
        assert word in text
    loaded = anyorder_modules(tmp_path)
    assert not {"jax", "equinox", "tyro", "rich", "matplotlib"} & loaded


def anyorder_modules(cwd):
    code = "import sys; from anyorder.cli import main; main(['--help']); print('#', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split("#")[-1].split())


@pytest.mark.parametrize(
    "command", ["train", "evaluate", "audit", "report", "study", "zoo", "import", "demo"]
)
def test_every_command_explains_itself(command, tmp_path):
    text = anyorder(command, "--help", cwd=tmp_path).stdout
    assert len(text.splitlines()) > 8


def test_a_run_leaves_all_it_should(run):
    names = {path.name for path in run.iterdir()}
    assert {"run.json", "metrics.jsonl", "checkpoint.json", "agent.json", "learning.png"} <= names
    facts = json.loads((run / "run.json").read_text())
    assert facts["task"] == "cartpole"
    assert facts["seed"] == 0
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["update"] for line in lines] == [5, 10, 12]
    assert json.loads(checkpoint(run))["format"] == 1


@pytest.mark.parametrize("engine", ["scan", "fused"])
def test_stopping_and_going_on_equals_going_straight_byte_for_byte(engine, tmp_path):
    few = ["--policy", "attention", "--rollout", engine, *SMALL, "--es.steps", 20]
    if engine == "scan":
        few += ["--es.test-episodes", 8]
    for out, stops in (("straight", [40]), ("halves", [20, 40])):
        for index, stop in enumerate(stops):
            begin = ["--resume", out] if index else ["--out", out, *few, "--es.generations", 40]
            anyorder("train", "cartpole", *begin, "--updates", stop, cwd=tmp_path)
    straight, halves = tmp_path / "straight", tmp_path / "halves"
    assert checkpoint(straight) == checkpoint(halves)
    tensors = [sorted(folder.glob("*.safetensors")) for folder in (straight, halves)]
    assert [p.read_bytes() for p in tensors[0]] == [p.read_bytes() for p in tensors[1]]
    lines = [
        [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in
         (folder / "metrics.jsonl").read_text().splitlines()]
        for folder in (straight, halves)
    ]  # fmt: skip
    assert lines[0] == lines[1]


class Training:
    """A training process that goes on until it is stopped; its output goes to a file."""

    def __init__(self, cwd, *arguments):
        self.log = cwd / "output.txt"
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "anyorder", "train", "cartpole", *arguments],
                cwd=cwd, stdout=log, stderr=log,
            )  # fmt: skip

    def wait_for(self, condition, seconds=120):
        end = time.monotonic() + seconds
        while not condition():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end
            time.sleep(0.05)

    def stop(self, number):
        self.process.send_signal(number)
        return self.process.wait(timeout=120)


ENDLESS = ["--policy", "mlp", *SMALL, "--es.generations", "1000000", "--out", "run"]


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path):
    training = Training(tmp_path, *ENDLESS)
    metrics = tmp_path / "run" / "metrics.jsonl"
    training.wait_for(lambda: metrics.exists() and metrics.stat().st_size > 0)
    code = training.stop(signal.SIGINT)
    assert code == 0, training.log.read_text()
    assert "train cartpole --resume run" in training.log.read_text()
    made = json.loads(checkpoint(tmp_path / "run"))["updates"]
    assert made >= 5
    anyorder("train", "cartpole", "--resume", "run", "--updates", made + 3, cwd=tmp_path)
    assert json.loads(checkpoint(tmp_path / "run"))["updates"] == made + 3


def test_a_run_killed_at_any_moment_goes_on(tmp_path):
    rng = np.random.default_rng(0)
    saved = tmp_path / "run" / "checkpoint.json"

    def updates():
        return json.loads(saved.read_text())["updates"] if saved.exists() else 0

    training = Training(tmp_path, *ENDLESS, "--checkpoint-seconds", "0")
    training.wait_for((tmp_path / "run" / "run.json").exists)
    for _ in range(3):
        time.sleep(float(rng.uniform(0, 1.5)))
        training.stop(signal.SIGKILL)
        before = updates()
        training = Training(tmp_path, "--resume", "run", "--checkpoint-seconds", "0")
        training.wait_for(lambda: updates() > before)  # noqa: B023
        assert updates() > before
    training.stop(signal.SIGKILL)


def test_an_occupied_out_is_left_alone(run):
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    assert "occupied" in refused("train", "cartpole", "--out", "run", cwd=run.parent)
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "chess"], "There is no task 'chess'"),
        (["train", "cartpole", "--resume", "nowhere"], "There is no run in nowhere"),
        (
            ["train", "cartpole", "--resume", "run", "--es.population", "16"],
            "--es.population cannot change",
        ),
        (["train", "cartpole", "--resume", "run", "--seed", "3"], "--seed cannot change"),
        (["train", "cartpole", "--resume", "run", "--out", "else"], "different folders"),
        (["train", "cartpole", "--resume", "run"], "has made 12 updates already"),
        (["train", "cartpole", "--minutes", "-1"], "--minutes must be more than 0"),
        (["train", "cartpole", "--es.population", "7"], "even"),
        (["train", "cartpole", "--method", "dqn"], "train cartpole-discrete"),
        (
            ["train", "cartpole", "--rollout", "fused", "--neuron.weighting", "softmax"],
            "do not fit",
        ),
        (["evaluate", "nobody"], "There is no agent 'nobody'"),
        (["evaluate", "run", "--protocol", "juggle"], "There is no protocol 'juggle'"),
        (["evaluate", "run", "--episodes", "0"], "--episodes must be at least 1"),
        (["import", "nothing.npz"], "There is no file"),
        (["dance"], "there is no command 'dance'"),
    ],
)
def test_mistakes_get_one_sentence(arguments, words, run):
    said = refused(*arguments, cwd=run.parent)
    assert words in " ".join(said.replace("│", " ").split())


def spoil(run, tmp_path, change):
    """A copy of the run, changed."""
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    change(copy)
    return copy


def cut(folder):
    path = next(folder.glob("checkpoint-*.safetensors"))
    path.write_bytes(path.read_bytes()[:100])


def from_the_future(folder):
    path = folder / "checkpoint.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))


def of_another_task(folder):
    path = folder / "run.json"
    path.write_text(path.read_text().replace('"task": "cartpole"', '"task": "ant"'))


def foreign(folder):
    (folder / "checkpoint.json").write_text('{"weights": [1, 2, 3]}')


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (cut, "cut short"),
        (from_the_future, "upgrade"),
        (of_another_task, "is a run of 'ant'"),
        (foreign, "no checkpoint"),
    ],
)
def test_damaged_runs_are_refused_and_left_alone(change, words, run, tmp_path):
    copy = spoil(run, tmp_path, change)
    before = {path.name: path.read_bytes() for path in copy.iterdir() if path.is_file()}
    assert words in refused(
        "train", "cartpole", "--resume", "copy", "--updates", "20", cwd=tmp_path
    )
    assert {path.name: path.read_bytes() for path in copy.iterdir() if path.is_file()} == before


def test_evaluation_writes_what_it_shows(run):
    done = anyorder(
        "evaluate",
        "run",
        "--protocol",
        "plain",
        "--episodes",
        "40",
        "--json",
        "out/found.json",
        cwd=run.parent,
    )
    found = json.loads((run.parent / "out" / "found.json").read_text())
    assert found["agent"] == "run"
    assert found["task"] == "cartpole"
    plain = found["protocols"]["plain"]
    assert set(plain) >= {"mean", "sd", "iqm", "ci95", "success", "episodes"}
    assert plain["episodes"] == 40
    assert plain["ci95"][0] <= plain["mean"] <= plain["ci95"][1]
    assert f"{plain['mean']:.0f} ±" in done.stdout


def test_a_report_holds_what_the_run_wrote(run, tmp_path):
    arguments = ["report", run, "--json", "report.json", "--thresholds", "-1000", "9999"]
    done = anyorder(*arguments, cwd=tmp_path)
    facts = json.loads((tmp_path / "report.json").read_text())
    (cell,) = facts["cells"]
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert cell["runs"][0]["final"] == pytest.approx(lines[-1]["test"])
    assert [found["steps"]["reached"] for found in cell["thresholds"]] == [1, 0]
    assert cell["thresholds"][0]["steps"]["median"] == lines[0]["steps"]
    assert "mlp by es" in (tmp_path / "report.html").read_text()
    assert "mlp by es" in done.stdout


def test_a_report_overwrites_a_report_and_nothing_else(run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.html").write_text("mine")
    (tmp_path / "found.json").write_text('{"agent": "mine"}')
    for _ in range(2):
        main(["report", str(run), "--json", "report.json"])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for arguments, words in (
        ([run, "--out", "notes.html"], "Nothing was overwritten"),
        ([run, "--out", "."], "Nothing was overwritten"),
        ([run, "--out", "new.html", "--json", "found.json"], "Nothing was overwritten"),
        ([run, "--out", "new.html", "--json", "new.html"], "name the same file"),
        ([run, "--evaluation", "notes.html"], "no evaluation of anyorder"),
        ([run, "--evaluation", "nowhere.json"], "cannot be read"),
        ([run, tmp_path], "There is no run in"),
        ([], "name at least one run folder"),
    ):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["report", *map(str, arguments)])
        assert ended.value.code == 2
        assert words in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_imported_agent_is_evaluated(tmp_path, released):
    anyorder("import", released / "cartpole_pi.npz", "--out", "authors", cwd=tmp_path)
    anyorder(
        "evaluate",
        "authors",
        "--protocol",
        "shuffled",
        "--episodes",
        500,
        "--json",
        "found.json",
        cwd=tmp_path,
    )
    found = json.loads((tmp_path / "found.json").read_text())["protocols"]["shuffled"]
    assert abs(found["mean"] - 495) < 60  # sd 423 over 500 episodes: three standard errors
    assert "occupied" in refused(
        "import", released / "cartpole_pi.npz", "--out", "authors", cwd=tmp_path
    )


def test_zoo_lists_what_is_shipped(tmp_path):
    anyorder("zoo", "--json", "zoo.json", cwd=tmp_path)
    names = [agent["agent"] for agent in json.loads((tmp_path / "zoo.json").read_text())["agents"]]
    assert {"cartpole", "cartpole-mlp"} <= set(names)
