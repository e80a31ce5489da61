"""More and more sensors that carry nothing but noise: who attends to them, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Key

from anyorder.envs import AbstractEnv
from anyorder.evaluation.estimate import NOT_MEASURED, Estimate, estimate
from anyorder.evaluation.trials import World, altered, play_all, undisturbed
from anyorder.policies import AbstractPolicy
from anyorder.sensors import Noise, Sensors

GROUPS = ((0, 1, 5, 10), (50, 100), (1000,))
"""Channels of noise; each group is played by one compiled program."""
SD = 0.1
LOUD = 10.0
"""Factor on the noise in one further row, with LOUD_CHANNELS channels."""
LOUD_CHANNELS = 10
BUDGET = 1.5e10
"""Operations a row may cost; what would cost more is played shorter, with fewer episodes, or not at all."""
SIZES = ((1000, 64), (1000, 32), (1000, 16), (1000, 8), (300, 16), (100, 16), (100, 8), (50, 4))
"""Steps and episodes of a row, the best first."""
CURVE = 200
"""Steps along which attention is kept."""


@dataclass(frozen=True)
class NoiseRow:
    """What so many channels of noise do."""

    channels: int
    sd: float
    steps: int
    """Episodes are stopped after these."""
    ret: Estimate
    change: Estimate
    """Against the same steps of the same episodes without noise."""
    mass: Estimate
    """Share of all attention that goes to noise, over the whole episode."""
    ratio: Estimate
    """Attention to a channel of noise, as a share of that to a sensor."""
    early: Estimate
    """The same in the first ten steps."""
    heard: Estimate
    """Noise in the weighted sum of readings, as a share of the signal in it (root mean squares)."""
    curve: Float[np.ndarray, " steps"]
    """Share of attention that goes to noise along the first steps."""


@dataclass(frozen=True)
class NoiseAudit:
    """Rows of growing noise, the channels that were too costly, and why noise is or is not ignored."""

    rows: tuple[NoiseRow, ...]
    left_out: tuple[int, ...]
    why: tuple[str, ...]


def step_cost(policy: AbstractPolicy, n_sensors: int) -> float:
    """Operations of one step with this many sensors, as the compiler counts them."""
    lowered = jax.jit(lambda sensors, memory: policy.decide(sensors, memory).action).lower(
        Sensors.of(jnp.zeros(n_sensors)), policy.init(n_sensors)
    )
    counted = lowered.cost_analysis()
    facts = counted[0] if isinstance(counted, list | tuple) else counted
    return float((facts or {}).get("flops", 0)) or 4e3 * n_sensors


def size_of(policy: AbstractPolicy, n_sensors: int, n_steps: int) -> tuple[int, int] | None:
    """Steps and episodes a row can afford."""
    cost = step_cost(policy, n_sensors)
    for steps, episodes in SIZES:
        if cost * min(steps, n_steps) * episodes <= BUDGET:
            return min(steps, n_steps), episodes
    return None


def audit_noise(
    policy: AbstractPolicy,
    env: AbstractEnv,
    keys: Key[jax.Array, " episodes"],
    *,
    most: int = GROUPS[-1][-1],
    told: Callable[[str], None] = lambda what: None,
) -> NoiseAudit | None:
    """Play with more and more noise; None for a policy that reads a fixed number of sensors."""
    usual = env.n_sensors
    if not policy.reads(usual + 1):
        return None
    rows, left_out, calm = [], [], None
    for group in GROUPS:
        asked = [channels for channels in group if channels <= most]
        if not asked:
            continue
        size = size_of(policy, usual + asked[-1], env.n_steps)
        if size is None:
            left_out += asked
            continue
        world = World(env, Noise(asked[-1], SD))
        trials = undisturbed(world, keys[: size[1]])
        loud = [(LOUD_CHANNELS, LOUD)] if LOUD_CHANNELS in asked else []
        for channels, factor in [*((channels, 1.0) for channels in asked), *loud]:
            told(f"{channels} channels of noise")
            row, rewards = _row(policy, world, trials, channels, factor, size[0], calm)
            calm = rewards if channels == 0 else calm
            rows.append(row)
    return NoiseAudit(tuple(rows), tuple(left_out), why(rows, usual, env, keys))


def _row(policy, world: World, trials, channels: int, factor: float, n_steps: int, calm):
    """One row, and the rewards of its episodes step by step.

    There is room for the noise of a whole group; channels beyond those asked for are absent.
    """
    usual, sd = world.env.n_sensors, SD * factor
    places = np.arange(world.n_sensors)
    trials = altered(
        trials,
        factors=np.where(places < usual, 1.0, factor),
        present=places < usual + channels,
    )
    played = play_all(policy, world, trials, record=_Shares(usual), n_steps=n_steps)
    rewards, sums = played.trace
    alive = np.arange(n_steps) < played.length[:, None]
    rewards = np.where(alive, rewards, 0.0)
    totals = rewards.sum(axis=1)
    before = totals if calm is None else calm[: len(totals), :n_steps].sum(axis=1)
    seen = np.where(alive[..., None], sums, 0.0)
    whole, first = seen.sum(axis=1), seen[:, :10].sum(axis=1)

    def share(found):
        return found[..., 1] / np.maximum(found[..., 0] + found[..., 1], 1e-12)

    def ratio(found):
        mine, theirs = found[..., 1] / max(channels, 1), found[..., 0] / usual
        return estimate(mine / np.maximum(theirs, 1e-12)) if channels else NOT_MEASURED

    heard = sd * np.sqrt(whole[:, 3] / np.maximum(whole[:, 2], 1e-12))
    row = NoiseRow(
        channels=channels,
        sd=sd,
        steps=n_steps,
        ret=estimate(totals),
        change=estimate(totals - before[: len(totals)]),
        mass=estimate(share(whole)),
        ratio=ratio(whole),
        early=ratio(first),
        heard=estimate(heard),
        curve=share(seen.sum(axis=0)[:CURVE]) if channels else np.zeros(min(CURVE, n_steps)),
    )
    return row, rewards


class _Shares(eqx.Module):
    """Records the reward, and of attention: what goes to sensors, to noise, and what is gathered of both."""

    usual: int = eqx.field(static=True)

    def __call__(self, sensors: Sensors, reward, decision):
        if decision.weights is None:
            return reward, jnp.zeros(4)
        paid = jnp.abs(decision.weights).sum(axis=0)
        signal = decision.weights[:, : self.usual] @ sensors.readings()
        noise = (decision.weights[:, self.usual :] ** 2).sum(axis=1)
        sums = (
            paid[: self.usual].sum(), paid[self.usual :].sum(), (signal**2).mean(), noise.mean()
        )  # fmt: skip
        return reward, jnp.stack(sums)


def why(rows, usual: int, env: AbstractEnv, keys) -> tuple[str, ...]:
    """Why noise is ignored, or is not, in sentences made of the numbers."""
    found = {(row.channels, row.sd): row for row in rows}
    some = next((found[c, SD] for c in (10, 5, 1) if (c, SD) in found), None)
    if some is None:
        return ()
    size = typical_reading(env, keys)
    said = [
        f"Attention: a channel of noise gets {some.early.value:.0%} of the attention a sensor gets in the "
        f"first ten steps and {some.ratio.value:.0%} over the whole episode, with {some.channels} of them. "
        + _learning(some),
        f"Loudness: the noise has a standard deviation of {SD:g} and a sensor's reading is typically "
        f"{size:.2g}, so that at equal attention a channel would say {SD / size:.0%} of what a sensor says.",
        f"Together, {some.channels} channels make up {some.heard.value:.1%} of what slots gather from the "
        "sensors (root mean squares): noises of different channels partly cancel, so that it grows with the "
        "root of their number.",
    ]
    loud = found.get((LOUD_CHANNELS, SD * LOUD))
    quiet = found.get((LOUD_CHANNELS, SD))
    if loud and quiet:
        said.append(
            f"Which of the two does it: noise {LOUD:g} times as loud gets {loud.ratio.value:.0%} of a sensor's "
            f"attention and makes up {loud.heard.value:.1%} of the sum; the return goes from "
            f"{quiet.ret.value:.0f} to {loud.ret.value:.0f}. {_relied_on(quiet, loud)}"
        )
    return tuple(said)


def _learning(row: NoiseRow) -> str:
    change = row.ratio.value / max(row.early.value, 1e-9)
    if change < 0.7:
        return "Neurons that hold noise come to be attended to less as time goes by."
    if change > 1.4:
        return "Neurons that hold noise come to be attended to more as time goes by."
    return "Time changes little about it."


def _relied_on(quiet: NoiseRow, loud: NoiseRow) -> str:
    costs = loud.change.high < 0 and loud.ret.value < 0.9 * quiet.ret.value
    if loud.ratio.value < 0.5:
        return f"So attention filters noise{', if not all of it' if costs else ', loud or not'}."
    if costs:
        return (
            "So it is the quietness of the noise that is relied on: attention does not filter it."
        )
    return "So neither matters to what it earns."


def typical_reading(env: AbstractEnv, keys) -> float:
    """The root mean square of the sensors over the starts of episodes."""
    starts = jax.jit(jax.vmap(lambda key: env.reset(key).sensors.values))
    readings = np.asarray(starts(keys))
    # The median over sensors, so that one in large units does not speak for all.
    return float(np.median(np.sqrt((readings**2).mean(axis=0)))) or math.nan
