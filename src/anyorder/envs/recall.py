"""Recall: a cue is shown once, much follows that says nothing, and then the cue is asked for."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from anyorder.envs.base import AbstractEnv, Step
from anyorder.sensors import Sensors

CHATTER = 0.5
"""Largest reading between cue and question."""


class RecallState(eqx.Module):
    """The cue, 1 or -1, and the steps taken."""

    cue: Float[Array, ""]
    time: Int[Array, ""]


class Recall(AbstractEnv):
    """One sensor, one action: the last action earns its product with the cue; no other action counts.

    The sensor shows the cue, then chatter for `delay` steps, then 1: the question.
    """

    delay: int = eqx.field(static=True, default=6)

    @property
    def n_sensors(self) -> int:
        return 1

    @property
    def n_actions(self) -> int:
        return 1

    @property
    def n_steps(self) -> int:
        return self.delay + 2

    def reset(self, key: PRNGKeyArray) -> Step:
        cue = jax.random.rademacher(key, ()).astype(float)
        return self._show(RecallState(cue, jnp.zeros((), int)), cue, jnp.zeros(()))

    def step(
        self, state: RecallState, action: Float[Array, " actions"], *, key: PRNGKeyArray
    ) -> Step:
        asked = state.time == self.delay + 1
        reward = jnp.where(asked, jnp.clip(action[0], -1, 1) * state.cue, 0)
        later = RecallState(state.cue, state.time + 1)
        chatter = jax.random.uniform(key, minval=-CHATTER, maxval=CHATTER)
        return self._show(later, jnp.where(later.time == self.delay + 1, 1.0, chatter), reward)

    def _show(
        self, state: RecallState, reading: Float[Array, ""], reward: Float[Array, ""]
    ) -> Step:
        return Step(
            state=state,
            sensors=Sensors.of(reading[None]),
            reward=reward,
            terminated=state.time >= self.n_steps,
            truncated=jnp.array(False),
        )
