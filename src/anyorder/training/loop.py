"""The loop around any learner: update, test now and then, stop when told to."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import PRNGKeyArray

from anyorder.policies import AbstractPolicy


@runtime_checkable
class Learner(Protocol):
    """What the loop asks of a way to learn. State goes in and comes out; its leaves are arrays."""

    @property
    def policy(self) -> AbstractPolicy:
        """Where learning starts."""
        ...

    @property
    def planned(self) -> int:
        """Updates a whole run takes."""
        ...

    @property
    def test_every(self) -> int:
        """Updates between tests."""
        ...

    def describe(self) -> str:
        """One line on what is about to happen."""
        ...

    def advice(self) -> str | None:
        """A sentence on what will not go well, or None."""
        ...

    def init(self, key: PRNGKeyArray) -> Any: ...

    def update(self, state: Any, number: int) -> tuple[Any, dict[str, Any]]:
        """The update after `number` others; `steps` among the metrics counts environment steps."""
        ...

    def test(self, state: Any) -> tuple[Any, dict[str, Any]]:
        """Metrics on held-out episodes, the score as `test`."""
        ...

    def best(self, state: Any, *, episodes: int = ...) -> tuple[AbstractPolicy, float]:
        """The agent to keep, and its score on so many fresh episodes."""
        ...


@dataclass(frozen=True)
class Stop:
    """When to stop, whichever comes first."""

    updates: int
    seconds: float | None = None
    score: float | None = None


@dataclass(frozen=True)
class Progress:
    """How far a run has come, over all its sittings."""

    updates: int = 0
    steps: int = 0
    seconds: float = 0.0


AHEAD = 8
"""Updates handed to the device before the oldest of them is waited for: it never idles between two."""


class StepCount:
    """Steps of all updates, of one run or several at once. What the last few took is left on the device
    until somebody asks."""

    def __init__(self, steps: int | np.ndarray = 0):
        self.counted = np.asarray(steps)
        self._coming: deque[Any] = deque()

    def add(self, steps: Any) -> None:
        """Count an update's steps, and wait for the update that is AHEAD behind this one."""
        self._coming.append(steps)
        self._count_but(AHEAD)

    def all(self) -> np.ndarray:
        """The exact count, for which every update is waited for."""
        self._count_but(0)
        return self.counted

    def _count_but(self, last: int) -> None:
        while len(self._coming) > last:
            self.counted = np.asarray(self.counted + np.asarray(self._coming.popleft(), np.int64))


@dataclass(frozen=True)
class Report:
    """What there is to say after an update."""

    state: Any
    updates: int
    seconds: float
    steps: StepCount
    metrics: dict[str, float] | None
    """Set after a test, and after the last update."""
    stopped: str | None
    """Why this was the last update, or None if it was not."""

    @property
    def progress(self) -> Progress:
        """How far the run has come; waits for the device, and holds until the next update."""
        return Progress(self.updates, int(self.steps.all()), self.seconds)


def learn(
    learner: Learner, state: Any, progress: Progress, stop: Stop, *, test_every: int | None = None
) -> Iterator[Report]:
    """Update until it is time to stop. Whoever iterates may stop at any report, and its state goes on."""
    test_every = test_every or learner.test_every
    began, steps = time.monotonic(), StepCount(progress.steps)
    for updates in range(progress.updates + 1, stop.updates + 1):
        state, found = learner.update(state, updates - 1)
        metrics = dict(found)
        steps.add(metrics.pop("steps"))
        sitting = time.monotonic() - began
        stopped = None
        if updates >= stop.updates:
            stopped = f"reached {stop.updates} updates"
        elif stop.seconds is not None and sitting >= stop.seconds:
            stopped = f"the {stop.seconds / 60:g} minutes are over"
        tested = updates % test_every == 0
        if tested or stopped:
            state, scores = learner.test(state)
            metrics = {name: float(value) for name, value in (metrics | scores).items()}
            sitting = time.monotonic() - began
            if stop.score is not None and metrics["test"] >= stop.score:
                stopped = f"reached a test score of {metrics['test']:.0f}"
        report = metrics if tested or stopped else None
        yield Report(state, updates, progress.seconds + sitting, steps, report, stopped)
        if stopped:
            return
