"""Deep Q-learning: value every choice, mostly make the best, learn from what was lived before.

Mnih et al. (2015), with double Q-learning (van Hasselt et al., 2016), a dueling head (Wang et al.,
2016), n-step targets, and sequences that start from a stored memory with a burn-in (Kapturowski et
al., 2019). An episode that was cut short is valued at its last sight, one that ended is not.

Departs from the papers: many worlds at once, replayed evenly; rewards are scaled instead of clipped;
the value stream reads the policy's code, and stays behind in training: the agent's own head says how
much better each choice is than the others, and the best choice is the same with it or without.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from anyorder.envs import AbstractEnv, Step
from anyorder.policies import AbstractPolicy, Memory
from anyorder.rollout import EngineName, episodes
from anyorder.training.choices import (
    QNetwork,
    Row,
    best_values,
    either,
    highest_values,
    n_step_targets,
    one_hot,
    values_along,
)
from anyorder.training.es import HELD_OUT_SEED, held_out_keys
from anyorder.training.replay import Replay, add, empty, sample


@dataclass(frozen=True)
class DQNConfig:
    """Q-learning, for worlds of choices. An update lives some steps, then learns from kept ones."""

    updates: int = 3000
    """Planned updates: exploration runs out along these."""
    worlds: int = 32
    """Worlds lived in side by side."""
    steps: int = 16
    """Steps lived in each world per update; also the length of the sequences learned from."""
    batch: int = 32
    """Sequences in a gradient step."""
    gradient_steps: int = 4
    """Gradient steps in an update."""
    capacity: int = 400_000
    """Environment steps kept to learn from. They are saved in every checkpoint: about 36 bytes a step
    for five sensors, so 14 MB."""
    warm_up: int = 10_000
    """Environment steps lived before the first gradient step."""
    discount: float = 0.99
    """What a reward is worth a step later."""
    n_step: int = 5
    """Rewards counted one by one before the rest is estimated; 1 for plain Q-learning."""
    double: bool = True
    """Choose with the network that learns, and value the choice with the target network."""
    dueling: bool = True
    """Estimate the value of the situation apart from what each choice adds to it."""
    value_hidden: int = 64
    """Units in the tanh layer of the value stream."""
    burn_in: int = 8
    """Steps before a learned sequence that only bring the memory up to date (policies with one)."""
    epsilon: float = 1.0
    """Share of random choices at the start."""
    final_epsilon: float = 0.05
    """Share of random choices in the end."""
    exploration: float = 0.2
    """Share of the planned updates over which it goes from one to the other."""
    target_every: int = 0
    """Gradient steps between copies to the target network; 0 for a soft one, see --dqn.target-share."""
    target_share: float = 0.005
    """Share of the learning network that a soft target network takes in per gradient step."""
    huber: float = 1.0
    """Errors beyond this size count in proportion, not squared."""
    learning_rate: float = 5e-4
    """Adam's step."""
    final_learning_rate: float | None = None
    """Adam's step in the end, reached along a line; the same if left out."""
    clip: float = 10.0
    """Longest gradient that is followed in full."""
    reward_scale: float = 0.1
    """Factor on rewards, so that values are numbers a network starts near."""
    test_every: int = 100
    """Updates between tests on held-out episodes."""
    test_episodes: int = 128
    """Held-out episodes of a test; the agent is the one that did best."""

    def __post_init__(self):
        counts = (self.updates, self.worlds, self.steps, self.batch, self.gradient_steps)
        if min(*counts, self.n_step, self.value_hidden, self.test_every, self.test_episodes) < 1:
            raise ValueError(
                "Updates, worlds, steps, batch, gradient steps, n_step, value_hidden and tests must be "
                "at least 1."
            )
        if min(self.burn_in, self.warm_up, self.target_every) < 0:
            raise ValueError("burn_in, warm_up and target_every must not be negative.")
        if not 0 <= self.discount < 1:
            raise ValueError(f"The discount must be at least 0 and below 1, got {self.discount}.")
        shares = (self.epsilon, self.final_epsilon, self.exploration, self.target_share)
        if not all(0 <= share <= 1 for share in shares):
            raise ValueError("epsilon, exploration and target_share must be from 0 to 1.")
        rates = (self.learning_rate, self.final_learning_rate, self.huber, self.clip)
        if not all(rate is None or rate > 0 for rate in (*rates, self.reward_scale)):
            raise ValueError(
                "learning_rate, huber, clip and reward_scale must be positive numbers."
            )
        if self.blocks * self.steps < self.burn_in + 2 * self.steps + self.n_step:
            raise ValueError(
                f"a capacity of {self.capacity} does not hold a sequence of each of {self.worlds} "
                "worlds: raise the capacity"
            )

    @property
    def blocks(self) -> int:
        """Updates whose steps are kept."""
        return self.capacity // (self.worlds * self.steps)


class DQNState(eqx.Module):
    """All that Q-learning knows; every leaf is an array, so it can be saved and go on bit for bit."""

    key: PRNGKeyArray
    updates: Int[Array, ""]
    gradient_steps: Int[Array, ""]
    network: PyTree
    target: PyTree
    optimizer: PyTree
    worlds: Step
    memories: Memory
    replay: Replay
    best: PyTree
    """The numbers of the policy that did best in a test."""
    best_score: Float[Array, ""]


class QLearning(eqx.Module):
    """Learns to value choices: `state = init(key)`, then `state, metrics = update(state, number)`."""

    policy: AbstractPolicy
    env: AbstractEnv
    config: DQNConfig = eqx.field(static=True)

    def __init__(self, policy: AbstractPolicy, env: AbstractEnv, config: DQNConfig):
        """**Arguments:**

        - `policy`: where learning starts from; its actions must be choices.
        - `env`: a world whose actions are choices.
        """
        if not env.discrete:
            raise ValueError(
                "dqn chooses among actions and this world takes numbers: "
                "train cartpole-discrete, or wrap the world in DiscreteActions"
            )
        if getattr(policy, "actions", None) != "discrete":
            raise ValueError('dqn needs a policy made with actions="discrete"')
        self.policy = policy
        self.env = env
        self.config = config

    @property
    def planned(self) -> int:
        """Updates after which the schedules have run their course."""
        return self.config.updates

    @property
    def test_every(self) -> int:
        return self.config.test_every

    @property
    def burn_in(self) -> int:
        """Steps that bring the memory up to date: none for a policy that keeps no memory."""
        remembers = jax.tree.leaves(self.policy.init(self.env.n_sensors).neurons)
        return self.config.burn_in if remembers else 0

    @property
    def window(self) -> int:
        """Steps of a sample: the burn-in, what is learned, and what the last targets look ahead."""
        return self.burn_in + self.config.steps + self.config.n_step

    def describe(self) -> str:
        config = self.config
        leaves = jax.tree.leaves(eqx.filter(self.policy, eqx.is_inexact_array))
        names = [name for name in ("double", "dueling") if getattr(config, name)]
        return (
            f"{sum(leaf.size for leaf in leaves):,} parameters, {' '.join([*names, 'dqn'])}, "
            f"{self.env.n_actions} choices, {config.worlds} worlds x {config.steps} steps and "
            f"{config.gradient_steps} gradient steps an update, the last "
            f"{config.blocks * config.worlds * config.steps:,} steps kept"
        )

    def advice(self) -> str | None:
        if getattr(self.policy, "hidden", None) == 0:
            return "without a hidden layer the head can value little: give --hidden 64."
        return None

    def init(self, key: PRNGKeyArray) -> DQNState:
        run_key, world_key, value_key = jax.random.split(key, 3)
        config = self.config
        network = eqx.filter(self._network(value_key), eqx.is_inexact_array)
        worlds = jax.vmap(self.env.reset)(jax.random.split(world_key, config.worlds))
        memory = self.policy.init(self.env.n_sensors)
        memories = jax.tree.map(lambda leaf: jnp.stack([leaf] * config.worlds), memory)
        one = jax.tree.map(lambda leaf: leaf[0], worlds)
        row = Row.of(one, jnp.zeros((), jnp.int32))
        state = DQNState(
            key=run_key,
            updates=jnp.zeros((), jnp.int32),
            gradient_steps=jnp.zeros((), jnp.int32),
            network=network,
            target=network,
            optimizer=self._optimizer().init(network),
            worlds=worlds,
            memories=memories,
            replay=empty(
                row, memory, blocks=config.blocks, steps=config.steps, worlds=config.worlds
            ),
            best=network.policy,
            best_score=jnp.array(-jnp.inf),
        )
        # No weak types, as there are none in a checkpoint.
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, leaf.dtype), state)

    def update(self, state: DQNState, number: int) -> tuple[DQNState, dict[str, Array]]:
        """Live some steps, then learn from what is kept. The state knows its own number."""
        return self._update(state)

    @eqx.filter_jit
    def _update(self, state: DQNState) -> tuple[DQNState, dict[str, Array]]:
        config = self.config
        live_key, learn_key = jax.random.split(jax.random.fold_in(state.key, state.updates))
        epsilon = self._epsilon(state.updates)
        first_memories = state.memories
        worlds, memories, rows = self._live(state, epsilon, live_key)
        replay = add(state.replay, rows, first_memories)
        state = eqx.tree_at(
            lambda s: (s.updates, s.worlds, s.memories, s.replay),
            state,
            (state.updates + 1, worlds, memories, replay),
        )
        warm = state.updates * config.worlds * config.steps >= config.warm_up
        learned = (state.network, state.target, state.optimizer, state.gradient_steps)

        def learn(learned):
            keys = jax.random.split(learn_key, config.gradient_steps)
            return jax.lax.scan(lambda so_far, key: self._learn(so_far, replay, key), learned, keys)

        def wait(learned):
            nothing = jnp.zeros(config.gradient_steps)
            return learned, {"loss": nothing, "value": nothing}

        learned, found = jax.lax.cond(warm & replay.ready(self.window), learn, wait, learned)
        state = eqx.tree_at(
            lambda s: (s.network, s.target, s.optimizer, s.gradient_steps), state, learned
        )
        metrics = {name: along.mean() for name, along in found.items()}
        steps = jnp.array(config.worlds * config.steps)
        return state, metrics | {"epsilon": epsilon, "steps": steps}

    def test(self, state: DQNState) -> tuple[DQNState, dict[str, Array]]:
        """Play held-out episodes without random choices, and keep the policy if it did best."""
        return self._test(state, held_out_keys(self.config.test_episodes))

    def best(self, state: DQNState, *, episodes: int = 1024) -> tuple[AbstractPolicy, float]:
        """The policy that did best in a test, and its score on fresh episodes."""
        key = jax.random.fold_in(jax.random.key(HELD_OUT_SEED), 1)
        policy = eqx.combine(state.best, self.policy)
        return policy, float(self._score(policy, jax.random.split(key, episodes)))

    def network(self, state: DQNState) -> QNetwork:
        """The network that learns, as it stands."""
        return self._whole(state.network)

    @eqx.filter_jit
    def _test(self, state: DQNState, keys: Array) -> tuple[DQNState, dict[str, Array]]:
        score = self._score(eqx.combine(state.network.policy, self.policy), keys)
        better = score > state.best_score
        best = jax.tree.map(
            lambda new, old: jnp.where(better, new, old), state.network.policy, state.best
        )
        kept = (best, jnp.maximum(score, state.best_score))
        return eqx.tree_at(lambda s: (s.best, s.best_score), state, kept), {"test": score}

    @eqx.filter_jit
    def _score(self, policy: AbstractPolicy, keys: Array) -> Float[Array, ""]:
        return episodes(policy, self.env, keys=keys).total.mean()

    def _network(self, key: PRNGKeyArray) -> QNetwork:
        hidden = self.config.value_hidden if self.config.dueling else None
        return QNetwork(self.policy, self.env.n_sensors, hidden, key=key)

    def _whole(self, numbers: PyTree) -> QNetwork:
        """The network with these numbers."""
        template = eqx.filter_eval_shape(self._network, jax.random.key(0))
        return eqx.combine(numbers, eqx.filter(template, eqx.is_inexact_array, inverse=True))

    def _optimizer(self) -> optax.GradientTransformation:
        config = self.config
        rate: Any = config.learning_rate
        if config.final_learning_rate is not None:
            planned = config.updates * config.gradient_steps
            rate = optax.linear_schedule(rate, config.final_learning_rate, planned)
        return optax.chain(optax.clip_by_global_norm(config.clip), optax.adam(rate))

    def _epsilon(self, updates: Int[Array, ""]) -> Float[Array, ""]:
        config = self.config
        share = jnp.minimum(updates / max(config.exploration * config.updates, 1), 1.0)
        return config.epsilon + share * (config.final_epsilon - config.epsilon)

    def _live(
        self, state: DQNState, epsilon: Float[Array, ""], key: PRNGKeyArray
    ) -> tuple[Step, Memory, Row]:
        """A block of steps in every world: where they stand then, and what was lived."""
        policy = eqx.combine(state.network.policy, self.policy)
        fresh = policy.init(self.env.n_sensors)

        def step(world: Step, memory: Memory, key: PRNGKeyArray):
            random_key, choice_key, step_key, reset_key = jax.random.split(key, 4)
            decision = policy.decide(world.sensors, memory)
            choice = jnp.where(
                jax.random.uniform(random_key) < epsilon,
                jax.random.randint(choice_key, (), 0, self.env.n_actions),
                jnp.argmax(decision.raw),
            )
            action = one_hot(choice, self.env.n_actions)
            following = self.env.step(world.state, action, key=step_key)
            carried = Memory(decision.memory.neurons, action)
            following, carried = either(
                world.done, (self.env.reset(reset_key), fresh), (following, carried)
            )
            return following, carried, Row.of(world, choice)

        def all_step(carry: tuple[Step, Memory], key: PRNGKeyArray):
            worlds, memories = carry
            keys = jax.random.split(key, self.config.worlds)
            worlds, memories, rows = jax.vmap(step)(worlds, memories, keys)
            return (worlds, memories), rows

        keys = jax.random.split(key, self.config.steps)
        (worlds, memories), rows = jax.lax.scan(all_step, (state.worlds, state.memories), keys)
        return worlds, memories, rows

    def _learn(
        self, learned: tuple[PyTree, PyTree, PyTree, Array], replay: Replay, key: PRNGKeyArray
    ) -> tuple[tuple[PyTree, PyTree, PyTree, Array], dict[str, Array]]:
        """One gradient step."""
        network, target, optimizer, count = learned
        config = self.config
        rows, memories = sample(replay, count=config.batch, window=self.window, key=key)
        (loss, value), gradient = jax.value_and_grad(self._loss, has_aux=True)(
            network, target, rows, memories
        )
        change, optimizer = self._optimizer().update(gradient, optimizer, network)
        network = optax.apply_updates(network, change)
        count = count + 1
        if config.target_every:
            target = either(count % config.target_every == 0, network, target)
        else:
            target = optax.incremental_update(network, target, config.target_share)
        return (network, target, optimizer, count), {"loss": loss, "value": value}

    def _loss(
        self, network: PyTree, target: PyTree, rows: Row, memories: Memory
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The mean error of the values of what was chosen, and the mean of those values."""
        config = self.config

        def along(numbers: PyTree) -> Float[Array, "batch steps choices"]:
            values = partial(values_along, self._whole(numbers), burn_in=self.burn_in)
            return jax.vmap(lambda rows, memory: values(rows, memory))(rows, memories)

        ours, theirs = along(network), along(target)
        rows = jax.tree.map(lambda leaf: leaf[:, self.burn_in :], rows)
        judge = jax.vmap(best_values if config.double else highest_values)
        look_ahead = jax.vmap(partial(n_step_targets, n=config.n_step, discount=config.discount))
        reward, value = config.reward_scale * rows.reward, judge(ours, theirs)
        targets = look_ahead(reward, rows.terminated, rows.over, value)
        taken = jnp.take_along_axis(ours, rows.choice[..., None], axis=-1)[..., 0]
        taken, counts = taken[:, : config.steps], ~rows.over[:, : config.steps]
        errors = optax.huber_loss(taken, jax.lax.stop_gradient(targets), delta=config.huber)
        share = counts / jnp.maximum(counts.sum(), 1)
        return (errors * share).sum(), (taken * share).sum()


def make_dqn(
    policy: AbstractPolicy, env: AbstractEnv, config: DQNConfig, rollout: EngineName = "auto"
) -> QLearning:
    """Q-learning; episodes are always played by the scan."""
    if rollout == "fused":
        raise ValueError("dqn plays its own episodes: leave --rollout out")
    return QLearning(policy, env, config)
