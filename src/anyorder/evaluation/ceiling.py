"""What can be earned at all: the oracle's returns, measured with its default settings.

Made with `oracle_returns` and `blind_returns` of `anyorder.oracle` in the first 4,000 episodes of the
evaluation seed. A third of their starts cannot be saved by anybody. Over 40,000 other episodes the
oracle's mean was 630 (95% interval 625 to 634).
"""

from __future__ import annotations

CEILING: dict[str, tuple[float, float, float, float]] = {"cartpole": (624.9, 440.5, 611.0, 638.5)}
"""By task: mean, standard deviation, and the ends of the 95% bootstrap interval of the mean."""

BLIND_STEPS = (0, 1, 2, 3, 5, 8, 12)
BLIND: dict[str, tuple[float, ...]] = {
    "plain": (624.9, 613.2, 603.5, 596.0, 579.5, 552.7, 517.8),
    "every100": (624.9, 613.1, 603.2, 595.7, 579.0, 550.0, 513.9),
    "every25": (624.9, 604.9, 590.0, 570.9, 528.4, 462.1, 342.9),
}
"""By protocol: mean returns of an oracle that does not push for the first BLIND_STEPS steps after each
change of order, the start of the episode included; what an agent that needs as long to recognise its
sensors can earn."""
