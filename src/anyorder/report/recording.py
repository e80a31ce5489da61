"""One episode, with all there is to see of it."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from anyorder.envs import AbstractEnv, PerturbedEnv
from anyorder.policies import AbstractPolicy
from anyorder.rollout import rollout
from anyorder.sensors import Reshuffle, Sensors


@dataclass(frozen=True)
class Recording:
    """An episode whose sensors are reshuffled, step by step."""

    sensors: Float[np.ndarray, "steps sensors"]
    weights: Float[np.ndarray, "steps slots sensors"]
    code: Float[np.ndarray, "steps numbers"]
    reward: Float[np.ndarray, " steps"]
    order: Int[np.ndarray, "steps sensors"]
    """Which of the world's sensors came in on each wire."""
    total: float

    @property
    def length(self) -> int:
        return len(self.reward)

    def weights_by_sensor(self) -> Float[np.ndarray, "steps slots sensors"]:
        """Attention by the world's sensors instead of by wires."""
        back = np.argsort(self.order, axis=1)
        return np.take_along_axis(self.weights, back[:, None, :], axis=2)

    def code_change(self) -> Float[np.ndarray, " steps"]:
        """Largest change of the code from one step to the next."""
        change = np.abs(np.diff(self.code, axis=0)).max(axis=1)
        return np.concatenate([[0.0], change])

    def shuffles(self) -> list[int]:
        """Steps at which the order changed."""
        changed: Bool[np.ndarray, " steps"] = (np.diff(self.order, axis=0) != 0).any(axis=1)
        return [int(step) + 1 for step in np.flatnonzero(changed)]


@eqx.filter_jit
def _play(policy: AbstractPolicy, env: PerturbedEnv, key: PRNGKeyArray):
    def record(step, decision):
        wires = Sensors.of(jax.numpy.arange(env.env.n_sensors))
        order = env.perturbation.apply(step.state.plan, wires, step.state.time).values
        return step.sensors.values, decision.weights, decision.code.ravel(), step.reward, order

    return rollout(policy, env, key=key, record=record)


def record_reshuffled(
    policy: AbstractPolicy, env: AbstractEnv, *, every: int, key: PRNGKeyArray
) -> Recording:
    """An episode of `policy` with the sensors reshuffled every `every` steps."""
    episode = _play(policy, PerturbedEnv(env, Reshuffle(every)), key)
    length = int(episode.length)
    sensors, weights, code, reward, order = (np.asarray(part)[:length] for part in episode.trace)
    return Recording(sensors, weights, code, reward, order.astype(int), float(episode.total))
