"""Worker processes on this machine, handed small work items from one queue; the dead are replaced."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

import jax

from anyorder.errors import UsageError
from anyorder.rollout.player import QUIET, Item, Played
from anyorder.rollout.pool import AHEAD, AbstractPool

DEATHS = 3
"""Workers that may die one after the other, with nothing played in between, before we give up."""
PATIENCE = 2.0
"""Seconds a worker has to end by itself."""


class Worker:
    """One worker process and the items it has been given."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "anyorder.rollout.worker", str(theirs.fileno())],
                env={**os.environ, **QUIET, **_inherited()},
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for us alone: we let the workers go
            )
        self.line: Connection = Connection(ours.detach())
        self.given: deque[int] = deque()
        self.program: bytes | None = None

    def send(self, program: bytes, number: int, item: Item) -> None:
        """Give an item to play; `self.given` knows of it even if the worker turns out to be dead."""
        self.given.append(number)
        self.line.send((None if program == self.program else program, item))
        self.program = program

    def end(self) -> None:
        """Hang up, on which a worker goes home; one that does not is killed."""
        self.line.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class ProcessPool(AbstractPool):
    """As many worker processes as there are cores, or as many as are asked for."""

    def __init__(self, workers: int | None = None):
        self.size = workers or len(os.sched_getaffinity(0))
        self.workers: list[Worker] = []

    def describe(self) -> str:
        return f"{self.size} local worker{'s' if self.size > 1 else ''}"

    def play(self, program: bytes, items: Sequence[Item]) -> list[Played]:
        try:
            return self._play(program, items)
        except BaseException:
            self.close()  # with answers under way nobody waits for any more
            raise

    def close(self) -> None:
        for worker in self.workers:
            worker.line.close()
        while self.workers:
            self.workers.pop().end()

    def _play(self, program: bytes, items: Sequence[Item]) -> list[Played]:
        found: dict[int, Played] = {}
        waiting = deque(range(len(items)))
        deaths = 0
        while len(found) < len(items):
            while len(self.workers) < min(self.size, len(items)):
                self.workers.append(Worker())
            lost = [w for w in self.workers if not self._fill(w, program, items, waiting)]
            busy = {w.line: w for w in self.workers if w.given and w not in lost}
            for line in wait(list(busy)) if not lost else []:
                worker = busy[line]  # type: ignore[index]
                answer = _receive(worker)
                if answer is None:
                    lost.append(worker)
                elif isinstance(answer, Played):
                    found[worker.given.popleft()] = answer
                    deaths = 0
                    self.say(len(found), len(items))
                else:
                    raise answer
            for worker in lost:
                waiting.extendleft(reversed(worker.given))
                self.workers.remove(worker)
                worker.end()
                deaths += 1
                if deaths > DEATHS:
                    raise UsageError(
                        f"Worker processes keep dying (exit code {worker.process.returncode}): "
                        "try fewer with --workers, or look above for what they said."
                    )
        return [found[number] for number in range(len(items))]

    def _fill(
        self, worker: Worker, program: bytes, items: Sequence[Item], waiting: deque[int]
    ) -> bool:
        """Give a worker work ahead; False if it is not there any more."""
        try:
            while waiting and len(worker.given) < AHEAD:
                number = waiting.popleft()
                worker.send(program, number, items[number])
        except OSError:
            return False
        return True


def _inherited() -> dict[str, str]:
    """Where code is found, and where compiled code is kept, as here."""
    found = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    if kept := jax.config.jax_compilation_cache_dir:  # type: ignore[attr-defined]
        found |= {
            "JAX_COMPILATION_CACHE_DIR": str(kept),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
        }
    return found


def _receive(worker: Worker) -> Any:
    """What a worker has to say: Played, an exception, or None if it is not there any more."""
    try:
        return worker.line.recv()
    except (EOFError, OSError):
        return None
