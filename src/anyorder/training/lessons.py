"""What a rollout teaches: sequences with advantages and targets, and the loss of PPO over them."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from anyorder.envs import AbstractEnv
from anyorder.policies.actor_critic import ActorCritic, Memories
from anyorder.policies.exploration import entropy, log_probability
from anyorder.training.advantages import ReturnScale, advantages
from anyorder.training.experience import Experience, Rows, action_kind, relive


class Lessons(eqx.Module):
    """Sequences to learn from: leading axes sequences, steps."""

    rows: Rows
    advantage: Float[Array, "sequences steps"]
    target: Float[Array, "sequences steps"]
    """What the value should have been, in the critic's units."""
    memory: Memories
    """At the start of each sequence."""


def lessons_from(
    experience: Experience, old: ReturnScale, *, gamma: float, trace: float
) -> tuple[Lessons, ReturnScale, dict[str, Array]]:
    """From a rollout to sequences with advantages and targets, all in a row."""
    sequences, unroll, n_envs = experience.rows.reward.shape
    flat = jax.tree.map(
        lambda leaf: leaf.reshape(sequences * unroll, *leaf.shape[2:]), experience.rows
    )
    values = old.mean + old.sd * jnp.concatenate([flat.value, experience.last_value[None]])
    gains = advantages(
        flat.reward, values[:-1], values[1:], flat.terminated, flat.done,
        gamma=gamma, trace=trace,
    )  # fmt: skip
    lived = ~flat.over
    returns = gains + values[:-1]
    scale = old.after(returns, lived)
    count = jnp.maximum(lived.sum(), 1)
    mean = jnp.where(lived, gains, 0).sum() / count
    sd = jnp.sqrt(jnp.where(lived, (gains - mean) ** 2, 0).sum() / count)

    def by_sequence(leaf):
        return jnp.moveaxis(leaf, 2, 1).reshape(sequences * n_envs, unroll, *leaf.shape[3:])

    lessons = Lessons(
        rows=jax.tree.map(by_sequence, experience.rows),
        advantage=by_sequence(((gains - mean) / (sd + 1e-6)).reshape(sequences, unroll, n_envs)),
        target=by_sequence(((returns - scale.mean) / scale.sd).reshape(sequences, unroll, n_envs)),
        memory=jax.tree.map(
            lambda leaf: leaf.reshape(sequences * n_envs, *leaf.shape[2:]), experience.memory
        ),
    )
    spread = jnp.where(lived, (returns - scale.mean) ** 2, 0).sum() / count
    missed = jnp.where(lived, gains**2, 0).sum() / count
    metrics = {
        "steps": lived.sum(),
        "reward": jnp.where(lived, flat.reward, 0).sum() / count,
        "return": scale.mean,
        "explained": 1 - missed / jnp.maximum(spread, 1e-8),
    }
    return lessons, scale, metrics


def loss_on(
    lessons: Lessons,
    model: ActorCritic,
    env: AbstractEnv,
    *,
    clip: float,
    value_weight: float,
    entropy_weight: float,
    key: PRNGKeyArray,
) -> tuple[Float[Array, ""], dict[str, Array]]:
    """The loss over some sequences, and its parts."""
    kind, rows = action_kind(env), lessons.rows
    raw, values = jax.vmap(lambda memory, rows: relive(model, env, memory, rows))(
        lessons.memory, rows
    )
    keys = jax.random.split(key, values.shape)

    def chance(drawn, raw, key):
        likely = log_probability(drawn, raw, model.log_sd, kind)
        return likely, entropy(raw, model.log_sd, kind, key=key)

    likely, disorder = jax.vmap(jax.vmap(chance))(rows.drawn, raw, keys)
    lived = ~rows.over
    count = jnp.maximum(lived.sum(), 1)

    def mean(numbers):
        return jnp.where(lived, numbers, 0).sum() / count

    change = jnp.where(lived, likely - rows.log_probability, 0)
    ratio = jnp.exp(change)
    clipped = jnp.clip(ratio, 1 - clip, 1 + clip)
    policy_loss = -mean(jnp.minimum(ratio * lessons.advantage, clipped * lessons.advantage))
    value_loss = mean((values - lessons.target) ** 2)
    loss = policy_loss + value_weight * value_loss - entropy_weight * mean(disorder)
    return loss, {
        "value_loss": value_loss,
        "entropy": mean(disorder),
        "kl": mean(ratio - 1 - change),
        "clipped": mean(jnp.abs(ratio - 1) > clip),
        "sd": jnp.exp(model.log_sd).mean(),
    }
