"""The paper's agent played as its authors play it: PyTorch, one environment, one step at a time.

Memory is hidden on the module, as theirs is, and nothing is batched. Written anew after their description;
it is here to be timed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyorder.bridges.gymnasium_cartpole import GymnasiumCartPole
from anyorder.neurons import sinusoidal_table

SLOTS, HIDDEN, WIDTH = 16, 8, 32
LIMIT = 1000


class TorchLoop:
    """Episodes of one fresh agent under shuffled sensors, on one core."""

    def __init__(self, seed: int = 0):
        import torch  # pyright: ignore[reportMissingImports]

        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.torch = torch
        self.table = torch.tensor(sinusoidal_table(SLOTS, HIDDEN), dtype=torch.float32)
        self.cell = torch.nn.LSTMCell(2, HIDDEN)
        self.query_map = torch.nn.Linear(HIDDEN, WIDTH, bias=False)
        self.key_map = torch.nn.Linear(HIDDEN, WIDTH, bias=False)
        self.readout = torch.nn.Linear(SLOTS, 1)
        self.memory: Any = None
        self.previous_action = 0.0
        self.world = GymnasiumCartPole()
        self.random = np.random.default_rng(seed)

    def act(self, readings: np.ndarray) -> float:
        """One decision; what it needs to remember it keeps to itself."""
        torch = self.torch
        with torch.no_grad():
            signal = torch.from_numpy(readings).float().unsqueeze(-1)
            told = torch.cat([signal, torch.full_like(signal, self.previous_action)], dim=-1)
            self.memory = self.cell(told, self.memory)
            scores = self.query_map(self.table) @ self.key_map(self.memory[0]).T
            code = torch.tanh(torch.tanh(scores) @ signal).squeeze(-1)
            self.previous_action = float(torch.tanh(self.readout(code)))
        return self.previous_action

    def episode(self) -> tuple[float, int]:
        """Return and steps of one episode with sensors in a random order."""
        seen, _ = self.world.reset(seed=int(self.random.integers(2**31)))
        order = self.random.permutation(len(seen))
        self.memory, self.previous_action = None, 0.0
        total, steps, over = 0.0, 0, False
        while not over and steps < LIMIT:
            push = np.array([self.act(seen[order])])
            seen, reward, over, _, _ = self.world.step(push)
            total, steps = total + reward, steps + 1
        return total, steps
