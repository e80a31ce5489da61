"""anyorder audit FILE: the audit of an agent from elsewhere, in the Gymnasium world it was made for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anyorder.bridges.foreign import KINDS, open_subject, trial_worlds
from anyorder.bridges.gym_worlds import gym_interface
from anyorder.cli.console import console, progress_bar, show, write_file, write_json
from anyorder.errors import UsageError
from anyorder.evaluation.host_audit import HostAudit, host_audit
from anyorder.report.host_audit_page import audit_tables, host_audit_page, sentences_on

ABOUT = f"""An agent from elsewhere is named by its file, and --env says which Gymnasium world it was made for:

  anyorder audit model.zip --env CartPole-v1
  anyorder audit agent.py:act --env Pendulum-v1 --html audit.html

  {KINDS}

A Python file is run. A zip of stable-baselines3 holds pickled Python, which would run too: it is loaded
without unpickling, and where that is not enough it is refused unless you add --trust. So is a torch.export
program, parts of which torch always unpickles."""
"""For the help of `anyorder audit`."""
EPISODES, STEPS = 30, 1000


@dataclass(frozen=True)
class ForeignAudit:
    """How to audit an agent from elsewhere."""

    agent: str
    env: str | None
    html: Path | None
    json: Path | None
    episodes: int
    steps: int
    seed: int
    trust: bool


def audit_foreign(asked: ForeignAudit, command: str) -> HostAudit:
    """Audit the agent, write what was asked for, show the rest; `command` is how it was asked for."""
    from anyorder import __version__

    if asked.steps < 1:
        raise UsageError(f"--steps must be at least 1, got {asked.steps}.")
    subject = open_subject(asked.agent, asked.env, trust=asked.trust)
    with progress_bar("episodes") as bar:
        task = bar.add_task("auditing", total=None, facts="")
        audit = host_audit(
            subject, trial_worlds(subject.world), n_sensors=gym_interface(subject.world).n_sensors,
            n_episodes=asked.episodes, n_steps=asked.steps, seed=asked.seed,
            tell=lambda doing, done, total: bar.update(
                task, completed=done, total=total, facts=doing
            ),
        )  # fmt: skip
    if asked.html is not None:
        write_file(asked.html, host_audit_page(audit, command=command, version=__version__))
    if asked.json is not None:
        write_json(asked.json, facts(audit, __version__, command))
    for table in audit_tables(audit):
        show(table)
    console.print(f"\n{audit.name} in {audit.world}: [bold]{audit.verdict.word}[/]")
    for sentence in sentences_on(audit):
        console.print(sentence, markup=False)
    for remark in audit.remarks():
        console.print(f"  {remark}", style="dim", markup=False)
    written = [str(path) for path in (asked.html, asked.json) if path is not None]
    console.print(f"\nWritten: {', '.join(written)}", markup=False)
    return audit


def facts(audit: HostAudit, version: str, command: str) -> dict[str, object]:
    """What a machine should read, as for agents of ours."""
    return {
        "kind": "audit",
        "anyorder": version,
        "command": command,
        "agent": audit.name,
        "verdict": audit.verdict.word,
        "verdicts": {audit.name: audit.verdict.word},
        "agents": [audit.as_json()],
        "checkpoints": [],
    }
