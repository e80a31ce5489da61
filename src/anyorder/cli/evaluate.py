"""anyorder evaluate AGENT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
import tyro

from anyorder.cli.console import console, keep_compiled_code, parse, progress_bar, show, write_json
from anyorder.cli.hosting import EngineKind, open_pool
from anyorder.envs import PREFIX, TASKS, env_named, is_task
from anyorder.errors import UsageError
from anyorder.evaluation import (
    PROTOCOLS,
    SUITES,
    Summary,
    joined,
    player_on,
    protocol_returns,
    record_episodes,
    recorded_returns,
    success_of,
    summarize,
)
from anyorder.front import EVALUATION_SEED
from anyorder.oracle import Oracle, load_oracle
from anyorder.report import evaluation_tables
from anyorder.rollout import AbstractPool
from anyorder.runs import Agent, require_no_recordings, save_recordings
from anyorder.zoo import open_agent

DESCRIPTION = f"""Test an agent over many episodes.

  anyorder evaluate cartpole --protocol paper --against cartpole-mlp
  anyorder evaluate runs/first --protocol every25 --episodes 500 --json first.json
  anyorder evaluate oracle --protocol plain
  anyorder evaluate oracle --episodes 200 --record recordings/oracle

One protocol: {", ".join(PROTOCOLS)}.
Several at once: {", ".join(SUITES)}.
Each table gives the mean, standard deviation, interquartile mean (IQM), 95% bootstrap interval of the
mean and the share of episodes above 500; beside it the ceiling and what the paper reports. The ceiling
is what the oracle earned in the first 4,000 episodes: a near-optimal controller that is told which
sensor is which. It can be played like an agent, as `oracle`. Under every protocol
and for every agent, the same episodes start in the same states.
--record plays the undisturbed world alone and keeps what AGENT saw and did, for others to be cloned from:
anyorder train cartpole --method clone --clone.recordings FOLDER --clone.acting teacher"""


ORACLE = "oracle"


@dataclass(frozen=True)
class Ceiling:
    """The oracle in the place of an agent."""

    policy: Oracle
    task: str = "cartpole"
    kind: str = ORACLE


@dataclass(frozen=True)
class EvaluateOptions:
    """Options of `anyorder evaluate`."""

    agent: Annotated[str, tyro.conf.Positional]
    """A run folder, the name of a shipped agent, or oracle."""
    protocol: str = "paper"
    """The test, or several under one name."""
    against: tuple[str, ...] = ()
    """Further agents, to be tested in the same episodes."""
    episodes: int = 1000
    """Episodes per protocol."""
    seed: int = EVALUATION_SEED
    """Starts and perturbations follow from it."""
    json: Path | None = None
    """Write the results of AGENT here as JSON."""
    record: Path | None = None
    """Play the undisturbed world and write its episodes into this folder."""
    engine: EngineKind = "local"
    """Where Gymnasium's worlds are played: local (worker processes on this machine) or ray (a cluster)."""
    address: str | None = None
    """The Ray cluster to play on; one of this machine alone if left out."""
    workers: int | None = None
    """Workers for Gymnasium's worlds; as many as there are cores if left out."""


def main(arguments: list[str]) -> None:
    """Parse, play, show."""
    options = parse(EvaluateOptions, "evaluate", DESCRIPTION, arguments)
    keep_compiled_code()
    if options.episodes < 1:
        raise UsageError(f"--episodes must be at least 1, got {options.episodes}.")
    protocols = protocols_named(options.protocol)
    if options.record is not None:
        protocols = ("plain",)
        require_recordable(options, options.record)
    agents = {name: open_player(name) for name in dict.fromkeys((options.agent, *options.against))}
    if options.record is None:
        away = [agent.task for agent in agents.values() if agent.task.startswith(PREFIX)]
        task = away[0] if away else agents[options.agent].task
        with open_pool(task, options.engine, options.address, options.workers) as pool:
            returns = play_all(agents, protocols, options.episodes, options.seed, pool)
    else:
        returns = {options.agent: {"plain": record(options, agents[options.agent], options.record)}}
    results = summaries(agents, returns, options.seed)
    show_results(agents, results)
    if options.json is not None:
        write_json(options.json, as_json(options.agent, agents[options.agent], results, protocols))
        console.print(f"Written: {options.json}")


def require_recordable(options: EvaluateOptions, folder: Path) -> None:
    """Raise UsageError if the options ask for more than one agent in one world can give."""
    if options.against or options.protocol not in (EvaluateOptions.protocol, "plain"):
        raise UsageError(
            "--record keeps what one agent does undisturbed: leave out --against and --protocol."
        )
    require_no_recordings(folder)


def record(options: EvaluateOptions, agent: Agent | Ceiling, folder: Path) -> np.ndarray:
    """Play the undisturbed world, write the episodes down, and return what they came to."""
    if agent.task.startswith(PREFIX):
        raise UsageError(
            f"--record is for worlds of our own, and {options.agent} plays {agent.task}."
        )
    env, key = _env(agent), jax.random.key(options.seed)
    if not agent.policy.reads(env.n_sensors):
        raise UsageError(f"{options.agent} cannot read the {env.n_sensors} sensors of this world.")
    batches = []
    with progress_bar("episodes") as bar:
        task = bar.add_task("recording", total=options.episodes, facts=options.agent)
        for batch in record_episodes(agent.policy, env, n_episodes=options.episodes, key=key):
            batches.append(batch)
            bar.advance(task, len(batch.lengths))
    recordings = joined(batches)
    save_recordings(recordings, folder, task=agent.task, by=options.agent)
    console.print(f"Recorded: {options.episodes} episodes in {folder}")
    return recorded_returns(recordings)


def open_player(name: str) -> Agent | Ceiling:
    """The agent of this name, or the oracle, solved if it has not been before."""
    if name != ORACLE:
        return open_agent(name)
    with progress_bar("%") as bar:
        task = bar.add_task("solving the oracle", total=100, visible=False, facts="this once")
        oracle = load_oracle(
            progress=lambda share: bar.update(task, completed=round(100 * share), visible=True)
        )
    return Ceiling(oracle)


def protocols_named(name: str) -> Sequence[str]:
    """The protocols a name stands for."""
    if name in SUITES:
        return SUITES[name]
    if name in PROTOCOLS:
        return (name,)
    known = ", ".join((*SUITES, *PROTOCOLS))
    raise UsageError(f"There is no protocol {name!r}: choose one of {known}.")


Returns = dict[str, dict[str, np.ndarray]]


def play_all(
    agents: Mapping[str, Agent | Ceiling],
    protocols: Sequence[str],
    episodes: int,
    seed: int,
    pool: AbstractPool | None = None,
) -> Returns:
    """Returns by agent and protocol; protocols an agent cannot play are left out.

    `pool` plays Gymnasium's worlds.
    """
    key = jax.random.key(seed)
    plays = [
        (name, protocol)
        for name, agent in agents.items()
        for protocol in protocols
        if agent.policy.reads(PROTOCOLS[protocol].count(_env(agent).n_sensors))
    ]
    returns: Returns = {name: {} for name in agents}
    with progress_bar("episodes") as bar:
        task = bar.add_task("playing", total=len(plays) * episodes, facts="")
        for name, protocol in plays:
            bar.update(task, facts=f"{name}, {protocol}")
            batches = []
            for batch in protocol_returns(
                agents[name].policy, _env(agents[name]), PROTOCOLS[protocol],
                n_episodes=episodes, key=key, player=player_on(pool),
            ):  # fmt: skip
                batches.append(batch)
                bar.advance(task, len(batch))
            returns[name][protocol] = np.concatenate(batches)
    return returns


def summaries(
    agents: Mapping[str, Agent | Ceiling], returns: Returns, seed: int
) -> dict[str, dict[str, Summary]]:
    """The same in a few numbers each."""
    return {
        name: {
            protocol: summarize(found, threshold=success_of(agents[name].task), seed=seed)
            for protocol, found in by_protocol.items()
        }
        for name, by_protocol in returns.items()
    }


def show_results(
    agents: Mapping[str, Agent | Ceiling], results: Mapping[str, Mapping[str, Summary]]
) -> None:
    """Print the tables."""
    kinds = {name: agent.kind for name, agent in agents.items()}
    tasks = {name: agent.task for name, agent in agents.items()}
    for table in evaluation_tables(results, kinds, tasks):
        show(table)


def as_json(
    name: str,
    agent: Agent | Ceiling,
    results: Mapping[str, Mapping[str, Summary]],
    protocols: Sequence[str],
) -> dict[str, Any]:
    """What a machine should read of one agent's results."""
    found = results[name]
    return {
        "agent": name,
        "task": agent.task,
        "policy": agent.kind,
        "protocols": {protocol: summary.as_json() for protocol, summary in found.items()},
        "not_played": [protocol for protocol in protocols if protocol not in found],
    }


def _env(agent: Agent | Ceiling) -> Any:
    if not is_task(agent.task):
        raise UsageError(
            f"This agent was made for {agent.task!r}, a world this version does not have "
            f"(it has {', '.join(TASKS)}): it can be loaded in Python, not evaluated here."
        )
    return env_named(agent.task)
