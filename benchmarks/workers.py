"""Steps a second of local workers in a world of Gymnasium: one against two, in turns.

python benchmarks/workers.py --task gym:Ant-v5 --rounds 5
"""

from __future__ import annotations

import json
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import equinox as eqx
import jax
import tyro
from rich.console import Console
from rich.table import Table

from anyorder.envs import env_named
from anyorder.policies import InvariantConfig, InvariantPolicy
from anyorder.rollout import GymnasiumEngine
from anyorder.rollout.processes import ProcessPool


@dataclass(frozen=True)
class Options:
    """What to measure."""

    task: str = "gym:Ant-v5"
    """The world."""
    workers: tuple[int, ...] = (1, 2)
    """Numbers of workers."""
    candidates: int = 16
    """Candidates in a generation."""
    episodes: int = 16
    """Episodes of each."""
    steps: int = 100
    """Steps an episode is watched for."""
    rounds: int = 5
    """Generations timed of each, after one that is not."""
    json: Path | None = None
    """Write the figures here."""


def main(options: Options) -> None:
    """Take turns, then show the medians."""
    env = env_named(options.task)
    config = InvariantConfig(actions="discrete" if env.discrete else "continuous")

    def make(key):
        return InvariantPolicy(env.n_sensors, env.n_actions, config, key=key)

    candidates = eqx.filter_vmap(make)(jax.random.split(jax.random.key(0), options.candidates))
    keys = jax.random.split(jax.random.key(1), options.episodes)
    pools = {count: ProcessPool(count) for count in options.workers}
    speeds: dict[int, list[float]] = {count: [] for count in pools}
    for number in range(options.rounds + 1):
        for count, pool in pools.items():
            began = time.perf_counter()
            _, steps = GymnasiumEngine(env, pool)(candidates, keys, options.steps)
            if number:
                speeds[count].append(int(steps) / (time.perf_counter() - began))
    for pool in pools.values():
        pool.close()
    table = Table("workers", "steps/s", "slowest .. fastest", "times the first")
    reference = statistics.median(speeds[options.workers[0]])
    for count, found in speeds.items():
        median = statistics.median(found)
        table.add_row(
            str(count),
            f"{median:,.0f}",
            f"{min(found):,.0f} .. {max(found):,.0f}",
            f"{median / reference:.2f}",
        )
    console = Console(width=100)
    cores = len(os.sched_getaffinity(0))
    console.print(
        f"{options.task}, {options.candidates} x {options.episodes} episodes, {cores} cores"
    )
    console.print(table)
    if options.json is not None:
        options.json.write_text(json.dumps({"task": options.task, "speeds": speeds}, indent=2))


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
