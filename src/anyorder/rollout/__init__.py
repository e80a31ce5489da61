"""Where policies and worlds meet: episodes, and what they come to."""

from anyorder.rollout.engine import AbstractEngine, Engine, EngineName, Length, choose_engine
from anyorder.rollout.gymnasium import GymnasiumEngine
from anyorder.rollout.pool import AbstractPool
from anyorder.rollout.scan import Episode, Record, episodes, nothing, rollout

__all__ = [
    "AbstractEngine",
    "AbstractPool",
    "Engine",
    "EngineName",
    "Episode",
    "GymnasiumEngine",
    "Length",
    "Record",
    "choose_engine",
    "episodes",
    "nothing",
    "rollout",
]
