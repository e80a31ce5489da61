"""anyorder audit AGENT."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import tyro

from anyorder.bridges.foreign import KINDS, is_foreign
from anyorder.cli.audit_foreign import ABOUT, EPISODES, STEPS, ForeignAudit, audit_foreign
from anyorder.cli.console import (
    console,
    keep_compiled_code,
    parse,
    progress_bar,
    show,
    write_file,
    write_json,
)
from anyorder.cli.report import check_free
from anyorder.envs import TASKS, AbstractEnv
from anyorder.errors import UsageError
from anyorder.evaluation.audit import Audit, as_json, audit
from anyorder.evaluation.emergence import Checkpoint, audit_checkpoint
from anyorder.evaluation.recovery import WINDOW
from anyorder.front import EVALUATION_SEED
from anyorder.report import Table
from anyorder.report.amounts import number
from anyorder.report.audit_page import AUDIT_MARKER, audit_page
from anyorder.runs import Agent
from anyorder.zoo import open_agent

DESCRIPTION = f"""Find out how much an agent depends on the order of its sensors, and how it does what it does.

  anyorder audit cartpole
  anyorder audit runs/first --html first.html --json first.json
  anyorder audit champion released --html both.html
  anyorder audit runs/first --checkpoints early middle late

The verdict is one of

  invariant               sensors may change places at any time
  invariant-with-memory   any fixed order; in mid-episode if memory moves along with the sensors
  robust                  the order changes what it does, its return hardly
  order-dependent         the order changes what it does and what it earns

The page, a single HTML file, holds all that was measured, with 95% intervals: fixed orders, a shuffle in
mid-episode, memory zeroed, reset and moved along, attention before and after, channels of noise, ablations,
what neurons know of themselves, and sensors at fault. Several agents stand side by side on it.

{ABOUT}"""

SECTIONS = 1000
"""Units of the progress bar per agent."""


@dataclass(frozen=True)
class AuditOptions:
    """Options of `anyorder audit`."""

    agents: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Run folders or names of shipped agents; the first is the one that is audited. Or one file of an agent
    from elsewhere: model.zip, net.onnx, net.pt or agent.py:act."""
    env: str | None = None
    """The Gymnasium world that an agent from elsewhere was made for, as in CartPole-v1."""
    against: tuple[str, ...] = ()
    """Further agents, to stand beside it."""
    html: Path | None = None
    """Write the page here; audit.html if neither this nor --json is given. Only an earlier audit is
    overwritten."""
    json: Path | None = None
    """Write the same as JSON here."""
    episodes: int | None = None
    """Episodes of each trial; as many as can be played in about a minute if left out."""
    noise: int = 1000
    """Channels of noise to go up to."""
    checkpoints: tuple[str, ...] = ()
    """Agents of one run at several points of its training, to see what emerges."""
    steps: int = STEPS
    """Steps after which an episode of an agent from elsewhere is cut off."""
    trust: bool = False
    """Let Python run that is pickled in a zip of stable-baselines3 or in a torch.export program."""
    seed: int = EVALUATION_SEED
    """Starts, orders and noise follow from it."""


def main(arguments: list[str]) -> None:
    """Parse, measure, write, show."""
    from anyorder import __version__

    options = parse(AuditOptions, "audit", DESCRIPTION, arguments)
    html = check(options)
    keep_compiled_code()
    names = tuple(dict.fromkeys((*options.agents, *options.against)))
    command = shlex.join(["anyorder", "audit", *arguments])
    if options.env is not None and not any(map(is_foreign, names)):
        raise UsageError(
            f"--env is for agents from elsewhere, and {names[0]} is none: leave it out, or name a file:\n"
            f"  {KINDS}"
        )
    if any(map(is_foreign, names)):
        audit_foreign(foreign(options, names, html), command)
        return
    agents = {label: open_agent(name) for label, name in labels(names).items()}
    stages = {label: open_agent(name) for label, name in labels(options.checkpoints).items()}
    worlds = {label: world_of(label, agent) for label, agent in {**stages, **agents}.items()}
    audits, checkpoints = measure(options, agents, stages, worlds)
    if html is not None:
        write_file(html, audit_page(audits, checkpoints, version=__version__, command=command))
    if options.json is not None:
        write_json(options.json, facts(audits, checkpoints, __version__, command))
    show(summary(audits))
    for found in audits:
        console.print(f"\n{found.name}: [bold]{found.verdict}[/]\n{found.sentence}")
        for remark in found.remarks:
            console.print(f"  {remark}", style="dim", markup=False)
    written = [str(path) for path in (html, options.json) if path is not None]
    console.print(f"\nWritten: {', '.join(written)}", markup=False)


def check(options: AuditOptions) -> Path | None:
    """Where to write the page; UsageError for options that cannot be met."""
    if not options.agents:
        raise UsageError("There is nothing to audit: name an agent.")
    if options.episodes is not None and options.episodes < 4:
        raise UsageError(f"--episodes must be at least 4, got {options.episodes}.")
    if options.noise < 0:
        raise UsageError(f"--noise must not be negative, got {options.noise}.")
    html = options.html
    if html is None and options.json is None:
        html = Path("audit.html")
    if html is not None:
        check_free(html, AUDIT_MARKER, "audit")
    if options.json is not None:
        if html is not None and options.json.resolve() == html.resolve():
            raise UsageError("--html and --json name the same file: give two.")
        check_free(options.json, None, "audit")
    return html


def foreign(options: AuditOptions, names: tuple[str, ...], html: Path | None) -> ForeignAudit:
    """The audit of an agent from elsewhere that the options ask for."""
    name, *others = names
    if others or options.checkpoints:
        raise UsageError(
            "An agent from elsewhere is audited alone: name no other and no checkpoints."
        )
    return ForeignAudit(
        name, options.env, html, options.json, options.episodes or EPISODES, options.steps,
        options.seed, options.trust,
    )  # fmt: skip


def labels(names: tuple[str, ...]) -> dict[str, str]:
    """Short names for agents, the last part of a path where that tells them apart."""
    short = [Path(name).name or name for name in names]
    return {
        (one if short.count(one) == 1 else name): name
        for one, name in zip(short, names, strict=True)
    }


def world_of(name: str, agent: Agent) -> AbstractEnv:
    """The world the agent was made for."""
    if agent.task not in TASKS:
        raise UsageError(
            f"{name} was made for {agent.task!r}, a world this version does not have "
            f"(it has {', '.join(TASKS)}): it cannot be audited here."
        )
    env = TASKS[agent.task]()
    if not agent.policy.reads(env.n_sensors):
        raise UsageError(f"{name} cannot read the {env.n_sensors} sensors of its world.")
    return env


def measure(
    options: AuditOptions,
    agents: dict[str, Agent],
    stages: dict[str, Agent],
    worlds: dict[str, AbstractEnv],
) -> tuple[list[Audit], list[Checkpoint]]:
    """Audit every agent, under a progress bar."""
    key = jax.random.key(options.seed)
    audits, checkpoints = [], []
    with progress_bar("‰") as bar:
        total = SECTIONS * len(agents) + SECTIONS // 10 * len(stages)
        task = bar.add_task("auditing", total=total, facts="")
        for label, agent in agents.items():
            done = SECTIONS * len(audits)

            def tell(share: float, what: str, done: int = done, label: str = label) -> None:
                bar.update(task, completed=done + SECTIONS * share, facts=f"{label}: {what}")

            audits.append(
                audit(
                    agent.policy, worlds[label], key=key, name=label, kind=agent.kind,
                    task=agent.task, episodes=options.episodes, most_noise=options.noise,
                    progress=tell,
                )
            )  # fmt: skip
        for label, agent in stages.items():
            bar.update(task, facts=label)
            updates = float(agent.notes.get("updates", math.nan))
            checkpoints.append(
                audit_checkpoint(agent.policy, worlds[label], key=key, name=label, updates=updates)
            )
            bar.advance(task, SECTIONS // 10)
        bar.update(task, facts="")
    return audits, sorted(checkpoints, key=lambda each: each.updates)


def facts(
    audits: list[Audit], checkpoints: list[Checkpoint], version: str, command: str
) -> dict[str, Any]:
    """What a machine should read: the first agent's verdict on top, everything of every agent below."""
    return {
        "kind": "audit",
        "anyorder": version,
        "command": command,
        "agent": audits[0].name,
        "verdict": audits[0].verdict,
        "verdicts": {each.name: each.verdict for each in audits},
        "agents": as_json(audits),
        "checkpoints": as_json(checkpoints),
    }


def summary(audits: list[Audit]) -> Table:
    """The most telling numbers."""
    rows = []
    for each in audits:
        loop, half = each.closed_loop, each.recovery.acting.main.half_life
        reshuffled = next(row for row in loop.memory if row.name == "memory kept")
        earned = (loop.plain, loop.orders[0], reshuffled)
        rows.append(
            (
                each.name,
                each.verdict,
                *(f"{row.ret.value:.0f}" for row in earned),
                f"> {WINDOW}" if math.isinf(half.value) else number(half.value),
            )
        )
    columns = ("agent", "verdict", "return", "shuffled", "every 100", "half-life")
    note = (
        "return: as it is, in another order, and reshuffled every 100 steps; half-life: steps to get over half "
        "of a shuffle in mid-episode."
    )
    return Table("How much the order of the sensors matters", columns, tuple(rows), note)
