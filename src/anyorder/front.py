"""What people do first: load an agent, see how good it is, and how much it depends on order."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import jax
import numpy as np

from anyorder.envs import env_named, hosted
from anyorder.evaluation import (
    PROTOCOLS,
    Summary,
    player_on,
    protocol_returns,
    success_of,
    summarize,
)
from anyorder.evaluation.audit import Audit
from anyorder.evaluation.audit import audit as audit_policy
from anyorder.oracle import Oracle
from anyorder.policies import AbstractPolicy
from anyorder.rollout.processes import ProcessPool
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
    env, key = env_named(task), jax.random.key(seed)
    with ProcessPool() if hosted(env) else nullcontext() as pool:
        batches = protocol_returns(
            policy, env, perturbation, n_episodes=episodes, key=key, player=player_on(pool)
        )
        returns = np.concatenate(list(batches))
    return summarize(returns, threshold=success_of(task), seed=seed)


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
        policy, env_named(task), key=jax.random.key(seed), task=task, episodes=episodes
    )
