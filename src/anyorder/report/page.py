"""A comparison of runs as one HTML file that needs nothing else: figures inside, no scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from anyorder.report.amounts import count, duration, number
from anyorder.report.cells import Cell, Run
from anyorder.report.comparison import AXES, Comparison
from anyorder.report.figures import DASHES, curves_over_seeds
from anyorder.report.svg import COLOURS
from anyorder.report.tables import Table

MARKER = '<meta name="generator" content="anyorder report">'
"""By this we know our own pages, which alone may be overwritten."""

MANY = 12
"""Runs from which on their list is folded away at first."""

STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1f2733; --quiet: #5d6878; --rule: #dfe3ea;
  --tint: #f4f6f9;
  --c0: #c8541c; --c1: #2f5fb3; --c2: #16857a; --c3: #8a4fa3; --c4: #a37a00; --c5: #4d7f2a; --c6: #b83268;
  --c7: #6b7078; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14181f; --ink: #e4e8ef; --quiet: #98a3b3; --rule: #333b48; --tint: #1c222c;
    --c0: #f2884f; --c1: #7fa8f5; --c2: #45c4b5; --c3: #c794dd; --c4: #dfb648; --c5: #90c565; --c6: #f07ba6;
    --c7: #b3b8c0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 1.5rem 1rem 4rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 { font-size: 1.1rem; margin: 2.25rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p, ul { max-width: 46rem; margin: .5rem 0; }
ul { padding-left: 1.2rem; }
.quiet, .note, summary span { color: var(--quiet); }
.note { font-size: .85rem; }
.verdict { border-left: 3px solid var(--rule); padding-left: .9rem; margin: 1.25rem 0; }
figure { margin: 1.5rem 0 0; }
.panels { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; }
.panels svg { flex: 1 1 21rem; min-width: 0; max-width: 100%; height: auto; }
.panels svg text { font-family: inherit !important; }
.legend, .runs { list-style: none; padding: 0; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0 0 .75rem; }
.named { display: flex; align-items: baseline; }
.chip { flex: none; width: 1.6em; height: .7em; margin-right: .45em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .35rem .75rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--rule); }
th { color: var(--quiet); font-weight: 600; }
th:first-child, td:first-child { padding-left: 0; }
.words { text-align: left; }
.label { white-space: normal; min-width: 9rem; }
.more td { border-bottom-color: transparent; }
@media (max-width: 40rem) {
  table { font-size: .85rem; }
  th, td { padding: .3rem .4rem; }
  th { white-space: normal; vertical-align: bottom; }
  .label { min-width: 7.5rem; } }
details { border-bottom: 1px solid var(--rule); padding: .5rem 0; }
summary { cursor: pointer; font-weight: 600; }
summary span { font-weight: 400; }
.runs { margin: .5rem 0; }
.runs li { margin: .75rem 0; }
code, pre { font: .82rem/1.45 ui-monospace, Menlo, Consolas, monospace; background: var(--tint); }
code span { display: inline-block; max-width: 100%; }
code { display: block; padding: .3rem .5rem; overflow-wrap: anywhere; border-radius: 4px; }
pre { padding: .5rem; overflow-x: auto; border-radius: 4px; }
"""


def page(comparison: Comparison, evaluations: Sequence[Table] = (), *, version: str = "") -> str:
    """The whole page. `evaluations` are tables of tests of finished agents."""
    cells = comparison.cells
    runs = [run for cell in cells for run in cell.runs]
    title = f"Learning {' and '.join(comparison.tasks)}"
    extent = f"{_plural(len(runs), 'run')} of {_plural(len(cells), 'method')}"
    parts = [
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{MARKER}',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
        f'<h1>{escape(title)}</h1>\n<p class="quiet">{extent}; anyorder {escape(version)}</p>',
        '<div class="verdict">' + "".join(map(_verdict, comparison.verdicts())) + "</div>",
        _remarks(comparison.remarks()),
        _figure(comparison),
        *(_table(table, _chips(cells)) for table in comparison.tables()),
        "<h2>Tests of finished agents</h2>" if evaluations else "",
        *(_table(table, {}, heading="h3") for table in evaluations),
        "<h2>Runs</h2>",
        *(_runs(cell, opened=len(runs) < MANY) for cell in cells),
        "<h2>Settings</h2>",
        *(_settings(cell) for cell in cells),
        "</body>\n</html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _figure(comparison: Comparison) -> str:
    cells = comparison.cells
    if not any(cell.tested for cell in cells):
        return '<p class="quiet">No run has been tested yet, so there is nothing to draw.</p>'
    chips = _chips(cells)
    legend = "".join(f"<li>{_named(cell.label, chips)}</li>" for cell in cells)
    drawings = "".join(
        curves_over_seeds(cells, against, comparison.centre).replace(
            "<svg", f'<svg role="img" aria-label="Held-out score against {against}"', 1
        )
        for against in AXES
    )
    centre = "mean" if comparison.centre == "mean" else "interquartile mean"
    return (
        f'<figure>\n<ul class="legend">{legend}</ul>\n<div class="panels">{drawings}</div>\n'
        f'<figcaption class="note">Score on held-out episodes during training. Thick: {centre} over seeds, '
        "with straight lines between tests; band: its 95% bootstrap interval, drawing seeds; faint: each "
        "seed. A curve is drawn where at least half of its seeds, and two if there are two, have tests, "
        "thin where some are missing; a run that stopped because it reached its target keeps its last "
        "score.</figcaption>\n"
        "</figure>"
    )


def _chips(cells: Sequence[Cell]) -> dict[str, str]:
    """The line that stands for each cell in the figure."""
    return {cell.label: _chip(index) for index, cell in enumerate(cells)}


def _chip(index: int) -> str:
    colour, dashes = index % COLOURS, DASHES[index // COLOURS % len(DASHES)]
    return (
        '<svg class="chip" viewBox="0 0 32 14" aria-hidden="true"><path d="M0 7H32" stroke-width="5" '
        f'stroke="var(--c{colour})" stroke-dasharray="{dashes}"/></svg>'
    )


def _named(text: str, chips: Mapping[str, str]) -> str:
    """Text, with its line before it where it is a cell's name."""
    if text not in chips:
        return escape(text)
    return f'<span class="named">{chips[text]}<span>{escape(text)}</span></span>'


def _table(table: Table, chips: Mapping[str, str], heading: str = "h2") -> str:
    """A table whose first columns are words; a blank first cell repeats the one above."""
    words = 2 if table.columns[0] in ("score", "sensors") else 1

    def line(tag: str, cells: Sequence[str]) -> str:
        inside = ""
        for index, text in enumerate(cells):
            kind = ' class="words"' if index < words else ""
            kind = ' class="words label"' if text in chips else kind
            inside += f"<{tag}{kind}>{_named(text, chips)}</{tag}>"
        return inside

    rows = ""
    for row, following in zip(table.rows, [*table.rows[1:], ("end",)], strict=True):
        rows += f"<tr{'' if following[0] else ' class=more'}>{line('td', row)}</tr>\n"
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<{heading}>{escape(table.title)}</{heading}>\n<div class="wide"><table>\n<thead><tr>'
        f"{line('th', table.columns)}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n{note}"
    )


def _remarks(remarks: Sequence[str]) -> str:
    if not remarks:
        return ""
    items = "".join(f"<li>{escape(remark)}</li>" for remark in remarks)
    return f'<div class="note">To bear in mind:<ul>{items}</ul></div>'


def _runs(cell: Cell, *, opened: bool) -> str:
    items = "".join(f"<li>{_run(run)}</li>\n" for run in cell.runs)
    return (
        f"<details{' open' if opened else ''}><summary>{escape(cell.label)} "
        f'<span>{_plural(len(cell.runs), "run")}</span></summary>\n<ul class="runs">{items}</ul></details>'
    )


def _run(run: Run) -> str:
    if run.tested:
        score = (
            f"final score {number(run.score[-1])}, best {number(run.score.max())}, "
            f"{count(run.steps[-1])} steps in {duration(run.seconds[-1])}"
        )
    else:
        score = "no test yet"
    kept = "" if run.kept is None else f", kept agent {number(run.kept)}"
    where = ", ".join(
        str(found)
        for found in (run.path, run.facts.get("device"), run.facts.get("started"))
        if found
    )
    return (
        f'<b>seed {escape(str(run.seed))}</b>: {score}{kept}<br><span class="note">{escape(where)}</span>'
        f"<code>{_whole_words(str(run.facts.get('command', 'command not known')))}</code>"
    )


def _whole_words(command: str) -> str:
    """A command that breaks between its words only, not after the hyphens of an option."""
    return " ".join(f"<span>{escape(word)}</span>" for word in command.split(" "))


def _settings(cell: Cell) -> str:
    settings: dict[str, Any] = dict(cell.settings)
    return (
        f"<details><summary>{escape(cell.label)}</summary>"
        f"<pre>{escape(json.dumps(settings, indent=2))}</pre></details>"
    )


def _verdict(text: str) -> str:
    """A paragraph whose words before the first colon are bold."""
    subject, colon, rest = text.partition(":")
    return (
        f"<p><b>{escape(subject + colon)}</b>{escape(rest)}</p>"
        if colon
        else f"<p>{escape(text)}</p>"
    )


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
