"""The audit of one or several agents as one HTML file that needs nothing else: figures inside, no scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from anyorder.evaluation.audit import Audit
from anyorder.evaluation.emergence import Checkpoint
from anyorder.evaluation.estimate import Row
from anyorder.evaluation.verdict import MEANINGS
from anyorder.report import audit_words as words
from anyorder.report.audit_figures import (
    attention_figure,
    checkpoints_figure,
    fault_shares,
    faults_figure,
    identification_figure,
    noise_figure,
    recovery_figure,
    returns_figure,
)
from anyorder.report.figures import SENSOR_NAMES
from anyorder.report.page import STYLE
from anyorder.report.svg import COLOURS
from anyorder.report.tables import WORLDS

AUDIT_MARKER = '<meta name="generator" content="anyorder audit">'
"""By this we know our own pages, which alone may be overwritten."""

MORE_STYLE = """
.agents { display: flex; flex-wrap: wrap; gap: 1rem; margin: 1.25rem 0; }
.agent { flex: 1 1 18rem; border: 1px solid var(--rule); border-top: 4px solid; border-radius: 6px;
  padding: .75rem 1rem; }
.agent h2 { margin: 0; } .agent p { margin: .4rem 0; }
.word { font-size: 1.25rem; font-weight: 700; }
.drawing svg { width: 100%; max-width: 60rem; height: auto; }
.drawing svg text { font-family: inherit !important; }
.wide table { font-size: .84rem; } .wide th, .wide td { padding: .3rem .5rem; }
.wide th { white-space: normal; vertical-align: bottom; }
.takeaways { margin: .25rem 0 .5rem; padding: 0; list-style: none; }
.takeaways li { margin: .35rem 0; }
h2 { border-top: 1px solid var(--rule); padding-top: 1.25rem; }
.agent h2 { border: 0; padding: 0; }
"""


def audit_page(
    audits: Sequence[Audit],
    checkpoints: Sequence[Checkpoint] = (),
    *,
    version: str = "",
    command: str = "",
) -> str:
    """The whole page; agents stand side by side in every figure, each in a colour of its own."""
    title = f"Audit of {', '.join(audit.name for audit in audits)}"
    world = " and ".join(dict.fromkeys(WORLDS.get(a.task, a.task) for a in audits))
    parts = [
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{AUDIT_MARKER}',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>\n<style>{STYLE}{MORE_STYLE}</style>\n</head>\n<body>",
        f"<h1>Does the order of its sensors matter?</h1>\n<p class=quiet>{escape(title)} in "
        f"{escape(world)}; anyorder {escape(version)}</p>",
        f'<div class="agents">{"".join(map(_card, range(len(audits)), audits))}</div>',
        _orders(audits),
        _recovery(audits),
        _memory(audits),
        _attention(audits),
        _noise(audits),
        _signals(audits),
        _identification(audits, checkpoints),
        _faults(audits),
        _method(audits, command),
        "</body>\n</html>\n",
    ]
    return "\n".join(part for part in parts if part)


def sensor_names(audit: Audit) -> list[str]:
    """What the world's sensors are called."""
    count = len({row.name.split(", ")[1] for row in audit.closed_loop.faults} - {"all"})
    if audit.task.startswith("cartpole") and count == len(SENSOR_NAMES):
        return list(SENSOR_NAMES)
    return [str(sensor) for sensor in range(count)]


def _card(index: int, audit: Audit) -> str:
    remarks = "".join(f'<p class="note">{escape(remark)}</p>' for remark in audit.remarks)
    return (
        f'<section class="agent" style="border-top-color: var(--c{index % COLOURS})">'
        f"<h2>{escape(audit.name)}</h2>"
        f'<p class="quiet">{escape(audit.kind)}, {audit.parameters:,} parameters</p>'
        f'<p class="word">{escape(audit.verdict)}</p><p>{escape(audit.sentence)}</p>{remarks}</section>'
    )


def _section(
    heading: str, explained: str, said: Sequence[tuple[int, str | None]], inside: str, audits
) -> str:
    """A heading, what was done, what came of it for each agent, and the figure."""
    items = "".join(
        f'<li><span class="named">{_chip(index)}<span><b>{escape(audits[index].name)}</b>: '
        f"{escape(text)}</span></span></li>"
        for index, text in said
        if text
    )
    return (
        f"<h2>{escape(heading)}</h2>\n<p>{escape(explained)}</p>\n"
        f'<ul class="takeaways">{items}</ul>\n{inside}'
    )


def _chip(index: int) -> str:
    return (
        '<svg class="chip" viewBox="0 0 32 14" aria-hidden="true"><path d="M0 7H32" stroke-width="9" '
        f'stroke="var(--c{index % COLOURS})"/></svg>'
    )


def _drawn(svg: str, label: str, note: str = "") -> str:
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1)
    caption = f'<figcaption class="note">{escape(note)}</figcaption>' if note else ""
    return f'<figure class="drawing">{svg}{caption}</figure>'


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(tag: str, cells: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{' class=words' if index == 0 else ''}>{escape(cell)}</{tag}>"
            for index, cell in enumerate(cells)
        )

    body = "\n".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    return (
        f'<div class="wide"><table><thead><tr>{line("th", columns)}</tr></thead>\n'
        f"<tbody>\n{body}</tbody></table></div>"
    )


def _orders(audits: Sequence[Audit]) -> str:
    rows = []
    for audit in audits:
        found, loop = audit.orders, audit.closed_loop
        rows.append(
            (
                audit.name,
                f"{found.orders}{' (all)' if found.exhaustive else ''}",
                words.small(found.worst_action),
                words.small(found.worst_code),
                words.small(found.action["float32"].high),
                words.with_interval(loop.plain.ret),
                words.with_interval(loop.orders[0].ret),
                words.with_interval(audit.doubled.ret) if audit.doubled else "–",
            )
        )
    table = _table(
        ("agent", "orders", "action, worst", "code, worst", "action, float32", "return", "shuffled",
         "each twice"),
        rows,
    )  # fmt: skip
    return _section(
        "In a fixed order",
        "Real episodes are shown to the agent again with the sensors in other orders, each from the first "
        "step to the last. What changes?",
        [(index, words.on_orders(audit)) for index, audit in enumerate(audits)],
        table,
        audits,
    )


def _recovery(audits: Sequence[Audit]) -> str:
    return _section(
        "When sensors change places in mid-episode",
        "At one step all sensors change places, and each neuron keeps its memory of another sensor. How far "
        "is the agent from what it would do if each memory had moved along with its sensor, and for how long? "
        "Once while it goes on acting, which stirs the world, and once while it is only shown what an "
        "undisturbed agent saw and did.",
        [(index, words.on_recovery(audit)) for index, audit in enumerate(audits)],
        _drawn(
            recovery_figure(audits),
            "Change of code and action after a shuffle",
            "Mean over episodes with its 95% interval. At 1.4 the code is as far away as that of any other "
            "moment would be.",
        ),
        audits,
    )


def _rows(audits: Sequence[Audit], part: str) -> dict[str, list]:
    """Returns by what was done, then by agent."""
    found: dict[str, list] = {}
    for index, audit in enumerate(audits):
        rows: Sequence[Row] = getattr(audit.closed_loop, part)
        for row in rows:
            found.setdefault(row.name, []).append((index, row.ret))
    return found


def _usual(audits: Sequence[Audit]) -> dict[int, float]:
    return {index: audit.closed_loop.plain.ret.value for index, audit in enumerate(audits)}


def _meanings(audits: Sequence[Audit], part: str) -> str:
    found = {row.name: row.meaning for audit in audits for row in getattr(audit.closed_loop, part)}
    return "; ".join(f"{name}: {meaning}" for name, meaning in found.items()) + "."


def _memory(audits: Sequence[Audit]) -> str:
    first = _section(
        "If memory is zeroed, reset or moved along",
        "Whole episodes in which the sensors change places every 100 steps. Is it the memory's being in "
        "the wrong place that costs return?",
        [(index, words.on_memory(audit)) for index, audit in enumerate(audits)],
        _drawn(
            returns_figure(_rows(audits, "memory"), _usual(audits), "memory"),
            "Returns by what is done to the memory",
            _meanings(audits, "memory"),
        ),
        audits,
    )
    slips = [(index, words.on_slips(audit)) for index, audit in enumerate(audits)]
    if not any(text for _, text in slips):
        return first
    return first + _section(
        "If memory is moved along, but wrongly",
        "Easy mistakes, each of which would look as if the neurons were not invariant.",
        slips,
        _drawn(
            returns_figure(_rows(audits, "slips"), _usual(audits), "slips"),
            "Returns by how the memory is moved wrongly",
            _meanings(audits, "slips"),
        ),
        audits,
    )


def _attention(audits: Sequence[Audit]) -> str:
    shown = [(index, audit) for index, audit in enumerate(audits) if audit.attention is not None]
    if not shown:
        return ""
    drawings = ""
    for index, audit in shown:
        assert audit.attention is not None
        order = ", ".join(sensor_names(audit)[i] for i in audit.attention.example_order)
        drawings += _drawn(
            attention_figure(audit.attention, sensor_names(audit), f"attention{index}"),
            f"Attention of {audit.name} around a shuffle",
            f"{audit.name}, step {audit.attention.example_step} of one episode. Columns are always the "
            f"same sensors, whichever wire they come in on; after the shuffle the wires carry {order}.",
        )
    later = max((a.attention.later for _, a in shown if a.attention), key=len)
    rows = []
    for _, audit in shown:
        assert audit.attention is not None
        for label, values in (
            ("memory kept", audit.attention.kept),
            ("moved along", audit.attention.along),
        ):
            cells = [words.small(value.value) for value in values]
            rows.append((f"{audit.name}, {label}", *cells, *[""] * (len(later) - len(cells))))
    table = _table(("misplaced share of attention", *(f"{step} steps" for step in later)), rows)
    return _section(
        "Attention before and after",
        "How much weight each slot of the code (rows) gives to each sensor (columns), at the step of a "
        "shuffle and later.",
        [(index, words.on_attention(audit)) for index, audit in shown],
        drawings + table,
        audits,
    )


def _noise(audits: Sequence[Audit]) -> str:
    shown = [(index, audit.noise) for index, audit in enumerate(audits) if audit.noise is not None]
    if not shown:
        return ""
    rows = [
        (
            audits[index].name,
            f"{row.channels}, sd {row.sd:g}",
            f"{row.steps}",
            words.with_interval(row.ret),
            words.with_interval(row.change),
            f"{row.mass.value:.0%}",
            "–" if not row.channels else f"{row.ratio.value:.0%}",
            "–" if not row.channels else f"{row.heard.value:.1%}",
        )
        for index, noise in shown
        for row in noise.rows
    ]
    table = _table(
        ("agent", "channels", "steps", "return", "change", "attention to noise", "channel : sensor",
         "noise in the sum"),
        rows,
    )  # fmt: skip
    drawing = _drawn(
        noise_figure(shown),
        "Returns and attention with channels of noise",
        "Gaussian noise of standard deviation 0.1. Dashed: the attention that noise would get if all "
        "channels got alike. Shares are of what the same steps of the same episodes earn without noise.",
    )
    return _section(
        "Sensors that carry nothing",
        "More and more channels of noise join the world's own sensors. Does the agent listen to them?",
        [(index, text) for index, audit in enumerate(audits) for text in words.on_noise(audit)],
        drawing + table,
        audits,
    )


def _signals(audits: Sequence[Audit]) -> str:
    rows = _rows(audits, "signals")
    if not rows:
        return ""
    return _section(
        "What its neurons cannot do without",
        "One thing is taken from the neurons or from their attention, for whole undisturbed episodes.",
        [(index, words.on_signals(audit)) for index, audit in enumerate(audits)],
        _drawn(
            returns_figure(rows, _usual(audits), "signals"),
            "Returns by what was taken away",
            _meanings(audits, "signals"),
        ),
        audits,
    )


def _identification(audits: Sequence[Audit], checkpoints: Sequence[Checkpoint]) -> str:
    shown = [
        (index, audit.identification)
        for index, audit in enumerate(audits)
        if audit.identification is not None
    ]
    inside = ""
    if shown:
        inside = _drawn(
            identification_figure(shown),
            "Neurons whose sensor a probe names rightly",
            "Held-out episodes, with 95% intervals. Dashed: in the step before the shuffle; dotted: chance. "
            "The probe is linear, and the same at every step.",
        )
    if checkpoints:
        inside += _drawn(
            checkpoints_figure(checkpoints),
            "Identification and returns along training",
            "Agents along training, in the same episodes.",
        )
    if not inside:
        return ""
    return _section(
        "Does a neuron know which sensor it holds?",
        "A linear probe reads each neuron's memory and names its sensor. No neuron is told while it acts: "
        "what the probe finds there, the neuron has found out from its signal.",
        [(index, words.on_identification(audit)) for index, audit in enumerate(audits)],
        inside,
        audits,
    )


def _faults(audits: Sequence[Audit]) -> str:
    shares = [fault_shares(audit, sensor_names(audit)) for audit in audits]
    return _section(
        "Sensors that fail or lie",
        "One sensor at a time, or all of them, for whole episodes.",
        [
            (index, words.on_faults(audit, *found))
            for index, (audit, found) in enumerate(zip(audits, shares, strict=True))
        ],
        _drawn(
            faults_figure(audits, sensor_names(audits[0])),
            "Share of the return kept with a sensor at fault",
            _fault_meanings(audits),
        ),
        audits,
    )


def _fault_meanings(audits: Sequence[Audit]) -> str:
    found = {row.name.split(",")[0]: row.meaning for row in audits[0].closed_loop.faults}
    return "; ".join(f"{name}: {meaning}" for name, meaning in found.items()) + "."


def _method(audits: Sequence[Audit], command: str) -> str:
    verdicts = "".join(f"<li><b>{name}</b>: {escape(text)}</li>" for name, text in MEANINGS.items())
    counts = ", ".join(f"{a.name} {a.episodes} ({a.seconds:.0f} s)" for a in audits)
    return (
        f"<h2>How this was measured</h2>\n<ul>{verdicts}</ul>\n"
        '<p class="note">Every trial starts from the same states for every agent. Intervals are 95% '
        f"bootstrap intervals over episodes; episodes per trial: {escape(counts)}. Orders and moved memory "
        "are compared in float64, where rounding is far below 0.00001.</p>\n"
        + (f"<code>{escape(command)}</code>" if command else "")
    )
