"""Agents from the weights Tang and Ha released: a flat vector in torch's parameter order.

Our policies keep their fields in that order, so a vector of the right length reads straight in.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from anyorder.errors import UsageError
from anyorder.neurons import AttentionNeuronConfig
from anyorder.policies import InvariantConfig, InvariantPolicy
from anyorder.runs import Agent


@dataclass(frozen=True)
class Released:
    """One kind of agent the authors released."""

    task: str
    n_sensors: int
    n_actions: int
    config: InvariantConfig


RELEASED: dict[str, Released] = {
    "cartpole": Released("cartpole", 5, 1, InvariantConfig()),
    "ant": Released(
        "ant",
        28,
        8,
        InvariantConfig(AttentionNeuronConfig(slots=32, bias=True, scaled=True), hidden=32),
    ),
}
"""By name."""
VISION = {7212: "CarRacing agent", 3667: "CarRacing AttentionAgent, an order-sensitive baseline"}
"""Released agents that read pixels, by size: recognised, but this version has no image sensors."""


def policy_of(kind: str) -> InvariantPolicy:
    """A policy of this kind, with weights yet to be filled in."""
    found = RELEASED[kind]
    return InvariantPolicy(found.n_sensors, found.n_actions, found.config, key=jax.random.key(0))


def sizes() -> dict[str, int]:
    """Parameters of each kind."""
    return {kind: _vector(policy_of(kind)).size for kind in RELEASED}


def import_weights(path: Path, kind: str | None = None) -> Agent:
    """The agent in an `.npz` file with the vector under `params`; its kind follows from its size."""
    vector = read_vector(path)
    known = sizes()
    listed = ", ".join(f"{name} ({size})" for name, size in known.items())
    if kind is None:
        kind = next((name for name, size in known.items() if size == vector.size), None)
        if vector.size in VISION:
            raise UsageError(
                f"{path} is the authors' {VISION[vector.size]}: it reads images, which this version "
                f"does not; it imports {listed}."
            )
        if kind is None:
            raise UsageError(
                f"{path} holds {vector.size} parameters, which fits no kind of agent we know: {listed}."
            )
    elif kind not in known:
        raise UsageError(f"There is no kind {kind!r}: choose one of {listed}.")
    if vector.size != known[kind]:
        raise UsageError(
            f"{path} holds {vector.size} parameters and a {kind} agent has {known[kind]}: "
            "give another file or another --kind."
        )
    policy = policy_of(kind)
    arrays, rest = eqx.partition(policy, eqx.is_inexact_array)
    filled = ravel_pytree(arrays)[1](jnp.asarray(vector, dtype=jnp.float32))
    found = RELEASED[kind]
    notes = {"made": "imported from the authors' released weights", "file": path.name}
    return Agent(eqx.combine(filled, rest), found.task, found.n_sensors, notes)


def read_vector(path: Path) -> Float[np.ndarray, " parameters"]:
    """The flat vector under `params`."""
    try:
        with np.load(path, allow_pickle=False) as file:
            vector = np.asarray(file["params"], dtype=np.float64)
    except FileNotFoundError as error:
        raise UsageError(f"There is no file {path}.") from error
    except KeyError as error:
        raise UsageError(f"{path} has no array named `params`.") from error
    except (OSError, ValueError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path} is not an .npz file of plain arrays.") from error
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise UsageError(f"`params` in {path} must be one flat vector of finite numbers.")
    return vector


def _vector(policy: InvariantPolicy):
    return ravel_pytree(eqx.filter(policy, eqx.is_inexact_array))[0]
