"""Perturbations by name, as a person types them: `double+noise:5:0.1+reshuffle:25`."""

from __future__ import annotations

import dataclasses

from anyorder.sensors.ordeal import Ordeal
from anyorder.sensors.perturb import (
    AbstractPerturbation,
    Double,
    Drop,
    Flicker,
    Noise,
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
    try:
        values = [
            float(number) if "." in number or "e" in number else int(number) for number in numbers
        ]
    except ValueError as error:
        raise ValueError(f"{text!r} must be a name and numbers, as in noise:5:0.1") from error
    required = [n for n, field in settings.items() if field.default is dataclasses.MISSING]
    if len(values) < len(required):
        raise ValueError(f"{name} needs {', '.join(required)}, as in {name}:25")
    return kind(**dict(zip(settings, values, strict=False)))
