"""Footage of an agent at work, and its shadow: the same agent shown the same footage in another order.

In the closed loop a changed action changes all that follows. A shadow is shown what the agent saw and told
what the agent did, so that any difference between the two is the order's doing and nothing else's.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from anyorder.evaluation.trials import KEPT, Trial, World, moved, play_all
from anyorder.policies import AbstractPolicy, Memory
from anyorder.sensors import Sensors


class Footage(eqx.Module):
    """Episodes, step by step. Steps past `lengths` hold no meaning."""

    sensors: Float[Any, "episodes steps sensors"]
    actions: Float[Any, "episodes steps actions"]
    code: Float[Any, "episodes steps slots *features"]
    lengths: Int[Any, " episodes"]

    @property
    def n_episodes(self) -> int:
        return self.lengths.shape[0]

    @property
    def alive(self) -> Bool[np.ndarray, "episodes steps"]:
        """Which steps took place."""
        return np.arange(self.sensors.shape[1]) < np.asarray(self.lengths)[:, None]

    @property
    def code_spread(self) -> float:
        """How much the code varies by itself: the root of its numbers' mean variance."""
        seen = np.asarray(self.code, np.float64)[self.alive]
        return float(np.sqrt(seen.var(axis=0).mean()))

    def take(self, episodes: Any) -> Footage:
        """Some of the episodes."""
        return jax.tree.map(lambda leaf: leaf[episodes], self)


class Scene(eqx.Module):
    """How one shadow is shown one episode, or a stack of them as NumPy arrays."""

    before: Int[Any, "*stack sensors"]
    now: Int[Any, "*stack sensors"]
    at: Int[Any, "*stack"]
    """The step from which sensors come in the order `now`."""
    moving: Int[Any, "*stack"]
    """What becomes of the memory then."""


class Shadow(eqx.Module):
    """What a shadow did. Sensors are in the world's order again."""

    action: Float[Any, "*stack actions"]
    code: Float[Any, "*stack_and_slots"]
    """Slots, and features if they have several, last."""
    weights: Float[Any, "*stack slots sensors"] | None
    neurons: Any
    """Memory after each step, of the neuron that listened to each sensor."""


def film(policy: AbstractPolicy, world: World, trials: Trial) -> Footage:
    """The episodes of these trials. Sensors are filmed as the world has them."""
    played = play_all(policy, world, trials, record=_seen)
    sensors, action, code = played.trace
    return Footage(sensors, action, code, played.length)


def _seen(sensors, reward, decision):
    return sensors.values, decision.action, decision.code


def scenes(
    n_episodes: int, now: Int[np.ndarray, "#episodes sensors"], at: Any = 0, moving: int = KEPT
) -> Scene:
    """One scene per episode: sensors in their own order until `at`, then in the order `now`."""
    n_sensors = now.shape[-1]
    shape = (n_episodes, n_sensors)
    return Scene(
        before=np.broadcast_to(np.arange(n_sensors), shape),
        now=np.broadcast_to(now, shape),
        at=np.broadcast_to(at, (n_episodes,)),
        moving=np.full(n_episodes, moving),
    )


def in_order(orders: Int[np.ndarray, "episodes sensors"]) -> Scene:
    """One scene per episode: the order is the same from the first step on."""
    fixed = scenes(len(orders), orders)
    return eqx.tree_at(lambda s: s.before, fixed, fixed.now)


BATCH = 48


def shadow(policy: AbstractPolicy, footage: Footage, scene: Scene, *, whole: bool) -> Shadow:
    """One shadow per episode; with `whole`, its attention and memory as well.

    A batch at a time, the last one filled up, so that any number uses one compiled program.
    """
    count, found = footage.n_episodes, []
    for first in range(0, count, BATCH):
        some = np.minimum(np.arange(first, first + BATCH), count - 1)
        batch, their = jax.tree.map(lambda leaf, some=some: leaf[some], (footage, scene))
        found.append(jax.tree.map(np.asarray, _shadows(policy, batch, their, whole)))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:count], *found)


@eqx.filter_jit
def _shadows(policy: AbstractPolicy, footage: Footage, scene: Scene, whole: bool) -> Shadow:
    def one(sensors, actions, scene):
        blank = policy.init(sensors.shape[1])

        def step(neurons, index):
            before = jnp.where(index - 1 < scene.at, scene.before, scene.now)
            now = jnp.where(index < scene.at, scene.before, scene.now)
            told = jnp.where(index > 0, actions[index - 1], blank.previous_action)
            memory = moved(Memory(neurons, told), blank, before, now, scene.moving)
            decision = policy.decide(Sensors.of(sensors[index][now]), memory)
            back = jnp.argsort(now)
            seen = None
            if whole and decision.weights is not None:
                seen = decision.weights[:, back]
            kept = decision.memory.permute(back).neurons if whole else None
            return decision.memory.neurons, Shadow(decision.action, decision.code, seen, kept)

        steps = jnp.arange(sensors.shape[0])
        return jax.lax.scan(step, blank.neurons, steps)[1]

    return jax.vmap(one)(jnp.asarray(footage.sensors), jnp.asarray(footage.actions), scene)
