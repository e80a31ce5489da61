"""Grouping, curves and times on runs whose answers are known."""

import json
import math

import numpy as np
import pytest
from tests.report.written_runs import make_run

from anyorder.errors import UsageError
from anyorder.report import Comparison
from anyorder.report.cells import labels, read_run, run_folders, sort_into_cells
from anyorder.report.curves import common_budget, curve, reached, score_at, spread


def cell_of(*folders):
    (cell,) = sort_into_cells([read_run(folder) for folder in folders])
    return cell


def test_runs_that_differ_in_their_seed_alone_share_a_cell(tmp_path):
    for seed in (2, 0, 1):
        make_run(tmp_path / f"narrow-{seed}", seed=seed, config={"sigma": 0.1, "population": 8})
        make_run(tmp_path / f"wide-{seed}", seed=seed, config={"sigma": 0.3, "population": 8})
    runs = [read_run(folder) for folder in run_folders([tmp_path])]
    cells = sort_into_cells(runs)
    assert [cell.label for cell in cells] == ["mlp by es, sigma 0.1", "mlp by es, sigma 0.3"]
    assert [[run.seed for run in cell.runs] for cell in cells] == [[0, 1, 2]] * 2


def test_labels_compare_settings_within_a_method_only():
    one = {"method": "es", "policy": "mlp", "config.rate": 0.1, "device": "cpu"}
    two = {"method": "ppo", "policy": "mlp", "config.rate": 0.2, "device": "cpu"}
    three = {"method": "ppo", "policy": "mlp", "config.rate": 0.3, "device": "gpu"}
    assert labels([one, two]) == ["mlp by es", "mlp by ppo"]
    assert labels([one, two, three]) == [
        "mlp by es, cpu", "mlp by ppo, rate 0.2, cpu", "mlp by ppo, rate 0.3, gpu",
    ]  # fmt: skip


def test_a_folder_of_runs_stands_for_its_runs_and_no_run_counts_twice(tmp_path):
    for name in ("a/0", "a/1", "b"):
        make_run(tmp_path / name)
    make_run(tmp_path / ".draft")
    folders = run_folders([tmp_path / "a" / "1", tmp_path])
    assert sorted(str(folder.relative_to(tmp_path)) for folder in folders) == ["a/0", "a/1", "b"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"no run in .*empty"):
        run_folders([tmp_path, tmp_path / "empty"])


def test_tasks_and_kinds_of_actions_set_cells_apart_once(tmp_path):
    for task, actions in (("cartpole", "continuous"), ("cartpole-discrete", "discrete")):
        config = {"hidden": 16, "actions": actions}
        make_run(tmp_path / task, task=task, policy_config=config, perturb="")
    cells = sort_into_cells([read_run(path) for path in run_folders([tmp_path])])
    assert [cell.label for cell in cells] == [
        "mlp by es, on cartpole", "mlp by es, on cartpole-discrete",
    ]  # fmt: skip
    assert "different tasks (cartpole, cartpole-discrete)" in Comparison(tuple(cells)).remarks()[0]
    one = {"method": "es", "policy": "mlp", "perturb": "", "rollout": "fused"}
    two = {"method": "ppo", "policy": "mlp", "perturb": "shuffle", "rollout": "auto"}
    assert labels([one, two]) == ["mlp by es, no perturb", "mlp by ppo, perturb shuffle"]


def test_a_line_cut_short_and_scores_that_are_no_numbers_are_left_out(tmp_path):
    folder = make_run(tmp_path / "run", scores=[1.0, 2.0])
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"update": 3, "steps": 30, "seconds": 3.0, "test": NaN}\n{"update": 4, "st')
    run = read_run(folder)
    np.testing.assert_array_equal(run.score, [1.0, 2.0])
    assert run.unread == 1


def test_scores_lie_on_straight_lines_and_only_a_run_on_target_goes_on(tmp_path):
    at = np.array([5.0, 10.0, 15.0, 20.0, 25.0])
    stopped = read_run(make_run(tmp_path / "stopped", scores=[100, 200]))
    np.testing.assert_array_equal(
        score_at(stopped, "steps", at), [math.nan, 100, 150, 200, math.nan]
    )
    for name, words, last in (
        ("good", "--target 200", 200),
        ("equals", "--target=150", 200),
        ("missed", "--target 201", math.nan),
    ):
        command = f"anyorder train cartpole {words} --seed 1"
        run = read_run(make_run(tmp_path / name, scores=[100, 200], command=command))
        np.testing.assert_array_equal(score_at(run, "steps", at)[-1], last)


def test_a_curve_is_the_mean_over_seeds_where_at_least_half_are_there(tmp_path):
    cell = cell_of(
        make_run(tmp_path / "0", seed=0, scores=[0, 100, 200, 300, 400]),
        make_run(tmp_path / "1", seed=1, scores=[100, 200, 300]),
        make_run(tmp_path / "2", seed=2, scores=[200]),
        make_run(tmp_path / "3", seed=3, scores=[]),
    )
    found = curve(cell, "steps")
    np.testing.assert_array_equal(found.at, [10, 20, 30])  # beyond, one of three is left
    np.testing.assert_array_equal(found.seeds, [3, 2, 2])
    np.testing.assert_allclose(found.centre, [100, 150, 250])
    assert (found.low <= found.centre).all()
    assert (found.high >= found.centre).all()
    assert found.low[0] < found.high[0]


def test_long_curves_are_thinned_and_keep_their_ends(tmp_path):
    folders = [
        make_run(tmp_path / str(seed), seed=seed, scores=range(500), every=10 + seed)
        for seed in range(2)
    ]
    found = curve(cell_of(*folders), "seconds", "iqm")
    assert len(found.at) <= 200
    assert found.at[0] == pytest.approx(1.1)  # where the second seed begins
    np.testing.assert_allclose(np.diff(found.centre) / np.diff(found.at), 0.9545, rtol=1e-3)


def test_a_seed_that_never_gets_there_counts_as_infinitely_late(tmp_path):
    cell = cell_of(
        make_run(tmp_path / "0", seed=0, scores=[100, 300]),
        make_run(tmp_path / "1", seed=1, scores=[100, 200, 299, 300, 100]),
        make_run(tmp_path / "2", seed=2, scores=[0, 0]),
    )
    steps, seconds = reached(cell, 300.0, "steps"), reached(cell, 300.0, "seconds")
    assert (steps.count, steps.median, seconds.median) == (2, 40, 4)
    assert steps.ci95 == (20, math.inf)
    assert reached(cell, 299.5, "steps").median == 40
    nobody = reached(cell, 500.0, "steps")
    assert (nobody.count, nobody.median) == (0, math.inf)
    half = cell_of(
        make_run(tmp_path / "3", seed=3, scores=[300]), make_run(tmp_path / "4", seed=4, scores=[])
    )
    assert reached(half, 300.0, "steps").count == 1
    assert math.isinf(reached(half, 300.0, "steps").median)


def test_the_common_budget_is_what_every_run_has_had(tmp_path):
    short = cell_of(*(make_run(tmp_path / f"s{n}", seed=n, scores=[0] * n) for n in (2, 3, 5)))
    long = cell_of(make_run(tmp_path / "l", scores=[0] * 9))
    quick = cell_of(make_run(tmp_path / "q", scores=[7], command="anyorder train --target 5"))
    assert common_budget([short, long], "steps") == 20
    assert common_budget([quick, long], "steps") == 90
    assert math.isnan(common_budget([cell_of(make_run(tmp_path / "n", scores=[]))], "steps"))


def test_spread_over_seeds():
    found = spread(np.array([1.0, 2.0, 3.0, 10.0]))
    assert (found.mean, found.iqm) == (4.0, 2.5)
    assert found.sd == pytest.approx(np.std([1, 2, 3, 10], ddof=1))
    assert found.ci95[0] < 4 < found.ci95[1]
    alone = spread(np.array([5.0]))
    assert alone.mean == 5
    assert math.isnan(alone.sd)
    assert math.isnan(alone.ci95[0])
    assert json.loads(json.dumps(spread(np.zeros(0)).seeds)) == 0
