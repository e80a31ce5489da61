"""How much better things went than expected, and in which units that is told."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def advantages(
    rewards: Float[Array, "steps *envs"],
    values: Float[Array, "steps *envs"],
    next_values: Float[Array, "steps *envs"],
    terminated: Bool[Array, "steps *envs"],
    done: Bool[Array, "steps *envs"],
    *,
    gamma: float,
    trace: float,
) -> Float[Array, "steps *envs"]:
    """Generalised advantage estimates (Schulman et al., 2015, arXiv 1506.02438).

    **Arguments:**

    - `next_values`: of what followed each step, before any reset: what an episode that was only cut
      short is still worth.
    - `terminated`: the world ended after this step: nothing follows, whatever `next_values` says.
    - `done`: the episode ended after this step, in either way; later surprises do not reach back past it.
    - `trace`: lambda, how far surprises reach back.
    """
    surprises = rewards + gamma * jnp.where(terminated, 0, next_values) - values

    def back(later, row):
        surprise, last = row
        estimate = surprise + gamma * trace * jnp.where(last, 0, later)
        return estimate, estimate

    return jax.lax.scan(back, jnp.zeros_like(rewards[0]), (surprises, done), reverse=True)[1]


class ReturnScale(eqx.Module):
    """Running mean and spread of returns, the units in which a critic answers: value = mean + sd * answer."""

    weight: Float[Array, ""]
    total: Float[Array, ""]
    squares: Float[Array, ""]

    @classmethod
    def fresh(cls) -> ReturnScale:
        """Mean 0 and spread 1, until there are returns."""
        return cls(jnp.zeros(()), jnp.zeros(()), jnp.zeros(()))

    @property
    def mean(self) -> Float[Array, ""]:
        return self.total / jnp.maximum(self.weight, 1e-8)

    @property
    def sd(self) -> Float[Array, ""]:
        """At least a hundredth of the returns' size, so that constant returns have units too."""
        square = self.squares / jnp.maximum(self.weight, 1e-8)
        spread = jnp.sqrt(jnp.maximum(square - self.mean**2, 1e-4 * square + 1e-8))
        return jnp.where(self.weight > 0, spread, 1)

    def after(
        self, returns: Float[Array, "*rows"], counts: Bool[Array, "*rows"], *, keep: float = 0.9
    ) -> ReturnScale:
        """With the returns that count weighed in; the past keeps its share."""
        n = jnp.maximum(counts.sum(), 1)
        fresh = (
            jnp.ones(()),
            jnp.where(counts, returns, 0).sum() / n,
            jnp.where(counts, returns**2, 0).sum() / n,
        )
        past = (self.weight, self.total, self.squares)
        return ReturnScale(
            *(keep * old + (1 - keep) * new for old, new in zip(past, fresh, strict=True))
        )
