import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.errors import UsageError
from anyorder.runs import MetricsLog, RunFolder

STATE = {"key": jax.random.key(5), "mean": jnp.arange(3.0), "count": jnp.array(2)}


def test_a_run_folder_appears_whole(tmp_path):
    folder = RunFolder.create(tmp_path / "deep" / "run", {"task": "cartpole"})
    assert RunFolder.open(folder.path).facts["task"] == "cartpole"
    assert [p.name for p in folder.path.iterdir()] == ["run.json"]
    assert [p.name for p in folder.path.parent.iterdir()] == ["run"]


def test_an_empty_folder_may_be_used_and_an_occupied_one_may_not(tmp_path):
    (tmp_path / "empty").mkdir()
    RunFolder.create(tmp_path / "empty", {})
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("full", "file", "empty"):
        with pytest.raises(UsageError, match="occupied"):
            RunFolder.create(tmp_path / name, {})
    assert (tmp_path / "full" / "thesis.tex").read_text() == "mine"
    assert (tmp_path / "file").read_text() == "mine"


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be made"):
        RunFolder.create(tmp_path / "file" / "run", {})


def test_states_go_round(tmp_path):
    folder = RunFolder.create(tmp_path / "run", {})
    assert folder.load_checkpoint(STATE) is None
    folder.save_checkpoint(STATE, {"updates": 4})
    template = jax.tree.map(jnp.zeros_like, {k: v for k, v in STATE.items() if k != "key"})
    found = folder.load_checkpoint(template | {"key": jax.random.key(0)})
    assert found is not None
    state, facts = found
    assert facts["updates"] == 4
    np.testing.assert_array_equal(state["mean"], STATE["mean"])
    assert int(state["count"]) == 2
    assert jax.random.normal(state["key"]) == jax.random.normal(STATE["key"])


@pytest.mark.parametrize(
    "other",
    [
        {"key": jax.random.key(0), "mean": jnp.zeros(4), "count": jnp.array(0)},
        {"key": jax.random.key(0), "mean": jnp.zeros(3)},
        {"key": jax.random.key(0), "mean": jnp.zeros(3, int), "count": jnp.array(0)},
    ],
)
def test_a_state_of_another_shape_is_refused(other, tmp_path):
    folder = RunFolder.create(tmp_path / "run", {})
    folder.save_checkpoint(STATE, {})
    with pytest.raises(UsageError, match=r"checkpoint.json holds"):
        folder.load_checkpoint(other)


def test_metrics_survive_a_torn_line_and_are_cut_back_to_the_checkpoint(tmp_path):
    folder = RunFolder.create(tmp_path / "run", {})
    log = MetricsLog(folder)
    for update in (5, 10, 15):
        log.write({"update": update, "test": 1.5 * update})
    log.close()
    with (folder.path / "metrics.jsonl").open("a") as file:
        file.write('{"update": 20, "te')
    assert [line["update"] for line in folder.metrics()] == [5, 10, 15]
    folder.keep_metrics_until(10)
    lines = (folder.path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["update"] for line in lines] == [5, 10]


def test_tensorboard_gets_the_same_numbers(tmp_path):
    pytest.importorskip("tensorboardX")
    folder = RunFolder.create(tmp_path / "run", {})
    log = MetricsLog(folder)
    log.write({"update": 1, "test": 3.25})
    log.close()
    events = b"".join(p.read_bytes() for p in (folder.path / "tensorboard").iterdir())
    assert b"test" in events
