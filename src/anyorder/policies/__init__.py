"""Policies: sensors and memory in, action and memory out."""

from anyorder.policies.base import AbstractPolicy, ActionKind, Decision, Memory, to_action
from anyorder.policies.invariant import InvariantConfig, InvariantPolicy
from anyorder.policies.plain import PlainConfig, PlainPolicy
from anyorder.policies.relational import RelationalPolicy, RelationalPolicyConfig

POLICIES = {"attention": InvariantPolicy, "relational": RelationalPolicy, "mlp": PlainPolicy}
"""Every policy that can be named in a run."""
CONFIGS = {
    "attention": InvariantConfig,
    "relational": RelationalPolicyConfig,
    "mlp": PlainConfig,
}

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
    "RelationalPolicy",
    "RelationalPolicyConfig",
    "to_action",
]
