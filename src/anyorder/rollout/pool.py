"""Who plays work items: something with workers, on this machine or on many."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Self

from anyorder.rollout.player import Item, Played

Watch = Callable[[int, int], None]
"""Told how many items of how many have been played."""
AHEAD = 2
"""Items a worker is given at once, so that it never waits for the next; more would pile up."""


class AbstractPool(abc.ABC):
    """Workers that play items. Which of them plays which makes no difference to what comes out."""

    watch: Watch | None = None

    @abc.abstractmethod
    def play(self, program: bytes, items: Sequence[Item]) -> list[Played]:
        """What each item came to, in their order. Items of workers that vanish are played again."""

    @abc.abstractmethod
    def close(self) -> None:
        """Let the workers go. The next `play` calls new ones."""

    @abc.abstractmethod
    def describe(self) -> str:
        """Who plays, in a few words."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def say(self, done: int, total: int) -> None:
        """Tell whoever watches."""
        if self.watch is not None:
            self.watch(done, total)
