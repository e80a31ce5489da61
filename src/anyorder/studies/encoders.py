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
from jaxtyping import Array, Bool, Float

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
def after_shuffle(
    policy: AbstractPolicy, env: AbstractEnv, n_episodes: int
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """What one shuffle does half way through: steps until it is got over, and the share of episodes it ends.

    The same episodes are played with and without the shuffle. Rewards are compared step by step in the
    episodes that go on in both; the last step at which their smoothed mean is below BACK of what it
    would be, plus one, is the first figure. The second counts those that would have gone on to the end.
    """
    keys = jax.random.split(jax.random.key(78), n_episodes)
    half = env.n_steps // 2

    def played(world: AbstractEnv) -> tuple[Float[Array, "keys steps"], Bool[Array, "keys steps"]]:
        def play(key):
            episode = rollout(policy, world, key=key, record=lambda step, decision: step.reward)
            return episode.trace, jnp.arange(world.n_steps) < episode.length

        return jax.vmap(play)(keys)

    straight, goes_on = played(env)
    shuffled, still = played(PerturbedEnv(env, Reshuffle(half)))
    both = goes_on & still
    span = max(1, min(SMOOTHED, half // 4))
    means = [
        (jnp.where(both, rewards, 0).sum(axis=0) / jnp.maximum(both.sum(axis=0), 1))[half:]
        for rewards in (shuffled, straight)
    ]
    smooth = [jnp.convolve(found, jnp.ones(span) / span, mode="valid") for found in means]
    below = smooth[0] < BACK * smooth[1]
    steps = jnp.where(below.any(), below.size - jnp.argmax(below[::-1]), 0)
    ended = 1 - both[:, -1].sum() / jnp.maximum(goes_on[:, -1].sum(), 1)
    return steps.astype(float), ended


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
                _told(outcome, "reshuffled", "{:.0f}"),
                _told(outcome, "recovery", "{:.0f}"),
                _told(outcome, "ended", "{:.0%}"),
                f"{outcome.steps.sum() / max(outcome.seconds, 1e-9) / 1e3:,.0f}",
            )
        )
    seeds = len(next(iter(found.values())).scores)
    return Table(
        title=f"Encoders without order, by {method}",
        columns=(
            "encoder", "parameters", "score", f"every {EVERY}", "recovery", "ended", "k steps/s",
        ),
        rows=tuple(rows),
        note=f"Mean ± sd over {seeds} seeds, all trained at once. Every {EVERY}: sensors change places so "
        "often. Recovery: steps until rewards are back for good after one change, in episodes that outlive it; "
        "ended: share of those that do not. Speed is that of training.",
    )  # fmt: skip


def _told(outcome: Outcome, name: str, form: str) -> str:
    found = outcome.final.get(name)
    return "–" if found is None else form.format(float(np.mean(found)))
