"""Workers on a Ray cluster.

Work items are Ray tasks: when a worker or its whole node dies, Ray runs them again on another. At most
twice as many are under way as there are cores, so that neither we nor the cluster pile them up.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

from anyorder.errors import UsageError
from anyorder.rollout.player import QUIET, Item, Played, player_of
from anyorder.rollout.pool import AHEAD, AbstractPool

PATIENCE = 5.0
"""Seconds within which a cluster must answer."""


class RayPool(AbstractPool):
    """Every core of a Ray cluster, nodes that join later included."""

    def __init__(self, address: str | None = None, workers: int | None = None):
        """**Arguments:**

        - `address`: of a running cluster; a cluster of this machine alone is started without one.
        - `workers`: items played at once; as many as the cluster has cores if left out.
        """
        self.ray = load_ray()
        self.workers = workers
        self.ours = not self.ray.is_initialized()
        if self.ours:
            _require_somebody_at(address)
            try:
                self.ray.init(
                    address=address,
                    log_to_driver=False,
                    logging_level="ERROR",
                    include_dashboard=None if address else False,
                )
            except ConnectionError as error:
                raise UsageError(
                    f"There is no Ray cluster at {address}: start one with `ray start --head`."
                ) from error
        # Being of one thread is what makes a worker's results the same everywhere.
        self.task = self.ray.remote(num_cpus=1, max_retries=-1)(_play)
        self.task = self.task.options(runtime_env={"env_vars": QUIET})
        self.programs: dict[bytes, Any] = {}

    def describe(self) -> str:
        nodes = sum(node["Alive"] for node in self.ray.nodes())
        return f"Ray, {self._cores()} cores on {nodes} node{'s' if nodes > 1 else ''}"

    def play(self, program: bytes, items: Sequence[Item]) -> list[Played]:
        if program not in self.programs:
            self.programs = {program: self.ray.put(program)}
        reference = self.programs[program]
        found: dict[int, Played] = {}
        under_way: dict[Any, int] = {}
        waiting = iter(enumerate(items))
        try:
            while len(found) < len(items):
                room = AHEAD * self._cores() - len(under_way)
                for _, (number, item) in zip(range(room), waiting, strict=False):
                    under_way[self.task.remote(reference, item)] = number
                ready, _ = self.ray.wait(list(under_way), num_returns=1, timeout=1.0)
                for done in ready:
                    found[under_way[done]] = self._get(done)
                    del under_way[done]
                    self.say(len(found), len(items))
        finally:
            for reference in under_way:
                self.ray.cancel(reference, force=True)
        return [found[number] for number in range(len(items))]

    def close(self) -> None:
        """Leave the cluster, and end it if it was ours alone."""
        self.programs = {}
        if self.ours and self.ray.is_initialized():
            self.ray.shutdown()

    def _cores(self) -> int:
        """Items to be played at once: nodes come and go."""
        return self.workers or max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def _get(self, reference: Any) -> Played:
        try:
            return self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, UsageError):
                raise cause from None
            raise RuntimeError(f"A worker could not play: {cause}") from error


def _require_somebody_at(address: str | None) -> None:
    """Raise UsageError where nothing answers, for which Ray itself would wait very long."""
    host, _, port = (address or "").rpartition(":")
    if not (host and port.isdigit()) or "//" in host:
        return  # auto, or a name that Ray knows how to read
    try:
        socket.create_connection((host, int(port)), PATIENCE).close()
    except OSError as error:
        raise UsageError(
            f"There is no Ray cluster at {address}: start one with `ray start --head`."
        ) from error


def load_ray() -> Any:
    """Ray, or how to get it."""
    try:
        import ray  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise UsageError(
            'Playing on a cluster needs Ray: run pip install "anyorder[ray]".'
        ) from error
    return ray


def _play(program: bytes, item: Item) -> Played:
    """What a worker on the cluster does; its process keeps the player for the next item."""
    return player_of(program).play(item)
