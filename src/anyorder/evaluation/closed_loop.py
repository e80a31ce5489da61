"""What an agent earns when things are done to its sensors, its memory or its neurons.

All trials with the world's own number of sensors are written first and then played together, by one
compiled program, from the same starts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, Float, Key

from anyorder.envs import AbstractEnv
from anyorder.evaluation.ablated import ABLATIONS
from anyorder.evaluation.estimate import Row, row
from anyorder.evaluation.trials import (
    ABSOLUTE,
    EVERY,
    FIRST_ONLY,
    INVERSE,
    KEPT,
    LATE,
    LONGEST_DELAY,
    PERMUTED,
    RESET,
    ZEROED,
    Trial,
    World,
    altered,
    reshuffled,
    undisturbed,
)

PLAIN, IDLE, SHUFFLED, ONCE = "undisturbed", "no action at all", "shuffled", "shuffled once"
MEMORY: dict[str, tuple[int, str]] = {
    "memory kept": (KEPT, f"sensors change places every {EVERY} steps, nobody tells the neurons"),
    "memory zeroed each step": (ZEROED, "so neurons know the present reading and nothing else"),
    "memory reset at each shuffle": (RESET, "neurons begin anew, all alike"),
    "memory permuted along": (PERMUTED, "each neuron's memory goes where its sensor goes"),
}
"""The capstone's ablations: name, number and meaning."""
SLIPS: dict[str, tuple[int, str]] = {
    "by the new order itself": (
        ABSOLUTE,
        "memory[order] with the order of the sensors, not the change from the order before",
    ),
    "the other way": (INVERSE, "memory[argsort(order)]: by the inverse of the change"),
    "half of it": (
        FIRST_ONLY,
        "only the first of its arrays moves along: h of an LSTM, and c stays",
    ),
    "a step late": (LATE, "after the step in which sensors changed places instead of before it"),
}
"""Ways to move memory along that look right and are not."""
ONCE_AT = 3
"""The one shuffle in mid-episode comes at this phase: after 300 steps."""


@dataclass(frozen=True)
class ClosedLoop:
    """Rows of returns, by what was done."""

    plain: Row
    idle: Row
    """The world left to itself, to tell keeping a return from never having had one."""
    orders: tuple[Row, ...]
    memory: tuple[Row, ...]
    slips: tuple[Row, ...]
    signals: tuple[Row, ...]
    faults: tuple[Row, ...]
    """By fault, then by sensor; the name is `fault, sensor`, where `all` stands for all of them."""


FAULTS: dict[str, str] = {
    "dropped": "the sensor is absent",
    "halved": "reads half of what it should",
    "doubled": "reads twice what it should",
    "flipped": "reads with the wrong sign",
    "late": f"reports {LONGEST_DELAY} steps late",
}


def write_trials(
    world: World,
    keys: Key[Array, " episodes"],
    rng: np.random.Generator,
    *,
    remembers: bool,
    leaves: int,
    ablations: tuple[str, ...],
) -> dict[str, Trial]:
    """All that is to be played, by name. Without a memory there is nothing to do to it."""
    calm = undisturbed(world, keys)
    often = reshuffled(calm, rng)
    trials = {
        PLAIN: calm,
        IDLE: altered(calm, push=0.0),
        SHUFFLED: reshuffled(calm, rng, first=0, last=0),
        ONCE: reshuffled(calm, rng, first=ONCE_AT, last=ONCE_AT),
    }
    moves = {name: moving for name, (moving, _) in MEMORY.items()}
    moves |= {
        name: moving for name, (moving, _) in SLIPS.items() if leaves > 1 or moving != FIRST_ONLY
    }
    for name, moving in moves.items():
        if remembers or moving == KEPT:
            trials[name] = altered(often, moving=moving)
    for name in ablations:
        trials[name] = altered(calm, ablation=ABLATIONS[name][0])
    n_sensors = world.n_sensors
    for sensor in range(n_sensors):
        here = np.arange(n_sensors) == sensor
        trials |= {f"{fault}, {sensor}": trial for fault, trial in _faulty(calm, here).items()}
    everywhere = _faulty(calm, np.ones(n_sensors, bool))
    trials |= {f"{fault}, all": everywhere[fault] for fault in FAULTS if fault != "dropped"}
    return trials


def _faulty(calm: Trial, here: np.ndarray) -> dict[str, Trial]:
    """The faults of the sensors that are `here`."""
    return {
        "dropped": altered(calm, present=~here),
        "halved": altered(calm, factors=np.where(here, 0.5, 1.0)),
        "doubled": altered(calm, factors=np.where(here, 2.0, 1.0)),
        "flipped": altered(calm, factors=np.where(here, -1.0, 1.0)),
        "late": altered(calm, delays=np.where(here, LONGEST_DELAY, 0)),
    }


def read_returns(returns: dict[str, Float[np.ndarray, " episodes"]]) -> ClosedLoop:
    """What the trials came to."""
    plain = returns[PLAIN]

    def rows(names: dict[str, str]) -> tuple[Row, ...]:
        return tuple(
            row(name, meaning, returns[name], plain)
            for name, meaning in names.items()
            if name in returns
        )

    def described(table: dict[str, tuple[int, str]]) -> dict[str, str]:
        return {name: meaning for name, (_, meaning) in table.items()}

    faults = {name: FAULTS[name.split(",")[0]] for name in returns if name.split(",")[0] in FAULTS}
    return ClosedLoop(
        plain=row(PLAIN, "nothing is done", plain, plain),
        idle=row(IDLE, "the world left to itself", returns[IDLE], plain),
        orders=rows(
            {
                SHUFFLED: "another order, from the first step to the last",
                ONCE: f"in their own order until step {ONCE_AT * EVERY}, then in another",
            }
        ),
        memory=rows(described(MEMORY)),
        slips=rows(described(SLIPS)),
        signals=rows(described(ABLATIONS)),
        faults=rows(faults),
    )


def sizes_of(env: AbstractEnv, cost: float, n_trials: int) -> int:
    """Episodes of each trial that all of them together can afford."""
    affordable = 3.5e11 / (cost * env.n_steps * n_trials)
    return int(np.clip(16 * (affordable // 16), 16, 256))
