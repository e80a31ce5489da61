import numpy as np
import pytest

from anyorder.evaluation import interval, iqm, summarize


def test_iqm_is_the_mean_of_the_middle_half():
    assert float(iqm(np.array([-1000.0, 1.0, 3.0, 1000.0]))) == 2.0


def test_success_counts_episodes_above_the_threshold():
    summary = summarize(np.array([500.0, 500.1, 900.0, 0.0]), threshold=500.0)
    assert summary.success == 0.5
    assert summary.episodes == 4


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(0)
    hits = 0
    for trial in range(100):
        low, high = interval(rng.normal(5, 2, 60), np.mean, seed=trial)
        hits += low <= 5 <= high
    assert 87 <= hits <= 100


def test_intervals_shrink_with_more_episodes():
    rng = np.random.default_rng(1)
    few, many = (summarize(rng.normal(0, 1, n), threshold=0.0) for n in (50, 5000))
    assert many.ci95[1] - many.ci95[0] < 0.3 * (few.ci95[1] - few.ci95[0])


def test_a_constant_has_an_interval_of_no_width():
    assert summarize(np.full(3, 7.0), threshold=0.0).ci95 == (7.0, 7.0)


def test_no_episodes_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        summarize(np.array([]), threshold=0.0)


def test_json_has_plain_numbers():
    found = summarize(np.arange(10.0), threshold=5.0).as_json()
    assert set(found) == {"mean", "sd", "iqm", "ci95", "iqm_ci95", "success", "episodes"}
    assert isinstance(found["ci95"], list)
