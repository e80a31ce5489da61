"""EvoJAX's own generation of the paper's agent on its own CartPoleSwingUpHarder, for timing beside ours."""

from __future__ import annotations

import logging

import jax
import numpy as np


class EvoJAXGeneration:
    """Ask, play, tell with EvoJAX's PGPE, tasks and simulation manager; it always plays all steps."""

    def __init__(self, candidates: int, episodes: int, seed: int = 0):
        from evojax.algo import PGPE  # pyright: ignore[reportMissingImports]
        from evojax.policy.mlp_pi import (  # pyright: ignore[reportMissingImports]
            PermutationInvariantPolicy,
        )
        from evojax.sim_mgr import SimManager  # pyright: ignore[reportMissingImports]
        from evojax.task.cartpole import CartPoleSwingUp  # pyright: ignore[reportMissingImports]

        quiet = logging.getLogger("quiet")
        quiet.setLevel(logging.ERROR)
        policy = PermutationInvariantPolicy(act_dim=1, hidden_dim=16, logger=quiet)
        self.search = PGPE(candidates, policy.num_params, optimizer="adam", seed=seed, logger=quiet)
        self.manager = SimManager(
            episodes,
            128,
            candidates,
            1,
            policy,
            CartPoleSwingUp(harder=True, test=False),
            CartPoleSwingUp(harder=True, test=True),
            seed=seed,
            logger=quiet,
        )

    def generation(self) -> None:
        candidates = self.search.ask()
        scores, _ = self.manager.eval_params(params=candidates, test=False)
        self.search.tell(fitness=scores)
        jax.block_until_ready(self.search.best_params)

    def score(self) -> float:
        """Mean return of its centre in its own tests. Its agent is the same in any fixed order of sensors."""
        scores, _ = self.manager.eval_params(params=self.search.best_params, test=True)
        return float(np.mean(np.asarray(scores)))
