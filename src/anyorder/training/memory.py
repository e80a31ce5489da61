"""What a training run will need, said before it starts."""

from __future__ import annotations

import os
from dataclasses import dataclass

FLOAT = 4


@dataclass(frozen=True)
class Estimate:
    """Bytes a run of evolution needs beyond the program itself."""

    parameters: int
    search: int
    """The strategy's state and the candidates."""
    episodes: int
    """Episodes in flight."""

    @property
    def total(self) -> int:
        return self.search + self.episodes


def estimate(
    algorithm: str, parameters: int, population: int, episodes: int, numbers_per_episode: int
) -> Estimate:
    """Memory of a run whose episodes carry `numbers_per_episode` numbers each, all in flight at once."""
    search = FLOAT * 4 * population * parameters
    if algorithm == "cma-es":
        search += FLOAT * 6 * parameters**2  # covariance, eigenvectors, and what making them takes
    return Estimate(parameters, search, FLOAT * 4 * population * episodes * numbers_per_episode)


def advice(algorithm: str, needed: Estimate, available: int) -> str | None:
    """A sentence on what will not go well, or None."""
    n = needed.parameters
    if algorithm == "cma-es" and needed.search > available // 2:
        return (
            f"Full CMA-ES keeps {n} x {n} matrices, about {in_words(needed.search)} of the "
            f"{in_words(available)} here: choose sep-cma-es, snes, pgpe or open-es."
        )
    if algorithm == "cma-es" and n > 500:
        return (
            f"Full CMA-ES decomposes a {n} x {n} matrix in every generation, which will take "
            "longer than the episodes: sep-cma-es, snes, pgpe or open-es do not."
        )
    if needed.total > available:
        return (
            f"This needs about {in_words(needed.total)} and the machine has {in_words(available)}: "
            "lower the population or the episodes."
        )
    return None


def machine_memory() -> int:
    """Bytes of memory this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def in_words(size: float | int) -> str:
    """`in_words(3 * 2**20)` is "3.0 MiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
