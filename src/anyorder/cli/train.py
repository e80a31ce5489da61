"""anyorder train TASK."""

from __future__ import annotations

import dataclasses
import shlex
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import jax
import tyro

from anyorder.cli.console import changed, console, keep_compiled_code, parse, progress_bar
from anyorder.envs import TASKS, AbstractEnv
from anyorder.errors import UsageError
from anyorder.neurons import AttentionNeuronConfig
from anyorder.policies import AbstractPolicy, InvariantConfig, PlainConfig
from anyorder.rollout import Engine, EngineName, choose_engine
from anyorder.runs import Agent, MetricsLog, RunFolder, config_from, make_policy, save_agent
from anyorder.training import (
    ESConfig,
    Evolution,
    Progress,
    Report,
    Stop,
    advice,
    estimate,
    in_words,
    learn,
    machine_memory,
)

DESCRIPTION = """Train an agent.

  anyorder train cartpole                          sensory neurons, by evolution
  anyorder train cartpole --minutes 2 --out runs/first
  anyorder train cartpole --policy mlp             the order-sensitive control
  anyorder train cartpole --resume runs/first      go on where a run stopped, bit for bit

The run folder keeps what was asked for (run.json), how it went (metrics.jsonl), where to go on
(checkpoint.json) and the best agent (agent.json); `anyorder evaluate FOLDER` tests it.
Ctrl-C saves and says how to go on."""


@dataclass(frozen=True)
class TrainOptions:
    """Options of `anyorder train`."""

    task: Annotated[str, tyro.conf.Positional]
    """The world to learn: cartpole."""
    method: Literal["es"] = "es"
    """How to learn: es (evolution)."""
    policy: Literal["attention", "mlp"] = "attention"
    """attention: sensory neurons; mlp: the order-sensitive control."""
    out: Path | None = None
    """Folder for the run; a new one under runs/ if left out."""
    seed: int = 0
    """Everything random follows from it."""
    resume: Path | None = None
    """Go on with the run in this folder."""
    updates: int | None = None
    """Stop after this many updates (generations) in all; as many as planned if left out."""
    minutes: float | None = None
    """Stop after this many minutes of this sitting."""
    target: float | None = None
    """Stop when the held-out test reaches this score."""
    checkpoint_seconds: float = 20.0
    """Save a checkpoint this often; one is also saved at the end and on Ctrl-C."""
    rollout: EngineName = "auto"
    """Who plays the episodes: scan (always works) or fused (compiled, where supported)."""
    hidden: int | None = None
    """Units of the head's tanh layer: none for attention, 16 for mlp if left out."""
    neuron: AttentionNeuronConfig = field(default_factory=AttentionNeuronConfig)
    """The layer of sensory neurons."""
    es: ESConfig = field(default_factory=ESConfig)
    """Evolution."""


def main(arguments: list[str]) -> None:
    """Parse, prepare, train."""
    options = parse(TrainOptions, "train", DESCRIPTION, arguments)
    keep_compiled_code()
    train(options, shlex.join(["anyorder", "train", *arguments]))


def train(options: TrainOptions, command: str) -> Path:
    """Train as the options say, and return the run's folder."""
    if options.task not in TASKS:
        raise UsageError(f"There is no task {options.task!r}: choose one of {', '.join(TASKS)}.")
    if options.minutes is not None and not options.minutes > 0:
        raise UsageError(f"--minutes must be more than 0, got {options.minutes:g}.")
    if options.updates is not None and options.updates < 1:
        raise UsageError(f"--updates must be at least 1, got {options.updates}.")
    folder, facts = _resume(options) if options.resume else (None, _facts(options, command))
    evolution, key = _learner(facts)
    facts["rollout"] = "fused" if evolution.engine.fused else "scan"  # the same one on resume
    _announce(evolution, facts)
    if folder is None:
        folder = RunFolder.create(options.out or _free_folder(facts), facts)
    state, progress = _starting_point(folder, evolution, key)
    stop = Stop(
        updates=options.updates or evolution.planned,
        seconds=None if options.minutes is None else 60 * options.minutes,
        score=options.target,
    )
    if progress.updates >= stop.updates:
        raise UsageError(
            f"{folder.path} has made {progress.updates} updates already: "
            "give --updates with a larger number to go further."
        )
    _run(folder, evolution, state, progress, stop, options.checkpoint_seconds)
    return folder.path


def _facts(options: TrainOptions, command: str) -> dict[str, Any]:
    """What a run is made of, as its run.json keeps it."""
    from anyorder import __version__

    if options.policy == "attention":
        config: Any = InvariantConfig(options.neuron, options.hidden or 0)
    else:
        config = PlainConfig(16 if options.hidden is None else options.hidden)
    return {
        "anyorder": __version__,
        "task": options.task,
        "method": options.method,
        "policy": options.policy,
        "policy_config": dataclasses.asdict(config),
        "config": dataclasses.asdict(options.es),
        "seed": options.seed,
        "rollout": options.rollout,
        "command": command,
        "device": f"{jax.devices()[0].device_kind} ({jax.default_backend()})",
        "started": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
    }


def _resume(options: TrainOptions) -> tuple[RunFolder, dict[str, Any]]:
    """The run to go on with, once it is clear that the other options do not contradict it."""
    assert options.resume is not None
    folder = RunFolder.open(options.resume)
    facts = folder.facts
    if facts.get("task") != options.task:
        raise UsageError(
            f"{options.resume} is a run of {facts.get('task')!r}, not of {options.task!r}: "
            f"say `anyorder train {facts.get('task')} --resume {options.resume}`."
        )
    if options.out is not None and options.out.resolve() != options.resume.resolve():
        raise UsageError("--out and --resume name different folders: a run goes on in its own.")
    default = TrainOptions(task=options.task)
    different = changed(options.es, facts.get("config", {}), "es")
    neuron = facts.get("policy_config", {}).get("neuron", {})
    different += changed(options.neuron, neuron, "neuron")
    different += [
        f"--{name}"
        for name in ("method", "policy", "seed", "rollout")  # "auto" is whatever the run has
        if getattr(options, name) not in (getattr(default, name), facts.get(name))
    ]
    if options.hidden not in (None, facts.get("policy_config", {}).get("hidden")):
        different.append("--hidden")
    if different:
        raise UsageError(
            f"{', '.join(different)} cannot change in a run that goes on: leave it out, or start a new run."
        )
    return folder, facts


def _learner(facts: dict[str, Any]) -> tuple[Evolution, jax.Array]:
    """The learner of a run, and the key its first state is made from."""
    env: AbstractEnv = TASKS[facts["task"]]()
    policy_key, run_key = jax.random.split(jax.random.key(facts["seed"]))
    try:
        kind = InvariantConfig if facts["policy"] == "attention" else PlainConfig
        config = config_from(kind, facts["policy_config"])
        policy: AbstractPolicy = make_policy(
            facts["policy"], env.n_sensors, env.n_actions, config, key=policy_key
        )
        engine: Engine = choose_engine(policy, env, facts["rollout"])
        return Evolution(policy, engine, config_from(ESConfig, facts["config"])), run_key
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"These settings do not fit together: {error}") from error


def _announce(evolution: Evolution, facts: dict[str, Any]) -> None:
    """Parameters, memory, and what will not go well, before anything starts."""
    config, n = evolution.config, Agent(evolution.policy, facts["task"], 0).n_parameters
    numbers = 16 * evolution.engine.env.n_sensors + 16
    needed = estimate(
        config.algorithm, n, config.population, config.final_episodes or config.episodes, numbers
    )
    console.print(
        f"[bold]{facts['policy']}[/] on {facts['task']}: {n:,} parameters, {config.algorithm}, "
        f"{config.population} candidates x {config.episodes} episodes, "
        f"{'fused' if evolution.engine.fused else 'scan'} rollout, about {in_words(needed.total)} of memory"
    )
    warning = advice(config.algorithm, needed, machine_memory())
    if warning:
        console.print(f"[yellow]Advice:[/] {warning}")


def _free_folder(facts: dict[str, Any]) -> Path:
    """A name under runs/ that is not taken."""
    stem = f"{facts['task']}-{facts['policy']}-{facts['method']}-seed{facts['seed']}"
    number, path = 1, Path("runs") / stem
    while path.exists():
        number += 1
        path = Path("runs") / f"{stem}-{number}"
    return path


def _starting_point(
    folder: RunFolder, evolution: Evolution, key: jax.Array
) -> tuple[Any, Progress]:
    state = evolution.init(key)
    found = folder.load_checkpoint(state)
    if found is None:
        folder.keep_metrics_until(0)
        return state, Progress()
    state, facts = found
    folder.keep_metrics_until(facts["updates"])
    lines = folder.metrics()
    seconds = lines[-1]["seconds"] if lines else 0.0
    return state, Progress(facts["updates"], facts["steps"], seconds)


def _run(
    folder: RunFolder,
    evolution: Evolution,
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
            for report in learn(
                evolution, state, progress, stop, test_every=evolution.config.test_every
            ):
                last = report
                if report.metrics is not None:
                    log.write(_line(report))
                    score = f"score [bold]{report.metrics['test']:.0f}[/]"
                    if not console.is_terminal:
                        console.print(_plain_line(report, stop))
                speed = (report.progress.steps - first_steps) / (time.monotonic() - began)
                bar.update(
                    task, completed=report.progress.updates,
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
    _finish(folder, evolution, last, "you stopped it" if interrupted else last.stopped, stop)


def _save(folder: RunFolder, report: Report) -> None:
    facts = {"updates": report.progress.updates, "steps": report.progress.steps}
    folder.save_checkpoint(report.state, facts)


def _line(report: Report) -> dict[str, Any]:
    assert report.metrics is not None
    numbers = {name: round(value, 4) for name, value in report.metrics.items()}
    return {
        "update": report.progress.updates,
        "steps": report.progress.steps,
        "seconds": round(report.progress.seconds, 3),
    } | numbers


def _plain_line(report: Report, stop: Stop) -> str:
    assert report.metrics is not None
    done, seconds = report.progress.updates, report.progress.seconds
    left = seconds / done * (stop.updates - done)
    return (
        f"update {done}/{stop.updates}  score {report.metrics['test']:.0f}  "
        f"{report.progress.steps / 1e6:.0f} M steps  {seconds:.0f} s  about {left:.0f} s to go"
    )


def _finish(
    folder: RunFolder, evolution: Evolution, last: Report, why: str | None, stop: Stop
) -> None:
    """Choose the agent among the finalists, keep it, and say what comes next."""
    from anyorder.report import learning_curve

    policy, score = evolution.best(last.state)
    facts = folder.facts
    notes = {
        "score": round(score, 1),
        "made": facts["command"],
        "updates": last.progress.updates,
        "steps": last.progress.steps,
    }
    save_agent(Agent(policy, facts["task"], evolution.engine.env.n_sensors, notes), folder.path)
    learning_curve(folder.metrics(), folder.path / "learning.png", title=str(folder.path.name))
    console.print(
        f"Stopped: {why}. The best tested agent scores [bold]{score:.0f}[/] on fresh episodes.\n"
        f"  agent   {folder.path}\n  figure  {folder.path / 'learning.png'}\n"
        f"  test it anyorder evaluate {folder.path} --protocol paper"
    )
    if last.progress.updates < evolution.planned:
        console.print(f"  go on   anyorder train {facts['task']} --resume {folder.path}")
