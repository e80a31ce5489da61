"""The audit of an agent that lives on the host: does it matter in which order its sensors come?

Three questions, from the strictest to the most forgiving. Are its actions the same in every order? Are they,
once the memory of each sensor moves along with it? And if they are not, does it earn as much all the same?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from anyorder.errors import UsageError
from anyorder.evaluation.audit import as_json
from anyorder.evaluation.estimate import row
from anyorder.evaluation.host_attention import HostAttention, host_attention
from anyorder.evaluation.host_episodes import HostEpisode, HostWorld, host_episodes
from anyorder.evaluation.host_orders import (
    Change,
    affordable,
    change_of_actions,
    orders_to_try,
    repeats_itself,
    swap_matrix,
)
from anyorder.evaluation.host_trials import (
    BLIND,
    FAULTS,
    ORDERS,
    PLAIN,
    HostTrial,
    host_trials,
    memory_trials,
)
from anyorder.evaluation.host_verdict import HostVerdict, verdict_of
from anyorder.evaluation.orders import ALL_UP_TO
from anyorder.evaluation.statistics import Summary, interval, summarize
from anyorder.evaluation.subject import AuditSubject, Remembers
from anyorder.sensors import AbstractPerturbation

MakeTrialWorld = Callable[[AbstractPerturbation, int], HostWorld]
"""A fresh world with this perturbation, whose observations come so many steps late."""
RECORDED = 8
"""Episodes whose observations are shown again in other orders."""
MIDWAY = 24
"""Orders that sensors are put into in mid-episode."""
NOISE = 0.1
"""Noise on readings, as a share of how much each sensor varies."""
Returns = Mapping[str, Float[np.ndarray, " episodes"]]


@dataclass(frozen=True)
class HostAudit:
    """What was found."""

    name: str
    world: str
    n_sensors: int
    any_number: bool
    seed: int
    constant: bool
    """Whether it did the same at every step of the undisturbed world."""
    orders: Change
    midway: Mapping[str, Change]
    """Actions after sensors change places in mid-episode, by what becomes of the memory."""
    swaps: Float[np.ndarray, "sensors sensors"] | None
    trials: Mapping[str, HostTrial]
    returns: Mapping[str, np.ndarray]
    memory: Mapping[str, np.ndarray]
    """Returns by what was done to the memory; empty for an agent that shows none."""
    attention: HostAttention | None
    verdict: HostVerdict

    @property
    def exhaustive(self) -> bool:
        return self.n_sensors <= ALL_UP_TO

    def summaries(self) -> dict[str, Summary]:
        """Returns in a few numbers each. An episode succeeds if it earns more than the mean of the plain
        return and the one of the agent with all sensors reading zero."""
        return self._summaries(self.returns)

    def memory_summaries(self) -> dict[str, Summary]:
        """The same for what was done to memory."""
        return self._summaries(self.memory)

    def losses(self) -> dict[str, tuple[float, tuple[float, float]]]:
        """What each trial takes from the plain returns, episode by episode from the same starts, with its
        95% interval."""
        plain = self.returns[PLAIN]
        return {
            name: (
                float((plain - found).mean()),
                interval(plain - found, np.mean, seed=self.seed),
            )
            for name, found in self.returns.items()
        }

    def remarks(self) -> Iterator[str]:
        """What could not be tried, and why."""
        if self.constant:
            yield "Undisturbed it did the same at every step, of which other orders tell little."
        if not self.any_number:
            yield (
                f"It reads exactly {self.n_sensors} sensors: none can be added, and one that is absent reads "
                "zero."
            )
        if not self.memory:
            yield "It shows no memory: there is nothing to empty or to move along."
        if not self.exhaustive:
            tried = self.orders.orders
            yield f"Of all orders of {self.n_sensors} sensors, {tried} random ones were tried."

    def as_json(self) -> dict[str, Any]:
        """The keys of an audit of one of our own agents, where they apply, and some more."""
        rows = {
            name: self._row(name, self.trials[name].words, self.returns) for name in self.trials
        }
        return {
            "name": self.name,
            "kind": "foreign",
            "task": self.world,
            "sensors": self.n_sensors,
            "any_number": self.any_number,
            "episodes": len(self.returns[PLAIN]),
            "seed": self.seed,
            "verdict": self.verdict.word,
            "sentence": " ".join(self.verdict.reasons),
            "closed_loop": {
                "plain": rows[PLAIN],
                "idle": rows[BLIND],
                "orders": [rows[name] for name in ORDERS],
                "memory": [
                    self._row(name, trial.words, self.memory)
                    for name, trial in memory_trials().items()
                    if name in self.memory
                ],
                "faults": [rows[name] for name in FAULTS],
            },
            "doubled": rows.get("doubled"),
            "noise": {"rows": [rows["noise5"]]} if "noise5" in rows else None,
            "orders": {"exhaustive": self.exhaustive, **self.orders.as_json()},
            "midway": {name: change.as_json() for name, change in self.midway.items()},
            "attention": None if self.attention is None else self.attention.as_json(),
            "swaps": None if self.swaps is None else self.swaps.round(5).tolist(),
            "kept": {
                name: {"value": round(share, 4), "ci95": [round(low, 4), round(high, 4)]}
                for name, (share, low, high) in self.verdict.kept.items()
            },
            "remarks": list(self.remarks()),
        }

    def _summaries(self, returns: Returns) -> dict[str, Summary]:
        threshold = 0.5 * float(self.returns[PLAIN].mean() + self.returns[BLIND].mean())
        return {
            name: summarize(found, threshold=threshold, seed=self.seed)
            for name, found in returns.items()
        }

    def _row(self, name: str, meaning: str, returns: Returns) -> dict[str, Any]:
        return as_json(row(name, meaning, returns[name], self.returns[PLAIN]))


Tell = Callable[[str, int, int], None]
"""Is told what is going on, how many episodes are done, and how many there are."""


@dataclass
class _Playing:
    """An agent at play: the same starts in every trial."""

    subject: AuditSubject
    make_world: MakeTrialWorld
    seeds: Sequence[int]
    n_steps: int
    tell: Tell
    total: int
    done: int = 0

    def episodes(self, trial: HostTrial) -> list[HostEpisode]:
        found = []
        for episode in host_episodes(
            self.subject,
            lambda: self.make_world(trial.perturbation, trial.delay),
            self.seeds,
            n_steps=self.n_steps,
            memory=trial.memory,
        ):
            found.append(episode)
            self.done += 1
            self.tell(trial.words, self.done, self.total)
        return found

    def returns(self, trial: HostTrial) -> Float[np.ndarray, " episodes"]:
        return _totals(self.episodes(trial))

    def shown(self, tried: int) -> None:
        """Tell that another order has been tried on what was recorded."""
        self.tell(f"order {tried}", self.done, self.total)


def host_audit(
    subject: AuditSubject,
    make_world: MakeTrialWorld,
    *,
    n_sensors: int,
    n_episodes: int = 30,
    n_steps: int = 1000,
    seed: int = 1,
    tell: Tell = lambda doing, done, total: None,
) -> HostAudit:
    """Try the agent in other orders, then play `n_episodes` episodes of each trial from the same starts."""
    if n_sensors < 2:
        raise UsageError(f"{subject.world} shows a single number, which comes in no order.")
    rng = np.random.default_rng(seed)
    any_number, remembers = subject.n_sensors is None, isinstance(subject, Remembers)
    treated = memory_trials() if remembers else {}
    n_trials = len(host_trials(n_sensors, (), 0, any_number=any_number)) + len(treated)
    seeds = [int(found) for found in rng.integers(0, 2**31, n_episodes)]
    playing = _Playing(subject, make_world, seeds, n_steps, tell, n_episodes * n_trials)

    plain = playing.episodes(HostTrial("as they are"))
    seen = [np.stack(episode.observations) for episode in plain]
    spread = np.concatenate(seen).std(axis=0)
    middle = max(1, int(np.median([len(episode) for episode in seen])) // 2)
    actions = np.concatenate([np.stack(episode.actions) for episode in plain])
    seen = seen[:RECORDED]
    if not repeats_itself(subject, [episode[:200] for episode in seen]):
        raise UsageError(
            f"{subject.name} answers the same observations differently the second time: take chance out of "
            "it, or give it a reset that makes it forget."
        )
    orders = orders_to_try(n_sensors, rng)
    shown = affordable(subject, seen, len(orders))
    fixed = change_of_actions(subject, shown, orders, tell=playing.shown)
    some = orders[rng.permutation(len(orders))[:MIDWAY]]
    midway = {
        memory: change_of_actions(
            subject, shown, some, midway=True, memory=memory, tell=playing.shown
        )
        for memory in (("kept", "reset", "permuted") if remembers else ("kept",))
    }
    swaps = swap_matrix(subject, seen, playing.shown)

    noise = tuple(float(NOISE * sd) for sd in spread)
    trials = host_trials(n_sensors, noise, middle, any_number=any_number)
    returns = {PLAIN: _totals(plain)}
    returns |= {name: playing.returns(trial) for name, trial in trials.items() if name != PLAIN}
    return HostAudit(
        name=subject.name,
        world=subject.world,
        n_sensors=n_sensors,
        any_number=any_number,
        seed=seed,
        constant=bool((actions == actions[0]).all()),
        orders=fixed,
        midway=midway,
        swaps=swaps,
        trials=trials,
        returns=returns,
        memory={name: playing.returns(trial) for name, trial in treated.items()},
        attention=host_attention(subject, seen, some),
        verdict=verdict_of(fixed, midway, returns, seed=seed),
    )


def _totals(episodes: Sequence[HostEpisode]) -> Float[np.ndarray, " episodes"]:
    return np.array([episode.total for episode in episodes])
