"""Ways to learn, all with the same two functions: `init(key)` and `update(state)`."""

from anyorder.training.es import ESConfig, ESState, Evolution
from anyorder.training.loop import Learner, Progress, Report, Stop, learn
from anyorder.training.methods import METHODS, Method

__all__ = [
    "METHODS",
    "ESConfig",
    "ESState",
    "Evolution",
    "Learner",
    "Method",
    "Progress",
    "Report",
    "Stop",
    "learn",
]
