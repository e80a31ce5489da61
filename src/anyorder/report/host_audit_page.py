"""The audit of an agent from elsewhere as one HTML file that needs nothing else, and as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from jaxtyping import Float

from anyorder.evaluation.host_audit import DELAY, MEANINGS_OF_MEMORY, HostAudit
from anyorder.evaluation.host_orders import Change
from anyorder.evaluation.statistics import Summary
from anyorder.report.amounts import number
from anyorder.report.page import STYLE
from anyorder.report.tables import Table

HOST_MARKER = '<meta name="generator" content="anyorder audit">'
"""By this we know our own pages, which alone may be overwritten."""
MEANINGS = {
    "invariant": "The order of its sensors means nothing to this agent.",
    "invariant-with-memory": "The order means nothing, as long as each sensor's memory stays with it.",
    "robust": "The order changes what it does, but hardly what it earns.",
    "order-dependent": "It needs its sensors in the order it was made for.",
}
MIDWAY = {
    "kept": "another order from mid-episode on",
    "reset": "the same, memories start anew",
    "permuted": "the same, memories move along",
}
OWN_STYLE = """
.word { font-size: 1.35rem; font-weight: 700; margin: 0; }
.rows text { font: 13px system-ui, sans-serif; fill: var(--ink); }
.rows .faint { fill: var(--quiet); }
.rows { width: 100%; max-width: 46rem; height: auto; }
.swaps th, .swaps td { text-align: center; min-width: 3.2rem; border: 2px solid var(--page); }
"""


def audit_tables(audit: HostAudit) -> list[Table]:
    """Actions in other orders, and returns."""
    tables = [_orders(audit), _returns(audit)]
    if audit.remembers:
        rows = tuple(
            (MEANINGS_OF_MEMORY[name], *_cells(found))
            for name, found in audit.memory_summaries().items()
        )
        tables.append(Table("Returns by what becomes of the memories", _COLUMNS, rows))
    return tables


def host_audit_page(audit: HostAudit, *, command: str = "", version: str = "") -> str:
    """The whole page."""
    title = f"Does {audit.name} care about the order of its sensors?"
    sensors = f"{audit.n_sensors} sensors" + (", any number will do" if audit.any_number else "")
    orders, returns, *memory = audit_tables(audit)
    parts = [
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{HOST_MARKER}',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>\n<style>{STYLE}{OWN_STYLE}</style>\n</head>\n<body>",
        f"<h1>{escape(title)}</h1>",
        f'<p class="quiet">{escape(audit.world)}, {sensors}; anyorder {escape(version)}</p>',
        f'<div class="verdict"><p class="word">{audit.verdict.word}</p>',
        f"<p>{MEANINGS[audit.verdict.word]}</p>",
        *(f"<p>{escape(reason)}</p>" for reason in audit.verdict.reasons),
        "</div>",
        _table(orders),
        _swaps(audit.swaps),
        f"<h2>{escape(returns.title)}</h2>",
        _intervals(audit),
        _table(returns, titled=False),
        *map(_table, memory),
        f"<h2>How this was made</h2><p>{escape(_method(audit))}</p>",
        f"<code>{escape(command)}</code>" if command else "",
        "</body>\n</html>\n",
    ]
    return "\n".join(part for part in parts if part)


_COLUMNS = ("sensors", "mean ± sd", "95% CI", "IQM")


def _orders(audit: HostAudit) -> Table:
    which = "every order" if audit.exhaustive else f"{audit.orders.orders} random orders"
    rows = [("another order from the start", *_changed(audit.orders))]
    rows += [(MIDWAY[name], *_changed(change)) for name, change in audit.midway.items()]
    note = (
        f"Observations recorded in the undisturbed world, shown again in {which}; a difference of actions "
        "counts from a ten-thousandth of the largest action on."
    )
    columns = ("what happens", "orders", "actions changed", "largest change")
    return Table("Its actions in other orders", columns, tuple(rows), note)


def _changed(change: Change) -> tuple[str, str, str]:
    worst = "another choice" if change.choices else f"{change.worst:.2g}"
    return str(change.orders), _percent(change.share), worst if change.share else "none"


def _returns(audit: HostAudit) -> Table:
    summaries, losses, kept = audit.summaries(), audit.losses(), audit.verdict.kept
    rows = []
    for name, trial in audit.trials.items():
        if name not in summaries:
            rows.append((trial.words, *("–",) * 5))
            continue
        loss, (low, high) = losses[name]
        lost = "" if name == "plain" else f"{number(loss)} ({number(low)} to {number(high)})"
        share = f"{100 * kept[name][0]:.0f}%" if name in kept else ""
        rows.append((trial.words, *_cells(summaries[name]), lost, share))
    episodes = len(audit.returns["plain"])
    note = (
        f"{episodes} episodes each, from the same starts. Lost: plain return less this one, with its 95% "
        "bootstrap interval. Kept: the share that is left of what plain sensors earn above sensors that all "
        "read zero."
    )
    if not audit.any_number:
        note += " – cannot be played: the agent reads a fixed number of sensors."
    return Table("What it earns", (*_COLUMNS, "lost", "kept"), tuple(rows), note)


def _cells(summary: Summary) -> tuple[str, str, str]:
    low, high = summary.ci95
    return (
        f"{number(summary.mean)} ± {number(summary.sd)}",
        f"{number(low)} to {number(high)}",
        number(summary.iqm),
    )


def _method(audit: HostAudit) -> str:
    memory = "shows its memory" if audit.remembers else "shows no memory"
    return (
        f"The agent is a black box: what it is shown and what it does is all that was looked at; it {memory}. "
        "An agent of a fixed number of sensors reads zero where one is absent; one that reads any number gets "
        f"only those that are there. Noise of 10% is relative to each sensor's own spread. Late sensors show "
        f"what they read {DELAY} steps before. Seed {audit.seed}."
    )


def _table(table: Table, titled: bool = True) -> str:
    def line(tag: str, cells: Sequence[str]) -> str:
        words = ' class="words"'
        return "".join(
            f"<{tag}{'' if index else words}>{escape(text)}</{tag}>"
            for index, text in enumerate(cells)
        )

    rows = "".join(f"<tr>{line('td', row)}</tr>\n" for row in table.rows)
    heading = f"<h2>{escape(table.title)}</h2>\n" if titled else ""
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f'{heading}<div class="wide"><table>\n<thead><tr>{line("th", table.columns)}</tr></thead>\n'
        f"<tbody>\n{rows}</tbody></table></div>\n{note}"
    )


def _swaps(matrix: Float[np.ndarray, "sensors sensors"] | None) -> str:
    """Which sensors may change places: the share of actions that change, by pair."""
    if matrix is None:
        return ""
    head = "".join(f"<th>{column}</th>" for column in range(len(matrix)))
    rows = ""
    for row, shares in enumerate(matrix):
        cells = ""
        for column, share in enumerate(shares):
            text = "" if row == column else _percent(share)
            tint = f"color-mix(in srgb, var(--c0) {80 * share:.0f}%, transparent)"
            cells += f'<td style="background: {tint}">{text}</td>'
        rows += f"<tr><th>{row}</th>{cells}</tr>\n"
    return (
        "<h2>Which sensors it tells apart</h2>\n"
        f'<div class="wide"><table class="swaps">\n<tr><th></th>{head}</tr>\n{rows}</table></div>\n'
        '<p class="note">Actions that change when only these two sensors change places.</p>'
    )


def _intervals(audit: HostAudit) -> str:
    """Mean return of every trial with its interval, on one scale."""
    summaries: Mapping[str, Summary] = audit.summaries()
    ends = [end for summary in summaries.values() for end in summary.ci95]
    low, high = min(ends), max(ends)
    span = (high - low) or 1.0
    left, width, step = 190, 420, 24

    def x(value: float) -> float:
        return left + width * (value - low) / span

    plain = summaries["plain"].mean
    height = step * len(summaries) + 30
    parts = [
        f'<svg class="rows" viewBox="0 0 {left + width + 70} {height}" role="img" '
        'aria-label="Mean return by trial">',
        f'<path d="M{x(plain):.1f} 4V{height - 24}" stroke="var(--rule)" stroke-width="2"/>',
    ]
    for index, (name, summary) in enumerate(summaries.items()):
        y = 16 + step * index
        start, end = (x(value) for value in summary.ci95)
        colour = "var(--c1)" if name == "plain" else "var(--c0)"
        parts.append(
            f'<text x="0" y="{y + 4}">{escape(audit.trials[name].words)}</text>'
            f'<path d="M{start:.1f} {y}H{end:.1f}" stroke="{colour}" stroke-width="3"/>'
            f'<circle cx="{x(summary.mean):.1f}" cy="{y}" r="5" fill="{colour}"/>'
        )
    for value, anchor in ((low, "start"), (high, "end")):
        parts.append(
            f'<text class="faint" x="{x(value):.1f}" y="{height - 6}" text-anchor="{anchor}">'
            f"{number(value)}</text>"
        )
    return (
        "<figure>"
        + "\n".join(parts)
        + '</svg><figcaption class="note">Mean return and its 95% bootstrap interval; the line is the '
        "plain return.</figcaption></figure>"
    )


def _percent(share: float) -> str:
    if 0 < share < 0.01:
        return "<1%"
    return f"{100 * share:.0f}%"
