"""CMA-ES that takes its covariance apart now and then only."""

from __future__ import annotations

from typing import Any

import jax
from evosax.algorithms.distribution_based.cma_es import CMA_ES, eigen_decomposition

DRIFT = 0.005
"""Share of the covariance that may be replaced before its axes are found anew."""


class LazyCMA(CMA_ES):
    """CMA-ES whose candidates are drawn along axes that may be `every` - 1 generations old.

    An eigendecomposition of 913 x 913 numbers takes several times as long as a generation's episodes on a
    GPU, and with 256 candidates a generation replaces but 0.016% of such a covariance. Small ones, which
    change fast, are taken apart every time.
    """

    def __init__(self, population_size: int, solution: Any, *, every: int | None = None):
        """**Arguments:**

        - `every`: generations between decompositions; by default until DRIFT is reached.
        """
        super().__init__(population_size, solution)
        params = self.default_params
        replaced = float(params.c_1 + params.c_mu)
        self.every = every or max(1, int(DRIFT / replaced))

    def _ask(self, key, state, params):
        covariance, axes, lengths = jax.lax.cond(
            state.generation_counter % self.every == 0,
            lambda: eigen_decomposition(state.C),
            lambda: (state.C, state.B, state.D),
        )
        drawn = jax.random.normal(key, (self.population_size, self.num_dims))
        population = state.mean + state.std * ((drawn * lengths) @ axes.T)
        return population, state.replace(C=covariance, B=axes, D=lengths)
