"""Episodes whose fate is written down beforehand, as data: what happens to sensors, memory and neurons.

The perturbations are those of `anyorder.sensors`. Their plans are not drawn but written by the audit, so
that one compiled program plays every trial with as many sensors, and only numbers differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, UInt32

from anyorder.envs import AbstractEnv, DelayedEnv
from anyorder.evaluation.ablated import NOTHING, ablated
from anyorder.policies import AbstractPolicy, Decision, Memory
from anyorder.sensors import (
    AbstractPerturbation,
    Drop,
    Plan,
    Rescale,
    Reshuffle,
    Sensors,
    Unchanged,
    chain,
)

KEPT, ZEROED, RESET, PERMUTED, FIRST_ONLY, INVERSE, LATE, ABSOLUTE = range(8)
"""What becomes of the neurons' memory when sensors change places: it stays on its wire; is zeroed at every
step; starts anew; moves with its sensor. The others are ways to get the last one wrong: only the first of
its arrays moves; it moves the other way; it moves a step too late; or by the sensors' new order as such
instead of the change from the order before."""
LONGEST_DELAY = 5
EVERY = 100
"""Steps after which orders may change."""


class Trial(eqx.Module):
    """The fate of one episode, or of a stack of them as NumPy arrays."""

    key: UInt32[Any, "*stack words"]
    """The words of its random key."""
    extra: Plan
    """Of the perturbation that adds sensors, if there is one."""
    factors: Float[Any, "*stack sensors"]
    present: Bool[Any, "*stack sensors"]
    orders: Int[Any, "*stack phases sensors"]
    delays: Int[Any, "*stack usual"]
    moving: Int[Any, "*stack"]
    ablation: Int[Any, "*stack"]
    push: Float[Any, "*stack"]
    """Factor on the agent's actions: 0 for a world left to itself."""
    grain: Float[Any, "*stack"]
    """Actions are rounded to multiples of this before anybody learns of them; 0 leaves them alone."""


class World(eqx.Module):
    """Where trials take place: a world, and what adds sensors to it."""

    env: AbstractEnv
    extra: AbstractPerturbation = Unchanged()
    every: int = eqx.field(static=True, default=EVERY)

    @property
    def n_sensors(self) -> int:
        return self.extra.count(self.env.n_sensors)

    def undisturbed(self, key: PRNGKeyArray) -> Trial:
        """An episode in which nothing happens, to start from when writing another."""
        n_sensors, n_steps = self.n_sensors, self.env.n_steps
        phases = -(-(n_steps + 1) // self.every)
        return Trial(
            key=jax.random.key_data(key),
            extra=self.extra.draw(jax.random.fold_in(key, 1), self.env.n_sensors, n_steps),
            factors=jnp.ones(n_sensors),
            present=jnp.ones(n_sensors, bool),
            orders=jnp.tile(jnp.arange(n_sensors), (phases, 1)),
            delays=jnp.zeros(self.env.n_sensors, int),
            moving=jnp.array(KEPT),
            ablation=jnp.array(NOTHING),
            push=jnp.array(1.0),
            grain=jnp.array(0.0),
        )

    def sense(self, trial: Trial, sensors: Sensors, step: Int[Array, ""]) -> Sensors:
        """What the agent sees of the world's sensors."""
        happens = chain(self.extra, Rescale(), Drop(), Reshuffle(self.every))
        plan = (trial.extra, trial.factors, trial.present, trial.orders)
        return happens.apply(plan, sensors, step)


class Played(eqx.Module):
    """What a trial came to, or a stack of them."""

    total: Float[Any, "*stack"]
    length: Int[Any, "*stack"]
    trace: Any
    """What was recorded at each step; steps past `length` hold no meaning."""


TrialRecord = Callable[[Sensors, Float[Array, ""], Decision], Any]
"""Chooses what to keep of a step: given the world's own sensors, the reward, and what was decided."""


def no_record(sensors: Sensors, reward: Float[Array, ""], decision: Decision) -> None:
    """Keep nothing but the sum of rewards."""


def play(
    policy: AbstractPolicy,
    world: World,
    trial: Trial,
    *,
    slots: int | None = None,
    record: TrialRecord = no_record,
    n_steps: int | None = None,
) -> Played:
    """One episode. With `slots`, the number of the policy's, neurons may be ablated."""
    if slots is not None:
        policy = ablated(policy, trial.ablation, slots)
    env = DelayedEnv(world.env, trial.delays, LONGEST_DELAY)
    key = jax.random.wrap_key_data(jnp.asarray(trial.key))
    first, blank = env.reset(key), policy.init(world.n_sensors)
    start = (first, blank, jnp.array(True), jnp.zeros(()), jnp.zeros((), int))

    def advance(carry, index):
        step, memory, alive, total, length = carry
        before, now = (order_at(trial, world.every, index - back) for back in (1, 0))
        memory = moved(memory, blank, before, now, trial.moving)
        decision = policy.decide(world.sense(trial, step.sensors, index), memory)
        action = rounded(decision.action, trial.grain)
        memory = Memory(decision.memory.neurons, action)
        memory = moved_late(memory, before, now, trial.moving)
        push = trial.push * action
        following = env.step(step.state, push, key=jax.random.fold_in(key, index + 2))
        total = total + jnp.where(alive, following.reward, 0)
        carry = (following, memory, alive & ~following.done, total, length + alive)
        return carry, record(step.sensors, following.reward, decision)

    end, trace = jax.lax.scan(advance, start, jnp.arange(n_steps or env.n_steps))
    return Played(end[3], end[4], trace)


def rounded(action: Float[Array, " actions"], grain: Float[Array, ""]) -> Float[Array, " actions"]:
    """The action to the nearest multiple of `grain`, if that is not 0."""
    steps = jnp.round(action / jnp.where(grain > 0, grain, 1))
    return jnp.where(grain > 0, steps * grain, action)


def order_at(trial: Trial, every: int, step: Int[Array, ""]) -> Int[Array, " sensors"]:
    """The order of the sensors at this step."""
    return trial.orders[jnp.maximum(step, 0) // every]


def moved(
    memory: Memory,
    blank: Memory,
    before: Int[Array, " sensors"],
    now: Int[Array, " sensors"],
    moving: Int[Array, ""],
) -> Memory:
    """The memory to go into a step with whose sensors come in the order `now`, after `before`."""
    here = jnp.arange(now.shape[0])
    change = jnp.argsort(before)[now]
    shuffled = (before != now).any()
    whence = {
        KEPT: here,
        ZEROED: here,
        RESET: here,
        PERMUTED: change,
        FIRST_ONLY: change,
        INVERSE: jnp.argsort(change),
        LATE: here,
        ABSOLUTE: jnp.where(shuffled, now, here),
    }
    order = jnp.stack(list(whence.values()))[moving]
    others = jnp.where(moving == FIRST_ONLY, here, order)
    anew = (moving == ZEROED) | ((moving == RESET) & shuffled)
    leaves, tree = jax.tree.flatten(memory.neurons)
    new = [
        jnp.where(anew, fresh, leaf[order if index == 0 else others])
        for index, (leaf, fresh) in enumerate(
            zip(leaves, jax.tree.leaves(blank.neurons), strict=True)
        )
    ]
    return Memory(jax.tree.unflatten(tree, new), memory.previous_action)


def moved_late(
    memory: Memory,
    before: Int[Array, " sensors"],
    now: Int[Array, " sensors"],
    moving: Int[Array, ""],
) -> Memory:
    """The memory after a step, moved only now if it is to be moved late."""
    here = jnp.arange(now.shape[0])
    return memory.permute(jnp.where(moving == LATE, jnp.argsort(before)[now], here))


@eqx.filter_jit
def _played(policy, world, trials, slots, record, n_steps):
    def one(trial):
        return play(policy, world, trial, slots=slots, record=record, n_steps=n_steps)

    return jax.vmap(one)(trials)


def play_all(
    policy: AbstractPolicy,
    world: World,
    trials: Trial,
    *,
    slots: int | None = None,
    record: TrialRecord = no_record,
    n_steps: int | None = None,
) -> Played:
    """Every trial of a stack of them, side by side; what they came to as NumPy arrays."""
    return jax.tree.map(np.asarray, _played(policy, world, trials, slots, record, n_steps))


def stacked(*trials: Trial) -> Trial:
    """Stacks of trials, one after the other."""
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *trials)


def undisturbed(world: World, keys: Key[Array, " episodes"]) -> Trial:
    """A stack of trials in which nothing happens."""
    return jax.tree.map(np.asarray, eqx.filter_jit(jax.vmap(world.undisturbed))(keys))


def reshuffled(
    trials: Trial, rng: np.random.Generator, *, first: int = 0, last: int = 10**6
) -> Trial:
    """The same trials with random orders in the phases from `first` to `last`, the others unchanged.

    Orders follow one another without repeating; those after `last` stay.
    """
    count, phases, n_sensors = trials.orders.shape
    orders = np.tile(np.arange(n_sensors), (count, phases, 1))
    for episode in range(count):
        for phase in range(first, phases):
            new = orders[episode, phase - 1]
            while phase <= last and (new == orders[episode, phase - 1]).all():
                new = rng.permutation(n_sensors)
                if n_sensors < 2:
                    break
            orders[episode, phase] = new
    return altered(trials, orders=orders)


def altered(trials: Trial, **fates: Any) -> Trial:
    """The same trials with some fates replaced by one value for all, or by a stack of values."""
    for name, value in fates.items():
        old = getattr(trials, name)
        new = np.broadcast_to(np.asarray(value, old.dtype), old.shape)
        trials = eqx.tree_at(lambda t, name=name: getattr(t, name), trials, new)
    return trials
