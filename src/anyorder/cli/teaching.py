"""Who teaches in a run of cloning, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anyorder.cli.console import progress_bar
from anyorder.envs import TASKS, AbstractEnv, PerturbedEnv, RecordedEnv
from anyorder.errors import UsageError
from anyorder.oracle import Oracle, load_oracle
from anyorder.policies import AbstractPolicy
from anyorder.runs import load_recordings
from anyorder.training import CloneConfig, Cloning, make_cloning
from anyorder.training.teachers import (
    AbstractTeacher,
    OracleTeacher,
    PolicyTeacher,
    RecordedTeacher,
)
from anyorder.zoo import open_agent

ORACLE = "oracle"


def make_student(
    policy: AbstractPolicy, env: AbstractEnv, config: CloneConfig, rollout: Any, task: str
) -> Cloning:
    """Cloning as a run's settings say."""
    if config.recordings is None:
        return make_cloning(
            policy, env, config, rollout, teacher=teacher_named(config.teacher, task)
        )
    if config.acting != "teacher":
        raise UsageError(
            "In recorded episodes nobody but the teacher acts: add --clone.acting teacher."
        )
    recordings = load_recordings(Path(config.recordings), task=task)
    world: AbstractEnv = RecordedEnv(recordings, env.discrete)
    if isinstance(env, PerturbedEnv):
        world = PerturbedEnv(world, env.perturbation)
    return make_cloning(policy, env, config, rollout, teacher=RecordedTeacher(), world=world)


def teacher_named(name: str, task: str) -> AbstractTeacher:
    """The oracle, or any agent of this task."""
    if name == ORACLE:
        return OracleTeacher(solved_oracle())
    agent = open_agent(name)
    if agent.task != task:
        raise UsageError(f"{name} was made for {agent.task!r} and cannot teach {task!r}.")
    if not agent.policy.reads(TASKS[task]().n_sensors):
        raise UsageError(f"{name} cannot read the sensors of {task!r}.")
    return PolicyTeacher(agent.policy)


def solved_oracle() -> Oracle:
    """The oracle, solved before one's eyes if this is the first time."""
    with progress_bar("%") as bar:
        task = bar.add_task("solving the oracle", total=100, facts="once", visible=False)
        return load_oracle(
            progress=lambda share: bar.update(task, completed=round(100 * share), visible=True)
        )
