"""Curves of a study: scores along training, and the share of seeds that are there yet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from anyorder.evaluation import interval
from anyorder.studies.cell import Outcome
from anyorder.studies.times import reached_times


def draw_curves(found: Mapping[str, Outcome], path: Path, *, unit: str) -> None:
    """Mean held-out score over seeds with its 95% bootstrap interval, one line per kind of agent."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for (name, outcome), colour in zip(found.items(), _colours(len(found)), strict=True):
        middle = outcome.scores.mean(axis=0)
        axes.plot(outcome.at, middle, color=colour, label=name, lw=1.6)
        if len(outcome.scores) > 1:
            ends = np.array([interval(column, np.mean) for column in outcome.scores.T])
            axes.fill_between(outcome.at, *ends.T, color=colour, alpha=0.12, lw=0)
    axes.set_xlabel(unit)
    axes.set_ylabel("held-out score")
    _finish(figure, path)


def draw_reached(found: Mapping[str, Outcome], path: Path, *, unit: str, threshold: float) -> None:
    """Kaplan-Meier: the share of seeds that have reached the threshold, one line per kind of agent."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for (name, outcome), colour in zip(found.items(), _colours(len(found)), strict=True):
        curve = reached_times(outcome.at, outcome.scores, threshold).curve()
        at = np.concatenate([[0.0], curve.quantiles, [outcome.at[-1]]])
        left = np.concatenate([[1.0], curve.probabilities, curve.probabilities[-1:]])
        axes.step(at, 100 * (1 - left), where="post", color=colour, label=name, lw=1.6)
    axes.set_xlabel(unit)
    axes.set_ylabel(f"% of seeds that reached {threshold:.0f}")
    axes.set_ylim(-2, 102)
    _finish(figure, path)


def _colours(count: int) -> list[tuple[float, ...]]:
    return [colormaps["tab10"](index % 10) for index in range(count)]


def _finish(figure: Figure, path: Path) -> None:
    axes = figure.axes[0]
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
