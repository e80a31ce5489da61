"""anyorder train TASK."""

from __future__ import annotations

import dataclasses
import re
import shlex
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import jax
import tyro

from anyorder.cli.console import changed, console, keep_compiled_code, parse
from anyorder.cli.hosting import EngineKind, as_hosted, make_hosted, open_pool
from anyorder.cli.hosts import join_hosts, leave_hosts, shared
from anyorder.cli.sitting import sit, starting_point
from anyorder.cli.teaching import make_student
from anyorder.cli.together import seeds_of, sit_together
from anyorder.envs import PREFIX, TASKS, AbstractEnv, PerturbedEnv, env_named, hosted, is_task
from anyorder.errors import UsageError
from anyorder.neurons import AttentionNeuronConfig, RelationalConfig
from anyorder.policies import (
    CONFIGS,
    AbstractPolicy,
    ActionKind,
    InvariantConfig,
    PlainConfig,
    RelationalPolicyConfig,
)
from anyorder.rollout import AbstractPool, Engine, EngineName
from anyorder.runs import Agent, RunFolder, config_from, load_agent, make_policy, save_agent
from anyorder.sensors import perturbation_named
from anyorder.training import (
    METHODS,
    CloneConfig,
    DQNConfig,
    ESConfig,
    Evolution,
    Learner,
    PPOConfig,
    Stop,
)
from anyorder.zoo import open_agent

START = "start"
"""Where a run keeps a copy of the agent it began from."""
DESCRIPTION = """Train an agent.

  anyorder train cartpole                          sensory neurons, by evolution
  anyorder train cartpole --minutes 2 --out runs/first
  anyorder train cartpole --policy mlp             the order-sensitive control
  anyorder train cartpole --resume runs/first      go on where a run stopped, bit for bit
  anyorder train gym:Pendulum-v1 --es.generations 200        any world of Gymnasium, on all cores
  anyorder train gym:Ant-v5 --engine ray --address auto      or on a cluster

The run folder keeps what was asked for (run.json), how it went (metrics.jsonl), where to go on
(checkpoint.json) and the best agent (agent.json); `anyorder evaluate FOLDER` tests it.
Ctrl-C saves and says how to go on."""


@dataclass(frozen=True)
class TrainOptions:
    """Options of `anyorder train`."""

    task: Annotated[str, tyro.conf.Positional]
    """The world to learn: cartpole; cartpole-discrete, whose pushes are choices; channels,
    channels-discrete, recall or movers, small ones that need attention; or one of Gymnasium's, as
    gym:Pendulum-v1."""
    method: Literal["es", "ppo", "dqn", "clone"] = "es"
    """How to learn: es (evolution), ppo (by gradient, through memory), dqn (deep Q-learning, for
    worlds of choices) or clone (imitating a teacher)."""
    policy: Literal["attention", "relational", "mlp"] = "attention"
    """attention: sensory neurons; relational: such that compare notes; mlp: the order-sensitive control."""
    perturb: str = ""
    """What happens to the sensors while learning, such as reshuffle:100 or double+noise:5+shuffle."""
    start: str | None = None
    """Begin from this agent's weights (a run folder or the name of a shipped agent)."""
    out: Path | None = None
    """Folder for the run; a new one under runs/ if left out."""
    seed: int = 0
    """Everything random follows from it."""
    seeds: int = 1
    """Train this many seeds at once, from --seed on, each in a folder of its own below --out."""
    resume: Path | None = None
    """Go on with the run in this folder."""
    updates: int | None = None
    """Stop after this many updates (generations) in all; as many as planned if left out."""
    minutes: float | None = None
    """Stop after this many minutes of this sitting."""
    target: float | None = None
    """Stop when the held-out test reaches this score."""
    checkpoint_seconds: float = 20.0
    """Save a checkpoint this often; one is also saved at the end and on Ctrl-C."""
    rollout: EngineName = "auto"
    """Who plays the episodes: scan (always works) or fused (compiled, where supported)."""
    engine: EngineKind = "local"
    """Where Gymnasium's worlds are played: local (worker processes on this machine) or ray (a cluster)."""
    address: str | None = None
    """The Ray cluster to play on, such as auto or 10.0.0.1:6379; one of this machine alone if left out."""
    workers: int | None = None
    """Workers for Gymnasium's worlds; as many as there are cores if left out."""
    hosts: int = 1
    """Hosts that share the run's episodes; start the same command on each."""
    host: int = 0
    """Which of them this is, from 0; the first one keeps the run."""
    coordinator: str | None = None
    """Address and free port of the first host, such as 10.0.0.1:8476."""
    hidden: int | None = None
    """Units of the head's tanh layer: none for attention, 16 for mlp if left out; of each
    of relational's two: 64."""
    neuron: AttentionNeuronConfig = field(default_factory=AttentionNeuronConfig)
    """The layer of sensory neurons."""
    relational: RelationalConfig = field(default_factory=RelationalConfig)
    """The layer of sensory neurons that compare notes."""
    clone: CloneConfig = field(default_factory=CloneConfig)
    """Cloning."""
    dqn: DQNConfig = field(default_factory=DQNConfig)
    """Deep Q-learning."""
    es: ESConfig = field(default_factory=ESConfig)
    """Evolution."""
    ppo: PPOConfig = field(default_factory=PPOConfig)
    """Proximal policy optimisation."""


def main(arguments: list[str]) -> None:
    """Parse, prepare, train."""
    options = parse(TrainOptions, "train", DESCRIPTION, arguments)
    keep_compiled_code()
    train(options, shlex.join(["anyorder", "train", *arguments]))


def train(options: TrainOptions, command: str) -> Path:
    """Train as the options say, and return the run's folder."""
    if not is_task(options.task):
        raise UsageError(
            f"There is no task {options.task!r}: choose one of {', '.join(TASKS)}, "
            "or gym: and the id of one of Gymnasium's."
        )
    if options.minutes is not None and not options.minutes > 0:
        raise UsageError(f"--minutes must be more than 0, got {options.minutes:g}.")
    if options.updates is not None and options.updates < 1:
        raise UsageError(f"--updates must be at least 1, got {options.updates}.")
    least = 1 if options.policy == "relational" else 0
    if options.hidden is not None and options.hidden < least:
        raise UsageError(f"--hidden must be at least {least} here, got {options.hidden}.")
    if options.seeds < 1 or (options.seeds > 1 and (options.resume or options.start)):
        raise UsageError("--seeds must be at least 1, and goes with neither --resume nor --start.")
    options = as_hosted(options) if options.task.startswith(PREFIX) else options
    options = join_hosts(options)
    with open_pool(options.task, options.engine, options.address, options.workers) as pool:
        run = _train(options, command, pool)
    leave_hosts(options, run)
    return run


def _train(options: TrainOptions, command: str, pool: AbstractPool | None) -> Path:
    """The same, with the workers of a world that needs some."""
    folder, facts = _resume(options) if options.resume else (None, _facts(options, command))
    start = _start(options, folder)
    learner, key = make_learner(facts, start, pool)
    if isinstance(learner, Evolution) and isinstance(learner.engine, Engine):
        facts["rollout"] = learner.engine.name  # the same one on resume
    learner = shared(learner)
    console.print(f"[bold]{facts['policy']}[/] on {facts['task']}: {learner.describe()}")
    if warning := learner.advice():
        console.print(f"[yellow]Advice:[/] {warning}")
    stop = Stop(
        updates=options.updates or learner.planned,
        seconds=None if options.minutes is None else 60 * options.minutes,
        score=options.target,
    )
    if options.seeds > 1:
        out = options.out or _free_folder(facts)
        each = seeds_of(facts, options.seeds)
        sit_together(out, each, [make_learner(one) for one in each], stop)
        return out
    if folder is None:
        folder = RunFolder.create(options.out or _free_folder(facts), facts)
        if options.start:
            (folder.path / START).mkdir()
            save_agent(open_agent(options.start), folder.path / START)
    state, progress = starting_point(folder, learner, key)
    if progress.updates >= stop.updates:
        raise UsageError(
            f"{folder.path} has made {progress.updates} updates already: "
            "give --updates with a larger number to go further."
        )
    sit(folder, learner, state, progress, stop, options.checkpoint_seconds)
    return folder.path


def _facts(options: TrainOptions, command: str) -> dict[str, Any]:
    """What a run is made of, as its run.json keeps it."""
    from anyorder import __version__

    if options.start:
        options = _as_started(options, open_agent(options.start))
    return {
        "anyorder": __version__,
        "task": options.task,
        "perturb": options.perturb,
        "method": options.method,
        "policy": options.policy,
        "policy_config": dataclasses.asdict(_policy_config(options)),
        "start": options.start,
        "config": dataclasses.asdict(getattr(options, options.method)),
        "seed": options.seed,
        "rollout": options.rollout,
        "command": command,
        "device": f"{jax.devices()[0].device_kind} ({jax.default_backend()})",
        "started": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
    }


def _start(options: TrainOptions, folder: RunFolder | None) -> AbstractPolicy | None:
    """The policy whose weights the run began or begins from, if it is one of somebody's."""
    if folder is not None:
        return load_agent(folder.path / START).policy if folder.facts.get("start") else None
    return open_agent(options.start).policy if options.start else None


def _as_started(options: TrainOptions, agent: Agent) -> TrainOptions:
    """The options with the policy's settings taken from the agent a run starts from."""
    if agent.task != options.task or agent.policy.config.actions != _action_kind(options.task):
        raise UsageError(f"{options.start} was made for {agent.task!r}, not for {options.task!r}.")
    default = TrainOptions(options.task)
    given = [
        name for name in ("policy", "neuron", "relational", "hidden")
        if getattr(options, name) != getattr(default, name)
    ]  # fmt: skip
    if given:
        raise UsageError(f"--{given[0]} is settled by --start {options.start}: leave it out.")
    config = agent.policy.config
    changes = {"policy": agent.kind, "hidden": config.hidden}
    if isinstance(config, InvariantConfig):
        changes["neuron"] = config.neuron
    if isinstance(config, RelationalPolicyConfig):
        changes["relational"] = config.neuron
    return dataclasses.replace(options, **changes)


def _action_kind(task: str) -> ActionKind:
    return "discrete" if env_named(task).discrete else "continuous"


def _policy_config(options: TrainOptions) -> Any:
    """The settings of the policy that was asked for."""
    actions = _action_kind(options.task)
    if options.policy == "attention":
        return InvariantConfig(options.neuron, options.hidden or 0, actions)
    if options.policy == "relational":
        hidden = 64 if options.hidden is None else options.hidden
        return RelationalPolicyConfig(options.relational, hidden, actions)
    return PlainConfig(16 if options.hidden is None else options.hidden, actions)


def _resume(options: TrainOptions) -> tuple[RunFolder, dict[str, Any]]:
    """The run to go on with, once it is clear that the other options do not contradict it."""
    assert options.resume is not None
    folder = RunFolder.open(options.resume)
    facts = folder.facts
    if facts.get("task") != options.task:
        raise UsageError(
            f"{options.resume} is a run of {facts.get('task')!r}, not of {options.task!r}: "
            f"say `anyorder train {facts.get('task')} --resume {options.resume}`."
        )
    if options.out is not None and options.out.resolve() != options.resume.resolve():
        raise UsageError("--out and --resume name different folders: a run goes on in its own.")
    default = TrainOptions(task=options.task)
    different = []
    for method in METHODS:
        stored = facts.get("config", {}) if method == facts.get("method") else {}
        different += changed(getattr(options, method), stored, method)
    neuron = facts.get("policy_config", {}).get("neuron", {})
    for kind, name in {"attention": "neuron", "relational": "relational"}.items():
        stored = neuron if kind == facts.get("policy") else {}
        different += changed(getattr(options, name), stored, name)
    different += [
        f"--{name}"
        for name in (
            "method",
            "policy",
            "perturb",
            "start",
            "seed",
            "rollout",
        )  # "auto" is what the run has
        if getattr(options, name) not in (getattr(default, name), facts.get(name))
    ]
    if options.hidden not in (None, facts.get("policy_config", {}).get("hidden")):
        different.append("--hidden")
    if different:
        raise UsageError(
            f"{', '.join(different)} cannot change in a run that goes on: leave it out, or start a new run."
        )
    return folder, facts


def make_learner(
    facts: dict[str, Any], start: AbstractPolicy | None = None, pool: AbstractPool | None = None
) -> tuple[Learner, jax.Array]:
    """The learner of a run, and the key its first state is made from."""
    policy_key, run_key = jax.random.split(jax.random.key(facts["seed"]))
    try:
        env: AbstractEnv = env_named(facts["task"])
        world = (
            PerturbedEnv(env, perturbation_named(facts["perturb"])) if facts.get("perturb") else env
        )
        method = METHODS[facts["method"]]
        config = config_from(CONFIGS[facts["policy"]], facts["policy_config"])
        policy = make_policy(facts["policy"], env.n_sensors, env.n_actions, config, key=policy_key)
        policy = start or policy
        if not policy.reads(world.n_sensors):
            raise ValueError(
                f"a policy of kind {facts['policy']} cannot read {world.n_sensors} sensors"
            )
        settings = config_from(method.config, facts["config"])
        if hosted(world) and pool:
            return make_hosted(policy, world, settings, pool), run_key
        if isinstance(settings, CloneConfig):
            return make_student(policy, world, settings, facts["rollout"], facts["task"]), run_key
        return method.make(policy, world, settings, facts["rollout"]), run_key
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"These settings do not fit together: {error}") from error


def _free_folder(facts: dict[str, Any]) -> Path:
    """A name under runs/ that is not taken."""
    task = re.sub(r"[^\w.-]+", "-", facts["task"])
    stem = f"{task}-{facts['policy']}-{facts['method']}-seed{facts['seed']}"
    number, path = 1, Path("runs") / stem
    while path.exists():
        number += 1
        path = Path("runs") / f"{stem}-{number}"
    return path
