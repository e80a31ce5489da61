"""anyorder bench."""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from anyorder.cli.console import console, parse, progress_bar, show, write_json
from anyorder.cli.contestants import CONTESTANTS, STEPS, cure
from anyorder.errors import UsageError
from anyorder.report.contest import contest_figure, contest_table

DESCRIPTION = """Time a generation of evolution side by side: EvoJAX, a plain PyTorch loop, ours.

  anyorder bench
  anyorder bench --candidates 256 --episodes 16 --json bench.json --figure bench.png
  anyorder bench --contestants evojax fused --score 400

A generation is ask, play and tell for the paper's 913-parameter agent on CartPoleSwingUpHarder with PGPE.
Contestants take turns, each in a process of its own, and steps count candidates x episodes x 1000 for all.
Those that are not installed are listed with what would bring them. The torch loop plays a few episodes on
one core, from which a generation is worked out. A cold start ends with the first generation of a process
that finds nothing compiled, a warm one finds what the cold one compiled."""


@dataclass(frozen=True)
class BenchOptions:
    """Options of `anyorder bench`."""

    contestants: tuple[str, ...] = tuple(CONTESTANTS)
    """Who takes part."""
    candidates: int = 64
    """Candidates in a generation."""
    episodes: int = 4
    """Episodes of each candidate."""
    rounds: int = 5
    """Times each contestant's turn comes."""
    in_a_row: int = 4
    """Generations in a turn; the time of one is what a turn takes over these."""
    score: float | None = None
    """Also train until the mean return under shuffled sensors reaches this, which takes long: try 400."""
    score_minutes: float = 30.0
    """Give up on that score after so many minutes for each contestant."""
    json: Path | None = None
    """Write the figures here."""
    figure: Path | None = None
    """Draw them here (.png)."""


class Process:
    """A contestant in a process of its own."""

    def __init__(self, name: str, options: BenchOptions, cache: Path, *search: str):
        ours, theirs = socket.socketpair()
        kept = {
            "JAX_COMPILATION_CACHE_DIR": str(cache / "jax"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "NUMBA_CACHE_DIR": str(cache / "numba"),
        }
        sizes = (options.candidates, options.episodes)
        self.name, self.began = name, time.perf_counter()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "anyorder.cli.contestants", str(theirs.fileno()), name,
                 *map(str, sizes), *search],
                env={**os.environ, **kept}, pass_fds=[theirs.fileno()], start_new_session=True,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
        self.line: Connection = Connection(ours.detach())

    def ask(self, what: str, *more: Any) -> Any:
        """What the contestant answers."""
        try:
            self.line.send((what, *more))
            return self.line.recv()
        except (EOFError, OSError) as error:
            said = (self.process.communicate()[1] or "").strip().splitlines()
            raise UsageError(
                f"{self.name} broke off ({said[-1] if said else 'without a word'}): "
                "leave it out with --contestants."
            ) from error

    def start(self) -> float:
        """Seconds from nothing to the end of the first generation."""
        self.ask("generations", 1)
        return time.perf_counter() - self.began

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *error: object) -> None:
        self.line.close()
        self.process.kill()
        self.process.communicate()


def main(arguments: list[str]) -> None:
    """Parse, take turns, show."""
    options = parse(BenchOptions, "bench", DESCRIPTION, arguments)
    if unknown := set(options.contestants) - CONTESTANTS.keys():
        raise UsageError(
            f"There is no contestant {', '.join(sorted(unknown))}: choose of {', '.join(CONTESTANTS)}."
        )
    if options.candidates < 4 or options.candidates % 2:
        raise UsageError(f"--candidates must be even and at least 4, got {options.candidates}.")
    if min(options.episodes, options.rounds, options.in_a_row) < 1 or not options.score_minutes > 0:
        raise UsageError(
            "--episodes, --rounds, --in-a-row and --score-minutes must be more than 0."
        )
    asked = [name for name in CONTESTANTS if name in options.contestants]
    rows: dict[str, dict[str, Any]] = {}
    for name in asked:
        missing = cure(name)
        rows[name] = {} if missing is None else {"not_installed": missing}
    here = [name for name in asked if not rows[name]]
    device = "nothing" if not here else compete(here, rows, options)
    facts = {
        "device": device,
        "candidates": options.candidates,
        "episodes": options.episodes,
        "score": options.score,
        "rows": rows,
    }
    show(contest_table(facts, CONTESTANTS))
    if options.figure is not None:
        contest_figure(facts, CONTESTANTS, options.figure)
        console.print(f"Drawn: {options.figure}")
    if options.json is not None:
        write_json(options.json, facts)
        console.print(f"Written: {options.json}")


def compete(names: Sequence[str], rows: dict[str, dict[str, Any]], options: BenchOptions) -> str:
    """Fill in the rows of these contestants, and say which device they used."""
    with tempfile.TemporaryDirectory(prefix="anyorder-bench-") as home:
        caches = {name: Path(home) / name for name in names}
        for cache in caches.values():
            cache.mkdir()
        device = take_turns(caches, rows, options)
        if options.score is not None:
            for name, cache in caches.items():
                rows[name]["seconds_to_score"] = seconds_to_score(name, options, cache)
    return device


def take_turns(
    caches: Mapping[str, Path], rows: dict[str, dict[str, Any]], options: BenchOptions
) -> str:
    """Start the contestants cold and warm, then time their generations in turns."""
    times: dict[str, list[float]] = {name: [] for name in caches}
    with ExitStack() as stack, progress_bar("turns") as bar:
        task = bar.add_task("timing", total=len(caches) * (options.rounds + 2), facts="")
        present: dict[str, Process] = {}
        for name, cache in caches.items():
            bar.update(task, facts=f"{name}, cold start")
            with Process(name, options, cache, "pgpe", "full") as cold:
                rows[name]["cold_start_seconds"] = cold.start()
            bar.advance(task)
            bar.update(task, facts=f"{name}, warm start")
            present[name] = stack.enter_context(Process(name, options, cache, "pgpe", "full"))
            rows[name]["warm_start_seconds"] = present[name].start()
            bar.advance(task)
        for _ in range(options.rounds):
            for name, process in present.items():
                bar.update(task, facts=name)
                times[name].append(process.ask("generations", options.in_a_row))
                bar.advance(task)
        steps = options.candidates * options.episodes * STEPS
        for name, process in present.items():
            median = statistics.median(times[name])
            rows[name] |= {
                "ms_per_generation": 1000 * median,
                "ms_fastest": 1000 * min(times[name]),
                "ms_slowest": 1000 * max(times[name]),
                "steps_per_second": steps / median,
                "peak_memory_mib": process.ask("memory") / 2**20,
                "worked_out": name == "torch-loop",
            }
        return next(iter(present.values())).ask("device")


def seconds_to_score(name: str, options: BenchOptions, cache: Path) -> float | None:
    """Seconds of generations, compiling included and tests not, until the score is reached; None if not.

    Each with what it does best: EvoJAX with PGPE, ours with its own defaults in the folded space.
    """
    assert options.score is not None
    if name == "torch-loop":
        return None  # days
    used, test_every = 0.0, 20
    with Process(name, options, cache, "open-es", "folded") as process, progress_bar("s") as bar:
        task = bar.add_task(
            f"{name} to {options.score:g}", total=60 * options.score_minutes, facts=""
        )
        while used < 60 * options.score_minutes:
            used += test_every * process.ask("generations", test_every)
            score = process.ask("score")
            bar.update(task, completed=used, facts=f"score {score:.0f}")
            if score >= options.score:
                return used
    return None
