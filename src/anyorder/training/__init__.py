"""Ways to learn, all with the same two functions: `init(key)` and `update(state)`."""

from anyorder.training.cloning import CloneConfig, CloneState, Cloning, make_cloning
from anyorder.training.dqn import DQNConfig, DQNState, QLearning
from anyorder.training.es import ESConfig, ESState, Evolution
from anyorder.training.loop import Learner, Progress, Report, StepCount, Stop, learn
from anyorder.training.methods import METHODS, Method
from anyorder.training.ppo import PPO, PPOConfig, PPOState, Training, make_train
from anyorder.training.seeds import ManySeeds, state_of

__all__ = [
    "METHODS",
    "PPO",
    "CloneConfig",
    "CloneState",
    "Cloning",
    "DQNConfig",
    "DQNState",
    "ESConfig",
    "ESState",
    "Evolution",
    "Learner",
    "ManySeeds",
    "Method",
    "PPOConfig",
    "PPOState",
    "Progress",
    "QLearning",
    "Report",
    "StepCount",
    "Stop",
    "Training",
    "learn",
    "make_cloning",
    "make_train",
    "state_of",
]
