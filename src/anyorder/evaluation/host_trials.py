"""The ways in which an agent that lives on the host is made to play its world."""

from __future__ import annotations

from dataclasses import dataclass

from anyorder.evaluation.host_episodes import Treatment
from anyorder.sensors import (
    AbstractPerturbation,
    Double,
    Drop,
    Flip,
    Jitter,
    Noise,
    Rescale,
    Reshuffle,
    Shuffle,
    ShuffleAt,
    Unchanged,
)

DELAY = 3
EVERY = (100, 25)
UNCHANGED = Unchanged()
PLAIN, BLIND = "plain", "blind"
ORDERS = ("shuffled", "once", *(f"every{n}" for n in EVERY))
FAULTS = ("dropped", "jitter", "rescaled", "flipped", "delayed")
"""Trials by family; plain, blind, doubled and noise5 stand alone."""


@dataclass(frozen=True)
class HostTrial:
    """A way to play the world."""

    words: str
    perturbation: AbstractPerturbation = UNCHANGED
    delay: int = 0
    """Steps by which observations come late."""
    any_number: bool = False
    """Whether only an agent that reads any number of sensors can be put to it."""
    memory: Treatment = "kept"


def host_trials(
    n_sensors: int, noise: tuple[float, ...], middle: int, *, any_number: bool
) -> dict[str, HostTrial]:
    """Every trial that applies, by name, the plain one first.

    `noise` is the standard deviation that each sensor's readings are given, `middle` the step of a change
    of places in mid-episode.
    """
    trials = {
        PLAIN: HostTrial("as they are"),
        "shuffled": HostTrial("shuffled", Shuffle()),
        "once": HostTrial(f"shuffled once, at step {middle}", ShuffleAt(middle)),
        **{f"every{n}": HostTrial(f"reshuffled every {n} steps", Reshuffle(n)) for n in EVERY},
        "dropped": HostTrial("one dropped", Drop(1)),
        "doubled": HostTrial("each twice", Double(), any_number=True),
        "noise5": HostTrial("5 more, of noise", Noise(5, 0.1), any_number=True),
        "jitter": HostTrial("each with 10% noise", Jitter(noise)),
        "rescaled": HostTrial("one reading twice too much", Rescale(2.0, 1)),
        "flipped": HostTrial("one with the wrong sign", Flip(1)),
        "delayed": HostTrial(f"all {DELAY} steps late", delay=DELAY),
        BLIND: HostTrial("all reading zero", Rescale(0.0, n_sensors)),
    }
    return {name: trial for name, trial in trials.items() if any_number or not trial.any_number}


def memory_trials() -> dict[str, HostTrial]:
    """What is done to the memory of an agent that shows it, and while what happens to its sensors."""
    often, words = Reshuffle(EVERY[-1]), f"reshuffled every {EVERY[-1]} steps, memories "
    return {
        "kept": HostTrial(f"{words}stay", often),
        "reset": HostTrial(f"{words}start anew", often, memory="reset"),
        "permuted": HostTrial(f"{words}move along", often, memory="permuted"),
        "zeroed": HostTrial("order kept, memories emptied at every step", memory="zeroed"),
    }
