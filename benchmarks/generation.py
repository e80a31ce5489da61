"""A generation of evolution, ours and EvoJAX's, side by side in one run.

    make benchmark                       or, in an environment that has EvoJAX:
    python benchmarks/generation.py --candidates 64 --episodes 4 --json out.json

One generation is ask, play and tell for the 913-parameter agent on CartPoleSwingUpHarder with
PGPE. The contestants take turns, so that what else the machine does falls on all of them alike.
EvoJAX always plays all 1000 steps of every episode, and so does our scan; the fused kernel stops
with the episode. Steps per second count candidates x episodes x 1000 for all three.
"""

from __future__ import annotations

import json
import logging
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jax
import tyro
from rich.console import Console
from rich.table import Table

from anyorder.envs import CartPoleSwingUpHarder
from anyorder.policies import InvariantPolicy
from anyorder.rollout import EngineName, choose_engine
from anyorder.training import ESConfig, Evolution

STEPS = 1000
Generation = Callable[[], None]


@dataclass(frozen=True)
class Options:
    """What to measure."""

    candidates: int = 64
    """Candidates per generation."""
    episodes: int = 4
    """Episodes per candidate."""
    rounds: int = 7
    """Generations timed of each contestant, after one that is not."""
    json: Path | None = None
    """Write the figures here."""


def ours(engine: EngineName, options: Options) -> Generation:
    """Our generation with this engine."""
    env = CartPoleSwingUpHarder()
    policy = InvariantPolicy(env.n_sensors, env.n_actions, key=jax.random.key(0))
    config = ESConfig("pgpe", population=options.candidates, episodes=options.episodes)
    learner = Evolution(policy, choose_engine(policy, env, engine), config)
    state = learner.init(jax.random.key(1))

    def generation() -> None:
        nonlocal state
        state, metrics = learner.update(state, 0)
        jax.block_until_ready((state, metrics))

    return generation


def evojax(options: Options) -> Generation:
    """EvoJAX's generation."""
    from evojax.algo import PGPE  # pyright: ignore[reportMissingImports]
    from evojax.policy.mlp_pi import (  # pyright: ignore[reportMissingImports]
        PermutationInvariantPolicy,
    )
    from evojax.sim_mgr import SimManager  # pyright: ignore[reportMissingImports]
    from evojax.task.cartpole import CartPoleSwingUp  # pyright: ignore[reportMissingImports]

    quiet = logging.getLogger("quiet")
    quiet.setLevel(logging.ERROR)
    policy = PermutationInvariantPolicy(act_dim=1, hidden_dim=16, logger=quiet)
    search = PGPE(options.candidates, policy.num_params, optimizer="adam", logger=quiet)
    manager = SimManager(
        options.episodes,
        1,
        options.candidates,
        1,
        policy,
        CartPoleSwingUp(harder=True, test=False),
        CartPoleSwingUp(harder=True, test=True),
        logger=quiet,
    )

    def generation() -> None:
        candidates = search.ask()
        scores, _ = manager.eval_params(params=candidates, test=False)
        search.tell(fitness=scores)
        jax.block_until_ready(search.best_params)

    return generation


def main(options: Options) -> None:
    """Take turns, then show the medians."""
    console = Console(width=100)
    contestants = {
        "evojax": evojax(options),
        "scan": ours("scan", options),
        "fused": ours("fused", options),
    }
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(options.rounds + 1):
        for name, generation in contestants.items():
            began = time.perf_counter()
            generation()
            if number:
                times[name].append(time.perf_counter() - began)
    steps = options.candidates * options.episodes * STEPS
    reference = statistics.median(times["evojax"])
    table = Table(
        "contestant", "ms per generation", "fastest .. slowest", "M steps/s", "times EvoJAX"
    )
    rows = {}
    for name, found in times.items():
        median = statistics.median(found)
        rows[name] = {
            "ms_per_generation": 1000 * median,
            "ms_fastest": 1000 * min(found),
            "ms_slowest": 1000 * max(found),
            "steps_per_second": steps / median,
        }
        table.add_row(
            name,
            f"{1000 * median:.0f}",
            f"{1000 * min(found):.0f} .. {1000 * max(found):.0f}",
            f"{steps / median / 1e6:.2f}",
            f"{reference / median:.2f}",
        )
    device = f"{jax.devices()[0].device_kind} x {jax.device_count()}"
    console.print(f"{options.candidates} candidates x {options.episodes} episodes, on {device}")
    console.print(table)
    if options.json is not None:
        facts = {"device": device, "candidates": options.candidates, "episodes": options.episodes}
        options.json.write_text(json.dumps(facts | {"rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
