"""The audit: how much an agent depends on the order of its sensors, how it does what it does, and a verdict."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from anyorder.envs import AbstractEnv
from anyorder.evaluation.ablated import applicable, n_slots
from anyorder.evaluation.attention_shift import AttentionAudit, audit_attention
from anyorder.evaluation.closed_loop import PLAIN, ClosedLoop, read_returns, sizes_of, write_trials
from anyorder.evaluation.estimate import Estimate, Row, row
from anyorder.evaluation.identification import IdentificationAudit, audit_identification
from anyorder.evaluation.noise_channels import NoiseAudit, audit_noise, step_cost
from anyorder.evaluation.orders import OrdersAudit, audit_orders
from anyorder.evaluation.recovery import RecoveryAudit, worst_change
from anyorder.evaluation.shuffled_once import exactness, film_shuffle, recovery
from anyorder.evaluation.trials import World, play_all, undisturbed
from anyorder.evaluation.twins import N_TWINS, Twins, meet_again
from anyorder.evaluation.verdict import Verdict, sentence_on, verdict_on
from anyorder.policies import AbstractPolicy
from anyorder.sensors import Double


@dataclasses.dataclass(frozen=True)
class Audit:
    """All that was measured of one agent. What does not apply to it is None."""

    name: str
    kind: str
    task: str
    parameters: int
    episodes: int
    verdict: Verdict
    sentence: str
    closed_loop: ClosedLoop
    doubled: Row | None
    """Every sensor twice."""
    orders: OrdersAudit
    recovery: RecoveryAudit
    twins: Twins | None
    attention: AttentionAudit | None
    noise: NoiseAudit | None
    identification: IdentificationAudit | None
    remarks: tuple[str, ...]
    """What could not be measured, and why."""
    seconds: float


Progress = Callable[[float, str], None]
"""Told the share of the work that is done, and what comes next."""


def audit(
    policy: AbstractPolicy,
    env: AbstractEnv,
    *,
    key: PRNGKeyArray,
    name: str = "agent",
    kind: str = "",
    task: str = "",
    episodes: int | None = None,
    most_noise: int = 1000,
    progress: Progress = lambda share, what: None,
) -> Audit:
    """Measure everything.

    **Arguments:**

    - `key`: starts, orders and noise follow from it.
    - `episodes`: of each closed-loop trial; as many as are affordable if left out.
    - `most_noise`: channels of noise to go up to.
    """
    began = time.monotonic()
    world = World(env)
    keys_key, orders_key = jax.random.split(key)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(orders_key)).astype(np.uint32))
    slots = n_slots(policy, env.n_sensors)
    has_code = slots is not None
    memory = jax.tree.leaves(policy.init(env.n_sensors).neurons)
    cost = step_cost(policy, env.n_sensors)

    progress(0.0, "undisturbed episodes")
    ablations = applicable(policy, env.n_sensors)
    write = {"remembers": bool(memory), "leaves": len(memory), "ablations": ablations}
    n_trials = len(write_trials(world, jax.random.split(keys_key, 1), rng, **write))
    episodes = episodes or sizes_of(env, cost, n_trials)
    keys = jax.random.split(keys_key, episodes)
    few = max(4, min(episodes, 96 if cost < 1e5 else 32))
    filmed = film_shuffle(policy, env, keys[:few], rng)

    progress(0.15, "every fixed order")
    longest = np.argsort(-np.asarray(filmed.calm.lengths), kind="stable")
    brief = filmed.calm.take(longest[: 4 if cost < 1e5 else 2])
    orders = audit_orders(policy, brief, has_code=has_code, rng=rng)

    progress(0.25, "a shuffle in mid-episode")
    acting, watching = filmed.acting, filmed.watching
    along_code, along_action = exactness(policy, watching)
    kept_code, kept_action = worst_change(
        watching.footage, watching.at, watching.straight, watching.kept
    )
    recovered = RecoveryAudit(
        shuffles=len(watching.at),
        acting=recovery(acting, has_code=has_code),
        watching=recovery(watching, has_code=has_code),
        along_code=along_code if has_code else math.nan,
        along_action=along_action,
        kept_code=kept_code if has_code else math.nan,
        kept_action=kept_action,
    )
    attention = audit_attention(acting) if has_code else None
    progress(0.3, "what neurons know of themselves")
    identification = audit_identification(acting)
    progress(0.35, "closed loops in double precision")
    twins = meet_again(policy, world, keys[:N_TWINS], rng) if memory else None

    trials = write_trials(world, keys, rng, **write)
    returns = {}
    for index, (trial, stack) in enumerate(trials.items()):
        progress(0.4 + 0.4 * index / len(trials), trial)
        played = play_all(policy, world, stack, slots=slots if ablations else None)
        returns[trial] = played.total
    closed_loop = read_returns(returns)
    progress(0.8, "every sensor twice")
    twice = None
    if policy.reads(2 * env.n_sensors):
        pairs = World(env, Double())
        found = play_all(policy, pairs, undisturbed(pairs, keys[:64])).total
        twice = row("doubled", "every sensor is there twice", found, returns[PLAIN][:64])
    noise = audit_noise(
        policy, env, keys[:64], most=most_noise, told=lambda what: progress(0.85, what)
    )
    progress(1.0, "done")
    verdict = verdict_on(orders, recovered, closed_loop, remembers=bool(memory))
    return Audit(
        name=name,
        kind=kind,
        task=task,
        parameters=_size(policy),
        episodes=episodes,
        verdict=verdict,
        sentence=sentence_on(verdict, orders, recovered, closed_loop),
        closed_loop=closed_loop,
        doubled=twice,
        orders=orders,
        recovery=recovered,
        twins=twins,
        attention=attention,
        noise=noise,
        identification=identification,
        remarks=tuple(_remarks(policy, env, memory, ablations, noise)),
        seconds=time.monotonic() - began,
    )


def _size(policy: AbstractPolicy) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(policy, eqx.is_inexact_array)))


def _remarks(policy, env, memory, ablations, noise) -> Iterator[str]:
    """What could not be measured, and why."""
    if not policy.reads(env.n_sensors + 1):
        yield f"It reads exactly {env.n_sensors} sensors: noise and repeated sensors cannot be added."
    if not memory:
        yield "It has no memory per sensor: there is nothing to zero, to move along or to probe."
    if memory and not ablations:
        yield "Its code is not a sum over attention weights that we know of: nothing was ablated in it."
    if ablations and "observation in keys" not in ablations:
        yield (
            "Its neurons compare the signals they pass on, so that an observation cannot be kept from "
            "keys alone."
        )
    if noise and noise.left_out:
        listed = ", ".join(map(str, noise.left_out))
        yield (
            f"With {listed} channels of noise a step costs too much here (neurons that compare notes "
            "cost the square of their number): not played."
        )
    for steps in sorted({each.steps for each in noise.rows} - {env.n_steps}) if noise else ():
        channels = dict.fromkeys(str(each.channels) for each in noise.rows if each.steps == steps)
        yield (
            f"Episodes with {', '.join(channels)} channels of noise were stopped after {steps} steps, and "
            "compared with as much of the undisturbed ones."
        )


def as_json(found: Any) -> Any:
    """Anything an audit holds, as JSON has it."""
    if isinstance(found, Estimate):
        return found.as_json()
    if dataclasses.is_dataclass(found):
        return {f.name: as_json(getattr(found, f.name)) for f in dataclasses.fields(found)}
    if isinstance(found, dict):
        return {str(name): as_json(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [as_json(each) for each in found]
    if isinstance(found, np.ndarray):
        return as_json(found.tolist())
    if isinstance(found, float):
        return float(f"{found:.6g}") if math.isfinite(found) else None
    return found
