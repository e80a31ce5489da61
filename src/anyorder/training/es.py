"""Evolution: a cloud of candidates around a centre, through evosax.

The search loop is visible in `Evolution.update`: ask, play, tell. All candidates of a generation play
the same episodes, and the learning rate, the width of the cloud and the length of a candidate's
examination follow a schedule over the planned generations, since with few episodes the judge is noisy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from evosax.algorithms import PGPE, SNES, Open_ES, Sep_CMA_ES
from evosax.core.fitness_shaping import (
    centered_rank_fitness_shaping_fn,
    identity_fitness_shaping_fn,
)
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree

from anyorder.envs import AbstractEnv
from anyorder.policies import AbstractPolicy
from anyorder.rollout import AbstractEngine, EngineName, Length, choose_engine
from anyorder.training.lazy_cma import LazyCMA
from anyorder.training.memory import Estimate, advice, estimate, in_words, machine_memory
from anyorder.training.space import SpaceName, check_space, flatten, to_policy, to_vector

Algorithm = Literal["open-es", "pgpe", "snes", "sep-cma-es", "cma-es"]
STAGES = 8
"""Steps in which episodes per candidate and their length grow: most engines compile anew for each."""


@dataclass(frozen=True)
class ESConfig:
    """Evolution strategies. `final_...` is where a value goes by the last planned generation."""

    algorithm: Algorithm = "open-es"
    """open-es and pgpe follow a gradient estimate with Adam; the others adapt their own steps."""
    generations: int = 1000
    """Planned generations: the schedules run over these."""
    population: int = 256
    """Candidates per generation; even, as noise comes in mirrored pairs."""
    episodes: int = 32
    """Episodes each candidate plays in a generation; all candidates play the same ones."""
    final_episodes: int | None = None
    """Episodes at the end; as many as at the start if left out."""
    steps: int | None = None
    """Steps an episode is watched for at the start of training; all of it if left out."""
    practice: float = 0.0
    """Share of episodes at the start that are an easier exercise, in worlds that have one (cartpole:
    balancing from nearly upright, until the pole falls)."""
    final_practice: float = 0.0
    """Share of such episodes at the end."""
    sigma: float = 0.1
    """Standard deviation of the candidates around their centre."""
    final_sigma: float | None = None
    """Standard deviation at the end (open-es only)."""
    learning_rate: float = 0.05
    """Adam's step (open-es and pgpe)."""
    final_learning_rate: float | None = None
    """Adam's step at the end, reached along a cosine."""
    shaping: Literal["rank", "raw"] = "rank"
    """What open-es and pgpe follow: ranks within the generation, or the returns themselves."""
    space: SpaceName = "full"
    """full: all parameters; folded: without the redundant ones of sensory neurons, which is faster."""
    start: Literal["random", "zeros"] = "random"
    """First centre: the policy's own random initialisation, or zeros as in the paper."""
    averaging: float = 0.98
    """Share of the past in the running average of the centre, which is tested beside it; 0 for none."""
    test_every: int = 25
    """Generations between tests of the centre on held-out episodes."""
    test_episodes: int = 1024
    """Held-out episodes of a test."""
    finalists: int = 8
    """Best tested centres kept; the agent is the best of them on fresh episodes."""

    def __post_init__(self):
        if self.population < 4 or self.population % 2:
            raise ValueError(f"The population must be even and at least 4, got {self.population}.")
        counts = (self.generations, self.episodes, self.test_every, self.test_episodes)
        if min(*counts, self.finalists, self.final_episodes or 1, self.steps or 1) < 1:
            raise ValueError(
                "Generations, episodes, steps, tests and finalists must be at least 1."
            )
        rates = (self.sigma, self.learning_rate, self.final_sigma, self.final_learning_rate)
        if any(rate is not None and not rate > 0 for rate in rates):
            raise ValueError("Sigma and learning rate must be positive.")
        if not (0 <= self.practice <= 1 and 0 <= self.final_practice <= 1):
            raise ValueError("Shares of practice must be from 0 to 1.")
        if not 0 <= self.averaging < 1:
            raise ValueError(f"Averaging must be at least 0 and below 1, got {self.averaging}.")


class ESState(eqx.Module):
    """All that evolution knows; every leaf is an array, so it can be saved and go on bit for bit."""

    key: PRNGKeyArray
    generation: Int[Array, ""]
    search: PyTree
    average: Float[Array, " numbers"]
    finalists: Float[Array, "finalists numbers"]
    finalist_scores: Float[Array, " finalists"]


class Evolution(eqx.Module):
    """Evolves a policy: `state = init(key)`, then `state, metrics = update(state)` again and again."""

    policy: AbstractPolicy
    engine: AbstractEngine
    config: ESConfig = eqx.field(static=True)
    strategy: Any = eqx.field(static=True)
    parameters: Any = field(repr=False)

    def __init__(self, policy: AbstractPolicy, engine: AbstractEngine, config: ESConfig):
        """**Arguments:**

        - `policy`: gives the structure and, for a random start, the first centre.
        - `engine`: plays the episodes.
        """
        self.policy = policy
        self.engine = engine
        self.config = config
        check_space(config.space, policy)
        size = to_vector(config.space, policy).size
        self.strategy, self.parameters = make_strategy(config, size)

    @property
    def planned(self) -> int:
        """Updates after which the schedules have run their course."""
        return self.config.generations

    @property
    def test_every(self) -> int:
        return self.config.test_every

    def needs(self) -> Estimate:
        """The memory a run will take."""
        config, env = self.config, self.engine.env
        carried = 16 * env.n_sensors + 16  # a neuron's memory and the world's state
        most = max(config.episodes, config.final_episodes or 0)
        size = flatten(self.policy).size
        return estimate(config.algorithm, size, config.population, most, carried)

    def describe(self) -> str:
        config, needs = self.config, self.needs()
        return (
            f"{needs.parameters:,} parameters, {config.algorithm}, {config.population} candidates x "
            f"{config.episodes} episodes, {self.engine.name} rollout, "
            f"about {in_words(needs.total)} of memory"
        )

    def advice(self) -> str | None:
        return advice(self.config.algorithm, self.needs(), machine_memory())

    def init(self, key: PRNGKeyArray) -> ESState:
        run_key, search_key = jax.random.split(key)
        centre = to_vector(self.config.space, self.policy)
        if self.config.start == "zeros":
            centre = jnp.zeros_like(centre)
        search = self.strategy.init(search_key, centre, self.parameters)
        return ESState(
            key=run_key,
            generation=jnp.zeros((), int),
            search=jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.asarray(leaf).dtype), search),
            average=centre,
            finalists=jnp.tile(centre, (self.config.finalists, 1)),
            finalist_scores=jnp.full(self.config.finalists, -jnp.inf),
        )

    def update(self, state: ESState, number: int) -> tuple[ESState, dict[str, Array]]:
        """One generation, the one after `number` others."""
        exam = examination(self.config, number, self.engine.env.n_steps)
        engine = self.engine
        if self.config.practice or self.config.final_practice:
            engine = engine.practising(jnp.asarray(exam.practice, float))
        generation = _jit_generation if engine.traceable else _generation
        steps = jnp.asarray(exam.steps) if engine.any_length else exam.steps
        return generation(self, engine, state, exam.episodes, steps)

    def test(self, state: ESState) -> tuple[ESState, dict[str, Array]]:
        """Play held-out episodes with the centre and its average, and remember the better one."""
        pair = jnp.stack([state.search.mean, state.average])
        returns, _ = _play(self, self.engine, pair, held_out_keys(self.config.test_episodes))
        scores = returns.mean(axis=1)
        best = jnp.argmax(scores)
        worst = jnp.argmin(state.finalist_scores)
        better = scores[best] > state.finalist_scores[worst]
        chosen = jnp.where(better, pair[best], state.finalists[worst])
        state = eqx.tree_at(
            lambda s: (s.finalists, s.finalist_scores),
            state,
            (
                state.finalists.at[worst].set(chosen),
                state.finalist_scores.at[worst].max(scores[best]),
            ),
        )
        metrics = {"test_centre": scores[0], "test_average": scores[1], "test": scores[best]}
        return state, metrics

    def best(self, state: ESState, *, episodes: int = 4096) -> tuple[AbstractPolicy, float]:
        """The best finalist on fresh episodes, and its score there (a little flattering: it won)."""
        key = jax.random.fold_in(jax.random.key(HELD_OUT_SEED), 1)
        returns, _ = _play(self, self.engine, state.finalists, jax.random.split(key, episodes))
        scores = jnp.where(jnp.isfinite(state.finalist_scores), returns.mean(axis=1), -jnp.inf)
        winner = jnp.argmax(scores)
        policy = to_policy(self.config.space, self.policy, state.finalists[winner])
        return policy, float(returns[winner].mean())


def make_evolution(
    policy: AbstractPolicy, env: AbstractEnv, config: ESConfig, rollout: EngineName = "auto"
) -> Evolution:
    """Evolution with the engine of this name."""
    return Evolution(policy, choose_engine(policy, env, rollout), config)


HELD_OUT_SEED = 20210907
"""Tests during training use this stream, training and evaluation keys are drawn from others."""


def held_out_keys(n_episodes: int) -> Key[Array, " episodes"]:
    """The episodes of every test during training."""
    return jax.random.split(jax.random.key(HELD_OUT_SEED), n_episodes)


def make_strategy(config: ESConfig, n_parameters: int) -> tuple[Any, Any]:
    """The evosax strategy of this name with its settings."""
    final_rate = config.final_learning_rate or config.learning_rate
    final_sigma = config.final_sigma or config.sigma
    rate = optax.cosine_decay_schedule(
        config.learning_rate, config.generations, final_rate / config.learning_rate
    )
    adam = optax.adam(rate)
    template = jnp.zeros(n_parameters)
    ranked = config.shaping == "rank"
    shaping = centered_rank_fitness_shaping_fn if ranked else identity_fitness_shaping_fn
    if config.algorithm == "open-es":
        sigma = optax.exponential_decay(
            config.sigma, config.generations, final_sigma / config.sigma, end_value=final_sigma
        )
        strategy = Open_ES(
            config.population, template,
            optimizer=adam, std_schedule=sigma, fitness_shaping_fn=shaping,
        )  # fmt: skip
        return strategy, strategy.default_params
    if config.algorithm == "pgpe":
        strategy = PGPE(config.population, template, optimizer=adam, fitness_shaping_fn=shaping)
    elif config.algorithm == "cma-es":
        strategy = LazyCMA(config.population, template)
    else:
        kinds = {"snes": SNES, "sep-cma-es": Sep_CMA_ES}
        strategy = kinds[config.algorithm](config.population, template)
    return strategy, strategy.default_params.replace(std_init=jnp.asarray(config.sigma))


@dataclass(frozen=True)
class Examination:
    """What each candidate goes through in a generation."""

    episodes: int
    steps: int
    """Steps each episode is watched for."""
    practice: float
    """Share of episodes that are exercises."""


def examination(config: ESConfig, generation: int, limit: int) -> Examination:
    """The examination of this generation, in a world whose episodes last `limit` steps."""
    stage = min(STAGES * generation // config.generations, STAGES - 1) / (STAGES - 1)

    def along(first: float | int, last: float | int) -> float:
        return first * (1 - stage) + last * stage  # exact at both ends

    return Examination(
        episodes=round(along(config.episodes, config.final_episodes or config.episodes)),
        steps=round(along(min(config.steps or limit, limit), limit)),
        practice=along(config.practice, config.final_practice),
    )


def _generation(
    evolution: Evolution,
    engine: AbstractEngine,
    state: ESState,
    n_episodes: int,
    n_steps: Length,
) -> tuple[ESState, dict[str, Array]]:
    candidates, search, keys = _ask(evolution, state, n_episodes)
    returns, steps = _play(evolution, engine, candidates, keys, n_steps)
    return _tell(evolution, state, search, candidates, returns, steps)


_jit_generation = eqx.filter_jit(_generation)


@eqx.filter_jit
def _ask(evolution: Evolution, state: ESState, n_episodes: int):
    ask_key, play_key = jax.random.split(jax.random.fold_in(state.key, state.generation))
    candidates, search = evolution.strategy.ask(ask_key, state.search, evolution.parameters)
    return candidates, search, jax.random.split(play_key, n_episodes)


def _play(
    evolution: Evolution,
    engine: AbstractEngine,
    vectors: Float[Array, "candidates numbers"],
    keys: Key[Array, " episodes"],
    n_steps: Length | None = None,
) -> tuple[Float[Array, "candidates episodes"], Int[Array, ""]]:
    candidates = _policies(evolution, vectors)
    play = eqx.filter_jit(engine) if engine.traceable else engine
    return play(candidates, keys, n_steps)


@eqx.filter_jit
def _policies(evolution: Evolution, vectors: Float[Array, "candidates numbers"]) -> AbstractPolicy:
    """One policy whose arrays carry a leading axis of candidates."""
    space, template = evolution.config.space, evolution.policy
    return eqx.filter_vmap(lambda vector: to_policy(space, template, vector))(vectors)


@eqx.filter_jit
def _tell(evolution: Evolution, state: ESState, search, candidates, returns, steps):
    fitness = -returns.mean(axis=1)  # evosax minimises
    tell_key = jax.random.fold_in(state.key, -1 - state.generation)
    search, _ = evolution.strategy.tell(tell_key, candidates, fitness, search, evolution.parameters)
    age = state.generation + 1
    share = jnp.minimum(evolution.config.averaging, 1 - 1 / (age + 1))
    average = share * state.average + (1 - share) * search.mean
    metrics = {
        "mean": -fitness.mean(),
        "best": -fitness.min(),
        "worst": -fitness.max(),
        "steps": steps,
    }
    new = eqx.tree_at(lambda s: (s.generation, s.search, s.average), state, (age, search, average))
    return new, metrics
