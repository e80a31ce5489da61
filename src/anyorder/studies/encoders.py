"""AttentionNeuron beside other encoders that do not know the order of their sensors.

All have the same head, the same memory in every neuron and the same budget. The table holds what each
earns, how large and how fast it is, and how it gets over a change of places in mid-episode.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anyorder.envs import AbstractEnv, PerturbedEnv
from anyorder.neurons import AttentionNeuronConfig
from anyorder.policies import AbstractPolicy, InvariantConfig
from anyorder.report import Table
from anyorder.rollout import episodes, rollout
from anyorder.sensors import Reshuffle
from anyorder.studies.cell import Cell, Outcome
from anyorder.studies.nla import Budget, nla_cells

NEURONS = {
    "AttentionNeuron": AttentionNeuronConfig(),
    "DeepSets": AttentionNeuronConfig(kind="deep-sets", width=16),
    "Set Transformer": AttentionNeuronConfig(kind="set-transformer", width=16, points=4),
    "image transformer, no positions": AttentionNeuronConfig(kind="encoder", width=16),
}
BACK = 0.9
"""Share of the reward of an undisturbed episode from which the agent counts as recovered."""
SMOOTHED = 25
"""Most steps over which rewards are averaged for that."""
EVERY = 100
"""Steps between shuffles, where they come again and again."""


def encoder_cells(budget: Budget, methods: tuple[str, ...] = ("ppo",)) -> list[Cell]:
    """A cell for each encoder and method."""
    plain = nla_cells(("identity",), methods, budget)
    return [
        dataclasses.replace(cell, name=name, agent=InvariantConfig(neuron))
        for cell in plain
        for name, neuron in NEURONS.items()
    ]


@eqx.filter_jit
def reshuffled(policy: AbstractPolicy, env: AbstractEnv, n_episodes: int) -> Float[Array, ""]:
    """Mean return when all sensors change places every so often."""
    keys = jax.random.split(jax.random.key(77), n_episodes)
    return episodes(policy, PerturbedEnv(env, Reshuffle(EVERY)), keys=keys).total.mean()


@eqx.filter_jit
def recovery(policy: AbstractPolicy, env: AbstractEnv, n_episodes: int) -> Float[Array, ""]:
    """Steps after one shuffle, half way through, until rewards are back at nearly what they would be.

    The same episodes are played with and without the shuffle. Half an episode's length if they never
    are back.
    """
    keys = jax.random.split(jax.random.key(78), n_episodes)
    half = env.n_steps // 2

    def rewards(world: AbstractEnv) -> Float[Array, " steps"]:
        def play(key):
            episode = rollout(policy, world, key=key, record=lambda step, decision: step.reward)
            lived = jnp.arange(world.n_steps) < episode.length
            return jnp.where(lived, episode.trace, 0)

        return jax.vmap(play)(keys).mean(axis=0)

    straight, shuffled = rewards(env), rewards(PerturbedEnv(env, Reshuffle(half)))
    span = max(1, min(SMOOTHED, half // 4))
    smooth = jnp.ones(span) / span
    after = [jnp.convolve(found[half:], smooth, mode="valid") for found in (shuffled, straight)]
    back = after[0] >= BACK * after[1]
    return jnp.where(back.any(), jnp.argmax(back), half).astype(float)


def encoder_table(found: Mapping[str, Outcome], method: str) -> Table:
    """Score, size, speed and recovery of every encoder."""
    rows = []
    for name, outcome in found.items():
        last = outcome.scores[:, -1]
        rows.append(
            (
                name,
                f"{outcome.parameters:,}",
                f"{last.mean():.0f} ± {last.std():.0f}",
                f"{_mean(outcome, 'reshuffled'):.0f}",
                f"{_mean(outcome, 'recovery'):.0f}",
                f"{outcome.steps.sum() / max(outcome.seconds, 1e-9) / 1e3:,.0f}",
            )
        )
    seeds = len(next(iter(found.values())).scores)
    return Table(
        title=f"Encoders without order, by {method}",
        columns=("encoder", "parameters", "score", f"every {EVERY}", "recovery", "k steps/s"),
        rows=tuple(rows),
        note=f"Mean ± sd over {seeds} seeds, all trained at once. Every {EVERY}: sensors change places so "
        "often. Recovery: steps until rewards are back after one change. Speed is that of training.",
    )  # fmt: skip


def _mean(outcome: Outcome, name: str) -> float:
    found = outcome.final.get(name)
    return float("nan") if found is None else float(np.mean(found))
