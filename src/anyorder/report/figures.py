"""Pictures of runs, results and attention, each drawn into a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from anyorder.report.cells import Cell
from anyorder.report.curves import Against, Centre, along, curve
from anyorder.report.recording import Recording
from anyorder.report.svg import COLOURS, INK_MARK, RULE_MARK, SERIES_MARK, drawing, for_a_page
from anyorder.report.tables import HEADINGS

INK, ACCENT, QUIET = "#30456b", "#d1652d", "#9aa5b8"
SENSOR_NAMES = ("x", "x'", "cos θ", "sin θ", "θ'")


def learning_curve(lines: Sequence[Mapping[str, Any]], path: Path, *, title: str) -> None:
    """Held-out score and the candidates' returns against updates and environment steps."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    updates = [line["update"] for line in lines]
    if lines and "best" in lines[0]:
        low, high = ([line[name] for line in lines] for name in ("worst", "best"))
        axes.fill_between(
            updates, low, high, color=QUIET, alpha=0.3, lw=0, label="candidates, worst to best"
        )
        axes.plot(updates, [line["mean"] for line in lines], color=QUIET, label="candidates, mean")
    axes.plot(updates, [line["test"] for line in lines], color=ACCENT, lw=2, label="held-out test")
    if lines:
        last = lines[-1]
        axes.set_xlabel(
            f"update ({last['steps'] / 1e6:.0f} M steps, {last['seconds'] / 60:.1f} min in all)"
        )
    axes.set_ylabel("return")
    axes.set_title(title)
    axes.legend(frameon=False)
    _finish(figure, axes, path)


def return_histograms(
    returns: Mapping[str, Mapping[str, Float[np.ndarray, " episodes"]]],
    protocols: Sequence[str],
    path: Path,
) -> None:
    """How the returns of each agent spread, one panel per protocol."""
    shown = [name for name in protocols if any(name in found for found in returns.values())]
    figure = Figure(figsize=(3 * len(shown), 3.2), layout="constrained")
    panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    bins = np.linspace(-20, 1000, 41)
    colours = dict(zip(returns, (ACCENT, INK, QUIET), strict=False))
    for axes, protocol in zip(panels, shown, strict=True):
        for agent, found in returns.items():
            if protocol in found:
                share = np.full(found[protocol].size, 100 / found[protocol].size)
                axes.hist(
                    found[protocol], bins, weights=share, histtype="stepfilled",
                    color=colours.get(agent), alpha=0.55, label=agent,
                )  # fmt: skip
        axes.set_title(HEADINGS[protocol], fontsize=10)
        axes.set_xlabel("return of an episode")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("% of episodes")
    panels[0].legend(frameon=False)
    figure.savefig(path, dpi=130)


def attention_over_time(
    recording: Recording, path: Path, *, title: str, window: tuple[int, int] | None = None
) -> None:
    """Attention to each sensor before and after a shuffle, and what it does to code and reward.

    Rows follow the world's sensors, whichever wire they come in on.
    """
    first, last = window or (0, recording.length)
    steps = np.arange(first, last)
    weights = recording.weights_by_sensor()[first:last]  # (steps, slots, sensors)
    n_slots, n_sensors = weights.shape[1:]
    figure = Figure(figsize=(9, 6), layout="constrained")
    heat, change, reward = figure.subplots(
        3, 1, sharex=True, gridspec_kw={"height_ratios": [4, 1.3, 1.3]}
    )
    image = heat.imshow(
        weights.transpose(2, 1, 0).reshape(n_sensors * n_slots, -1),
        aspect="auto", cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest",
        extent=(first, last, n_sensors, 0),
    )  # fmt: skip
    heat.set_yticks(np.arange(n_sensors) + 0.5, SENSOR_NAMES[:n_sensors])
    for row in range(1, n_sensors):
        heat.axhline(row, color="white", lw=1.5)
    heat.set_title(title)
    figure.colorbar(image, ax=heat, label=f"attention weight ({n_slots} slots a row)")
    change.plot(steps, recording.code_change()[first:last], color=INK)
    change.set_ylabel("change\nof code")
    reward.plot(steps, recording.reward[first:last], color=ACCENT)
    reward.set_ylabel("reward")
    reward.set_xlabel("step")
    for axes in (heat, change, reward):
        for shuffle in recording.shuffles():
            if first < shuffle < last:
                axes.axvline(shuffle, color="black", ls="--", lw=1)
    for axes in (change, reward):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


def _finish(figure: Figure, axes: Any, path: Path) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


DASHES = ("", "6 3", "2 2")
"""Lines of the 1st, 9th and 17th method on; each has a colour of its own among COLOURS."""


def curves_over_seeds(cells: Sequence[Cell], against: Against, centre: Centre) -> str:
    """An SVG of every cell's held-out score along steps or seconds, for use inside a page.

    Its colours are the page's variables --ink, --rule and --c0, --c1, ..., so it follows the page
    from light to dark.
    """
    ends = [along(run, against)[-1] for cell in cells for run in cell.tested]
    unit, name = _unit(max(ends, default=1.0), against)
    with for_a_page(against):
        figure = Figure(figsize=(5.6, 4), layout="constrained")
        axes = figure.subplots()
        faint = min(
            0.35, max(0.1, 6 / max(1, len(ends)))
        )  # many seeds together must not hide the means
        for index, cell in enumerate(cells):
            _draw_cell(axes, cell, against, centre, unit, index, faint)
        starts = [along(run, against)[0] for cell in cells for run in cell.tested]
        if ends and max(ends) > UNEVEN * min(ends) and min(starts) > 0:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        else:
            axes.set_xlim(left=0)
        axes.set_xlabel(name, color=INK_MARK)
        axes.set_ylabel("held-out score", color=INK_MARK)
        axes.tick_params(colors=INK_MARK, which="both")
        axes.grid(axis="y", color=RULE_MARK, lw=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(RULE_MARK)
        return drawing(figure, against)


UNEVEN = 20
"""Where the longest run is this many times the shortest, the axis is logarithmic."""


def _draw_cell(
    axes: Any, cell: Cell, against: Against, centre: Centre, unit: float, index: int, faint: float
) -> None:
    colour = f"{SERIES_MARK}{index % COLOURS:02x}"
    dash = DASHES[index // COLOURS % len(DASHES)]
    style = (0, tuple(map(float, dash.split()))) if dash else "solid"
    if len(cell.tested) > 1:
        for run in cell.tested:
            axes.plot(along(run, against) / unit, run.score, color=colour, lw=0.8, alpha=faint)
    found = curve(cell, against, centre)
    axes.fill_between(
        found.at / unit,
        found.low,
        found.high,
        color=colour,
        alpha=min(0.16, 0.2 * faint + 0.09),
        lw=0,
    )
    all_there = found.seeds == len(cell.tested)
    missing = np.pad(~all_there, 1)
    some_missing = missing[:-2] | missing[1:-1] | missing[2:]  # up to where the thick line begins
    for where, width in ((all_there, 2.2), (some_missing, 1.0)):
        scores = np.where(where, found.centre, np.nan)
        axes.plot(found.at / unit, scores, color=colour, lw=width, ls=style)
    if len(found.at) == 1:
        axes.plot(found.at / unit, found.centre, color=colour, marker="o")


def _unit(longest: float, against: Against) -> tuple[float, str]:
    """What an axis counts in, and how it is called."""
    if against == "seconds":
        units = ((7200.0, 3600.0, "hours"), (240.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))
    else:
        units = (
            (2e9, 1e9, "environment steps, thousand millions"),
            (2e6, 1e6, "environment steps, millions"),
            (2e3, 1e3, "environment steps, thousands"),
            (0.0, 1.0, "environment steps"),
        )
    return next((unit, name) for least, unit, name in units if longest >= least)
