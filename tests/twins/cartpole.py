"""CartPoleSwingUpHarder in NumPy, written from the equations alone."""

import numpy as np


def step(state, action):
    """Next state and reward, in double precision."""
    x, xd, th, td = (np.float64(value) for value in state)
    s, c = np.sin(th), np.cos(th)
    force = 10 * np.clip(np.float64(action), -1, 1)
    mpl, mp, mass, length, g, b = 0.3, 0.5, 1.0, 0.6, 9.82, 0.1
    xdd = (-2 * mpl * td**2 * s + 3 * mp * g * s * c + 4 * force - 4 * b * xd) / (
        4 * mass - 3 * mp * c**2
    )
    tdd = (-3 * mpl * td**2 * s * c + 6 * mass * g * s + 6 * (force - b * xd) * c) / (
        4 * length * mass - 3 * mpl * c**2
    )
    new = np.array([x + 0.01 * xd, xd + 0.01 * xdd, th + 0.01 * td, td + 0.01 * tdd])
    reward = (np.cos(new[2]) + 1) / 2 * np.cos(new[0] / 2.4 * np.pi / 2)
    return new, reward


def observation(state):
    x, xd, th, td = state
    return np.array([x, xd, np.cos(th), np.sin(th), td])


def ended(state):
    return abs(state[0]) > 2.4
