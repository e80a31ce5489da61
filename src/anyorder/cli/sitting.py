"""One sitting of a training run: bar, metrics, checkpoints, Ctrl-C, and the agent at the end."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from typing import Any

import jax

from anyorder.cli.console import console, progress_bar
from anyorder.cli.hosting import watch_items
from anyorder.envs import env_named
from anyorder.runs import Agent, MetricsLog, RunFolder, save_agent
from anyorder.training import Learner, Progress, Report, Stop, learn

FINAL_TESTS = 4
"""The agent to keep is scored on as many fresh episodes as so many tests have."""


def starting_point(folder: RunFolder, learner: Learner, key: jax.Array) -> tuple[Any, Progress]:
    """Where the run stands: its checkpoint, or the beginning."""
    state = learner.init(key)
    found = folder.load_checkpoint(state)
    if found is None:
        folder.keep_metrics_until(0)
        return state, Progress()
    state, facts = found
    folder.keep_metrics_until(facts["updates"])
    lines = folder.metrics()
    seconds = lines[-1]["seconds"] if lines else 0.0
    return state, Progress(facts["updates"], facts["steps"], seconds)


def sit(
    folder: RunFolder,
    learner: Learner,
    state: Any,
    progress: Progress,
    stop: Stop,
    checkpoint_seconds: float,
) -> None:
    """Train with a bar, metrics and checkpoints until it is done or someone interrupts."""
    interrupted: list[int] = []

    def ask_to_stop(number: int, frame: Any) -> None:
        if interrupted:  # the second time means it
            raise KeyboardInterrupt
        interrupted.append(number)
        console.print("Stopping after this update; once more to stop at once.")

    previous = {name: signal.signal(name, ask_to_stop) for name in (signal.SIGINT, signal.SIGTERM)}
    log, last = MetricsLog(folder), None
    saved, began = time.monotonic(), time.monotonic()
    first_steps = progress.steps
    score = "no test yet"
    try:
        with progress_bar("updates") as bar:
            task = bar.add_task(
                "training", total=stop.updates, completed=progress.updates, facts="compiling"
            )
            watch_items(learner, lambda said: bar.update(task, facts=said))
            for report in learn(learner, state, progress, stop):
                last = report
                if report.metrics is not None:
                    log.write(line(report.progress, report.metrics))
                    score = f"score [bold]{report.metrics['test']:.0f}[/]"
                first = report.updates == progress.updates + 1
                if not console.is_terminal and (first or report.metrics is not None):
                    console.print(_plain_line(report, stop))
                speed = (int(report.steps.counted) - first_steps) / (time.monotonic() - began)
                bar.update(
                    task, completed=report.updates,
                    facts=f"{score}, {speed / 1e6:.2f} M steps/s",
                )  # fmt: skip
                if time.monotonic() - saved >= checkpoint_seconds:
                    _save(folder, report)
                    saved = time.monotonic()
                if interrupted:
                    break
    finally:
        log.close()
        for name, handler in previous.items():
            signal.signal(name, handler)
        if last is not None:
            _save(folder, last)
    assert last is not None
    _finish(folder, learner, last, "you stopped it" if interrupted else last.stopped, stop)


def _save(folder: RunFolder, report: Report) -> None:
    done = report.progress
    facts = {"updates": done.updates, "steps": done.steps}
    folder.save_checkpoint(report.state, facts)


def line(progress: Progress, metrics: Mapping[str, float]) -> dict[str, Any]:
    """A line of metrics.jsonl."""
    return {
        "update": progress.updates,
        "steps": progress.steps,
        "seconds": round(progress.seconds, 3),
    } | {name: round(value, 4) for name, value in metrics.items()}


def _plain_line(report: Report, stop: Stop) -> str:
    done, seconds = report.updates, report.seconds
    left = seconds / done * (stop.updates - done)
    score = "no test yet" if report.metrics is None else f"score {report.metrics['test']:.0f}"
    made = f"{report.progress.steps / 1e6:.0f} M steps  {seconds:.0f} s"
    return f"update {done}/{stop.updates}  {score}  {made}  about {left:.0f} s to go"


def _finish(folder: RunFolder, learner: Learner, last: Report, why: str | None, stop: Stop) -> None:
    """Keep the agent, and say what comes next."""
    score = keep_agent(folder, learner, last.state, last.progress)
    console.print(
        f"Stopped: {why}. The best tested agent scores [bold]{score:.0f}[/] on fresh episodes.\n"
        f"  agent   {folder.path}\n  figure  {folder.path / 'learning.png'}\n"
        f"  test it anyorder evaluate {folder.path} --protocol paper"
    )
    if last.progress.updates < learner.planned:
        console.print(f"  go on   anyorder train {folder.facts['task']} --resume {folder.path}")


def keep_agent(folder: RunFolder, learner: Learner, state: Any, progress: Progress) -> float:
    """Write the run's best agent and the figure of its learning; returns the agent's score."""
    from anyorder.report import learning_curve

    facts = folder.facts
    episodes = FINAL_TESTS * facts["config"]["test_episodes"]
    policy, score = learner.best(state, episodes=episodes)
    notes = {
        "score": round(score, 1),
        "made": facts["command"],
        "updates": progress.updates,
        "steps": progress.steps,
    }
    n_sensors = env_named(facts["task"]).n_sensors
    save_agent(Agent(policy, facts["task"], n_sensors, notes), folder.path)
    learning_curve(folder.metrics(), folder.path / "learning.png", title=str(folder.path.name))
    return score
