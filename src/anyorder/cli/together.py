"""Several seeds of one run at once: `anyorder train TASK --seeds 10 --out DIR`."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from anyorder.cli.console import console, progress_bar
from anyorder.cli.sitting import keep_agent, line
from anyorder.errors import UsageError
from anyorder.runs import MetricsLog, RunFolder
from anyorder.training import Learner, ManySeeds, Progress, StepCount, Stop, state_of


def sit_together(
    out: Path, facts: list[dict[str, Any]], learners: list[tuple[Learner, jax.Array]], stop: Stop
) -> None:
    """Train all seeds in step, each in a folder of its own below `out`, and keep each one's agent.

    Every folder is then a run like any other: it can be evaluated, reported and resumed by itself. Its
    seconds are those that all seeds took together.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is occupied: choose another --out.")
    first = learners[0][0]
    many = ManySeeds(first, [learner.policy for learner, _ in learners])
    folders = [RunFolder.create(out / f"seed{each['seed']}", each) for each in facts]
    logs = [MetricsLog(folder) for folder in folders]
    interrupted: list[int] = []
    previous = {
        name: signal.signal(name, lambda number, frame: interrupted.append(number))
        for name in (signal.SIGINT, signal.SIGTERM)
    }
    states = many.init(jnp.stack([key for _, key in learners]))
    began, updates, seconds = time.monotonic(), 0, 0.0
    steps = StepCount(np.zeros(len(folders), np.int64))

    def progress(index: int) -> Progress:
        return Progress(updates, int(steps.all()[index]), seconds)

    try:
        with progress_bar("updates") as bar:
            task = bar.add_task("training", total=stop.updates, facts="compiling")
            while updates < stop.updates:
                states, found = many.update(states, updates)
                steps.add(found.pop("steps"))
                updates += 1
                seconds = time.monotonic() - began
                late = stop.seconds is not None and seconds >= stop.seconds
                over = late or bool(interrupted) or updates == stop.updates
                bar.update(task, completed=updates)
                if updates % first.test_every and not over:
                    continue
                steps.all()  # the time is that after all updates
                seconds = time.monotonic() - began
                states, scores = many.test(states)
                for index, log in enumerate(logs):
                    metrics = {k: float(v[index]) for k, v in (found | scores).items()}
                    log.write(line(progress(index), metrics))
                listed = ", ".join(f"{float(score):.0f}" for score in scores["test"])
                bar.update(task, facts=f"scores {listed}")
                if not console.is_terminal:
                    console.print(f"update {updates}  {seconds:.0f} s  scores {listed}")
                if over:
                    break
    finally:
        for name, handler in previous.items():
            signal.signal(name, handler)
        for index, folder in enumerate(folders):
            logs[index].close()
            done = progress(index)
            counts = {"updates": done.updates, "steps": done.steps}
            folder.save_checkpoint(state_of(states, index), counts)
    for index, folder in enumerate(folders):
        keep_agent(folder, many.one(index), state_of(states, index), progress(index))
    console.print(f"  runs    {out}\n  compare anyorder report {out}")


def seeds_of(facts: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """The facts of as many runs as seeds, from the first one's on."""
    return [facts | {"seed": facts["seed"] + index} for index in range(count)]
