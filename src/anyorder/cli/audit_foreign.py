"""anyorder audit FILE: the audit of an agent from elsewhere, in the Gymnasium world it was made for."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from anyorder.bridges.foreign import KINDS, open_subject, trial_worlds
from anyorder.bridges.gym_worlds import gym_interface
from anyorder.cli.console import (
    console,
    keep_compiled_code,
    parse,
    progress_bar,
    show,
    write_file,
    write_json,
)
from anyorder.errors import UsageError
from anyorder.evaluation.host_audit import HostAudit, host_audit
from anyorder.report.host_audit_page import HOST_MARKER, MEANINGS, audit_tables, host_audit_page

DESCRIPTION = f"""Does an agent care about the order of its sensors? Ask anyone's.

  anyorder audit model.zip --env CartPole-v1
  anyorder audit net.onnx --env Pendulum-v1 --out pendulum.html --json pendulum.json
  anyorder audit agent.py:act --env CartPole-v1 --episodes 100

An agent is one of
  {KINDS}
It is shown what it saw before in other orders, and plays its world with sensors shuffled, lost, noisy,
wrong or late. The verdict is one of invariant, invariant-with-memory, robust and order-dependent.

A Python file is run. A zip of stable-baselines3 holds pickled Python, which would run too: what can be had
without unpickling it is, and where that is not enough the zip is refused unless you add --trust."""


@dataclass(frozen=True)
class ForeignAuditOptions:
    """Options of `anyorder audit` for an agent from elsewhere."""

    agent: Annotated[str, tyro.conf.Positional]
    """A file: model.zip, net.onnx, net.pt or agent.py:act."""
    env: str | None = None
    """The Gymnasium world it was made for."""
    episodes: int = 30
    """Episodes of each trial."""
    steps: int = 1000
    """Steps after which an episode is cut off."""
    seed: int = 1
    """Starts, orders and noise follow from it."""
    out: Path | None = None
    """Write the audit as one HTML page here."""
    json: Path | None = None
    """Write the audit as JSON here."""
    trust: bool = False
    """Let Python that is pickled in a zip run."""


def main(arguments: list[str]) -> None:
    """Parse, audit, show, write."""
    options = parse(ForeignAuditOptions, "audit", DESCRIPTION, arguments)
    audit_foreign(options, shlex.join(["anyorder", "audit", *arguments]))


def audit_foreign(options: ForeignAuditOptions, command: str) -> HostAudit:
    """Audit the agent these options name; `command` is how that was asked for."""
    from anyorder import __version__

    if options.episodes < 1 or options.steps < 1:
        raise UsageError("--episodes and --steps must be at least 1.")
    require_free(options.out)
    keep_compiled_code()
    subject = open_subject(options.agent, options.env, trust=options.trust)
    with progress_bar("episodes") as bar:
        task = bar.add_task("auditing", total=None, facts="")
        audit = host_audit(
            subject, trial_worlds(subject.world), n_sensors=gym_interface(subject.world).n_sensors,
            n_episodes=options.episodes, n_steps=options.steps, seed=options.seed,
            tell=lambda doing, done, total: bar.update(
                task, completed=done, total=total, facts=doing
            ),
        )  # fmt: skip
    for table in audit_tables(audit):
        show(table)
    console.print(f"\n{audit.name} in {audit.world}: [bold]{audit.verdict.word}[/]")
    for sentence in (MEANINGS[audit.verdict.word], *audit.verdict.reasons):
        console.print(f"  {sentence}", markup=False)
    if options.json is not None:
        write_json(options.json, {"anyorder": __version__, "command": command, **audit.as_json()})
    if options.out is not None:
        write_file(options.out, host_audit_page(audit, command=command, version=__version__))
    written = [str(path) for path in (options.out, options.json) if path is not None]
    if written:
        console.print(f"\nWritten: {', '.join(written)}", markup=False)
    return audit


def require_free(path: Path | None) -> None:
    """Raise UsageError if the page would overwrite a file that is no page of an audit."""
    if path is None or not path.exists():
        return
    try:
        ours = HOST_MARKER in path.read_text()[:1000]
    except (OSError, ValueError):
        ours = False
    if not ours:
        raise UsageError(
            f"{path} is there and no audit of anyorder: give another file. Nothing was overwritten."
        )
