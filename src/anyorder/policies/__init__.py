"""Policies: sensors and memory in, action and memory out."""

from anyorder.policies.base import AbstractPolicy, ActionKind, Decision, Memory, to_action
from anyorder.policies.invariant import InvariantConfig, InvariantPolicy
from anyorder.policies.plain import PlainConfig, PlainPolicy

POLICIES = {"attention": InvariantPolicy, "mlp": PlainPolicy}
"""Every policy that can be named in a run."""
CONFIGS = {"attention": InvariantConfig, "mlp": PlainConfig}

__all__ = [
    "CONFIGS",
    "POLICIES",
    "AbstractPolicy",
    "ActionKind",
    "Decision",
    "InvariantConfig",
    "InvariantPolicy",
    "Memory",
    "PlainConfig",
    "PlainPolicy",
    "to_action",
]
