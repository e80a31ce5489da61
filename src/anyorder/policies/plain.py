"""The control: a policy that knows its sensors by their place, and is lost when they move."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
from jaxtyping import PRNGKeyArray

from anyorder.policies.base import (
    AbstractPolicy,
    ActionKind,
    Decision,
    Memory,
    no_action,
    to_action,
)
from anyorder.policies.heads import linear_head
from anyorder.sensors import Sensors


@dataclass(frozen=True)
class PlainConfig:
    """A two-layer tanh network that reads a fixed number of sensors in a fixed order."""

    hidden: int = 16
    """Hidden units."""
    actions: ActionKind = "continuous"
    """What the world takes: numbers from -1 to 1, or one choice among several."""


class PlainPolicy(AbstractPolicy):
    """action = tanh(head(sensors)), or a choice. An absent sensor reads as zero."""

    head: eqx.nn.MLP
    n_sensors: int = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    hidden: int = eqx.field(static=True)
    actions: ActionKind = eqx.field(static=True)

    def __init__(
        self,
        n_sensors: int,
        n_actions: int,
        config: PlainConfig | None = None,
        *,
        key: PRNGKeyArray,
    ):
        config = config or PlainConfig()
        self.head = linear_head(n_sensors, n_actions, config.hidden, key=key)
        self.n_sensors = n_sensors
        self.n_actions = n_actions
        self.hidden = config.hidden
        self.actions = config.actions

    @property
    def config(self) -> PlainConfig:
        return PlainConfig(self.hidden, self.actions)

    def reads(self, n_sensors: int) -> bool:
        return n_sensors == self.n_sensors

    def init(self, n_sensors: int) -> Memory:
        if not self.reads(n_sensors):
            raise ValueError(f"This policy reads {self.n_sensors} sensors, got {n_sensors}.")
        return Memory((), no_action(self.n_actions))

    def decide(self, sensors: Sensors, memory: Memory) -> Decision:
        code = sensors.readings()
        raw = self.head(code)
        action = to_action(raw, self.actions)
        return Decision(action, Memory((), action), code, raw, None)
