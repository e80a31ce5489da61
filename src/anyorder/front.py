"""The two things people do first: load an agent, and see how good it is."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np

from anyorder.envs import TASKS
from anyorder.evaluation import PROTOCOLS, SUCCESS, Summary, protocol_returns, summarize
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
