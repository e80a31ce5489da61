"""An agent on disk: a folder with `agent.json` and the tensors it names."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax

from anyorder.envs import is_task
from anyorder.errors import UsageError
from anyorder.policies import CONFIGS, POLICIES, AbstractPolicy
from anyorder.runs.document import read_document, write_document
from anyorder.runs.tree import tensors_of, tree_like

AGENT_FILE = "agent.json"
KIND = "agent"


@dataclasses.dataclass(frozen=True)
class Agent:
    """A policy, the world it was made for, and what is known of its making."""

    policy: AbstractPolicy
    task: str
    n_sensors: int
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Free facts: how it was made, its score."""

    @property
    def kind(self) -> str:
        """The policy's name among POLICIES."""
        return next(name for name, kind in POLICIES.items() if type(self.policy) is kind)

    @property
    def n_parameters(self) -> int:
        leaves = jax.tree.leaves(eqx.filter(self.policy, eqx.is_inexact_array))
        return sum(leaf.size for leaf in leaves)


def make_policy(
    kind: str, n_sensors: int, n_actions: int, config: Any = None, *, key: jax.Array
) -> AbstractPolicy:
    """A fresh policy of this name."""
    return POLICIES[kind](n_sensors, n_actions, config, key=key)


def save_agent(agent: Agent, folder: Path) -> None:
    """Write the agent into a folder that exists, replacing the one there."""
    facts = {
        "task": agent.task,
        "policy": agent.kind,
        "sensors": agent.n_sensors,
        "actions": agent.policy.n_actions,
        "parameters": agent.n_parameters,
        "config": dataclasses.asdict(agent.policy.config),
        "notes": dict(agent.notes),
    }
    tensors = tensors_of(eqx.filter(agent.policy, eqx.is_inexact_array))
    write_document(folder / AGENT_FILE, KIND, facts, tensors)


def load_agent(folder: Path) -> Agent:
    """The agent of a run folder or of any folder `save_agent` wrote."""
    path = folder / AGENT_FILE
    if not path.is_file():
        raise UsageError(f"There is no agent in {folder}: it has no {AGENT_FILE}.")
    facts, tensors = read_document(path, KIND)
    try:
        task, kind = facts["task"], facts["policy"]
        if kind not in POLICIES or not (is_task(task) or task == "ant"):
            raise UsageError(
                f"{path} holds a {kind!r} policy for {task!r}, which this anyorder does not know: "
                "upgrade with `pip install -U anyorder`."
            )
        config = config_from(CONFIGS[kind], facts["config"])
        sizes = (facts["sensors"], facts["actions"])
        template = make_policy(kind, *sizes, config, key=jax.random.key(0))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} is damaged ({error}): restore it from a copy.") from error
    arrays, rest = eqx.partition(template, eqx.is_inexact_array)
    policy = eqx.combine(tree_like(arrays, tensors, str(path)), rest)
    return Agent(policy, task, facts["sensors"], facts.get("notes", {}))


def config_from(kind: type, facts: Mapping[str, Any]) -> Any:
    """A (nested) dataclass from what `dataclasses.asdict` made of it."""
    hints = {field.name: field for field in dataclasses.fields(kind)}
    default = kind()
    values = {}
    for name, value in facts.items():
        if name not in hints:
            raise ValueError(f"unknown setting {name!r}")
        inner = getattr(default, name)
        nested = dataclasses.is_dataclass(inner) and isinstance(value, Mapping)
        values[name] = config_from(type(inner), value) if nested else value
    return kind(**values)
