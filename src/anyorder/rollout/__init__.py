"""Where policies and worlds meet: episodes, and what they come to."""

from anyorder.rollout.engine import AbstractEngine, Engine, EngineName, choose_engine
from anyorder.rollout.scan import Episode, Record, episodes, nothing, rollout

__all__ = [
    "AbstractEngine",
    "Engine",
    "EngineName",
    "Episode",
    "Record",
    "choose_engine",
    "episodes",
    "nothing",
    "rollout",
]
