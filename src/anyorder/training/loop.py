"""The loop around any learner: update, test now and then, stop when told to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

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


@dataclass(frozen=True)
class Report:
    """What there is to say after an update."""

    state: Any
    progress: Progress
    metrics: dict[str, float] | None
    """Set after a test, and after the last update."""
    stopped: str | None
    """Why this was the last update, or None if it was not."""


def learn(
    learner: Learner, state: Any, progress: Progress, stop: Stop, *, test_every: int | None = None
) -> Iterator[Report]:
    """Update until it is time to stop. Whoever iterates may stop at any report, and its state goes on."""
    test_every = test_every or learner.test_every
    began, earlier = time.monotonic(), progress.seconds
    while progress.updates < stop.updates:
        state, found = learner.update(state, progress.updates)
        metrics = dict(found)
        steps = progress.steps + int(metrics.pop("steps"))
        sitting = time.monotonic() - began
        progress = Progress(progress.updates + 1, steps, earlier + sitting)
        stopped = None
        if progress.updates >= stop.updates:
            stopped = f"reached {stop.updates} updates"
        elif stop.seconds is not None and sitting >= stop.seconds:
            stopped = f"the {stop.seconds / 60:g} minutes are over"
        tested = progress.updates % test_every == 0
        if tested or stopped:
            state, scores = learner.test(state)
            metrics = {name: float(value) for name, value in (metrics | scores).items()}
            if stop.score is not None and metrics["test"] >= stop.score:
                stopped = f"reached a test score of {metrics['test']:.0f}"
        report = metrics if tested or stopped else None
        yield Report(state, progress, report, stopped)
        if stopped:
            return
