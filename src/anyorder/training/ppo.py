"""Proximal policy optimisation with memory (Schulman et al., 2017, arXiv 1707.06347).

    loss = -mean min(r A, clip(r, 1 - c, 1 + c) A) + w (v - R)^2 - e H,   r = p(action) / p_old(action)

Memory is learned by going back through sequences of `unroll` steps, each begun with the memory the
agent had then. Truncated episodes keep what they were still worth. Departs from the usual in that the
critic answers in units of the returns' running mean and spread (PopArt, arXiv 1602.07714), and in that
nothing about the sensors is normalised, since statistics per sensor would know their order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from anyorder.envs import AbstractEnv
from anyorder.policies import AbstractPolicy
from anyorder.policies.actor_critic import ActorCritic
from anyorder.rollout import Engine, EngineName, choose_engine
from anyorder.training.advantages import ReturnScale
from anyorder.training.es import HELD_OUT_SEED, held_out_keys
from anyorder.training.experience import Worlds, collect, open_worlds
from anyorder.training.lessons import lessons_from, loss_on


@dataclass(frozen=True)
class PPOConfig:
    """Proximal policy optimisation."""

    steps: int = 20_000_000
    """Planned environment steps: the schedules run over these."""
    n_envs: int = 256
    """Worlds played at once."""
    n_steps: int = 128
    """Steps in each world between updates; a multiple of `unroll`."""
    unroll: int = 32
    """Steps gradients go back through memory."""
    epochs: int = 4
    """Times each rollout is gone through."""
    minibatches: int = 8
    """Parts a rollout's sequences are dealt into, each a step of Adam."""
    learning_rate: float = 3e-3
    """Adam's step."""
    final_learning_rate: float = 3e-4
    """Adam's step at the end, reached along a line."""
    max_grad_norm: float = 0.5
    """Longer gradients are shortened to this."""
    gamma: float = 0.995
    """Worth of a reward one step later."""
    trace: float = 0.95
    """Lambda: how far surprises reach back."""
    clip: float = 0.2
    """How far the probability of an action may move from one rollout to the next."""
    value_weight: float = 0.5
    """Share of the critic's error in the loss."""
    entropy: float = 0.01
    """Worth of random actions in the loss; it keeps their spread from falling early."""
    sd: float = 1.0
    """Standard deviation at the start of a continuous action before it is squashed; it is learned."""
    separate_critic: bool = False
    """Give the critic sensory neurons of its own instead of the actor's code."""
    informed_critic: bool = True
    """Show the critic the world's own sensors, in their order, beside the code. The agent is told nothing
    of it and stays as free of order as it is. Not worth it where a sensor's place in the world says
    nothing about it, as in channels."""
    critic_hidden: int = 64
    """Units in each of the critic's two layers."""
    practice: float = 0.0
    """Share of episodes at the start that are an easier exercise, in worlds that have one; falls to 0
    half way."""
    test_every: int = 25
    """Updates between tests on held-out episodes, which are played without chance."""
    test_episodes: int = 1024
    """Held-out episodes of a test."""

    def __post_init__(self):
        counts = (self.steps, self.n_envs, self.n_steps, self.unroll, self.epochs, self.minibatches)
        if min(*counts, self.critic_hidden, self.test_every, self.test_episodes) < 1:
            raise ValueError("Steps, worlds, epochs, minibatches and tests must be at least 1.")
        if self.n_steps % self.unroll:
            raise ValueError(
                f"n_steps must be a multiple of unroll, got {self.n_steps} and {self.unroll}."
            )
        if self.n_envs * self.n_steps // self.unroll % self.minibatches:
            raise ValueError(
                f"{self.n_envs * self.n_steps // self.unroll} sequences (n_envs * n_steps / unroll) "
                f"must divide into {self.minibatches} minibatches."
            )
        if not min(self.learning_rate, self.final_learning_rate, self.max_grad_norm, self.sd) > 0:
            raise ValueError("Learning rates, gradient norm and sd must be positive.")
        if not (0 <= self.gamma < 1 and 0 <= self.trace <= 1 and 0 <= self.practice <= 1):
            raise ValueError("Gamma must be from 0 to below 1, trace and practice from 0 to 1.")
        if not (self.clip > 0 and self.value_weight >= 0):
            raise ValueError("Clip must be positive and value_weight must not be negative.")

    @property
    def sequences(self) -> int:
        """Sequences in one world's part of a rollout."""
        return self.n_steps // self.unroll

    @property
    def updates(self) -> int:
        """Planned updates."""
        return max(1, round(self.steps / (self.n_envs * self.n_steps)))


class PPOState(eqx.Module):
    """All that a run knows; every leaf is an array, so it can be saved and go on bit for bit."""

    key: PRNGKeyArray
    updates: Int[Array, ""]
    model: PyTree
    """The arrays of the actor-critic."""
    adam: PyTree
    scale: ReturnScale
    worlds: Worlds
    best: PyTree
    """The arrays of the best tested policy."""
    best_score: Float[Array, ""]


class PPO(eqx.Module):
    """Improves a policy: `state = init(key)`, then `state, metrics = update(state, number)` and so on."""

    policy: AbstractPolicy
    engine: Engine
    config: PPOConfig = eqx.field(static=True)

    @property
    def planned(self) -> int:
        """Updates after which the schedules have run their course."""
        return self.config.updates

    @property
    def test_every(self) -> int:
        return self.config.test_every

    @property
    def env(self) -> AbstractEnv:
        return self.engine.env

    def describe(self) -> str:
        config = self.config
        count = sum(leaf.size for leaf in jax.tree.leaves(_arrays(self.policy)))
        return (
            f"{count:,} parameters, ppo, {config.n_envs} worlds x {config.n_steps} steps, "
            f"{config.epochs} x {config.minibatches} steps of Adam through {config.unroll} steps of memory"
        )

    def advice(self) -> str | None:
        return None

    def init(self, key: PRNGKeyArray) -> PPOState:
        run_key, critic_key, world_key = jax.random.split(key, 3)
        model = self._fresh_model(critic_key)
        env = self.world_at(jnp.zeros((), int))
        state = PPOState(
            key=run_key,
            updates=jnp.zeros((), int),
            model=_arrays(model),
            adam=self._adam().init(_arrays(model)),
            scale=ReturnScale.fresh(),
            worlds=open_worlds(model, env, keys=jax.random.split(world_key, self.config.n_envs)),
            best=_arrays(self.policy),
            best_score=jnp.array(-jnp.inf),
        )
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, leaf.dtype), state)

    def update(self, state: PPOState, number: int) -> tuple[PPOState, dict[str, Array]]:
        """One rollout and what is learned from it. The state itself knows how many there were."""
        return _update(self, state)

    def test(self, state: PPOState) -> tuple[PPOState, dict[str, Array]]:
        """Play held-out episodes without chance, and remember the best policy."""
        policy = eqx.combine(state.model.policy, self.policy)
        score = self._score(policy, held_out_keys(self.config.test_episodes))
        better = score > state.best_score
        best = jax.tree.map(
            lambda new, old: jnp.where(better, new, old), state.model.policy, state.best
        )
        state = eqx.tree_at(
            lambda s: (s.best, s.best_score), state, (best, jnp.maximum(score, state.best_score))
        )
        return state, {"test": score}

    def best(self, state: PPOState, *, episodes: int = 4096) -> tuple[AbstractPolicy, float]:
        """The best tested policy, or the present one before any test, and its score on fresh episodes."""
        tested = bool(jnp.isfinite(state.best_score))
        policy = eqx.combine(state.best if tested else state.model.policy, self.policy)
        key = jax.random.fold_in(jax.random.key(HELD_OUT_SEED), 1)
        return policy, float(self._score(policy, jax.random.split(key, episodes)))

    def _score(self, policy: AbstractPolicy, keys: Array) -> Float[Array, ""]:
        one = jax.tree.map(lambda leaf: leaf[None] if eqx.is_array(leaf) else leaf, policy)
        play = eqx.filter_jit(self.engine) if self.engine.traceable else self.engine
        return play(one, keys)[0].mean()

    def model(self, state: PPOState) -> ActorCritic:
        """The actor-critic as it is now."""
        return eqx.combine(state.model, self._fresh_model(jax.random.key(0)))

    def _fresh_model(self, key: PRNGKeyArray) -> ActorCritic:
        config = self.config
        return ActorCritic(
            self.policy,
            self.env.n_sensors,
            separate=config.separate_critic,
            hidden=config.critic_hidden,
            sd=config.sd,
            told=self.env.bare.n_sensors if config.informed_critic else 0,
            key=key,
        )

    def world_at(self, updates: Int[Array, ""]) -> AbstractEnv:
        """The world to practise in at this time."""
        if not self.config.practice:
            return self.env
        left = jnp.maximum(1 - 2 * updates / self.planned, 0)
        return self.env.practising(jnp.asarray(self.config.practice * left, float))

    def _adam(self) -> optax.GradientTransformation:
        config = self.config
        steps = config.updates * config.epochs * config.minibatches
        rate = optax.linear_schedule(config.learning_rate, config.final_learning_rate, steps)
        return optax.chain(
            optax.clip_by_global_norm(config.max_grad_norm), optax.adam(rate, eps=1e-5)
        )


def make_ppo(
    policy: AbstractPolicy, env: AbstractEnv, config: PPOConfig, rollout: EngineName = "auto"
) -> PPO:
    """PPO whose tests are played by the engine of this name."""
    if config.practice:
        env.practising(jnp.zeros(()))  # a world without an exercise says so here
    return PPO(policy, choose_engine(policy, env, rollout), config)


class Training(eqx.Module):
    """What a whole run came to."""

    steps: Int[Array, " tests"]
    """Environment steps made before each test."""
    test: Float[Array, " tests"]
    policy: PyTree
    """The arrays of the last policy: `eqx.combine(training.policy, policy)` acts."""
    best: PyTree
    """Those of the best tested one."""


def make_train(
    config: PPOConfig,
    env: AbstractEnv,
    policy: AbstractPolicy | Callable[[PRNGKeyArray], AbstractPolicy],
) -> Callable[[PRNGKeyArray], Training]:
    """Training as a pure function of a key, for many seeds at once: `jax.jit(jax.vmap(train))(keys)`.

    **Arguments:**

    - `policy`: where every run starts, or what makes each run a start of its own from a key.
    """

    def train(key: PRNGKeyArray) -> Training:
        policy_key, run_key = jax.random.split(key)
        start = policy if isinstance(policy, AbstractPolicy) else policy(policy_key)
        learner = PPO(start, Engine(env, fused=False), config)

        def update(carry, _):
            state, steps = carry
            state, metrics = _update(learner, state)
            return (state, steps + metrics["steps"]), None

        def stage(carry, _):
            (state, steps), _ = jax.lax.scan(update, carry, length=config.test_every)
            state, scores = learner.test(state)
            return (state, steps), (steps, scores["test"])

        begin = (learner.init(run_key), jnp.zeros((), int))
        stages = max(1, learner.planned // config.test_every)
        (state, _), (steps, scores) = jax.lax.scan(stage, begin, length=stages)
        return Training(steps, scores, state.model.policy, state.best)

    return train


@eqx.filter_jit
def _update(learner: PPO, state: PPOState) -> tuple[PPOState, dict[str, Array]]:
    config = learner.config
    env = learner.world_at(state.updates)
    play_key, learn_key = jax.random.split(jax.random.fold_in(state.key, state.updates))
    model = learner.model(state)
    template = eqx.filter(model, eqx.is_inexact_array, inverse=True)
    worlds, experience = collect(
        model, env, state.worlds, config.sequences, config.unroll, key=play_key
    )
    lessons, scale, metrics = lessons_from(
        experience, state.scale, gamma=config.gamma, trace=config.trace
    )
    model = model.in_units(state.scale.mean, state.scale.sd, scale.mean, scale.sd)
    adam = learner._adam()

    def step(carry, minibatch):
        arrays, memory = carry
        chosen, key = minibatch
        part = jax.tree.map(lambda leaf: leaf[chosen], lessons)

        def loss(arrays):
            return loss_on(
                part, eqx.combine(arrays, template), env,
                clip=config.clip, value_weight=config.value_weight, entropy_weight=config.entropy,
                key=key,
            )  # fmt: skip

        (_, parts), slopes = jax.value_and_grad(loss, has_aux=True)(arrays)
        changes, memory = adam.update(slopes, memory, arrays)
        return (optax.apply_updates(arrays, changes), memory), parts

    deal_key, noise_key = jax.random.split(learn_key)
    n_sequences = config.n_envs * config.sequences
    deals = jax.vmap(lambda key: jax.random.permutation(key, n_sequences))(
        jax.random.split(deal_key, config.epochs)
    )
    steps = config.epochs * config.minibatches
    deals = deals.reshape(steps, n_sequences // config.minibatches)
    (arrays, adam_state), parts = jax.lax.scan(
        step, (_arrays(model), state.adam), (deals, jax.random.split(noise_key, steps))
    )
    metrics |= {name: values.mean() for name, values in parts.items()}
    new = eqx.tree_at(
        lambda s: (s.updates, s.model, s.adam, s.scale, s.worlds),
        state,
        (state.updates + 1, arrays, adam_state, scale, worlds),
    )
    return new, metrics


def _arrays(tree: Any) -> PyTree:
    """The learned part of a pytree."""
    return eqx.filter(tree, eqx.is_inexact_array)
