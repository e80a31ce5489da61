"""The page and its tables, from runs whose answers are known."""

import json
import re
from html.parser import HTMLParser

import pytest
from tests.report.written_runs import make_run

from anyorder.errors import UsageError
from anyorder.evaluation import summarize
from anyorder.report import MARKER, Comparison, evaluation_tables, page, read_evaluations
from anyorder.report.cells import read_run, run_folders, sort_into_cells

SCORES = {
    "mlp": ([100, 200, 300, 420], [100, 300, 300, 430], [50, 100, 310, 410]),
    "attention": ([50, 60, 120, 310, 320], [60, 150, 250, 280], [40, 80, 90, 200]),
}


def comparison_of(folder, **options):
    cells = sort_into_cells([read_run(path) for path in run_folders([folder])])
    return Comparison(tuple(cells), **options)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    for policy, scores in SCORES.items():
        for seed, found in enumerate(scores):
            make_run(folder / f"{policy}-{seed}", policy=policy, seed=seed, scores=found)
    return folder


def test_tables_hold_scores_costs_and_times(study):
    scores, costs, times = comparison_of(study).tables()
    rows = {row[0]: row[1:] for row in scores.rows}
    assert rows["mlp by es"][:2] == ("3", "420 ± 10")
    assert rows["attention by es"][:2] == ("3", "267 ± 61")
    assert [row[2:] for row in costs.rows] == [("40", "4.0 s", "10")] * 2
    found, score = {}, ""
    for row in times.rows:
        score = row[0] or score
        found[score, row[1]] = row[2:]
    assert found["300", "mlp by es"] == ("3 of 3", "30", "20 to 30", "3.0 s", "2.0 s to 3.0 s")
    assert found["300", "attention by es"] == ("1 of 3", "never", "40 to never", "never",
                                               "4.0 s to never")  # fmt: skip
    assert found["500", "mlp by es"] == ("0 of 3", "never", "–", "never", "–")


def test_the_verdict_names_the_winner_and_what_is_left_to_chance(study):
    steps, seconds = comparison_of(study).verdicts()
    assert steps.startswith("By environment steps: mlp by es wins the race to 400: median 40 steps")
    assert (
        "It alone gets there with more than half of its seeds (attention by es: 0 of 3 reached)"
        in steps
    )
    assert (
        "At 40 steps, the most that every run has been given, mlp by es scores highest: 420"
        in steps
    )
    assert "do not overlap" in steps
    assert seconds.startswith("By seconds: mlp by es wins the race to 400: median 4.0 s")
    low, _ = comparison_of(study, thresholds=(100.0, 1000.0)).verdicts()
    assert "wins the race to 100: median 10 steps, 3 of 3 reached. Next, attention by es" in low
    assert "The 95% intervals overlap" in low.partition("At 40 steps")[0]


def test_one_method_alone_wins_nothing(tmp_path):
    make_run(tmp_path / "only", scores=[1, 2])
    (verdict,) = comparison_of(tmp_path).verdicts()
    assert "nothing to compare" in verdict


class Reader(HTMLParser):
    """Checks that tags close in order, and keeps text, addresses and ids."""

    VOID = ("meta", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.addresses, self.ids, self.tags = [], [], [], [], set()
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href"):
                self.addresses.append(value)
            if name == "id":
                self.ids.append(value)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page_is_whole_and_asks_nothing_of_the_network(study):
    comparison = comparison_of(study)
    text = page(comparison, version="1.2.3")
    reader = Reader(text)
    assert MARKER in text[:1000]
    assert not {"script", "link", "img"} & reader.tags
    assert "@import" not in text
    assert all(address.startswith("#") for address in reader.addresses)
    assert len(set(reader.ids)) == len(reader.ids)
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(reader.ids)
    assert {address[1:] for address in reader.addresses} <= set(reader.ids)
    words = " ".join(" ".join(reader.texts).split())
    for said in (*comparison.verdicts(), "420 ± 10", "40 to never", "held-out score", "cpu (cpu)"):
        subject, _, rest = said.partition(": ")
        assert subject in words
        assert rest in words
    for run in comparison.cells[0].runs:
        assert run.facts["command"] in words
    assert text.count("var(--c1)") > 4  # both panels and the legend
    assert "#0300" not in text


def test_what_stands_in_a_run_is_text_not_html(tmp_path):
    make_run(tmp_path / "run", command="anyorder <script>alert(1)</script>", device='"<b>&')
    text = page(comparison_of(tmp_path))
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_oddities_are_told(tmp_path):
    make_run(tmp_path / "0", seed=0, scores=[])
    make_run(tmp_path / "1", seed=1, scores=[100] * 9)
    make_run(tmp_path / "2", seed=1, scores=[100] * 5)
    make_run(tmp_path / "3", seed=3, scores=[1, 200], command="anyorder train --target 150")
    comparison = comparison_of(tmp_path)
    remarks = " ".join(comparison.remarks())
    for said in ("no test yet in", "seed 1 is there more than once", "mlp by es: 50 to 90 steps",
                 "1 of 4 runs stopped because they reached", "fewer than 5 seeds"):  # fmt: skip
        assert said in remarks
    text = page(comparison)
    assert "no test yet" in text
    assert comparison.tables()[0].rows[0][1] == "3 of 4"


def test_runs_without_a_test_still_make_a_page(tmp_path):
    make_run(tmp_path / "0", scores=[])
    comparison = comparison_of(tmp_path)
    assert "nothing to draw" in page(comparison)
    (cell,) = comparison.as_json()["cells"]
    assert cell["final"]["mean"] is None
    assert cell["at_common_budget"]["steps"]["at"] is None


def test_the_json_says_what_the_page_says(study):
    facts = json.loads(json.dumps(comparison_of(study).as_json(), allow_nan=False))
    cell = next(cell for cell in facts["cells"] if cell["label"] == "attention by es")
    (three,) = (found for found in cell["thresholds"] if found["score"] == 300)
    assert three["steps"]["each"] == [40, None, None]
    assert three["steps"]["reached"] == 1
    assert three["seconds"]["median"] is None
    assert cell["curves"]["steps"]["at"] == [10, 20, 30, 40]
    assert cell["curves"]["steps"]["score"][0] == 50
    assert [run["seed"] for run in cell["runs"]] == [0, 1, 2]
    assert cell["at_common_budget"]["steps"]["at"] == 40
    assert cell["at_common_budget"]["steps"]["mean"] == pytest.approx((310 + 280 + 200) / 3, abs=1)


def test_many_methods_have_lines_of_their_own(tmp_path):
    for index in range(10):
        make_run(tmp_path / str(index), config={"sigma": index / 10}, scores=[index, 2 * index])
    text = page(comparison_of(tmp_path))
    chips = re.findall(r'<svg class="chip".*?</svg>', text.partition("</ul>")[0])
    assert len(set(chips)) == 10


def test_evaluations_are_read_back(tmp_path):
    import numpy as np

    summary = summarize(np.array([0.0, 400.0, 800.0]), threshold=500.0)
    protocols = {"plain": summary.as_json()}
    facts = {"agent": "runs/first", "task": "cartpole", "policy": "mlp", "protocols": protocols}
    files = [tmp_path / "first.json", tmp_path / "again.json"]
    for file in files:
        file.write_text(json.dumps(facts))
    results, kinds, tasks = read_evaluations(files)
    assert list(results) == ["runs/first", f"runs/first ({files[1]})"]
    assert results["runs/first"]["plain"].mean == pytest.approx(400)
    (table,) = evaluation_tables(results, kinds, tasks)
    assert table.rows[0][1] == "first"
    assert table.rows[0][-1] == "593 ± 433"
    for spoilt in ("[]", "{}", '{"agent": "a", "protocols": {"juggle": {}}}', "no json"):
        files[0].write_text(spoilt)
        with pytest.raises(UsageError, match="no evaluation of anyorder"):
            read_evaluations(files)
