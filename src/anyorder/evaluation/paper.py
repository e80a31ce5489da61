"""What Tang and Ha (2021) report for CartPole: mean and standard deviation over 1000 episodes."""

from __future__ import annotations

PAPER: dict[str, dict[str, tuple[float, float]]] = {
    "attention": {
        "plain": (472, 426),
        "shuffled": (471, 426),
        "doubled": (471, 425),
        "noise5": (461, 410),
        "every25": (107, 146),
        "every50": (163, 198),
        "every100": (242, 254),
        "every200": (318, 310),
        "every500": (407, 380),
    },
    "mlp": {"plain": (593, 433), "shuffled": (38, 120)},
}
"""By kind of policy, then by protocol. Two-layer networks were also trained on 10 inputs, in a fixed
order: 593 with each input twice, 137 with five of them noise."""
