"""Scores, steps and seconds as people write them."""

from __future__ import annotations

import math
from typing import Literal


def finite(value: float) -> float | None:
    """A rounded number, or None for one that JSON cannot say."""
    return round(float(value), 4) if math.isfinite(value) else None


def number(value: float) -> str:
    """A score.

    >>> number(312.4), number(-0.2), number(float("nan"))
    ('312', '-0.2', '–')
    """
    if math.isnan(value):
        return "–"
    return f"{value:.0f}" if abs(value) >= 10 or value == round(value) else f"{value:.1f}"


def count(value: float) -> str:
    """Steps, or steps per second.

    >>> count(2_140_000.0), count(900.0), count(58_300.0)
    ('2.1 M', '900', '58 k')
    """
    if math.isnan(value):
        return "–"
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.{1 if value < 10 * size else 0}f}{unit}"
    return f"{value:.0f}"


def duration(value: float) -> str:
    """Seconds as people say them.

    >>> duration(8.25), duration(42.0), duration(738.0), duration(12_240.0)
    ('8.2 s', '42 s', '12.3 min', '3.4 h')
    """
    if math.isnan(value):
        return "–"
    if value < 120:
        return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.1f} min" if value < 7200 else f"{value / 3600:.1f} h"


def between(ends: tuple[float, float]) -> str:
    """An interval of scores."""
    return "–" if math.isnan(ends[0]) else f"{number(ends[0])} to {number(ends[1])}"


def amount(value: float, unit: Literal["steps", "seconds"]) -> str:
    """Steps or seconds, with their unit."""
    return f"{count(value)} steps" if unit == "steps" else duration(value)
