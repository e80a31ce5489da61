import jax
import numpy as np
import pytest
from matplotlib.image import imread

from anyorder.envs import CartPoleSwingUpHarder
from anyorder.evaluation import SUITES, summarize
from anyorder.policies import InvariantPolicy
from anyorder.report import (
    attention_over_time,
    evaluation_tables,
    learning_curve,
    record_reshuffled,
    return_histograms,
)

RNG = np.random.default_rng(0)


def results():
    some = lambda: summarize(RNG.uniform(0, 1000, 50), threshold=500.0)  # noqa: E731
    return {
        "ours": {name: some() for name in SUITES["all"]},
        "control": {name: some() for name in SUITES["all"] if name not in ("doubled", "noise5")},
    }


def test_tables_hold_every_result_beside_the_papers():
    found = results()
    tables = evaluation_tables(found, {"ours": "attention", "control": "mlp"})
    assert [len(table.rows) for table in tables] == [8, 12, 4]
    first = tables[0].rows[0]
    assert first[:2] == ("as they are", "ours")
    assert first[2].startswith(f"{found['ours']['plain'].mean:.0f} ±")
    assert first[-2:] == ("625", "472 ± 426")
    assert tables[0].rows[5][1:4] == ("control", "–", "–")
    assert tables[0].note
    assert tables[1].rows[-2][0] == "never"


def test_the_papers_figures_stand_beside_agents_of_its_world_only():
    found = results()
    kinds = {"ours": "attention", "control": "mlp"}
    tables = evaluation_tables(found, kinds, {"control": "cartpole-discrete"})
    assert "by choices" in tables[0].title
    assert [row[-1] for row in tables[0].rows[:2]] == ["472 ± 426", ""]


def test_markdown_has_a_line_per_row():
    (table,) = evaluation_tables({"a": {"plain": results()["ours"]["plain"]}}, {"a": "attention"})
    lines = table.markdown().split("\n\n")[0].splitlines()
    assert len(lines) == 3
    assert all(line.count("|") == lines[0].count("|") for line in lines)


@pytest.fixture(scope="module")
def recording():
    policy = InvariantPolicy(5, 1, key=jax.random.key(0))
    return record_reshuffled(policy, CartPoleSwingUpHarder(), every=6, key=jax.random.key(5))


def test_a_recording_follows_sensors_through_their_wires(recording):
    assert recording.length > 13
    assert set(recording.shuffles()) <= set(range(6, recording.length, 6))
    assert recording.shuffles()
    by_sensor = recording.weights_by_sensor()
    for step in (0, 7, 12):
        for wire, sensor in enumerate(recording.order[step]):
            np.testing.assert_array_equal(
                by_sensor[step, :, sensor], recording.weights[step, :, wire]
            )


def test_figures_are_drawn(recording, tmp_path):
    lines = [
        {
            "update": n,
            "steps": n * 10,
            "seconds": float(n),
            "mean": n,
            "best": n + 1,
            "worst": n - 1,
            "test": n,
        }
        for n in range(1, 6)
    ]
    learning_curve(lines, tmp_path / "learning.png", title="a run")
    returns = {"a": {"plain": RNG.uniform(0, 900, 99)}, "b": {"plain": RNG.uniform(0, 900, 99)}}
    return_histograms(returns, ("plain", "shuffled"), tmp_path / "returns.png")
    attention_over_time(recording, tmp_path / "attention.png", title="attention")
    for name in ("learning", "returns", "attention"):
        picture = imread(tmp_path / f"{name}.png")
        assert picture.shape[0] > 200
        assert picture[..., :3].std() > 0.02  # not blank
