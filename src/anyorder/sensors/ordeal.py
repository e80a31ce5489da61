"""Everything that can happen to sensors, in one episode or another: what to train on for robustness."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from anyorder.sensors.observation import Sensors
from anyorder.sensors.perturb import AbstractPerturbation

INTERVALS = (15.0, 25.0, 50.0, 100.0, np.inf, np.inf)
"""Steps between reshuffles, about; an episode draws one of these."""
ORDERS = 32
"""Orders drawn for an episode; they come round again after that."""
NOISES, DOUBLES = 0.4, 0.3
"""Shares of episodes in which the extra sensors carry noise or repeat others; in the rest they are absent."""


class OrdealPlan(eqx.Module):
    """One episode's fate."""

    changes: Float[Array, " orders"]
    """Steps at which the next order begins."""
    orders: Int[Array, "orders sensors"]
    kept: Bool[Array, " usual"]
    copied: Int[Array, " extra"]
    """The sensor each extra one repeats."""
    sd: Float[Array, ""]
    """Of the noise in extra sensors; below 0 they repeat others instead."""
    extra: Bool[Array, " extra"]
    """Which extra sensors are there."""
    key: Array


class Ordeal(AbstractPerturbation):
    """Reshuffles at random times, lost sensors, and `extra` more that carry noise, repeat others or are absent.

    Each episode draws its own mixture, always as many sensors, so that all of it runs in one batch.
    """

    extra: int = eqx.field(static=True, default=0)
    lost: float = eqx.field(static=True, default=0.15)
    """Share of episodes that lose a sensor."""

    def __check_init__(self):
        if self.extra < 0 or not 0 <= self.lost <= 1:
            raise ValueError(
                f"Ordeal needs extra >= 0 and lost from 0 to 1, got {self.extra} and {self.lost}."
            )

    def count(self, n_sensors: int) -> int:
        return n_sensors + self.extra

    def draw(self, key: PRNGKeyArray, n_sensors: int, n_steps: int) -> OrdealPlan:
        keys = jax.random.split(key, 8)
        interval = jax.random.choice(keys[0], jnp.array(INTERVALS))
        waits = interval * jax.random.uniform(keys[1], (ORDERS,), minval=0.5, maxval=1.5)
        orders = jax.vmap(lambda k: jax.random.permutation(k, self.count(n_sensors)))(
            jax.random.split(keys[2], ORDERS)
        )
        loses = jax.random.uniform(keys[3]) < self.lost
        unlucky = jnp.arange(n_sensors) == jax.random.randint(keys[4], (), 0, n_sensors)
        kind = jax.random.uniform(keys[5])
        some = jax.random.uniform(keys[6], (2,))
        few = jax.random.uniform(keys[7], (self.extra,)) < some[0]
        doubles = (kind >= NOISES) & (kind < NOISES + DOUBLES)
        return OrdealPlan(
            changes=jnp.cumsum(waits),
            orders=orders,
            kept=~(loses & unlucky),
            copied=jnp.arange(self.extra) % n_sensors,
            sd=jnp.where(doubles, -1.0, 0.05 + 0.15 * some[1]),
            extra=jnp.where(kind < NOISES, few, doubles),
            key=jax.random.key_data(keys[7]),
        )

    def apply(self, plan: OrdealPlan, sensors: Sensors, step: int | Int[Array, ""]) -> Sensors:
        last = plan.changes[-1]
        phase = (plan.changes <= jnp.where(jnp.isinf(last), step, step % last)).sum()
        if self.extra:
            key = jax.random.fold_in(jax.random.wrap_key_data(plan.key), step)
            shape = (self.extra, *sensors.values.shape[1:])
            noise = plan.sd * jax.random.normal(key, shape, sensors.values.dtype)
            copies = sensors.take(plan.copied)
            kept = plan.extra & jnp.where(
                plan.sd < 0, copies.present & plan.kept[plan.copied], True
            )
            more = Sensors(jnp.where(plan.sd < 0, copies.values, noise), kept)
            sensors = sensors.only(plan.kept).join(more)
        else:
            sensors = sensors.only(plan.kept)
        return sensors.take(plan.orders[phase])
