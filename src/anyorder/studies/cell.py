"""One cell of a study: one kind of agent by one method, from many seeds at once."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from anyorder.envs import AbstractEnv
from anyorder.policies import InvariantConfig, InvariantPolicy
from anyorder.rollout import choose_engine
from anyorder.training import PPO, ESConfig, Evolution, ManySeeds, PPOConfig, state_of
from anyorder.training.space import to_policy

Show = Callable[[int, int, Float[np.ndarray, " seeds"]], None]
"""Told updates made, updates planned and the newest scores."""


@dataclass(frozen=True)
class Cell:
    """What is trained and how. The same seed starts from the same numbers in every cell that has them."""

    name: str
    """What tells it from the others of its method."""
    method: str
    agent: InvariantConfig
    training: ESConfig | PPOConfig

    def as_json(self) -> dict[str, Any]:
        """All its settings, as JSON keeps them."""
        return dataclasses.asdict(self)

    def learner(self, env: AbstractEnv, policy: InvariantPolicy) -> Evolution | PPO:
        """The learner that starts from this policy."""
        on_gpu = (
            jax.default_backend() == "gpu"
        )  # elsewhere the fused rollout cannot stand inside jit
        engine = choose_engine(policy, env, "auto" if on_gpu else "scan")
        if isinstance(self.training, ESConfig):
            return Evolution(policy, engine, self.training)
        return PPO(policy, engine, self.training)

    @property
    def updates(self) -> int:
        """Planned updates: generations, or rollouts with what is learned from each."""
        config = self.training
        return config.generations if isinstance(config, ESConfig) else config.updates


@dataclass(frozen=True)
class Outcome:
    """What came of a cell."""

    at: Int[np.ndarray, " tests"]
    """Updates made before each test."""
    scores: Float[np.ndarray, "seeds tests"]
    """Mean return of the held-out episodes, the same for all seeds and cells."""
    steps: Float[np.ndarray, " seeds"]
    """Environment steps each seed made in all."""
    parameters: int
    seconds: float
    """Of training and tests of all seeds together, compiling apart."""
    compile_seconds: float
    final: Mapping[str, Float[np.ndarray, " seeds"]]
    """What the last policies earn in further tests, by name."""
    device: str = "unknown"
    """Where it ran."""

    def as_json(self) -> dict[str, Any]:
        return {
            "at": self.at.tolist(),
            "scores": np.round(self.scores, 3).tolist(),
            "steps": self.steps.tolist(),
            "parameters": self.parameters,
            "device": self.device,
            "seconds": round(self.seconds, 2),
            "compile_seconds": round(self.compile_seconds, 2),
            "final": {name: np.round(found, 3).tolist() for name, found in self.final.items()},
        }

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Outcome:
        """From what `as_json` gave."""
        return cls(
            at=np.array(facts["at"], int),
            scores=np.array(facts["scores"], float),
            steps=np.array(facts["steps"], float),
            parameters=int(facts["parameters"]),
            seconds=float(facts["seconds"]),
            compile_seconds=float(facts["compile_seconds"]),
            final={name: np.array(found, float) for name, found in facts["final"].items()},
            device=str(facts.get("device", "unknown")),
        )


@dataclass(frozen=True)
class Prepared:
    """A cell whose code is compiled."""

    policies: list[InvariantPolicy]
    """Where each seed starts."""
    many: ManySeeds
    states: Any
    stage: Callable[[ManySeeds, Any, Array], tuple[Any, Array, Array]]
    """So many updates, then a test: states, steps and scores of all seeds."""
    seconds: float
    """Of compiling."""


def prepare(cell: Cell, env: AbstractEnv, seeds: int) -> Prepared:
    """Everything before the first update."""
    pairs = [jax.random.split(jax.random.key(seed)) for seed in range(seeds)]
    agent = dataclasses.replace(cell.agent, actions="discrete" if env.discrete else "continuous")
    policies = [
        InvariantPolicy(env.n_sensors, env.n_actions, agent, key=policy_key)
        for policy_key, _ in pairs
    ]
    many = ManySeeds(cell.learner(env, policies[0]), policies)
    states = many.init(jnp.stack([run_key for _, run_key in pairs]))

    def stage(many: ManySeeds, states: Any, count: Int[Array, ""]) -> tuple[Any, Array, Array]:
        def update(_: Any, carry: tuple[Any, Array]) -> tuple[Any, Array]:
            states, steps = carry
            states, metrics = many.update(states, 0)  # schedules follow the states, not the number
            return states, steps + metrics["steps"]

        begin = (states, jnp.zeros(seeds, int))
        states, steps = jax.lax.fori_loop(0, count, update, begin)
        states, found = many.test(states)
        return states, steps, found["test"]

    began = time.monotonic()
    jitted: Any = eqx.filter_jit(stage)
    compiled = jitted.lower(many, states, jnp.array(1)).compile()
    return Prepared(policies, many, states, compiled, time.monotonic() - began)


def run_cell(
    cell: Cell,
    env: AbstractEnv,
    seeds: int,
    *,
    show: Show = lambda done, planned, scores: None,
    further: Callable[[InvariantPolicy], Mapping[str, Array]] = lambda policy: {},
) -> Outcome:
    """Train all seeds from the first test (before any update) to the last.

    **Arguments:**

    - `further`: what else to find out about each last policy: numbers by name.
    """
    ready = prepare(cell, env, seeds)
    states = ready.states
    every = min(cell.training.test_every, cell.updates)
    stages = -(-cell.updates // every)
    scores, steps = [], np.zeros(seeds)
    began = time.monotonic()
    for number in range(stages + 1):
        states, made, score = ready.stage(ready.many, states, jnp.array(every if number else 0))
        scores.append(np.asarray(score))
        steps += np.asarray(made)
        show(number * every, stages * every, scores[-1])
    seconds = time.monotonic() - began
    last = [
        last_policy(cell.learner(env, policy), state_of(states, seed))
        for seed, policy in enumerate(ready.policies)
    ]
    found = [further(policy) for policy in last]
    final = {name: np.array([float(each[name]) for each in found]) for name in found[0]}
    leaves = jax.tree.leaves(eqx.filter(ready.policies[0], eqx.is_inexact_array))
    return Outcome(
        at=every * np.arange(stages + 1),
        scores=np.array(scores).T,
        steps=steps,
        parameters=sum(leaf.size for leaf in leaves),
        seconds=seconds,
        compile_seconds=ready.seconds,
        final=final,
        device=jax.devices()[0].device_kind,
    )


def last_policy(learner: Evolution | PPO, state: Any) -> InvariantPolicy:
    """The policy as it is at the end; evolution's is the running average of its centre."""
    if isinstance(learner, PPO):
        policy = eqx.combine(state.model.policy, learner.policy)
    else:
        policy = to_policy(learner.config.space, learner.policy, state.average)
    assert isinstance(policy, InvariantPolicy)
    return policy
