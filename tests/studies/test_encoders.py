import json

import jax
import numpy as np

from anyorder import load
from anyorder.cli import main
from anyorder.envs import CartPoleSwingUpHarder
from anyorder.policies import InvariantPolicy
from anyorder.studies import Budget, Outcome, encoder_cells, encoder_table
from anyorder.studies.encoders import NEURONS, after_shuffle
from anyorder.training.space import flatten


def test_encoders_share_all_but_their_kind():
    cells = encoder_cells(Budget())
    assert [cell.name for cell in cells] == list(NEURONS)
    assert len({cell.training for cell in cells}) == 1
    assert len({cell.agent.neuron.kind for cell in cells}) == 4
    assert len({cell.agent.neuron.memory for cell in cells}) == 1
    for cell in cells:
        policy = InvariantPolicy(5, 1, cell.agent, key=jax.random.key(0))
        assert flatten(policy).size < 10_000


def test_a_shuffle_ends_who_goes_by_places_and_not_who_knows_its_sensors():
    """The shipped agents, of which one was trained with shuffles and one stands for those that were not."""
    env = CartPoleSwingUpHarder()
    steps, ended = after_shuffle(load("cartpole-champion"), env, 32)
    assert float(ended) < 0.2
    assert float(steps) < 100
    assert float(after_shuffle(load("cartpole-mlp"), env, 32)[1]) > 0.5


def test_the_table_holds_what_was_found():
    ones = np.ones(2)
    final = {"reshuffled": 100 * ones, "recovery": 7 * ones, "ended": 0.25 * ones}
    outcome = Outcome(
        np.array([0, 1]), np.array([[0, 300.0], [0, 200.0]]), 5e5 * ones, 913, 10.0, 1.0, final
    )
    table = encoder_table({"DeepSets": outcome}, "ppo")
    assert table.rows == (("DeepSets", "913", "250 ± 50", "100", "7", "25%", "100"),)


def test_a_small_comparison_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("anyorder.studies.encoders.NEURONS", dict([*NEURONS.items()][1:2]))
    out = tmp_path / "encoders"
    main(["study", "encoders", "--smoke", "--methods", "evolution", "--out", str(out)])
    assert "DeepSets" in capsys.readouterr().out
    facts = json.loads((out / "results.json").read_text())
    assert set(facts["evolution"]["DeepSets"]["final"]) == {"reshuffled", "recovery", "ended"}
    assert "| DeepSets |" in (out / "report.md").read_text()
