"""A network of any framework as a subject of the audit: a function from observations to answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float, Num

from anyorder.bridges.gym_worlds import GymInterface, to_actions
from anyorder.errors import UsageError

Forward = Callable[[np.ndarray], np.ndarray]
"""The network itself: float32 in, numbers out."""
Layout = Literal["batch", "row", "vector"]
"""What the network reads: any number of observations (batch, sensors), one (1, sensors), or (sensors,)."""


class NetworkSubject:
    """An agent without memory whose actions follow from one call of a network.

    Whether it reads batches, and whether it reads any number of sensors, is found out by trying.
    """

    def __init__(
        self,
        name: str,
        interface: GymInterface,
        forward: Forward,
        layouts: Sequence[Layout] = ("row", "vector"),
    ):
        self.name = name
        self.world = interface.world
        self._interface = interface
        self._forward = forward
        self._layout: Layout = self._find_layout(layouts)
        self.n_sensors = None if self._reads_any_number() else interface.n_sensors

    def reset(self, n_sensors: int) -> None:
        """Nothing to forget."""

    def act(self, observation: Float[np.ndarray, " sensors"]) -> np.ndarray:
        return np.asarray(self.act_on_many(np.asarray(observation)[None])[0])

    def act_on_many(self, observations: Float[np.ndarray, "batch sensors"]) -> np.ndarray:
        """An action per observation."""
        try:
            answers = self._answers(observations, self._layout)
        except Exception as error:  # whatever a stranger's code raises
            raise UsageError(
                f"{self.name} fails on an observation of {observations.shape[1]} numbers "
                f"({type(error).__name__}: {_first_line(error)})."
            ) from error
        return to_actions(answers, self._interface, self.name)

    def _answers(
        self, observations: Float[np.ndarray, "batch sensors"], layout: Layout
    ) -> Num[np.ndarray, "batch ..."]:
        rows = np.ascontiguousarray(observations, dtype=np.float32)
        if layout == "batch":
            answers = np.asarray(self._forward(rows))
            if answers.shape[:1] != rows.shape[:1]:
                raise ValueError("The network does not answer each observation of a batch.")
            return answers
        one = rows[:, None] if layout == "row" else rows
        return np.stack([np.asarray(self._forward(row)).reshape(-1) for row in one])

    def _find_layout(self, layouts: Sequence[Layout]) -> Layout:
        tried = self._interface.sample(3)
        reason: Exception | None = None
        for layout in layouts:
            try:
                alone = self._answers(tried, layout)
                to_actions(alone, self._interface, self.name)
            except Exception as error:  # each framework refuses in ways of its own
                # An answer that is no action says more than a shape that does not fit.
                reason = error if reason is None or isinstance(error, UsageError) else reason
                continue
            return "batch" if layout == "row" and self._reads_batches(tried, alone) else layout
        if isinstance(reason, UsageError):
            raise reason
        raise UsageError(
            f"{self.name} cannot read the {self._interface.n_sensors} numbers that "
            f"{self._interface.world} shows ({type(reason).__name__}: {_first_line(reason)}): "
            "give the world it was made for."
        ) from reason

    def _reads_batches(self, tried: np.ndarray, alone: np.ndarray) -> bool:
        try:
            together = self._answers(tried, "batch").reshape(alone.shape)
        except Exception:
            return False
        return bool(np.allclose(together, alone, atol=1e-4))

    def _reads_any_number(self) -> bool:
        usual = self._interface.n_sensors
        for n_sensors in {max(1, usual - 1), usual + 1, 2 * usual}:
            tried = self._interface.sample(2, n_sensors=n_sensors)
            try:
                to_actions(self._answers(tried, self._layout), self._interface, self.name)
            except Exception:
                return False
        return True


def _first_line(error: Exception | None) -> str:
    return (str(error).strip().splitlines() or ["no reason given"])[0]
