"""The oracle at work: what it earns, and what it earns when it is blind for a while after each change."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from anyorder.envs import AbstractEnv, CartPoleSwingUpHarder, PerturbedEnv
from anyorder.envs.cartpole import N_STEPS, X_LIMIT, advance, reward_from
from anyorder.oracle.controller import Oracle


def oracle_returns(
    oracle: Oracle, env: AbstractEnv, keys: Key[Array, " episodes"]
) -> Float[Array, " episodes"]:
    """Returns of one episode per key. The oracle reads the state itself, however its sensors fare."""
    world = env.env if isinstance(env, PerturbedEnv) else env
    if not isinstance(world, CartPoleSwingUpHarder):
        raise ValueError("The oracle knows CartPoleSwingUpHarder alone.")

    def rollout(key):
        first = world.reset(key)

        def step_on(carry, _):
            state, alive, total = carry
            step = world.step(state, oracle.push(state)[None], key=key)  # the world is no dice game
            total = total + jnp.where(alive, step.reward, 0.0)
            return (step.state, alive & ~step.done, total), None

        start = (first.state, jnp.array(True), jnp.zeros(()))
        return jax.lax.scan(step_on, start, length=world.n_steps)[0][2]

    return jax.vmap(rollout)(keys)


@eqx.filter_jit
def start_states(keys: Key[Array, " episodes"]) -> Float[Array, "episodes 4"]:
    """Where episodes with these keys begin: x, x', theta, theta'."""
    states = jax.vmap(lambda key: CartPoleSwingUpHarder().reset(key).state)(keys)
    return jnp.stack([states.x, states.x_dot, states.theta, states.theta_dot], axis=1)


def blind_returns(
    oracle: Oracle,
    starts: Float[np.ndarray, "episodes 4"],
    *,
    blind: int = 0,
    every: int | None = None,
    n_steps: int = N_STEPS,
) -> Float[np.ndarray, " episodes"]:
    """Returns of an oracle that does not push for the first `blind` steps after each change of order.

    The order changes every so many steps, and an episode begins with a change; None: with no other.
    Recognising the sensors takes a while: this is what an agent that needs `blind` steps can earn.
    """
    returns = np.zeros(len(starts))
    running, states = np.arange(len(starts)), np.array(starts, np.float32)
    for time in range(n_steps):
        sees = (time % every if every else time) >= blind
        push = oracle.pushes(states) if sees else np.zeros(len(states), np.float32)
        theta = states[:, 2]
        states = np.stack(advance(*states.T, np.sin(theta), np.cos(theta), push), axis=1)
        x, theta = states[:, 0], states[:, 2]
        returns[running] += reward_from(np.cos(theta), np.cos(x / X_LIMIT * (math.pi / 2)))
        stays = np.abs(x) <= X_LIMIT
        running, states = running[stays], states[stays]
    return returns
