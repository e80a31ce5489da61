"""Worlds that step on the host: who plays them, and settings that suit them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from anyorder.envs import PREFIX, AbstractEnv
from anyorder.errors import UsageError
from anyorder.policies import AbstractPolicy
from anyorder.rollout import AbstractPool, GymnasiumEngine
from anyorder.training import ESConfig, Evolution

EngineKind = Literal["local", "ray"]
SUITED = ESConfig(
    generations=200, population=64, episodes=4, test_every=10, test_episodes=64, finalists=4
)
"""Evolution's settings where steps are dear: a core makes thousands of them a second, not millions."""
SIZES = ("generations", "population", "episodes", "test_every", "test_episodes", "finalists")


def as_hosted(options: Any) -> Any:
    """The options of a run in one of Gymnasium's worlds; sizes that were left out are SUITED's."""
    if options.method != "es":
        raise UsageError(f"{PREFIX} worlds are learned by evolution: leave out --method.")
    if options.rollout != "auto":
        raise UsageError("--rollout is for worlds of our own: choose --engine local or ray here.")
    if options.seeds > 1:
        raise UsageError(f"{PREFIX} worlds are learned one seed at a time: leave out --seeds.")
    default = ESConfig()
    if options.es.practice or options.es.final_practice:
        raise UsageError(f"{PREFIX} worlds have no exercise: leave out --es.practice.")
    if options.resume is not None:
        return options
    left_out = [name for name in SIZES if getattr(options.es, name) == getattr(default, name)]
    suited = {name: getattr(SUITED, name) for name in left_out}
    return dataclasses.replace(options, es=dataclasses.replace(options.es, **suited))


@contextmanager
def open_pool(
    task: str, engine: EngineKind, address: str | None, workers: int | None
) -> Iterator[AbstractPool | None]:
    """The workers for a task, let go at the end; None for a world that needs none."""
    if workers is not None and workers < 1:
        raise UsageError(f"--workers must be at least 1, got {workers}.")
    if engine != "ray" and address is not None:
        raise UsageError("--address is a Ray cluster's: add --engine ray.")
    if not task.startswith(PREFIX):
        if engine == "ray" or workers is not None:
            raise UsageError(f"--engine and --workers are for {PREFIX} worlds, not for {task!r}.")
        yield None
        return
    with _pool(engine, address, workers) as pool:
        yield pool


def _pool(engine: EngineKind, address: str | None, workers: int | None) -> AbstractPool:
    if engine == "ray":
        from anyorder.rollout.ray import RayPool

        return RayPool(address, workers)
    from anyorder.rollout.processes import ProcessPool

    return ProcessPool(workers)


def make_hosted(
    policy: AbstractPolicy, world: AbstractEnv, config: ESConfig, pool: AbstractPool
) -> Evolution:
    """Evolution whose episodes the pool plays."""
    return Evolution(policy, GymnasiumEngine(world, pool), config)


def watch_items(learner: Any, say: Callable[[str], Any]) -> None:
    """Tell how far a generation has come where workers play it."""
    engine = getattr(learner, "engine", None)
    if isinstance(engine, GymnasiumEngine):
        engine.pool.watch = lambda done, total: say(f"{done} of {total} played")
