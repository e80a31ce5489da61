"""Who takes part in `anyorder bench`; this file is also what each one's process runs."""

from __future__ import annotations

import importlib.util
import resource
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Protocol

STEPS = 1000
"""Steps an episode counts for, played to the end or not."""
TORCH_STEPS = 1500
"""Steps after which the torch loop has been heard enough."""
CONTESTANTS = {
    "evojax": "EvoJAX",
    "torch-loop": "PyTorch loop",
    "scan": "our scan",
    "fused": "our fused kernel",
}
CURES = {
    "evojax": 'pip install "anyorder[benchmark]" && pip install --no-deps evojax==0.2.17 cma==4.4.0',
    "torch-loop": 'pip install "anyorder[torch]"',
}
"""How to get the contestants that do not come with anyorder."""
MODULES = {"evojax": ("evojax", "cma", "flax"), "torch-loop": ("torch",)}


class Contestant(Protocol):
    """One who plays generations of evolution."""

    def generations(self, count: int) -> float:
        """Play so many in a row, and return the seconds one took."""
        ...

    def score(self) -> float | None:
        """The mean return of the agent found so far under shuffled sensors."""
        ...


def cure(name: str) -> str | None:
    """What would bring a contestant that is not installed; None for one that is."""
    missing = [m for m in MODULES.get(name, ()) if importlib.util.find_spec(m) is None]
    return CURES[name] if missing else None


class Ours:
    """A generation of ours, with one of our engines."""

    def __init__(self, engine: Any, candidates: int, episodes: int, algorithm: Any, space: Any):
        import jax

        from anyorder.envs import CartPoleSwingUpHarder
        from anyorder.policies import InvariantPolicy
        from anyorder.rollout import choose_engine
        from anyorder.training import ESConfig, Evolution, StepCount

        env = CartPoleSwingUpHarder()
        policy = InvariantPolicy(env.n_sensors, env.n_actions, key=jax.random.key(0))
        config = ESConfig(algorithm, population=candidates, episodes=episodes, space=space)
        self.learner = Evolution(policy, choose_engine(policy, env, engine), config)
        self.state = self.learner.init(jax.random.key(1))
        self.number = 0
        self.steps = StepCount()

    def generations(self, count: int) -> float:
        import jax

        began = time.perf_counter()
        for _ in range(count):
            self.state, metrics = self.learner.update(self.state, self.number)
            self.steps.add(metrics["steps"])
            self.number += 1
        jax.block_until_ready(self.state)
        return (time.perf_counter() - began) / count

    def score(self) -> float:
        from anyorder.front import evaluate
        from anyorder.training.space import to_policy

        learner = self.learner
        policy = to_policy(learner.config.space, learner.policy, self.state.average)
        return evaluate(policy, "shuffled", episodes=512).mean


class EvoJAX:
    """EvoJAX's generation."""

    def __init__(self, candidates: int, episodes: int):
        from anyorder.bridges.evojax_generation import EvoJAXGeneration

        self.inner = EvoJAXGeneration(candidates, episodes)

    def generations(self, count: int) -> float:
        began = time.perf_counter()
        for _ in range(count):
            self.inner.generation()
        return (time.perf_counter() - began) / count

    def score(self) -> float:
        return self.inner.score()


class Torch:
    """The torch loop, which plays a few episodes; what a generation takes is worked out from these."""

    def __init__(self, candidates: int, episodes: int):
        from anyorder.bridges.torch_loop import TorchLoop

        self.inner = TorchLoop()
        self.steps = candidates * episodes * STEPS

    def generations(self, count: int) -> float:
        made, began = 0, time.perf_counter()
        while made < TORCH_STEPS:
            made += self.inner.episode()[1]
        return (time.perf_counter() - began) / made * self.steps

    def score(self) -> None:
        return None


def make(name: str, candidates: int, episodes: int, algorithm: str, space: str) -> Contestant:
    """The contestant of this name."""
    if name == "evojax":
        return EvoJAX(candidates, episodes)
    if name == "torch-loop":
        return Torch(candidates, episodes)
    return Ours(name, candidates, episodes, algorithm, space)


def peak_memory() -> int:
    """Most bytes this process has held, on the host and, where they say so, on the devices."""
    import jax

    stats = [device.memory_stats() or {} for device in jax.local_devices()]
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return host + sum(int(found.get("peak_bytes_in_use", 0)) for found in stats)


def device_name() -> str:
    """What we are on."""
    import jax

    return f"{jax.devices()[0].device_kind} x {jax.device_count()}"


def main(socket: int, name: str, candidates: int, episodes: int, *search: str) -> None:
    """Do what is asked over the socket until nobody asks any more."""
    line = Connection(socket)
    contestant = make(name, candidates, episodes, *search)
    answers: dict[str, Callable[..., Any]] = {
        "generations": contestant.generations,
        "score": contestant.score,
        "memory": peak_memory,
        "device": device_name,
    }
    while True:
        try:
            what, *more = line.recv()
            line.send(answers[what](*more))
        except (EOFError, OSError):
            return


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *sys.argv[5:])
