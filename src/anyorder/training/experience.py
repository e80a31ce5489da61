"""Many worlds played at once by an actor-critic, with all that learning by gradient needs to know.

Each row is one look at each world. When an episode is over its last sight gets a row of its own, in
which nothing is decided: its value is what a truncated episode is still worth. Then the next begins.
"""

from __future__ import annotations

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from anyorder.envs import AbstractEnv, Step
from anyorder.policies import ActionKind, to_action
from anyorder.policies.actor_critic import ActorCritic, Judgement, Memories
from anyorder.policies.exploration import draw, log_probability
from anyorder.sensors import Sensors

Tree = TypeVar("Tree")
EPISODE = 32
"""New starts are drawn for episodes of this many steps; if they last less, some starts are used again
before the next rollout."""


class Worlds(eqx.Module):
    """Worlds in the middle of their episodes, and what the agent remembers in each."""

    step: Step
    memory: Memories


class Rows(eqx.Module):
    """Looks at worlds, and what came of them."""

    sensors: Sensors
    sight: Sensors | None
    """What the bare world shows, for a critic that is told."""
    drawn: Float[Array, "*rows actions"]
    """The action before `to_action`."""
    log_probability: Float[Array, "*rows"]
    value: Float[Array, "*rows"]
    """In the critic's own units."""
    over: Bool[Array, "*rows"]
    """The episode was over already: nothing was decided, and the rest of the row holds no meaning."""
    reward: Float[Array, "*rows"]
    terminated: Bool[Array, "*rows"]
    done: Bool[Array, "*rows"]


class Experience(eqx.Module):
    """A rollout, cut into sequences that can be lived again."""

    rows: Rows
    """Leading axes: sequences, steps in a sequence, worlds."""
    memory: Memories
    """At the start of each sequence. Leading axes: sequences, worlds."""
    last_value: Float[Array, " worlds"]
    """Of what there is to see after the last row."""


def open_worlds(model: ActorCritic, env: AbstractEnv, *, keys: Key[Array, " worlds"]) -> Worlds:
    """As many worlds as keys, at their starts."""

    def one(key):
        return Worlds(env.reset(key), model.init(env.n_sensors))

    return jax.vmap(one)(keys)


def collect(
    model: ActorCritic,
    env: AbstractEnv,
    worlds: Worlds,
    n_sequences: int,
    unroll: int,
    *,
    key: PRNGKeyArray,
) -> tuple[Worlds, Experience]:
    """Play `n_sequences` times `unroll` rows in every world."""
    n_worlds = worlds.step.reward.shape[0]
    play_key, start_key = jax.random.split(key)
    n_starts = 1 + n_sequences * unroll // EPISODE
    start_keys = jax.random.split(start_key, (n_worlds, n_starts))
    starts = jax.vmap(jax.vmap(env.reset))(start_keys)

    def look(carry, row_key):
        keys = jax.random.split(row_key, n_worlds)
        worlds, used = carry
        return jax.vmap(lambda *one: _look(model, env, *one))(worlds, used, starts, keys)

    def sequence(carry, row_keys):
        later, rows = jax.lax.scan(look, carry, row_keys)
        return later, (rows, carry[0].memory)

    row_keys = jax.random.split(play_key, (n_sequences, unroll))
    begin = (worlds, jnp.zeros(n_worlds, int))
    (worlds, _), (rows, memory) = jax.lax.scan(sequence, begin, row_keys)
    last = jax.vmap(lambda world: _judged(model, env, world)[0])(worlds)
    return worlds, Experience(rows, memory, last.value)


def _look(
    model: ActorCritic,
    env: AbstractEnv,
    world: Worlds,
    used: Int[Array, ""],
    starts: Step,
    key: PRNGKeyArray,
) -> tuple[tuple[Worlds, Int[Array, ""]], Rows]:
    """One row in one world, which begins anew if its episode is over."""
    draw_key, world_key = jax.random.split(key)
    kind, over = action_kind(env), world.step.done
    judged, sight = _judged(model, env, world)
    drawn = draw(judged.raw, model.log_sd, kind, key=draw_key)
    action = to_action(drawn, kind)
    following = env.step(world.step.state, action, key=world_key)
    row = Rows(
        sensors=world.step.sensors,
        sight=sight,
        drawn=drawn,
        log_probability=log_probability(drawn, judged.raw, model.log_sd, kind),
        value=judged.value,
        over=over,
        reward=following.reward,
        terminated=following.terminated,
        done=following.done,
    )
    start = jax.tree.map(lambda leaf: leaf[used % leaf.shape[0]], starts)
    memory = remember(model, judged.memory, action, over, env.n_sensors)
    return (Worlds(either(over, start, following), memory), used + over), row


def _judged(
    model: ActorCritic, env: AbstractEnv, world: Worlds
) -> tuple[Judgement, Sensors | None]:
    """What a model says in one world, and what it was told beside the agent's sensors."""
    sight = env.sight(world.step) if model.told else None
    return model.judge(world.step.sensors, world.memory, sight), sight


def relive(
    model: ActorCritic, env: AbstractEnv, memory: Memories, rows: Rows
) -> tuple[Float[Array, "steps actions"], Float[Array, " steps"]]:
    """What a model says and values along one sequence of rows, begun with this memory.

    On the way back each step is computed once more, which is faster than keeping all it was made of.
    """
    kind = action_kind(env)

    def look(memory, row):
        judged = model.judge(row.sensors, memory, row.sight)
        action = to_action(row.drawn, kind)
        memory = remember(model, judged.memory, action, row.over, env.n_sensors)
        return memory, (judged.raw, judged.value)

    return jax.lax.scan(jax.checkpoint(look), memory, rows)[1]


def remember(
    model: ActorCritic,
    memory: Memories,
    action: Float[Array, " actions"],
    over: Bool[Array, ""],
    n_sensors: int,
) -> Memories:
    """The memory to go on with: of having taken this action, or a fresh one once an episode is over."""
    return either(over, model.init(n_sensors), model.acted(memory, action))


def either(condition: Bool[Array, ""], yes: Tree, no: Tree) -> Tree:
    """One of two pytrees of the same shapes."""
    return jax.tree.map(lambda one, other: jnp.where(condition, one, other), yes, no)


def action_kind(env: AbstractEnv) -> ActionKind:
    """What the world takes."""
    return "discrete" if env.discrete else "continuous"
