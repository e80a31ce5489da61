"""Cloning: a student imitates a teacher who is spared what happens to the student's sensors.

A fixed-order teacher makes an order-free student, since the student's view alone is perturbed. Acting
itself, the student meets the states its own mistakes lead to (DAgger; Ross et al., 2011, arXiv
1011.0686), and each is used once: worlds are cheap. With the teacher acting, or with recorded episodes,
it is behaviour cloning. Gradients go back through memory, not through the world.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from anyorder.envs import AbstractEnv, PerturbedEnv, Step
from anyorder.policies import AbstractPolicy, Decision, Memory, RelationalPolicy
from anyorder.rollout import Engine, EngineName, choose_engine
from anyorder.training.es import HELD_OUT_SEED, held_out_keys
from anyorder.training.teachers import AbstractTeacher, check_teacher

LEAST_SHARE = 1e-4
"""Attention shares count as at least this where their logarithm is taken."""
STARTS_EVERY = 16
"""One new start is drawn for so many steps of a world; if more are needed, some are used again."""


@dataclass(frozen=True)
class CloneConfig:
    """Cloning a teacher."""

    teacher: str = "oracle"
    """Who is imitated: oracle (the near-optimal controller), or an agent: a run folder or a shipped one."""
    recordings: str | None = None
    """Imitate recorded episodes instead (`anyorder evaluate AGENT --record FOLDER` makes some)."""
    acting: Literal["student", "teacher"] = "student"
    """Who acts while learning: the student, corrected by the teacher, or the teacher itself."""
    updates: int = 3000
    """Planned updates: the learning rate's schedule runs over these."""
    worlds: int = 128
    """Worlds played at once."""
    unroll: int = 32
    """Steps between updates, through which gradients go back."""
    learning_rate: float = 3e-3
    """Adam's step at its highest, after a warm-up."""
    final_learning_rate: float = 3e-5
    """Adam's step at the end, reached along a cosine."""
    warm_up: int = 100
    """Updates until the learning rate is at its highest."""
    max_grad_norm: float = 1.0
    """Longer gradients are shortened to this."""
    tell: float = 0.3
    """Weight of telling relational neurons, in training only, which sensor each slot should attend to."""
    horizon: int = 300
    """Steps after which training episodes are cut, to see more starts."""
    test_every: int = 100
    """Updates between tests on held-out episodes."""
    test_episodes: int = 512
    """Held-out episodes of a test."""

    def __post_init__(self):
        counts = (self.updates, self.worlds, self.unroll, self.horizon, self.test_every)
        if min(*counts, self.test_episodes) < 1 or self.warm_up < 0:
            raise ValueError("Updates, worlds, unroll, horizon and tests must be at least 1.")
        if not min(self.learning_rate, self.final_learning_rate, self.max_grad_norm) > 0:
            raise ValueError("Learning rates and gradient norm must be positive.")
        if self.tell < 0:
            raise ValueError(f"tell must not be negative, got {self.tell}.")


class Lesson(eqx.Module):
    """A world in the middle of an episode, and what student and teacher remember."""

    step: Step
    memory: Memory
    teacher: Any
    time: Int[Array, ""]


class CloneState(eqx.Module):
    """All that a run knows; every leaf is an array, so it can be saved and go on bit for bit."""

    key: PRNGKeyArray
    updates: Int[Array, ""]
    student: PyTree
    adam: PyTree
    lessons: Lesson
    best: PyTree
    best_score: Float[Array, ""]


class Cloning(eqx.Module):
    """Makes a policy act as a teacher: `state = init(key)`, then `state, metrics = update(state, number)`."""

    policy: AbstractPolicy
    engine: Engine
    """Plays the tests; its world, or the recorded one, is where the student learns."""
    world: AbstractEnv
    teacher: AbstractTeacher
    config: CloneConfig = eqx.field(static=True)

    @property
    def planned(self) -> int:
        return self.config.updates

    @property
    def test_every(self) -> int:
        return self.config.test_every

    @property
    def env(self) -> AbstractEnv:
        return self.engine.env

    @property
    def tells(self) -> bool:
        """Whether slots are told which sensors to attend to."""
        enough = isinstance(self.policy, RelationalPolicy) and (
            self.policy.neuron.config.slots >= self._bare.n_sensors
        )
        return self.config.tell > 0 and enough

    @property
    def _bare(self) -> AbstractEnv:
        return self.world.env if isinstance(self.world, PerturbedEnv) else self.world

    def describe(self) -> str:
        config = self.config
        count = sum(leaf.size for leaf in jax.tree.leaves(_arrays(self.policy)))
        source = config.recordings or config.teacher
        told = ", slots told what to attend to" if self.tells else ""
        return (
            f"{count:,} parameters, cloning {source}, {config.worlds} worlds x {config.unroll} steps, "
            f"{config.acting} acting{told}"
        )

    def advice(self) -> str | None:
        return None

    def init(self, key: PRNGKeyArray) -> CloneState:
        run_key, world_key = jax.random.split(key)
        student = _arrays(self.policy)
        state = CloneState(
            key=run_key,
            updates=jnp.zeros((), int),
            student=student,
            adam=self._adam().init(student),
            lessons=jax.vmap(self._begin)(jax.random.split(world_key, self.config.worlds)),
            best=student,
            best_score=jnp.array(-jnp.inf),
        )
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, leaf.dtype), state)

    def update(self, state: CloneState, number: int) -> tuple[CloneState, dict[str, Array]]:
        """Play on for `unroll` steps and learn from them. The state itself counts updates."""
        return _update(self, state)

    def test(self, state: CloneState) -> tuple[CloneState, dict[str, Array]]:
        """Play held-out episodes, and remember the best student."""
        policy = eqx.combine(state.student, self.policy)
        score = self._score(policy, held_out_keys(self.config.test_episodes))
        better = score > state.best_score
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), state.student, state.best)
        state = eqx.tree_at(
            lambda s: (s.best, s.best_score), state, (best, jnp.maximum(score, state.best_score))
        )
        return state, {"test": score}

    def best(self, state: CloneState, *, episodes: int = 1024) -> tuple[AbstractPolicy, float]:
        """The best tested student, or the present one before any test, and its score on fresh episodes."""
        tested = bool(jnp.isfinite(state.best_score))
        policy = eqx.combine(state.best if tested else state.student, self.policy)
        key = jax.random.fold_in(jax.random.key(HELD_OUT_SEED), 1)
        return policy, float(self._score(policy, jax.random.split(key, episodes)))

    def _score(self, policy: AbstractPolicy, keys: Array) -> Float[Array, ""]:
        one = jax.tree.map(lambda leaf: leaf[None] if eqx.is_array(leaf) else leaf, policy)
        play = eqx.filter_jit(self.engine) if self.engine.traceable else self.engine
        return play(one, keys)[0].mean()

    def _adam(self) -> optax.GradientTransformation:
        config = self.config
        rate = optax.warmup_cosine_decay_schedule(
            0.0, config.learning_rate, min(config.warm_up, config.updates - 1),
            config.updates, config.final_learning_rate,
        )  # fmt: skip
        return optax.chain(
            optax.clip_by_global_norm(config.max_grad_norm), optax.adam(rate, b2=0.98)
        )

    def _begin(self, key: PRNGKeyArray) -> Lesson:
        step = self.world.reset(key)
        memory = self.policy.init(self.world.n_sensors)
        return Lesson(step, memory, self.teacher.init(self._bare.n_sensors), jnp.zeros((), int))

    def _lesson(
        self, student: AbstractPolicy, lesson: Lesson, key: PRNGKeyArray
    ) -> tuple[Lesson, dict[str, Array]]:
        """One step in one world: what went wrong, and the world after it."""
        state, sight = lesson.step.state, lesson.step.sensors
        if isinstance(self.world, PerturbedEnv):
            state, sight = state.world, state.sight
        shown, remembered = self.teacher.act(state, sight, lesson.teacher)
        decision = student.decide(lesson.step.sensors, lesson.memory)
        errors = {"action": _difference(decision, shown, self.world.discrete)}
        if self.tells:
            errors["slots"] = _astray(decision, self._origins(lesson.step), self._bare.n_sensors)
        action = decision.action if self.config.acting == "student" else shown
        action = jax.lax.stop_gradient(action)
        following = self.world.step(lesson.step.state, action, key=key)
        memory = Memory(decision.memory.neurons, action)
        remembered = self.teacher.told(remembered, action)
        return Lesson(following, memory, remembered, lesson.time + 1), errors

    def _origins(self, step: Step) -> Int[Array, " sensors"]:
        if isinstance(self.world, PerturbedEnv):
            return self.world.origins(step.state)
        return jnp.arange(self.world.n_sensors)


def make_cloning(
    policy: AbstractPolicy,
    env: AbstractEnv,
    config: CloneConfig,
    rollout: EngineName = "auto",
    *,
    teacher: AbstractTeacher,
    world: AbstractEnv | None = None,
) -> Cloning:
    """Cloning of this teacher in `env`, or in `world` (a recorded one) with tests in `env`."""
    world = env if world is None else world
    bare = world.env if isinstance(world, PerturbedEnv) else world
    if isinstance(bare, PerturbedEnv):
        raise ValueError("a world perturbed twice hides its own sensors: chain the perturbations")
    check_teacher(teacher, bare)
    sizes = [(each.n_sensors, each.n_actions, each.discrete) for each in (world, env)]
    if sizes[0] != sizes[1]:
        (sensors, actions, _), (tested, testing, _) = sizes
        raise ValueError(
            f"the student would learn from {sensors} sensors and {actions} actions "
            f"and be tested with {tested} and {testing}"
        )
    return Cloning(policy, choose_engine(policy, env, rollout), world, teacher, config)


@eqx.filter_jit
def _update(learner: Cloning, state: CloneState) -> tuple[CloneState, dict[str, Array]]:
    config = learner.config
    start_key, step_key = jax.random.split(jax.random.fold_in(state.key, state.updates))
    n_starts = 1 + config.unroll // STARTS_EVERY
    start_keys = jax.random.split(start_key, (config.worlds, n_starts))
    starts = jax.vmap(jax.vmap(learner._begin))(start_keys)
    step_keys = jax.random.split(step_key, (config.unroll, config.worlds))

    def loss(student):
        policy = eqx.combine(student, learner.policy)

        def one(lesson, used, starts, key):
            over = lesson.step.done | (lesson.time >= config.horizon)
            start = jax.tree.map(lambda leaf: leaf[used % n_starts], starts)
            lesson = jax.tree.map(lambda a, b: jnp.where(over, a, b), start, lesson)
            lesson, errors = learner._lesson(policy, lesson, key)
            return (lesson, used + over), errors

        @jax.checkpoint  # computing a step once more is cheaper than keeping all it was made of
        def step(carry, keys):
            lessons, used = carry
            return jax.vmap(one)(lessons, used, starts, keys)

        begin = (state.lessons, jnp.zeros(config.worlds, int))
        (lessons, _), errors = jax.lax.scan(step, begin, step_keys)
        errors = {name: values.mean() for name, values in errors.items()}
        return errors["action"] + config.tell * errors.get("slots", 0.0), (lessons, errors)

    (_, (lessons, errors)), slopes = jax.value_and_grad(loss, has_aux=True)(state.student)
    changes, adam = learner._adam().update(slopes, state.adam, state.student)
    student = optax.apply_updates(state.student, changes)
    new = eqx.tree_at(
        lambda s: (s.updates, s.student, s.adam, s.lessons),
        state,
        (state.updates + 1, student, adam, lessons),
    )
    return new, errors | {"steps": jnp.asarray(config.worlds * config.unroll)}


def _difference(
    decision: Decision, shown: Float[Array, " actions"], discrete: bool
) -> Float[Array, ""]:
    """How far a decision is from what was shown."""
    if discrete:
        return -(shown * jax.nn.log_softmax(decision.raw)).sum()
    return ((decision.action - shown) ** 2).mean()


def _astray(
    decision: Decision, origins: Int[Array, " sensors"], n_origins: int
) -> Float[Array, ""]:
    """How little slot i attends to the sensors that show the world's sensor i, or to nobody if none do."""
    assert decision.weights is not None
    weights = decision.weights[:n_origins]
    shows: Bool[Array, "origins sensors"] = origins[None, :] == jnp.arange(n_origins)[:, None]
    right = jnp.where(shows, weights, 0).sum(axis=1)
    right = jnp.where(shows.any(axis=1), right, 1 - weights.sum(axis=1))
    return -jnp.log(jnp.maximum(right, 0) + LEAST_SHARE).mean()


def _arrays(tree: Any) -> PyTree:
    """The learned part of a pytree."""
    return eqx.filter(tree, eqx.is_inexact_array)
