"""Does a nonlinear map of the keys make learning faster? (Nonlinear attention, arXiv 2506.00691.)

The claim is about 30% faster convergence at the same final performance. The map behind it was never
published in a form that can be relied on, so this tests the claim with maps of our own choice, and does
not reproduce a figure: agents that differ in nothing but the map, from the same seeds, within the same
budget, by evolution and by PPO.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anyorder.neurons import AttentionNeuronConfig
from anyorder.neurons.key_maps import KeyMapName
from anyorder.policies import InvariantConfig
from anyorder.studies.cell import Cell
from anyorder.training import ESConfig, PPOConfig

BASELINE: KeyMapName = "identity"
KEY_MAPS: tuple[KeyMapName, ...] = (
    "identity", "tanh", "relu", "polynomial", "fourier", "gated",
)  # fmt: skip
THRESHOLDS = (300.0, 400.0, 500.0)
CLAIMED = 0.7
"""Share of the baseline's time that the claim leaves."""
MATRICES = {"two-layer": 2, "gated": 3}
"""Square matrices that a map has of its own."""


@dataclass(frozen=True)
class Budget:
    """What every cell may spend.

    The defaults are meant for 12 cells of 20 seeds in a quarter of an hour on one large GPU, and for most
    agents with keys as they are to get beyond the lowest threshold.
    """

    generations: int = 1000
    """Generations of evolution."""
    population: int = 256
    """Candidates in a generation."""
    episodes: int = 32
    """Episodes each candidate plays."""
    rollouts: int = 160
    """Updates of PPO, each of 128 steps in every world."""
    test_episodes: int = 512
    """Held-out episodes of a test."""
    horizon: int | None = None
    """Steps episodes of evolution are watched for; all of them if left out."""
    worlds: int = 256
    """Worlds PPO plays at once."""
    unroll: int = 32
    """Steps PPO's gradients go back; its rollouts are four times as long."""


SMOKE = Budget(
    generations=2, population=4, episodes=2, rollouts=2, test_episodes=2, horizon=8,
    worlds=2, unroll=4,
)  # fmt: skip
"""Enough to see that everything runs, and to learn nothing."""


def matched_width(name: KeyMapName) -> int:
    """The width in which an agent with this map has as many parameters as one with keys as they are.

    A map of its own brings hidden^2 numbers per matrix, and each unit of width 2 hidden.

    >>> matched_width("identity"), matched_width("gated")
    (32, 20)
    """
    default = AttentionNeuronConfig()
    return default.width - default.hidden * MATRICES.get(name, 0) // 2


def agent_config(name: KeyMapName) -> InvariantConfig:
    """The paper's agent, but for the map of its keys, and 913 parameters whatever the map."""
    return InvariantConfig(AttentionNeuronConfig(key_map=name, width=matched_width(name)))


def nla_cells(maps: Sequence[KeyMapName], methods: Sequence[str], budget: Budget) -> list[Cell]:
    """A cell for each method and map."""
    evolution = ESConfig(
        generations=budget.generations, population=budget.population, episodes=budget.episodes,
        steps=budget.horizon, sigma=0.1, final_sigma=0.05, learning_rate=0.06,
        final_learning_rate=0.02, test_every=max(1, budget.generations // 40),
        test_episodes=budget.test_episodes, finalists=1,
    )  # fmt: skip
    length = 4 * budget.unroll
    ppo = PPOConfig(
        steps=budget.rollouts * budget.worlds * length, n_envs=budget.worlds, n_steps=length,
        unroll=budget.unroll, minibatches=min(8, budget.worlds),
        test_every=max(1, budget.rollouts // 40), test_episodes=budget.test_episodes,
    )  # fmt: skip
    training = {"evolution": evolution, "ppo": ppo}
    return [
        Cell(name, method, agent_config(name), training[method])
        for method in methods
        for name in maps
    ]
