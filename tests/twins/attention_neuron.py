"""The authors' agents in NumPy, straight from the equations and the flat weight vector."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Twin:
    """An agent for `n_sensors` numbers, its weights laid out as in the authors' files."""

    def __init__(self, flat, n_sensors, n_actions, slots, *, bias, scaled, hidden=0):
        flat = np.asarray(flat, dtype=np.float64)
        self.at = 0

        def take(*shape):
            part = flat[self.at : self.at + int(np.prod(shape))].reshape(shape)
            self.at += part.size
            return part

        self.w_ih, self.w_hh, self.b_ih, self.b_hh = (
            take(32, 1 + n_actions), take(32, 8), take(32), take(32),
        )  # fmt: skip
        self.w_q = take(32, 8)
        self.b_q = take(32) if bias else 0
        self.w_k = take(32, 8)
        self.b_k = take(32) if bias else 0
        self.layers = []
        width = slots
        for size in (hidden, n_actions) if hidden else (n_actions,):
            self.layers.append((take(size, width), take(size)))
            width = size
        assert self.at == flat.size
        rows, columns = np.arange(slots)[:, None], np.arange(8)[None]
        angle = rows / 10000 ** (2 * (columns // 2) / 8)
        self.q = np.where(columns % 2 == 0, np.sin(angle), np.cos(angle))
        self.scale = np.sqrt(32) if scaled else 1.0
        self.h = self.c = np.zeros((n_sensors, 8))
        self.action = np.zeros(n_actions)

    def step(self, sensors, gain=1.0):
        """Action, code and attention weights."""
        told = np.concatenate([sensors[:, None], np.tile(self.action, (len(sensors), 1))], axis=1)
        gates = told @ self.w_ih.T + self.b_ih + self.h @ self.w_hh.T + self.b_hh
        i, f, g, o = np.split(gates, 4, axis=1)
        self.c = sigmoid(f) * self.c + sigmoid(i) * np.tanh(g)
        self.h = sigmoid(o) * np.tanh(self.c)
        queries, keys = self.q @ self.w_q.T + self.b_q, self.h @ self.w_k.T + self.b_k
        weights = np.tanh(queries @ keys.T / self.scale)
        code = gain * (weights @ sensors)
        x = np.tanh(code)
        for w, b in self.layers:
            x = np.tanh(w @ x + b)
        self.action = x
        return x, code, weights
