"""anyorder report RUN..."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from anyorder.cli.console import console, parse, show, write_file, write_json
from anyorder.errors import UsageError
from anyorder.report import MARKER, Comparison, evaluation_tables, page, read_evaluations
from anyorder.report.cells import read_run, run_folders, sort_into_cells
from anyorder.report.curves import Centre

DESCRIPTION = """Compare training runs in one page.

  anyorder report runs/first
  anyorder report runs/es-* runs/ppo-* --out es-or-ppo.html
  anyorder report studies/methods --evaluation es.json ppo.json --json methods.json

Runs that differ only in their seed make one method. The page, a single HTML file, holds learning
curves over seeds against steps and seconds, tables of scores, costs and times to a score, which
method wins, and how each run was made. The tables are printed here too."""


@dataclass(frozen=True)
class ReportOptions:
    """Options of `anyorder report`."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Run folders, or folders of run folders."""
    out: Path = Path("report.html")
    """The page; only an earlier report is overwritten."""
    json: Path | None = None
    """Write the same as JSON here."""
    evaluation: tuple[Path, ...] = ()
    """Results of `anyorder evaluate --json`, shown beside the paper's."""
    thresholds: tuple[float, ...] = (300.0, 400.0, 500.0)
    """Scores whose first reach is timed."""
    centre: Centre = "mean"
    """What curves and verdicts follow over seeds: mean, or iqm, the mean of the middle half."""


def main(arguments: list[str]) -> None:
    """Parse, read, compare, write, show."""
    from anyorder import __version__

    options = parse(ReportOptions, "report", DESCRIPTION, arguments)
    if not options.runs:
        raise UsageError("There is nothing to report: name at least one run folder.")
    if not all(map(math.isfinite, options.thresholds)):
        raise UsageError("--thresholds must be numbers.")
    check_free(options.out, MARKER)
    if options.json is not None:
        if options.json.resolve() == options.out.resolve():
            raise UsageError("--out and --json name the same file: give two.")
        check_free(options.json, None)
    cells = sort_into_cells([read_run(path) for path in run_folders(options.runs)])
    thresholds = tuple(sorted(set(options.thresholds)))
    comparison = Comparison(tuple(cells), thresholds, options.centre)
    results, kinds, tasks = read_evaluations(options.evaluation)
    tables = evaluation_tables(results, kinds, tasks) if results else []
    html = page(comparison, tables, version=__version__)
    facts = {"kind": "report", "anyorder": __version__, **comparison.as_json()}
    facts["evaluations"] = {
        agent: {protocol: summary.as_json() for protocol, summary in found.items()}
        for agent, found in results.items()
    }
    write_file(options.out, html)
    if options.json is not None:
        write_json(options.json, facts)
    for table in (*comparison.tables(), *tables):
        show(table)
    for text in (*comparison.remarks(), *comparison.verdicts()):
        console.print(f"\n{text}", markup=False)
    written = [str(path) for path in (options.out, options.json) if path is not None]
    console.print(f"\nWritten: {', '.join(written)}", markup=False)


def check_free(path: Path, marker: str | None, kind: str = "report") -> None:
    """Refuse a file that is not an earlier one of ours: a page with the marker, or JSON of this kind."""
    if not path.exists():
        return
    try:
        text = path.read_text()
        ours = marker in text[:1000] if marker else json.loads(text)["kind"] == kind
    except (OSError, ValueError, TypeError, KeyError):
        ours = False
    if not ours:
        raise UsageError(
            f"{path} is there and no {kind} of anyorder: give another file. Nothing was overwritten."
        )
