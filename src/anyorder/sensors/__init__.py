"""What an agent reads, and what can happen to it on the way."""

from anyorder.sensors.observation import Sensors, over_signal
from anyorder.sensors.perturb import (
    AbstractPerturbation,
    Chain,
    Double,
    Drop,
    Flicker,
    Noise,
    Plan,
    Reshuffle,
    Shuffle,
    Unchanged,
    chain,
)

PERTURBATIONS: dict[str, type[AbstractPerturbation]] = {
    "unchanged": Unchanged,
    "shuffle": Shuffle,
    "reshuffle": Reshuffle,
    "double": Double,
    "noise": Noise,
    "drop": Drop,
    "flicker": Flicker,
}

__all__ = [
    "PERTURBATIONS",
    "AbstractPerturbation",
    "Chain",
    "Double",
    "Drop",
    "Flicker",
    "Noise",
    "Plan",
    "Reshuffle",
    "Sensors",
    "Shuffle",
    "Unchanged",
    "chain",
    "over_signal",
]
