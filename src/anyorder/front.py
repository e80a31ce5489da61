"""What people do first: load an agent, see how good it is, and how much it depends on order."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np

from anyorder.envs import TASKS
from anyorder.evaluation import PROTOCOLS, SUCCESS, Summary, protocol_returns, summarize
from anyorder.evaluation.audit import Audit
from anyorder.evaluation.audit import audit as audit_policy
from anyorder.oracle import Oracle
from anyorder.policies import AbstractPolicy
from anyorder.sensors import AbstractPerturbation
from anyorder.zoo import open_agent

EVALUATION_SEED = 1


def load(agent: str | Path) -> AbstractPolicy:
    """The policy of a shipped agent (`"cartpole"`) or of a run folder."""
    return open_agent(agent).policy


def evaluate(
    policy: AbstractPolicy | Oracle,
    perturbation: str | AbstractPerturbation = "plain",
    *,
    task: str = "cartpole",
    episodes: int = 1000,
    seed: int = EVALUATION_SEED,
) -> Summary:
    """Play many episodes under a perturbation and say what they came to."""
    if isinstance(perturbation, str):
        perturbation = PROTOCOLS[perturbation]
    batches = protocol_returns(
        policy, TASKS[task](), perturbation, n_episodes=episodes, key=jax.random.key(seed)
    )
    return summarize(np.concatenate(list(batches)), threshold=SUCCESS[task], seed=seed)


def audit(
    policy: AbstractPolicy,
    *,
    task: str = "cartpole",
    episodes: int | None = None,
    seed: int = EVALUATION_SEED,
) -> Audit:
    """Measure how much a policy depends on the order of its sensors: `audit(policy).verdict`.

    It takes about a minute; `episodes` of each trial make it shorter or surer.
    """
    return audit_policy(
        policy, TASKS[task](), key=jax.random.key(seed), task=task, episodes=episodes
    )
