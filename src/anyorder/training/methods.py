"""The ways to learn, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from anyorder.training.cloning import CloneConfig, make_cloning
from anyorder.training.dqn import DQNConfig, make_dqn
from anyorder.training.es import ESConfig, make_evolution
from anyorder.training.loop import Learner
from anyorder.training.ppo import PPOConfig, make_ppo

MakeLearner = Callable[..., Learner]


@dataclass(frozen=True)
class Method:
    """A way to learn: its settings, and how a learner is made of them."""

    config: type
    make: MakeLearner
    """From policy, world, settings and the name of a rollout engine; cloning also wants a `teacher`."""


METHODS: dict[str, Method] = {
    "es": Method(ESConfig, make_evolution),
    "dqn": Method(DQNConfig, make_dqn),
    "ppo": Method(PPOConfig, make_ppo),
    "clone": Method(CloneConfig, make_cloning),
}
