"""Pictures of runs, results and attention, each drawn into a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from anyorder.report.recording import Recording
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
