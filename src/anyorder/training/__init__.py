"""Ways to learn, all with the same two functions: `init(key)` and `update(state)`."""

from anyorder.training.es import ESConfig, ESState, Evolution
from anyorder.training.loop import Learner, Progress, Report, Stop, learn
from anyorder.training.memory import Estimate, advice, estimate, in_words, machine_memory

__all__ = [
    "ESConfig",
    "ESState",
    "Estimate",
    "Evolution",
    "Learner",
    "Progress",
    "Report",
    "Stop",
    "advice",
    "estimate",
    "in_words",
    "learn",
    "machine_memory",
]
