"""What an agent reads, and what can happen to it on the way."""

from anyorder.sensors.jitter import Jitter
from anyorder.sensors.observation import Sensors, over_signal
from anyorder.sensors.ordeal import Ordeal
from anyorder.sensors.perturb import (
    AbstractPerturbation,
    Chain,
    Double,
    Drop,
    Flicker,
    Flip,
    Noise,
    Plan,
    Rescale,
    Reshuffle,
    Shuffle,
    Unchanged,
    chain,
)
from anyorder.sensors.shuffle_at import ShuffleAt
from anyorder.sensors.spec import PERTURBATIONS, perturbation_named

__all__ = [
    "PERTURBATIONS",
    "AbstractPerturbation",
    "Chain",
    "Double",
    "Drop",
    "Flicker",
    "Flip",
    "Jitter",
    "Noise",
    "Ordeal",
    "Plan",
    "Rescale",
    "Reshuffle",
    "Sensors",
    "Shuffle",
    "ShuffleAt",
    "Unchanged",
    "chain",
    "over_signal",
    "perturbation_named",
]
