"""Perturbations by name, as a person types them: `double+noise:5:0.1+reshuffle:25`."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from anyorder.sensors.ordeal import Ordeal
from anyorder.sensors.perturb import (
    AbstractPerturbation,
    Double,
    Drop,
    Flicker,
    Flip,
    Noise,
    Rescale,
    Reshuffle,
    Shuffle,
    Unchanged,
    chain,
)

PERTURBATIONS: dict[str, type[AbstractPerturbation]] = {
    "unchanged": Unchanged,
    "shuffle": Shuffle,
    "reshuffle": Reshuffle,
    "double": Double,
    "noise": Noise,
    "drop": Drop,
    "flicker": Flicker,
    "rescale": Rescale,
    "flip": Flip,
    "ordeal": Ordeal,
}
"""By name. Numbers after a name fill its settings in order."""


def perturbation_named(spec: str) -> AbstractPerturbation:
    """The perturbation a text stands for; ValueError if it stands for none.

    >>> perturbation_named("double+reshuffle:25").count(5)
    10
    """
    parts = [_part(text) for text in spec.split("+")]
    return parts[0] if len(parts) == 1 else chain(*parts)


def _part(text: str) -> AbstractPerturbation:
    name, *numbers = text.strip().split(":")
    if name not in PERTURBATIONS:
        raise ValueError(
            f"there is no perturbation {name!r}: join some of {', '.join(PERTURBATIONS)} with +"
        )
    kind = PERTURBATIONS[name]
    settings = {field.name: field for field in dataclasses.fields(kind)}
    if len(numbers) > len(settings):
        raise ValueError(f"{name} takes at most {len(settings)} numbers, got {text!r}")
    values = {
        name: _number(number, settings[name], text)
        for name, number in zip(settings, numbers, strict=False)
    }
    required = [n for n, field in settings.items() if field.default is dataclasses.MISSING]
    if len(values) < len(required):
        raise ValueError(f"{name} needs {', '.join(required)}, as in {name}:25")
    return kind(**values)


def _number(number: str, setting: dataclasses.Field[Any], text: str) -> int | float:
    """What a number in `text` says, which is whole where the setting must be."""
    try:
        value = float(number)
    except ValueError as error:
        raise ValueError(f"{text!r} must be a name and numbers, as in noise:5:0.1") from error
    if not math.isfinite(value):
        raise ValueError(f"{text!r} holds {number}: give finite numbers, as in noise:5:0.1")
    if setting.type not in (int, "int"):
        return value
    if value != int(value):
        raise ValueError(f"{setting.name} must be a whole number, got {number} in {text!r}")
    return int(value)
