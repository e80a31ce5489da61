"""anyorder demo."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import jax

from anyorder.cli.console import console, keep_compiled_code, parse
from anyorder.cli.evaluate import play_all, show_results, summaries
from anyorder.cli.train import TrainOptions, train
from anyorder.envs import TASKS
from anyorder.errors import UsageError
from anyorder.front import EVALUATION_SEED
from anyorder.report import attention_over_time, record_reshuffled, return_histograms
from anyorder.training import CloneConfig
from anyorder.zoo import open_agent

DESCRIPTION = """Train a small agent before your eyes, then show what the shipped ones can do.

Takes about five minutes on two cores; the figures go to the folder given with --out."""

QUICK = CloneConfig(updates=800, worlds=128, test_every=100, test_episodes=256)
"""From nothing to an agent that does not care about order: the quickest way we know on a laptop."""
ORDEAL = "ordeal"
"""What it learns under: reshuffles at any time, and lost sensors."""
SHOWN = ("plain", "shuffled", "noise5", "every25", "every100")
YOURS = "your new agent"
AGENTS = ("cartpole", "cartpole-champion", "cartpole-mlp")
SHUFFLE_AT, EPISODE_TRIES = 500, 64


@dataclass(frozen=True)
class DemoOptions:
    """Options of `anyorder demo`."""

    out: Path = Path("runs/demo")
    """Folder for run and figures; a new one beside it if taken."""
    minutes: float = 8.0
    """Longest time to train; two cores need about three minutes for all updates."""
    updates: int = QUICK.updates
    """Updates to train for."""
    episodes: int = 200
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
    console.print(
        "  It imitates a near-optimal controller that sees the world straight, while its own five sensors\n"
        "  change places again and again. Scores are returns on held-out episodes; the controller's is 625."
    )
    run = train(
        TrainOptions(
            task="cartpole", method="clone", policy="relational", perturb=ORDEAL, out=out,
            seed=options.seed, minutes=options.minutes,
            clone=replace(QUICK, updates=options.updates),
        ),
        f"anyorder demo --updates {options.updates} --seed {options.seed}",
    )  # fmt: skip
    console.rule("2  Your agent, the shipped ones, an order-sensitive control, and the paper")
    agents = {YOURS: open_agent(run)} | {name: open_agent(name) for name in AGENTS}
    returns = play_all(agents, SHOWN, options.episodes, EVALUATION_SEED)
    show_results(agents, summaries(agents, returns, EVALUATION_SEED))
    console.rule("3  Figures")
    histograms, attention = out / "returns.png", out / "attention.png"
    spread = {name: returns[name] for name in (YOURS, "cartpole", "cartpole-mlp")}
    return_histograms(spread, ("plain", "shuffled", "noise5", "every100"), histograms)
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
