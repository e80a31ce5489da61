"""A world whose episodes last as long as their seed says, for tests of who plays what."""

import os
import time

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import register, registry

ID = "tests.rollout.uneven:Uneven-v0"
SLOW = "UNEVEN_SECONDS"
"""Seconds of every step, in this variable of the environment."""


class Uneven(gymnasium.Env):
    """Three sensors, choices 3, 4 and 5; the reward is the choice and what the first sensor shows."""

    observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float64)
    action_space = spaces.Discrete(3, start=3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = int(self.np_random.integers(1, 40))
        return self.np_random.normal(size=3), {}

    def step(self, action):
        time.sleep(float(os.environ.get(SLOW, "0")))
        assert self.action_space.contains(action)
        seen = self.np_random.normal(size=3)
        self.left -= 1
        return seen, action + seen[0], self.left == 0, False, {}


if "Uneven-v0" not in registry:
    register("Uneven-v0", entry_point="tests.rollout.uneven:Uneven", max_episode_steps=30)
