"""Who plays the episodes: the scan, which can do everything, or a fused kernel, which is fast."""

from __future__ import annotations

import abc
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from anyorder.envs import AbstractEnv
from anyorder.policies import AbstractPolicy
from anyorder.rollout.devices import over_devices
from anyorder.rollout.fused import fused_returns, fused_returns_on_gpu, why_not_fused
from anyorder.rollout.scan import episodes

EngineName = Literal["auto", "scan", "fused"]
Length = int | Int[Array, ""]
"""Steps an episode is watched for; an array only where an engine takes `any_length`."""


class AbstractEngine(eqx.Module):
    """Plays the same episodes with many candidates: `returns, steps = engine(candidates, keys)`."""

    env: eqx.AbstractVar[AbstractEnv]

    @property
    @abc.abstractmethod
    def traceable(self) -> bool:
        """Whether calls may stand inside jit."""

    @property
    def any_length(self) -> bool:
        """Whether `n_steps` may be an array, so that one compiled call serves all lengths."""
        return False

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Who plays, in a few words."""

    @abc.abstractmethod
    def practising(self, share: Float[Array, ""]) -> AbstractEngine:
        """The same engine for a world with a share of easier episodes."""

    @abc.abstractmethod
    def __call__(
        self,
        candidates: AbstractPolicy,
        keys: Key[Array, " episodes"],
        n_steps: Length | None = None,
    ) -> tuple[Float[Array, "candidates episodes"], Int[Array, ""]]:
        """Returns, and the steps all episodes took together.

        **Arguments:**

        - `candidates`: one policy whose arrays carry a leading axis of candidates.
        - `keys`: one per episode; all candidates share them.
        - `n_steps`: stop episodes here, if before the world's own limit.
        """


class Engine(AbstractEngine):
    """The engines for worlds that are pure functions."""

    env: AbstractEnv
    fused: bool = eqx.field(static=True)

    @property
    def traceable(self) -> bool:
        return not self.fused or _on_gpu()

    @property
    def any_length(self) -> bool:
        return self.fused and _on_gpu()

    @property
    def name(self) -> EngineName:
        return "fused" if self.fused else "scan"

    def practising(self, share: Float[Array, ""]) -> Engine:
        return Engine(self.env.practising(share), self.fused)

    def __call__(
        self,
        candidates: AbstractPolicy,
        keys: Key[Array, " episodes"],
        n_steps: Length | None = None,
    ) -> tuple[Float[Array, "candidates episodes"], Int[Array, ""]]:
        limit = self.env.n_steps if n_steps is None else n_steps
        if self.fused and not _on_gpu():  # which takes all cores by itself
            returns, made = fused_returns(candidates, self.env, keys, int(limit))
            return jnp.asarray(returns), jnp.asarray(made.sum(), dtype=int)

        def play(candidates, keys):
            if self.fused:
                return fused_returns_on_gpu(candidates, self.env, keys, limit)
            steps = int(limit)
            played = eqx.filter_vmap(
                lambda policy: episodes(policy, self.env, keys=keys, n_steps=steps)
            )(candidates)
            return played.total, played.length.sum()

        return over_devices(play, candidates, keys)


def choose_engine(policy: AbstractPolicy, env: AbstractEnv, name: EngineName = "auto") -> Engine:
    """The named engine; `auto` takes the fastest one that supports the pair on this machine."""
    obstacle = why_not_fused(policy, env)
    if name == "fused" and obstacle:
        raise ValueError(f"No fused rollout here: {obstacle}. Use the scan.")
    return Engine(env, fused=name == "fused" or (name == "auto" and not obstacle))


def _on_gpu() -> bool:
    return jax.default_backend() == "gpu"
