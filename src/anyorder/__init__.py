"""Agents that work whatever the order, number or quality of their sensors."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from anyorder.bridges.registration import register

__version__ = "0.1.0"

if TYPE_CHECKING:
    from anyorder.envs import CartPoleSwingUpHarder, PerturbedEnv
    from anyorder.errors import UsageError
    from anyorder.front import audit, evaluate, load
    from anyorder.neurons import AttentionNeuron, AttentionNeuronConfig
    from anyorder.policies import InvariantConfig, InvariantPolicy, PlainPolicy
    from anyorder.rollout import rollout
    from anyorder.sensors import Double, Drop, Flicker, Noise, Reshuffle, Sensors, Shuffle, chain
    from anyorder.training import ESConfig, Evolution

_HOME = {
    "anyorder.envs": ("CartPoleSwingUpHarder", "PerturbedEnv"),
    "anyorder.errors": ("UsageError",),
    "anyorder.front": ("audit", "evaluate", "load"),
    "anyorder.neurons": ("AttentionNeuron", "AttentionNeuronConfig"),
    "anyorder.policies": ("InvariantConfig", "InvariantPolicy", "PlainPolicy"),
    "anyorder.rollout": ("rollout",),
    "anyorder.sensors": (
        "Double", "Drop", "Flicker", "Noise", "Reshuffle", "Sensors", "Shuffle", "chain",
    ),
    "anyorder.training": ("ESConfig", "Evolution"),
}  # fmt: skip

__all__ = [
    "AttentionNeuron",
    "AttentionNeuronConfig",
    "CartPoleSwingUpHarder",
    "Double",
    "Drop",
    "ESConfig",
    "Evolution",
    "Flicker",
    "InvariantConfig",
    "InvariantPolicy",
    "Noise",
    "PerturbedEnv",
    "PlainPolicy",
    "Reshuffle",
    "Sensors",
    "Shuffle",
    "UsageError",
    "audit",
    "chain",
    "evaluate",
    "load",
    "rollout",
]


register()


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for, so that importing the package costs nothing."""
    for module, exported in _HOME.items():
        if name in exported:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'anyorder' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
