"""The audit's figures, each an SVG for use inside a page. Every agent has its own colour throughout."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from anyorder.evaluation.attention_shift import AttentionAudit
from anyorder.evaluation.audit import Audit
from anyorder.evaluation.emergence import SOON, Checkpoint
from anyorder.evaluation.estimate import NOT_MEASURED, Estimate
from anyorder.evaluation.identification import IdentificationAudit
from anyorder.evaluation.noise_channels import SD, NoiseAudit, NoiseRow
from anyorder.evaluation.recovery import WINDOW, Curve
from anyorder.report.svg import INK_MARK, RULE_MARK, drawing, for_a_page, series

DIVERGING = "RdBu_r"


def tidy(axes: Any, *, grid: str = "y") -> None:
    """Ink, rules and no box."""
    axes.tick_params(colors=INK_MARK, which="both")
    for label in (axes.xaxis.label, axes.yaxis.label, axes.title):
        label.set_color(INK_MARK)
    axes.grid(axis=grid, color=RULE_MARK, lw=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(RULE_MARK)


def returns_figure(
    rows: Mapping[str, Sequence[tuple[int, Estimate]]], usual: Mapping[int, float], name: str
) -> str:
    """Returns with their intervals, a line per thing done; dashed, what each agent earns undisturbed.

    `rows` gives, by what was done, agents' numbers and what they earned.
    """
    agents = sorted({agent for found in rows.values() for agent, _ in found})
    height = 0.9 + len(rows) * (0.24 + 0.13 * len(agents))
    with for_a_page(name):
        figure = Figure(figsize=(8.4, height), layout="constrained")
        axes = figure.subplots()
        for agent in agents:
            axes.axvline(usual[agent], color=series(agent), lw=1.2, ls=(0, (4, 3)))
        for line, found in enumerate(rows.values()):
            for agent, earned in found:
                place = line + (agents.index(agent) - (len(agents) - 1) / 2) * 0.22
                axes.plot([earned.low, earned.high], [place, place], color=series(agent), lw=2.4)
                axes.plot(earned.value, place, "o", ms=6, color=series(agent), mec="none")
        axes.set_yticks(range(len(rows)), list(rows))
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("mean return of an episode, with 95% interval (dashed: undisturbed)")
        axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
        tidy(axes, grid="x")
        return drawing(figure, name)


def recovery_figure(audits: Sequence[Audit]) -> str:
    """How far agents are from knowing where their sensors are, before and after a shuffle."""
    coded = any(audit.recovery.acting.code is not None for audit in audits)
    with for_a_page("recovery"):
        figure = Figure(figsize=(9.6, 6.4 if coded else 3.6), layout="constrained")
        panels = figure.subplots(2 if coded else 1, 2, sharex=True, sharey="row", squeeze=False)
        for index, audit in enumerate(audits):
            for column, found in enumerate((audit.recovery.acting, audit.recovery.watching)):
                if found.code is not None:
                    _line(panels[0, column], found.code.curve, index)
                _line(panels[-1, column], found.action.curve, index)
        panels[0, 0].set_title("acting: it goes on with its sensors shuffled", fontsize=12)
        panels[0, 1].set_title("watching: it is shown an undisturbed episode", fontsize=12)
        if coded:
            panels[0, 0].set_ylabel("change of the code,\nin units of its usual variation")
        panels[-1, 0].set_ylabel("change of the action")
        for axes in panels.ravel():
            axes.axvline(0, color=INK_MARK, lw=1, ls=(0, (4, 3)))
            axes.set_xlim(-10, WINDOW)
            axes.set_ylim(bottom=0)
            tidy(axes)
        for axes in panels[-1]:
            axes.set_xlabel("steps since the sensors changed places")
        return drawing(figure, "recovery")


def _line(axes: Any, curve: Curve, index: int) -> None:
    axes.fill_between(curve.steps, curve.low, curve.high, color=series(index), alpha=0.18, lw=0)
    axes.plot(curve.steps, curve.mean, color=series(index), lw=2)


def attention_figure(found: AttentionAudit, sensors: Sequence[str], name: str) -> str:
    """Attention matrices around a shuffle, their columns always the same sensors."""
    largest = max(float(np.abs(matrix).max()) for matrix in found.example.values()) or 1.0
    signed = min(float(matrix.min()) for matrix in found.example.values()) < 0
    colours = {"cmap": DIVERGING, "vmin": -largest, "vmax": largest}
    if not signed:
        colours = {"cmap": "Oranges", "vmin": 0.0, "vmax": largest}
    with for_a_page(name, 10):
        figure = Figure(figsize=(10.5, 3.6), layout="constrained")
        panels = figure.subplots(1, len(found.example), sharey=True)
        drawn: Any = None
        for axes, (title, matrix) in zip(panels, found.example.items(), strict=True):
            drawn = axes.pcolormesh(matrix, **colours, edgecolors="none", antialiased=False)
            axes.invert_yaxis() if axes is panels[0] else None
            axes.set_title(title.replace(", ", ",\n"), fontsize=10)
            names = _short(sensors, matrix.shape[1])
            axes.set_xticks(np.arange(matrix.shape[1]) + 0.5, names, fontsize=8)
            axes.set_yticks([])
            tidy(axes, grid="x")
            axes.grid(visible=False)
        panels[0].set_ylabel(f"{next(iter(found.example.values())).shape[0]} slots of the code")
        bar = figure.colorbar(drawn, ax=panels, shrink=0.9)
        bar.set_label("attention weight", color=INK_MARK)
        bar.ax.tick_params(colors=INK_MARK)
        return drawing(figure, name)


def _short(sensors: Sequence[str], count: int) -> list[str]:
    """Names of sensors, of which there is no room for many."""
    return list(sensors) if count <= 8 else [str(i) if i % 5 == 0 else "" for i in range(count)]


def noise_figure(found: Sequence[tuple[int, NoiseAudit]]) -> str:
    """Return kept and attention against the number of channels that carry noise."""
    with for_a_page("noise"):
        figure = Figure(figsize=(9.6, 3.7), layout="constrained")
        earned, paid = figure.subplots(1, 2)
        most = 0
        for index, audit in found:
            rows = [row for row in audit.rows if row.sd == SD]
            _whiskers(earned, [row.channels for row in rows], list(map(kept, rows)), index)
            attended = [row for row in rows if row.channels]
            _whiskers(
                paid, [row.channels for row in attended], [row.mass for row in attended], index
            )
            most = max(most, max(row.channels for row in rows))
        at = np.geomspace(1, max(most, 2), 60)
        paid.plot(at, at / (at + 5), color=INK_MARK, lw=1, ls=(0, (4, 3)))
        for axes, title, unit in (
            (earned, "what is earned", "share of the return kept"),
            (paid, "who is attended to", "share of attention paid to noise"),
        ):
            axes.set_xscale("symlog", linthresh=1)
            axes.set_xticks([0, 1, 5, 10, 50, 100, 1000][: 7 if most > 100 else 6])
            axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
            axes.minorticks_off()
            axes.set_xlabel("channels of noise")
            axes.set_ylabel(unit)
            axes.set_title(title, fontsize=12)
            axes.set_ylim(bottom=0)
            axes.yaxis.set_major_formatter(lambda y, _: f"{y:.0%}")
            tidy(axes)
        return drawing(figure, "noise")


def kept(row: NoiseRow) -> Estimate:
    """What is earned with noise, as a share of what the same steps of the same episodes earn without."""
    usual = row.ret.value - row.change.value
    if not usual > 0:
        return NOT_MEASURED
    value, low, high = (
        max(0.0, 1 + change / usual)
        for change in (row.change.value, row.change.low, row.change.high)
    )
    return Estimate(value, low, high, row.ret.episodes)


def _whiskers(axes: Any, at: Sequence[float | int], values: Sequence[Estimate], index: int) -> None:
    centre = np.array([value.value for value in values])
    ends = np.array([[value.low, value.high] for value in values]).reshape(-1, 2).T
    axes.fill_between(at, *ends, color=series(index), alpha=0.18, lw=0)
    axes.plot(at, centre, color=series(index), lw=2, marker="o", ms=5)


def identification_figure(found: Sequence[tuple[int, IdentificationAudit]]) -> str:
    """How many neurons a probe can name the sensor of, after a shuffle and from the start."""
    with for_a_page("identification"):
        figure = Figure(figsize=(9.6, 3.7), layout="constrained")
        panels = figure.subplots(1, 2, sharey=True)
        for index, audit in found:
            for axes, values in zip(panels, (audit.after_shuffle, audit.from_start), strict=True):
                seen = [
                    (step, value)
                    for step, value in zip(audit.since, values, strict=True)
                    if value.episodes
                ]
                _whiskers(axes, [step for step, _ in seen], [value for _, value in seen], index)
            panels[0].axhline(audit.before.value, color=series(index), lw=1.2, ls=(0, (4, 3)))
        for axes, title, since in (
            (panels[0], "after a shuffle", "steps since the sensors changed places"),
            (panels[1], "from the start", "steps since the beginning"),
        ):
            axes.axhline(found[0][1].chance, color=INK_MARK, lw=1, ls=(0, (1, 2)))
            axes.set_xscale("symlog", linthresh=5)
            axes.set_xticks([0, 2, 5, 10, 20, 50, 100, 300])
            axes.set_xlim(-0.4, 330)
            axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
            axes.minorticks_off()
            axes.set_xlabel(since)
            axes.set_title(title, fontsize=12)
            axes.set_ylim(0, 1.02)
            axes.yaxis.set_major_formatter(lambda y, _: f"{y:.0%}")
            tidy(axes)
        panels[0].set_ylabel("neurons whose sensor is named rightly")
        return drawing(figure, "identification")


def faults_figure(audits: Sequence[Audit], sensors: Sequence[str]) -> str:
    """What is left of the return with one sensor at fault, as a share of the undisturbed return."""
    with for_a_page("faults", 10):
        rows, columns = math.ceil(len(audits) / 2), 2
        figure = Figure(figsize=(11, 3.5 * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        drawn: Any = None
        for axes in panels[len(audits) :]:
            axes.set_axis_off()
        for axes, audit in zip(panels, audits, strict=False):
            names, faults, shares = fault_shares(audit, sensors)
            drawn = axes.pcolormesh(shares, cmap="RdYlBu", vmin=0, vmax=1, edgecolors="none")
            axes.invert_yaxis()
            for (row, column), share in np.ndenumerate(shares):
                if not math.isnan(share):
                    dark = 0.25 < share < 0.8
                    axes.text(
                        column + 0.5, row + 0.5, f"{share:.0%}", ha="center", va="center",
                        color="#1f2733" if dark else "#ffffff",
                    )  # fmt: skip
            axes.set_xticks(np.arange(len(faults)) + 0.5, faults)
            axes.set_yticks(np.arange(len(names)) + 0.5, names)
            axes.set_title(audit.name, fontsize=12)
            tidy(axes)
            axes.grid(visible=False)
        bar = figure.colorbar(drawn, ax=list(panels), shrink=0.8)
        bar.set_label("share of the return kept", color=INK_MARK)
        bar.ax.tick_params(colors=INK_MARK)
        bar.ax.yaxis.set_major_formatter(lambda y, _: f"{y:.0%}")
        return drawing(figure, "faults")


def fault_shares(audit: Audit, sensors: Sequence[str]) -> tuple[list[str], list[str], np.ndarray]:
    """Rows, columns, and the share of the return that is kept with this fault of that sensor."""
    table: dict[str, dict[str, float]] = {}
    usual = audit.closed_loop.plain.ret.value
    for row in audit.closed_loop.faults:
        fault, sensor = row.name.split(", ")
        table.setdefault(sensor, {})[fault] = (
            max(0.0, row.ret.value / usual) if usual > 0 else math.nan
        )
    faults = list(dict.fromkeys(fault for found in table.values() for fault in found))
    names = [sensors[int(s)] if s.isdigit() and int(s) < len(sensors) else s for s in table]
    shares = [[found.get(fault, math.nan) for fault in faults] for found in table.values()]
    return names, faults, np.array(shares)


def checkpoints_figure(found: Sequence[Checkpoint]) -> str:
    """What emerges in training: identification and returns, agent by agent."""
    known = all(not math.isnan(each.updates) for each in found)
    at = [each.updates for each in found] if known else list(range(len(found)))
    with for_a_page("checkpoints"):
        figure = Figure(figsize=(9.6, 3.6), layout="constrained")
        named, earned = figure.subplots(1, 2)
        pick: list[tuple[Any, Callable[[Checkpoint], Estimate], int, str]] = [
            (named, lambda each: each.settled, 0, "before a shuffle"),
            (named, lambda each: each.soon, 1, f"{SOON} steps after it"),
            (earned, lambda each: each.ret, 0, "undisturbed"),
            (earned, lambda each: each.ret_reshuffled, 1, "reshuffled every 100 steps"),
        ]
        for axes, which, index, label in pick:
            _whiskers(axes, at, [which(each) for each in found], index)
            axes.plot([], [], color=series(index), lw=2, marker="o", ms=5, label=label)
        named.set_ylabel("neurons whose sensor is named rightly")
        named.yaxis.set_major_formatter(lambda y, _: f"{y:.0%}")
        named.set_ylim(0, 1.02)
        earned.set_ylabel("mean return")
        for axes in (named, earned):
            axes.set_xlabel("updates of training")
            if not known:
                axes.set_xticks(at, [each.name for each in found], rotation=20, ha="right")
                axes.set_xlabel("")
            axes.legend(frameon=False, labelcolor=INK_MARK)
            tidy(axes)
        return drawing(figure, "checkpoints")
