"""What slots ask for: rows of a table, one per slot, none of which knows of any sensor."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from jaxtyping import Float

FIXED, LEARNED = "sinusoidal", "learned"


@lru_cache
def sinusoidal_table(n_slots: int, width: int) -> Float[np.ndarray, "slots width"]:
    """The fixed queries: slot r, column c holds sin (even c) or cos (odd c) of r / 10000^(2 (c // 2) / width).

    >>> sinusoidal_table(16, 8).shape
    (16, 8)
    """
    slots, columns = np.arange(n_slots)[:, None], np.arange(width)[None, :]
    angles = slots / np.power(10_000.0, 2 * (columns // 2) / width)
    return np.where(columns % 2 == 0, np.sin(angles), np.cos(angles))


@lru_cache
def given_table(text: str) -> Float[np.ndarray, "slots width"]:
    """Queries as a person types them, rows apart by semicolons; ValueError if these are none.

    >>> given_table("1,0;0,1").tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    try:
        rows = [[float(number) for number in row.split(",")] for row in text.split(";")]
        table = np.array(rows)
    except ValueError as error:
        raise ValueError(
            f"Queries must be {FIXED}, {LEARNED} or rows of numbers such as 1,0;0,1, got {text!r}."
        ) from error
    if not np.isfinite(table).all():
        raise ValueError(f"Queries must be finite numbers, got {text!r}.")
    return table


def check_queries(text: str, n_slots: int, width: int) -> None:
    """Raise ValueError if this names no queries, or such as do not fit slots and width."""
    if text not in (FIXED, LEARNED) and given_table(text).shape != (n_slots, width):
        shape = " x ".join(map(str, given_table(text).shape))
        raise ValueError(
            f"The queries given are {shape}; {n_slots} slots need {n_slots} x {width}."
        )
