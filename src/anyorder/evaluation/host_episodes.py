"""Episodes of an agent that lives on the host, in worlds that keep their own state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from anyorder.errors import UsageError
from anyorder.evaluation.subject import AuditSubject, Remembers, permuted

SIDE_BY_SIDE = 16
"""Episodes played at once with an agent that acts on many observations in one call."""


@runtime_checkable
class ActsOnMany(Protocol):
    """A subject without memory that acts on a whole batch in one call, which is much faster."""

    def act_on_many(self, observations: Float[np.ndarray, "batch sensors"]) -> np.ndarray:
        """An action per observation."""
        ...


@runtime_checkable
class HostWorld(Protocol):
    """A world by Gymnasium's protocol that also says which of its sensors an agent sees where.

    `info["present"]`, if it is there, is a truth value per sensor.
    """

    def reset(self, *, seed: int | None = None) -> tuple[np.ndarray, dict[str, Any]]: ...

    def step(self, action: Any) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]: ...

    def origins(self) -> Int[np.ndarray, " sensors"]:
        """The world's sensor behind each of the agent's; -1 where there is none."""
        ...


MakeWorld = Callable[[], HostWorld]
Treatment = Literal["kept", "zeroed", "reset", "permuted"]
"""What is done to memories: nothing; emptied at every step; emptied, or moved along, at every new order."""


@dataclass
class HostEpisode:
    """What an episode came to, and what the agent saw and did."""

    total: float = 0.0
    observations: list[np.ndarray] = field(default_factory=list)
    actions: list[np.ndarray] = field(default_factory=list)


def host_episodes(
    subject: AuditSubject,
    make_world: MakeWorld,
    seeds: Sequence[int],
    *,
    n_steps: int,
    memory: Treatment = "kept",
) -> Iterator[HostEpisode]:
    """One episode per seed, of at most `n_steps` steps, in the order of the seeds."""
    many = isinstance(subject, ActsOnMany)
    width = SIDE_BY_SIDE if many else 1
    worlds = [make_world() for _ in range(min(width, len(seeds)))]
    for first in range(0, len(seeds), width):
        some = seeds[first : first + width]
        if many:
            yield from _side_by_side(subject, worlds, some, n_steps)
        else:
            yield _alone(subject, worlds[0], some[0], n_steps, memory)


def acted(subject: AuditSubject, observation: Float[np.ndarray, " sensors"]) -> np.ndarray:
    """The agent's action; UsageError if its code fails, which is its owner's to mend."""
    try:
        return np.asarray(subject.act(observation))
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(
            f"{subject.name} fails on an observation of {len(observation)} numbers "
            f"({type(error).__name__}: {error})."
        ) from error


def _side_by_side(
    subject: AuditSubject, worlds: Sequence[HostWorld], seeds: Sequence[int], n_steps: int
) -> list[HostEpisode]:
    assert isinstance(subject, ActsOnMany)
    seen = {}
    for index, seed in enumerate(seeds):
        observation, info = worlds[index].reset(seed=seed)
        seen[index] = _seen(subject, observation, info)
    episodes = [HostEpisode() for _ in seeds]
    for _ in range(n_steps):
        sizes: dict[int, list[int]] = {}
        for index, observation in seen.items():
            sizes.setdefault(len(observation), []).append(index)
        going = {}
        for indices in sizes.values():
            actions = subject.act_on_many(np.stack([seen[index] for index in indices]))
            for index, action in zip(indices, actions, strict=True):
                following = _advance(episodes[index], worlds[index], seen[index], action)
                if following is not None:
                    going[index] = _seen(subject, *following)
        seen = dict(sorted(going.items()))
        if not seen:
            break
    return episodes


def _alone(
    subject: AuditSubject, world: HostWorld, seed: int, n_steps: int, memory: Treatment
) -> HostEpisode:
    episode = HostEpisode()
    following = world.reset(seed=seed)
    order = None if memory == "kept" else world.origins()
    observation = _seen(subject, *following)
    subject.reset(len(observation))
    empty = subject.memory() if isinstance(subject, Remembers) and memory != "kept" else ()
    for _ in range(n_steps):
        if order is not None:
            order = _treat(subject, empty, order, world.origins(), memory)
        following = _advance(episode, world, observation, acted(subject, observation))
        if following is None:
            break
        observation = _seen(subject, *following)
    return episode


def _treat(
    subject: AuditSubject,
    empty: tuple[np.ndarray, ...],
    before: Int[np.ndarray, " sensors"],
    now: Int[np.ndarray, " sensors"],
    memory: Treatment,
) -> Int[np.ndarray, " sensors"]:
    """Do to the memories what the treatment says, and return the order they are in now."""
    assert isinstance(subject, Remembers)
    if memory == "zeroed":
        subject.set_memory(empty)
    elif (before != now).any():
        if memory == "reset":
            subject.set_memory(empty)
        else:
            subject.set_memory(permuted(subject.memory(), np.argsort(before)[now]))
    return now


def _advance(
    episode: HostEpisode, world: HostWorld, observation: np.ndarray, action: Any
) -> tuple[np.ndarray, dict[str, Any]] | None:
    """One step of the world, written into the episode; None where it ends."""
    episode.observations.append(observation)
    episode.actions.append(np.asarray(action))
    try:
        following, reward, terminated, truncated, info = world.step(action)
    except Exception as error:  # whatever a world says of an action that it does not take
        raise UsageError(
            f"The world does not take the action {action} ({type(error).__name__}: {error})."
        ) from error
    episode.total += float(reward)
    return None if terminated or truncated else (following, info)


def _seen(subject: AuditSubject, observation: np.ndarray, info: dict[str, Any]) -> np.ndarray:
    """Absent sensors are left out for an agent that reads any number; for others they read zero."""
    present = info.get("present")
    if subject.n_sensors is None and present is not None and not present.all():
        return observation[present]
    return observation
