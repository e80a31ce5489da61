"""CartPoleSwingUpHarder for Gymnasium: the same equations in plain Python floats."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from anyorder.envs.cartpole import START_CENTRE, START_SPREAD, X_LIMIT, advance, reward_from

WIDTH, HEIGHT = 600, 400
POLE_DRAWN = 0.6


class GymnasiumCartPole(gymnasium.Env):
    """Observation [x, x', cos theta, sin theta, theta'], action [push] in [-1, 1]."""

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "render_modes": ["rgb_array"],
        "render_fps": 50,
    }

    def __init__(self, render_mode: str | None = None):
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"The render mode must be rgb_array or None, got {render_mode!r}.")
        unbounded = np.float32(np.inf)
        high = np.array([unbounded, unbounded, 1, 1, unbounded], dtype=np.float32)
        self.observation_space = spaces.Box(-high, high, dtype=np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.render_mode = render_mode
        self.state: tuple[float, float, float, float] | None = None
        self._picture: _Picture | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """`options={"state": [x, x', theta, theta']}` starts there instead of at random."""
        super().reset(seed=seed)
        noise = self.np_random.uniform(-1, 1, 4)
        start = np.array(START_CENTRE) + noise * START_SPREAD
        if options and "state" in options:
            start = np.asarray(options["state"], dtype=float)
        x, x_dot, theta, theta_dot = (float(value) for value in start)
        self.state = (x, x_dot, theta, theta_dot)
        return self._observation(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if self.state is None:
            raise gymnasium.error.ResetNeeded("Call reset() before the first step().")
        x, x_dot, theta, theta_dot = self.state
        push = min(max(float(np.asarray(action).reshape(-1)[0]), -1.0), 1.0)
        state = advance(x, x_dot, theta, theta_dot, math.sin(theta), math.cos(theta), push)
        self.state, x, theta = state, state[0], state[2]
        reward = reward_from(math.cos(theta), math.cos(x / X_LIMIT * math.pi / 2))
        return self._observation(), reward, abs(x) > X_LIMIT, False, {}

    def render(self) -> np.ndarray | None:  # type: ignore[override]
        if self.render_mode is None:
            return None
        if self.state is None:
            raise gymnasium.error.ResetNeeded("Call reset() before render().")
        if self._picture is None:
            self._picture = _Picture()
        return self._picture.draw(self.state[0], self.state[2])

    def close(self) -> None:
        self._picture = None

    def _observation(self) -> np.ndarray:
        assert self.state is not None
        x, x_dot, theta, theta_dot = self.state
        values = [x, x_dot, math.cos(theta), math.sin(theta), theta_dot]
        return np.array(values, dtype=np.float32)


class _Picture:
    """Draws cart, pole and track into an array."""

    def __init__(self):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.patches import Rectangle

        figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100)
        self._canvas = FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(-2.9, 2.9)
        axes.set_ylim(-1.93, 1.93)
        axes.axis("off")
        axes.plot([-X_LIMIT, X_LIMIT], [0, 0], color="0.7", lw=2)
        for end in (-X_LIMIT, X_LIMIT):
            axes.plot([end, end], [-0.15, 0.15], color="0.4", lw=4)
        self._cart = Rectangle((0, 0), 0.5, 0.26, color="#30456b")
        axes.add_patch(self._cart)
        (self._pole,) = axes.plot([], [], color="#d1652d", lw=7, solid_capstyle="round")
        (self._hinge,) = axes.plot([], [], "o", color="0.9", ms=6)

    def draw(self, x: float, theta: float) -> np.ndarray:
        tip = (x + 2 * POLE_DRAWN * math.sin(theta), 2 * POLE_DRAWN * math.cos(theta))
        self._cart.set_xy((x - 0.25, -0.13))
        self._pole.set_data([x, tip[0]], [0, tip[1]])
        self._hinge.set_data([x], [0])
        self._canvas.draw()
        return np.asarray(self._canvas.buffer_rgba())[..., :3].copy()
