"""anyorder demo."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import jax

from anyorder.cli.console import console, keep_compiled_code, parse
from anyorder.cli.evaluate import play_all, show_results, summaries
from anyorder.cli.train import TrainOptions, train
from anyorder.envs import TASKS
from anyorder.errors import UsageError
from anyorder.evaluation import SUITES
from anyorder.front import EVALUATION_SEED
from anyorder.report import attention_over_time, record_reshuffled, return_histograms
from anyorder.training import ESConfig
from anyorder.zoo import open_agent

DESCRIPTION = """Train a small agent before your eyes, then show what the shipped one can do.

Takes about five minutes on two cores; the figures go to the folder given with --out."""

QUICK = ESConfig(
    generations=170, population=128, episodes=24, final_episodes=64, steps=400,
    sigma=0.1, final_sigma=0.04, learning_rate=0.06, final_learning_rate=0.01,
    test_every=10, test_episodes=512,
)  # fmt: skip
SHUFFLE_AT, EPISODE_TRIES = 500, 64


@dataclass(frozen=True)
class DemoOptions:
    """Options of `anyorder demo`."""

    out: Path = Path("runs/demo")
    """Folder for run and figures; a new one beside it if taken."""
    minutes: float = 2.0
    """How long to train."""
    episodes: int = 1000
    """Episodes per cell of the tables."""
    seed: int = 0
    """Everything random follows from it."""


def main(arguments: list[str]) -> None:
    """Train, evaluate, draw."""
    options = parse(DemoOptions, "demo", DESCRIPTION, arguments)
    if options.episodes < 1:
        raise UsageError(f"--episodes must be at least 1, got {options.episodes}.")
    keep_compiled_code()
    out = _free(options.out)
    console.rule("1  A new agent learns to swing up a pole, with no idea which sensor is which")
    run = train(
        TrainOptions(
            task="cartpole", out=out, seed=options.seed, minutes=options.minutes, es=QUICK
        ),
        f"anyorder demo --minutes {options.minutes:g} --seed {options.seed}",
    )
    console.rule(
        "2  The shipped agent, trained longer, beside an order-sensitive control and the paper"
    )
    agents = {name: open_agent(name) for name in ("cartpole", "cartpole-mlp")}
    agents["your new agent"] = open_agent(run)
    returns = play_all(agents, SUITES["paper"], options.episodes, EVALUATION_SEED)
    show_results(agents, summaries(agents, returns, EVALUATION_SEED))
    console.rule("3  Figures")
    histograms, attention = out / "returns.png", out / "attention.png"
    return_histograms(returns, ("plain", "shuffled", "noise5", "every100"), histograms)
    draw_attention("cartpole", attention)
    console.print(f"  {out / 'learning.png'}    how your agent learned")
    console.print(f"  {histograms}     how returns spread: most episodes are won or lost")
    console.print(f"  {attention}   whom the neurons attend to before and after a shuffle")
    console.print("\nNext: anyorder zoo, anyorder evaluate --help, anyorder train --help")


def draw_attention(name: str, path: Path) -> None:
    """Draw the shipped agent's attention around one shuffle, in an episode where the pole is up by then."""
    agent = open_agent(name)
    env = TASKS[agent.task]()
    key = jax.random.key(EVALUATION_SEED)
    recording = record_reshuffled(agent.policy, env, every=SHUFFLE_AT, key=key)
    for attempt in range(EPISODE_TRIES):
        key = jax.random.fold_in(jax.random.key(EVALUATION_SEED), attempt)
        recording = record_reshuffled(agent.policy, env, every=SHUFFLE_AT, key=key)
        before = recording.reward[SHUFFLE_AT - 100 : SHUFFLE_AT]
        if recording.length > SHUFFLE_AT + 300 and before.mean() > 0.8:
            break
    attention_over_time(
        recording, path,
        title=f"{name}: attention before and after all sensors change places at step {SHUFFLE_AT}",
        window=(SHUFFLE_AT - 100, min(SHUFFLE_AT + 200, recording.length)),
    )  # fmt: skip


def _free(path: Path) -> Path:
    """The path, or the next one beside it that is not taken."""
    number, found = 1, path
    while found.exists():
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found
