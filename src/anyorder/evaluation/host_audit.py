"""The audit of an agent that lives on the host: does it matter in which order its sensors come?

Three questions, from the strictest to the most forgiving. Are its actions the same in every order? Are they,
once the memory of each sensor moves along with it? And if they are not, does it earn as much all the same?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from anyorder.errors import UsageError
from anyorder.evaluation.host_episodes import HostEpisode, HostWorld, Treatment, host_episodes
from anyorder.evaluation.host_orders import (
    EXHAUSTIVE,
    Change,
    affordable,
    change_of_actions,
    n_orders,
    orders_to_try,
    repeats_itself,
    swap_matrix,
)
from anyorder.evaluation.host_verdict import HostVerdict, verdict_of
from anyorder.evaluation.statistics import Summary, interval, summarize
from anyorder.evaluation.subject import AuditSubject, Remembers
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

MakeTrialWorld = Callable[[AbstractPerturbation, int], HostWorld]
"""A fresh world with this perturbation, whose observations come so many steps late."""
DELAY = 3
EVERY = (100, 25)
RECORDED = 4
"""Episodes whose observations are shown again in other orders."""
JITTER = 0.1
"""Noise on readings, as a share of how much each sensor varies."""

TREATMENTS: dict[str, tuple[Treatment, AbstractPerturbation]] = {
    "kept": ("kept", Reshuffle(EVERY[-1])),
    "reset": ("reset", Reshuffle(EVERY[-1])),
    "permuted": ("permuted", Reshuffle(EVERY[-1])),
    "zeroed": ("zeroed", Unchanged()),
}
"""What is done to the memory of an agent that shows it, and while what happens to its sensors."""
MEANINGS_OF_MEMORY = {
    "kept": f"reshuffled every {EVERY[-1]} steps, memories stay",
    "reset": f"reshuffled every {EVERY[-1]} steps, memories start anew",
    "permuted": f"reshuffled every {EVERY[-1]} steps, memories move along",
    "zeroed": "order kept, memories emptied at every step",
}
ORDERS = ("shuffled", "once", *(f"every{n}" for n in EVERY))
FAULTS = ("dropped", "jitter", "rescaled", "flipped", "delayed")
"""Trials by family; plain, blind, doubled and noise5 stand alone."""


@dataclass(frozen=True)
class Trial:
    """A way to play the world."""

    words: str
    perturbation: AbstractPerturbation
    delay: int = 0
    any_number: bool = False
    """Whether only an agent that reads any number of sensors can be put to it."""


@dataclass(frozen=True)
class HostAudit:
    """What was found."""

    name: str
    world: str
    n_sensors: int
    any_number: bool
    seed: int
    orders: Change
    midway: Mapping[str, Change]
    """Actions after sensors change places in mid-episode, by what becomes of the memory."""
    swaps: Float[np.ndarray, "sensors sensors"] | None
    returns: Mapping[str, Float[np.ndarray, " episodes"]]
    trials: Mapping[str, Trial]
    memory: Mapping[str, Float[np.ndarray, " episodes"]]
    verdict: HostVerdict

    @property
    def exhaustive(self) -> bool:
        return self.n_sensors <= EXHAUSTIVE

    @property
    def remembers(self) -> bool:
        return bool(self.memory)

    def summaries(self) -> dict[str, Summary]:
        """Returns in a few numbers each. An episode succeeds if it earns more than the mean of the plain
        return and the one of the agent with all sensors reading zero."""
        return _summaries(self.returns, self.returns, self.seed)

    def memory_summaries(self) -> dict[str, Summary]:
        """The same for what was done to memory."""
        return _summaries(self.memory, self.returns, self.seed)

    def losses(self) -> dict[str, tuple[float, tuple[float, float]]]:
        """What each trial takes from the plain returns, episode by episode from the same starts, with its
        95% interval."""
        plain = self.returns["plain"]
        return {
            name: (
                float((plain - found).mean()),
                interval(plain - found, np.mean, seed=self.seed),
            )
            for name, found in self.returns.items()
        }

    def as_json(self) -> dict[str, Any]:
        """The keys of an audit of one of our own agents, where they apply, and some more."""
        lost = {name: self._row(name) for name in self.returns}
        return {
            "name": self.name,
            "kind": "foreign",
            "task": self.world,
            "sensors": self.n_sensors,
            "any_number": self.any_number,
            "episodes": len(self.returns["plain"]),
            "seed": self.seed,
            "verdict": self.verdict.word,
            "sentence": " ".join(self.verdict.reasons),
            "closed_loop": {
                "plain": lost["plain"],
                "idle": lost["blind"],
                "orders": [lost[name] for name in ORDERS],
                "memory": [self._row(name, self.memory) for name in self.memory],
                "faults": [lost[name] for name in FAULTS],
            },
            "doubled": lost.get("doubled"),
            "noise": {"rows": [lost["noise5"]]} if "noise5" in lost else None,
            "orders": {"exhaustive": self.exhaustive, **self.orders.as_json()},
            "midway": {name: change.as_json() for name, change in self.midway.items()},
            "swaps": None if self.swaps is None else self.swaps.round(5).tolist(),
            "kept": {
                name: {"value": round(share, 4), "ci95": [round(low, 4), round(high, 4)]}
                for name, (share, low, high) in self.verdict.kept.items()
            },
            "remarks": list(self.remarks()),
        }

    def remarks(self) -> Iterator[str]:
        """What could not be tried, and why."""
        if not self.any_number:
            yield (
                f"It reads exactly {self.n_sensors} sensors: none can be added, and one that is absent reads "
                "zero."
            )
        if not self.remembers:
            yield "It shows no memory: there is nothing to empty or to move along."
        if not self.exhaustive:
            yield f"Of all orders of {self.n_sensors} sensors, {self.orders.orders} random ones were tried."

    def _row(
        self, name: str, among: Mapping[str, Float[np.ndarray, " episodes"]] | None = None
    ) -> dict[str, Any]:
        found, plain = (among or self.returns)[name], self.returns["plain"]
        meaning = MEANINGS_OF_MEMORY[name] if among else self.trials[name].words
        return {
            "name": name,
            "meaning": meaning,
            "ret": _estimate(found, self.seed),
            "change": _estimate(found - plain, self.seed),
        }


Tell = Callable[[str, int, int], None]
"""Is told what is going on, how much of it is done, and how much there is."""


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
    rng = np.random.default_rng(seed)
    seeds = [int(found) for found in rng.integers(0, 2**31, n_episodes)]
    total, done = 0, 0

    def played(
        words: str, perturbation: AbstractPerturbation, delay: int, memory: Treatment
    ) -> list[HostEpisode]:
        nonlocal done
        found = []
        for episode in host_episodes(
            subject,
            lambda: make_world(perturbation, delay),
            seeds,
            n_steps=n_steps,
            memory=memory,
        ):
            found.append(episode)
            done += 1
            tell(words, done, total)
        return found

    remembers = isinstance(subject, Remembers)
    treated = TREATMENTS if remembers else {}
    total = n_episodes * (len(_trials(n_sensors, (), 0)) + len(treated))
    plain = played("as they are", Unchanged(), 0, "kept")
    seen = [np.stack(episode.observations) for episode in plain[:RECORDED]]
    if not repeats_itself(subject, [episode[:200] for episode in seen]):
        raise UsageError(
            f"{subject.name} answers the same observations differently the second time: take chance out of "
            "it, or give it a reset that makes it forget."
        )
    spread = np.concatenate([np.stack(episode.observations) for episode in plain]).std(axis=0)
    middle = max(1, int(np.median([len(episode.actions) for episode in plain])) // 2)
    trials = _trials(n_sensors, tuple(float(JITTER * sd) for sd in spread), middle)

    def trying(tried: int) -> None:
        tell(f"{n_orders(n_sensors)} orders", done, total)

    orders = orders_to_try(n_sensors, rng)
    some = affordable(subject, seen, len(orders))
    fixed = change_of_actions(subject, some, orders, tell=trying)
    few = orders[rng.permutation(len(orders))[:24]]
    midway = {
        name: change_of_actions(subject, some, few, midway=True, memory=name, tell=trying)
        for name in (("kept", "reset", "permuted") if remembers else ("kept",))
    }
    swaps = swap_matrix(subject, seen, trying)
    returns = {"plain": np.array([episode.total for episode in plain])}
    for name, trial in trials.items():
        if name == "plain" or (trial.any_number and subject.n_sensors is not None):
            done += 0 if name == "plain" else n_episodes
            continue
        episodes = played(trial.words, trial.perturbation, trial.delay, "kept")
        returns[name] = np.array([episode.total for episode in episodes])
    memory = {}
    for name, (treatment, perturbation) in treated.items():
        episodes = played(f"memory {name}", perturbation, 0, treatment)
        memory[name] = np.array([episode.total for episode in episodes])
    return HostAudit(
        name=subject.name,
        world=subject.world,
        n_sensors=n_sensors,
        any_number=subject.n_sensors is None,
        seed=seed,
        orders=fixed,
        midway=midway,
        swaps=swaps,
        returns=returns,
        trials=trials,
        memory=memory,
        verdict=verdict_of(fixed, midway, returns, seed=seed),
    )


def _trials(n_sensors: int, jitter: tuple[float, ...], middle: int) -> dict[str, Trial]:
    """Every way the world is played, by name."""
    return {
        "plain": Trial("as they are", Unchanged()),
        "shuffled": Trial("shuffled", Shuffle()),
        "once": Trial(f"shuffled once, at step {middle}", ShuffleAt(middle)),
        **{f"every{n}": Trial(f"reshuffled every {n} steps", Reshuffle(n)) for n in EVERY},
        "dropped": Trial("one dropped", Drop(1)),
        "doubled": Trial("each twice", Double(), any_number=True),
        "noise5": Trial("5 more, of noise", Noise(5, 0.1), any_number=True),
        "jitter": Trial("each with 10% noise", Jitter(jitter)),
        "rescaled": Trial("one reading twice too much", Rescale(2.0, 1)),
        "flipped": Trial("one with the wrong sign", Flip(1)),
        "delayed": Trial(f"all {DELAY} steps late", Unchanged(), DELAY),
        "blind": Trial("all reading zero", Rescale(0.0, n_sensors)),
    }


def _summaries(
    found: Mapping[str, Float[np.ndarray, " episodes"]],
    returns: Mapping[str, Float[np.ndarray, " episodes"]],
    seed: int,
) -> dict[str, Summary]:
    threshold = 0.5 * float(returns["plain"].mean() + returns["blind"].mean())
    return {name: summarize(each, threshold=threshold, seed=seed) for name, each in found.items()}


def _estimate(samples: Float[np.ndarray, " episodes"], seed: int) -> dict[str, Any]:
    low, high = interval(samples, np.mean, seed=seed)
    return {
        "value": round(float(samples.mean()), 4),
        "ci95": [round(low, 4), round(high, 4)],
        "episodes": len(samples),
    }
