"""What choices are worth: networks that say so, and what they should have said.

A row is a step as it was lived; everything here is about one world's rows in order.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from anyorder.envs import Step
from anyorder.policies import AbstractPolicy, Decision, Memory
from anyorder.sensors import Sensors


class Row(eqx.Module):
    """A step as it was lived: what the agent met, and what it chose then.

    A row on which the episode is over shows where it led; the choice there is without effect, and
    the next row is the start of another episode.
    """

    sensors: Sensors
    reward: Float[Array, "*rows"]
    """For the choice in the row before."""
    terminated: Bool[Array, "*rows"]
    over: Bool[Array, "*rows"]
    choice: Int[Array, "*rows"]

    @classmethod
    def of(cls, world: Step, choice: Int[Array, ""]) -> Row:
        """The row of a world as the agent meets it, and of its choice there."""
        return cls(world.sensors, world.reward, world.terminated, world.done, choice)


class QNetwork(eqx.Module):
    """A policy whose head values choices, with a stream for what they have in common."""

    policy: AbstractPolicy
    value: eqx.nn.MLP | None
    """From the policy's code to the value of the situation; None without dueling."""

    def __init__(
        self, policy: AbstractPolicy, n_sensors: int, hidden: int | None, *, key: PRNGKeyArray
    ):
        """**Arguments:**

        - `policy`: a policy that makes choices.
        - `hidden`: units in the value stream; None for no such stream.
        """
        self.policy = policy
        self.value = None
        if hidden is not None:
            code = jax.eval_shape(
                lambda: policy.decide(Sensors.of(jnp.zeros(n_sensors)), policy.init(n_sensors)).code
            )
            self.value = eqx.nn.MLP(code.size, 1, hidden, depth=1, activation=jnp.tanh, key=key)

    def values(self, decision: Decision) -> Float[Array, " choices"]:
        """The value of every choice."""
        if self.value is None:
            return decision.raw
        return self.value(decision.code.ravel()) + decision.raw - decision.raw.mean()


def values_along(
    network: QNetwork, rows: Row, memory: Memory, burn_in: int
) -> Float[Array, "steps choices"]:
    """The values of all choices at every row after the burn-in.

    Memory is carried along, told of the choices that were made, and starts anew with every episode;
    no gradient flows into the burn-in.
    """
    fresh = network.policy.init(rows.sensors.values.shape[1])

    def follow(memory: Memory, row: Row):
        decision = network.policy.decide(row.sensors, memory)
        told = one_hot(row.choice, network.policy.n_actions)
        following = either(row.over, fresh, Memory(decision.memory.neurons, told))
        return following, network.values(decision)

    before = jax.tree.map(lambda leaf: leaf[:burn_in], rows)
    memory, _ = jax.lax.scan(follow, memory, before)
    after = jax.tree.map(lambda leaf: leaf[burn_in:], rows)
    return jax.lax.scan(follow, jax.lax.stop_gradient(memory), after)[1]


def highest_values(
    ours: Float[Array, "steps choices"], theirs: Float[Array, "steps choices"]
) -> Float[Array, " steps"]:
    """What the target network thinks the best choice is worth."""
    return theirs.max(axis=-1)


def best_values(
    ours: Float[Array, "steps choices"], theirs: Float[Array, "steps choices"]
) -> Float[Array, " steps"]:
    """What the target network thinks of the choice the learning network would make."""
    return jnp.take_along_axis(theirs, ours.argmax(axis=-1)[:, None], axis=-1)[:, 0]


def n_step_targets(
    reward: Float[Array, " rows"],
    terminated: Bool[Array, " rows"],
    over: Bool[Array, " rows"],
    value: Float[Array, " rows"],
    *,
    n: int,
    discount: float,
) -> Float[Array, " learned"]:
    """What the choice in each row but the last `n` should be worth.

    Rewards are those met in a row, for the choice before it. Counting stops after `n` of them or
    where the episode is over, and goes on with the value of the row reached, unless the world ended
    there. Rows on which an episode is over have no choice, and their targets hold no meaning.

    >>> rewards, no = jnp.array([0.0, 1.0, 1.0, 1.0]), jnp.zeros(4, bool)
    >>> n_step_targets(rewards, no, no, jnp.array([0.0, 0.0, 10.0, 20.0]), n=2, discount=0.5).tolist()
    [4.0, 6.5]
    """
    ahead = value
    for _ in range(n):
        ahead, last = ahead[1:], value[1 : ahead.shape[0]]
        end = slice(1, ahead.shape[0] + 1)
        rest = jnp.where(terminated[end], 0, jnp.where(over[end], last, ahead))
        ahead = reward[end] + discount * rest
    return ahead


def one_hot(choice: Int[Array, ""], n_actions: int) -> Float[Array, " actions"]:
    """The action that makes a choice."""
    return jax.nn.one_hot(choice, n_actions)


def either(condition: Bool[Array, ""], this: PyTree, other: PyTree) -> PyTree:
    """One tree or the other."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), this, other)
