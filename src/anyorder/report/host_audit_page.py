"""The audit of an agent from elsewhere as one HTML file that needs nothing else, and as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from jaxtyping import Float

from anyorder.evaluation.host_attention import HostAttention
from anyorder.evaluation.host_audit import HostAudit
from anyorder.evaluation.host_orders import Change
from anyorder.evaluation.host_trials import DELAY, memory_trials
from anyorder.evaluation.statistics import Summary
from anyorder.evaluation.verdict import MEANINGS
from anyorder.report.amounts import number
from anyorder.report.audit_page import AUDIT_MARKER, MORE_STYLE
from anyorder.report.page import STYLE
from anyorder.report.tables import Table

MIDWAY = {
    "kept": "another order from mid-episode on",
    "reset": "the same, memories start anew",
    "permuted": "the same, memories move along",
}
OWN_STYLE = """
.rows text { font: 13px system-ui, sans-serif; fill: var(--ink); }
.rows .faint { fill: var(--quiet); }
.rows { width: 100%; max-width: 46rem; height: auto; }
.swaps th, .swaps td { text-align: center; min-width: 3.2rem; border: 2px solid var(--page); }
"""


def audit_tables(audit: HostAudit) -> list[Table]:
    """Actions in other orders, and returns."""
    tables = [_orders(audit), _returns(audit)]
    if audit.memory:
        words = {name: trial.words for name, trial in memory_trials().items()}
        rows = tuple((words[name], *_cells(s)) for name, s in audit.memory_summaries().items())
        tables.append(Table("Returns by what becomes of the memories", _COLUMNS, rows))
    if audit.attention is not None:
        tables.append(_attention(audit.attention))
    return tables


def host_audit_page(audit: HostAudit, *, command: str = "", version: str = "") -> str:
    """The whole page."""
    title = f"Audit of {audit.name}"
    sensors = f"{audit.n_sensors} sensors" + (", any number will do" if audit.any_number else "")
    orders, returns, *others = audit_tables(audit)
    parts = [
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{AUDIT_MARKER}',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>\n<style>{STYLE}{MORE_STYLE}{OWN_STYLE}</style>\n</head>\n<body>",
        f"<h1>Does the order of its sensors matter?</h1>\n<p class=quiet>{escape(title)} in "
        f"{escape(audit.world)}; anyorder {escape(version)}</p>",
        '<div class="agents"><section class="agent" style="border-top-color: var(--c0)">'
        f'<h2>{escape(audit.name)}</h2><p class="quiet">{sensors}</p>'
        f'<p class="word">{audit.verdict.word}</p>',
        *(f"<p>{escape(sentence)}</p>" for sentence in sentences_on(audit)),
        *(f'<p class="note">{escape(remark)}</p>' for remark in audit.remarks()),
        "</section></div>",
        _table(orders),
        _swaps(audit.swaps),
        f"<h2>{escape(returns.title)}</h2>",
        _intervals(audit),
        _table(returns, titled=False),
        *map(_table, others),
        f'<h2>How this was measured</h2><p class="note">{escape(_method(audit))}</p>',
        f"<code>{escape(command)}</code>" if command else "",
        "</body>\n</html>\n",
    ]
    return "\n".join(part for part in parts if part)


def sentences_on(audit: HostAudit) -> list[str]:
    """What the verdict means, and what it is built on."""
    meaning = MEANINGS[audit.verdict.word]
    return [f"{meaning[0].upper()}{meaning[1:]}.", *audit.verdict.reasons]


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


def _attention(attention: HostAttention) -> Table:
    sensors = tuple(map(str, range(len(attention.by_sensor))))
    note = (
        f"In {attention.orders} other orders, kept from the start, the weight of a sensor changes by at most "
        f"{attention.worst:.1g}."
    )
    shares = tuple(map(_percent, attention.by_sensor))
    return Table("Whom it attends to", ("sensor", *sensors), (("share", *shares),), note)


def _changed(change: Change) -> tuple[str, str, str]:
    worst = "another choice" if change.choices else f"{change.worst:.2g}"
    return str(change.orders), _percent(change.share), worst if change.share else "none"


def _returns(audit: HostAudit) -> Table:
    summaries, losses, kept = audit.summaries(), audit.losses(), audit.verdict.kept
    rows = []
    for name, trial in audit.trials.items():
        loss, (low, high) = losses[name]
        # Zero added, so that what rounds to nothing bears no minus sign.
        loss, low, high = (number(round(value, 1) + 0.0) for value in (loss, low, high))
        lost = "" if name == "plain" else f"{loss} ({low} to {high})"
        share = (f"{100 * kept[name][0] + 0.0:.0f}%",) if kept else ()
        rows.append((trial.words, *_cells(summaries[name]), lost, *share))
    episodes = len(audit.returns["plain"])
    note = (
        f"{episodes} episodes each, from the same starts. Lost: plain return less this one, with its 95% "
        "bootstrap interval."
    )
    if kept:
        note += " Kept: the share left of what plain sensors earn above sensors that all read zero."
    return Table(
        "What it earns", (*_COLUMNS, "lost", *(["kept"] if kept else [])), tuple(rows), note
    )


def _cells(summary: Summary) -> tuple[str, str, str]:
    low, high = summary.ci95
    return (
        f"{number(summary.mean)} ± {number(summary.sd)}",
        f"{number(low)} to {number(high)}",
        number(summary.iqm),
    )


def _method(audit: HostAudit) -> str:
    absent = (
        "Sensors that are absent are left out of what it is shown. " if audit.any_number else ""
    )
    return (
        "The agent is a black box: what it is shown and what it does is all that was looked at. "
        f"{absent}Noise of 10% is relative to each sensor's own spread. Late sensors show what they read "
        f"{DELAY} steps before. Every trial starts from the same states. Seed {audit.seed}."
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
