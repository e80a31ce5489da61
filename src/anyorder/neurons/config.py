"""All that can be chosen about a layer of sensory neurons."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal, get_args

from anyorder.neurons.key_maps import KeyMapName
from anyorder.neurons.queries import check_queries
from anyorder.neurons.scores import ScoreName
from anyorder.neurons.weightings import WEIGHTINGS

NeuronKind = Literal["attention", "deep-sets", "set-transformer", "encoder"]
MemoryName = Literal["recurrent", "gru", "stacked", "transformer"]
WeightingName = Literal["tanh", "sigmoid", "softmax", "sparsemax", "top-k"]
OF_SLOTS = (
    "score", "weighting", "top", "key_map", "queries", "self_attention", "bias", "scaled",
)  # fmt: skip
"""Settings of attention from slots, which other kinds do not have."""


@dataclass(frozen=True)
class AttentionNeuronConfig:
    """The layer of sensory neurons. The defaults are the paper's for CartPole."""

    kind: NeuronKind = "attention"
    """attention (AttentionNeuron), or for comparison: deep-sets, set-transformer, encoder (a
    transformer without positions)."""
    slots: int = 16
    """Size of the code: queries that attend to the sensors."""
    memory: MemoryName = "recurrent"
    """What a neuron goes by: recurrent (an LSTM), gru, stacked (a layer that reads its last few
    signals) or transformer (attention over these)."""
    stack: int = 4
    """Signals a stacked or transformer neuron goes by, the newest among them."""
    hidden: int = 8
    """Units in each neuron, LSTM or layer; also the width of the query table."""
    width: int = 32
    """Width in which queries and keys are compared; of every row in the kinds for comparison."""
    score: ScoreName = "dot"
    """How well a query fits a key: dot, scaled-dot, general (Luong), additive (Bahdanau) or cosine."""
    weighting: WeightingName = "tanh"
    """How scores become weights: tanh and sigmoid weigh each sensor by itself; softmax, sparsemax and
    top-k share one weight."""
    top: int = 4
    """Sensors a slot listens to with top-k."""
    key_map: KeyMapName = "identity"
    """Nonlinear map of the keys before scores: identity for none; tanh, relu, gelu, polynomial and
    fourier have no parameters, two-layer and gated are learned."""
    queries: str = "sinusoidal"
    """What slots ask: sinusoidal (fixed), learned, or given: rows of numbers such as 1,0;0,1."""
    heads: int = 1
    """Ways in which to attend, each with its part of the width."""
    self_attention: bool = False
    """Neurons attend to one another before slots attend to them."""
    previous_action: bool = True
    """Tell every neuron the previous action."""
    layers: int = 1
    """Layers of self-attention in set-transformer and encoder, and over time in transformer memory."""
    points: int = 8
    """Inducing points through which a set-transformer's sensors attend to one another."""
    pooling: Literal["mean", "cls"] = "mean"
    """How an encoder's rows become one: their mean, or a row of its own that attends to them."""
    bias: bool = False
    """Add biases to the query and key maps (the paper's Ant has them)."""
    scaled: bool = False
    """Divide dot scores by the square root of the width (the paper's Ant does), as scaled-dot does."""
    remember: float = 2.0
    """Added to the forget gates' biases of fresh neurons, so that they start with some memory of
    which sensor they hold: without it half of it is gone after a step."""
    gain: float | None = None
    """Factor on the code. Without one: usual sensors / present sensors, at most 1, so that a world
    whose every sensor is doubled gives the same code (0.5 for 10 inputs, as in the paper)."""

    def __post_init__(self):
        if min(self.slots, self.hidden, self.width, self.stack) < 1:
            raise ValueError(
                "A neuron needs at least one slot, one hidden unit, a width and a stack of one."
            )
        if min(self.top, self.heads, self.layers, self.points) < 1:
            raise ValueError("A neuron needs at least one head, layer, point and top sensor.")
        for name, kind in CHOICES.items():
            if getattr(self, name) not in get_args(kind):
                known = ", ".join(get_args(kind))
                raise ValueError(f"Unknown {name} {getattr(self, name)!r}: try {known}.")
        if self.width % self.heads:
            raise ValueError(f"A width of {self.width} cannot be shared by {self.heads} heads.")
        if self.hidden % self.heads and (self.self_attention or self.memory == "transformer"):
            raise ValueError(f"{self.hidden} hidden units cannot be shared by {self.heads} heads.")
        check_queries(self.queries, self.slots, self.hidden)
        if self.kind != "attention":
            default = {field.name: field.default for field in dataclasses.fields(self)}
            for name in OF_SLOTS:
                if getattr(self, name) != default[name]:
                    raise ValueError(f"{name} is for attention neurons, not for {self.kind}.")

    @property
    def divided(self) -> bool:
        """Whether dot products are divided by the square root of the width."""
        return self.scaled or self.score == "scaled-dot"

    @property
    def folds(self) -> bool:
        """Whether scores are one fixed matrix times an LSTM's output, as compiled paths take them to be."""
        return (
            self.kind == "attention"
            and self.memory == "recurrent"
            and self.score in ("dot", "scaled-dot")
            and self.key_map == "identity"
            and self.queries == "sinusoidal"
            and self.heads == 1
            and not self.self_attention
            and self.previous_action
            and self.weighting in ("tanh", "softmax")
        )

    def actions_told(self, n_actions: int) -> int:
        """How many numbers of the previous action a neuron is told."""
        return n_actions if self.previous_action else 0


CHOICES = {
    "kind": NeuronKind,
    "memory": MemoryName,
    "score": ScoreName,
    "weighting": WeightingName,
    "key_map": KeyMapName,
    "pooling": Literal["mean", "cls"],
}
assert set(get_args(WeightingName)) == set(WEIGHTINGS)
