import json

import jax
import numpy as np
import pytest

from anyorder.cli import main
from anyorder.neurons.key_maps import KeyMapName
from anyorder.policies import InvariantPolicy
from anyorder.studies import Outcome, agent_config, compare, nla_page, nla_results, reached_times
from anyorder.studies.nla import KEY_MAPS, SMOKE, nla_cells
from anyorder.studies.nla_report import main_threshold
from anyorder.studies.times import Comparison, holm, logrank
from anyorder.training.space import flatten

AT = np.arange(0, 110, 10)


def outcome(speeds, best=600.0):
    """Seeds whose scores rise along lines."""
    scores = np.minimum(np.outer(speeds, AT), best)
    return Outcome(AT, scores, np.full(len(speeds), 1e6), 913, 10.0, 5.0, {})


@pytest.mark.parametrize("name", [*KEY_MAPS, "two-layer", "gelu"])
def test_all_agents_have_as_many_parameters(name: KeyMapName):
    policy = InvariantPolicy(5, 1, agent_config(name), key=jax.random.key(0))
    assert flatten(policy).size == 913


def test_agents_that_share_numbers_start_from_the_same():
    one, other = (
        InvariantPolicy(5, 1, agent_config(name), key=jax.random.key(3))
        for name in ("identity", "fourier")
    )
    np.testing.assert_array_equal(flatten(one), flatten(other))


def test_runs_that_never_get_there_are_censored_and_count():
    times = reached_times(AT, outcome(np.array([10.0, 5.0, 1.0, 1.0])).scores, 300.0)
    np.testing.assert_array_equal(times.at, [30, 60, 100, 100])
    np.testing.assert_array_equal(times.there, [True, True, False, False])
    curve = times.curve()
    steps = np.append(np.unique(times.at), 100)
    area = sum(
        (right - left) * height
        for left, right, height in zip(
            [0, *curve.quantiles],
            [*curve.quantiles, steps[-1]],
            [1, *curve.probabilities],
            strict=True,
        )
    )
    assert times.restricted_mean == pytest.approx(area) == 72.5
    assert times.median == 60
    assert reached_times(AT, outcome(np.array([1.0, 1.0])).scores, 300.0).median == np.inf


def test_a_map_that_is_faster_is_found_to_be_and_one_that_is_not_is_not():
    rng = np.random.default_rng(0)
    speeds = rng.uniform(6, 9, size=20)
    found = {
        "identity": outcome(speeds),
        "quick": outcome(speeds / 0.6),
        "same": outcome(rng.permutation(speeds)),
    }
    facts = nla_results({"ppo": found})["ppo"]
    quick, same = facts["against_identity"]
    assert quick["time_ratio"]["high"] < 0.75
    assert quick["verdict"].startswith("faster by")
    assert quick["logrank_holm"] < 0.01
    assert same["verdict"] == "no difference shown; a saving of 30% is ruled out"
    assert facts["summary"].startswith("By ppo, 1 of 2 nonlinear maps had an interval below")
    assert main_threshold(found["identity"]) == 500
    assert facts["maps"]["identity"]["reached"]["500"]["seeds_there"] == 20


def test_where_nobody_gets_anywhere_nothing_is_claimed():
    found = {"identity": outcome(np.ones(3)), "tanh": outcome(np.ones(3))}
    facts = nla_results({"evolution": found})["evolution"]
    assert "nothing to compare" in facts["summary"]
    assert facts["against_identity"][0]["verdict"].startswith("nothing to compare")
    assert facts["against_identity"][0]["logrank_holm"] is None
    cells = nla_cells(("identity", "tanh"), ("evolution",), SMOKE)
    assert "| tanh | 913 |" in nla_page({"evolution": found}, cells, {"command": "`here`"})


def test_seeds_are_compared_in_pairs():
    rng = np.random.default_rng(1)
    baseline = rng.uniform(0, 1000, size=30)
    found = compare(baseline + rng.normal(5, 1, size=30), baseline, ratio=False)
    assert 4 < found.low < found.value < found.high < 6
    assert isinstance(found, Comparison)


def test_chances_are_those_of_scipy_and_grow_with_their_number():
    slow, fast = (
        reached_times(AT, outcome(np.linspace(a, b, 12)).scores, 300.0)
        for a, b in ((3.0, 6.0), (8.0, 20.0))
    )
    assert logrank(fast, slow) < 0.001
    assert logrank(slow, slow) == pytest.approx(1)
    assert holm([0.02, 0.5]) == [0.04, 0.5]


def test_a_small_study_runs_and_goes_on_where_it_stopped(tmp_path, capsys):
    out = tmp_path / "study"
    smoke = ["study", "nla", "--smoke", "--methods", "evolution", "--out", str(out)]
    main([*smoke, "--maps", "identity"])
    cell = out / "cells" / "evolution-identity.json"
    before = cell.read_bytes()
    main([*smoke, "--maps", "identity", "relu"])
    assert "identity by evolution: kept from before" in capsys.readouterr().out
    assert cell.read_bytes() == before
    facts = json.loads((out / "results.json").read_text())
    assert [row["map"] for row in facts["evolution"]["against_identity"]] == ["relu"]
    assert "## By evolution" in (out / "report.md").read_text()
    assert (out / "evolution-curves.png").stat().st_size > 5000
    assert (out / "evolution-times.png").stat().st_size > 5000
    for wrong, words in (
        (["--maps", "identity", "--seeds", "3"], "other settings"),
        (["--maps", "relu"], "needs identity"),
        (["--maps", "identity", "--task", "chess"], "There is no task"),
        (["--maps", "identity", "--seeds", "0"], "at least 1"),
    ):
        with pytest.raises(SystemExit) as ended:
            main([*smoke, *wrong])
        assert ended.value.code == 2
        assert words in capsys.readouterr().err
    cell.write_text("{}")
    with pytest.raises(SystemExit):
        main([*smoke, "--maps", "identity"])
    assert "damaged" in capsys.readouterr().err
