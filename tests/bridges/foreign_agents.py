"""Agents as strangers write them, for the tests to open by name."""

import numpy as np

CALLS = []


def leaning(observation):
    """Balances CartPole, knowing which number is which."""
    return int(observation[2] + 0.5 * observation[3] > 0)


def sorted_mean(observation):
    """The same in every order, to the last bit."""
    return int(np.sort(observation).mean() > 0)


def always(observation):
    return 1


def scores(observation):
    return np.array([observation[0], observation[1]])


def torque(observation):
    return [-3.0 * observation[2]]


def out_of_reach(observation):
    return observation[7]


def no_action(observation):
    return 7


def not_a_number(observation):
    return [float("nan")]


def chance(observation):
    return int(np.random.default_rng().random() < 0.5)


class Secretive:
    """Follows each sensor for itself: the order matters as soon as memories stay where they were."""

    def reset(self, n_sensors):
        self.trace = np.zeros(n_sensors)

    def act(self, observation):
        self.trace = 0.8 * self.trace + observation
        return np.array(int((observation * (1 + np.tanh(self.trace))).sum() > 0))


class Remembering(Secretive):
    """The same, and shows what it remembers."""

    def memory(self):
        return (self.trace.copy(),)

    def set_memory(self, memory):
        (self.trace,) = memory


class Complete:
    """Says all there is to say about itself."""

    name, n_sensors, world = "complete", None, "CartPole-v1"

    def reset(self, n_sensors):
        pass

    def act(self, observation):
        return np.array(int(observation.sum() > 0))


class Scoring:
    def reset(self, n_sensors):
        pass

    def act(self, observation):
        return observation[:2]


class Demanding:
    def __init__(self, weights):
        self.weights = weights


text = "no agent"
