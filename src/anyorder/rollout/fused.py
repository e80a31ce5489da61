"""The same episodes as the scan, played by a compiled kernel where policy and world support it."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from anyorder.envs import AbstractEnv, CartPoleSwingUpHarder, PerturbedEnv
from anyorder.neurons import AttentionNeuron, AttentionNeuronConfig, sinusoidal_table
from anyorder.neurons.key_maps import FourierKeys, GatedKeys, TwoLayerKeys
from anyorder.policies import AbstractPolicy, InvariantPolicy, PlainPolicy
from anyorder.sensors import Noise, Sensors, Silent

KERNEL_HIDDEN = 8
OBSERVED = 5
GPU_EXTRA = 8
"""Most extra sensors on a GPU, whose kernel holds every neuron in registers."""
KERNEL_KNOWS = ("slots", "width", "bias", "score", "scaled", "remember", "gain", "stack", "top")
"""Settings of neurons whose values the kernel handles, some of them checked apart, or does not need."""


def why_not_fused(policy: AbstractPolicy, env: AbstractEnv) -> str | None:
    """What stands in the way of the compiled kernel for this pair, or None if nothing does."""
    extra = isinstance(env, PerturbedEnv)
    if isinstance(env, PerturbedEnv) and not isinstance(env.perturbation, Noise | Silent):
        return f"the kernel knows noise and silent sensors, not {type(env.perturbation).__name__}"
    if jax.default_backend() == "gpu":
        if "rocm" in jax.devices()[0].client.platform_version:
            return "the kernel for GPUs is written for NVIDIA's"
        if _noisy(env) > GPU_EXTRA:
            return f"the kernel for GPUs knows up to {GPU_EXTRA} noisy sensors"
    if type(env.env if isinstance(env, PerturbedEnv) else env) is not CartPoleSwingUpHarder:
        return f"{type(env).__name__} has no compiled step"
    if jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        return "the kernel runs in single precision and double was asked for"
    if getattr(policy, "actions", None) == "discrete":
        return "the kernel knows continuous actions"
    if isinstance(policy, PlainPolicy):
        return "a two-layer network reads no extra sensors" if extra else None
    if not isinstance(policy, InvariantPolicy) or not isinstance(policy.neuron, AttentionNeuron):
        return f"{type(policy).__name__} has no compiled step"
    config = policy.neuron.config
    if jax.default_backend() not in ("cpu", "gpu"):
        return f"there is no kernel for {jax.default_backend()}"
    known = KERNEL_KNOWS + (("key_map",) if jax.default_backend() == "gpu" else ())
    strange = [
        field.name for field in dataclasses.fields(config)
        if field.name not in known
        and getattr(config, field.name) != getattr(AttentionNeuronConfig(), field.name)
    ]  # fmt: skip
    if config.score not in ("dot", "scaled-dot"):
        strange.append("score")
    if strange or policy.hidden:
        return (
            f"the kernel knows tanh weights, {KERNEL_HIDDEN} LSTM units and no hidden layer, and "
            f"not this {strange[0].replace('_', ' ') if strange else 'head'}"
        )
    return None


def fused_returns(
    candidates: AbstractPolicy, env: AbstractEnv, keys: Key[Array, " episodes"], n_steps: int
) -> tuple[Float[np.ndarray, "candidates episodes"], Int[np.ndarray, " candidates"]]:
    """Returns of each candidate in the episodes of these keys, and the steps each candidate took.

    `candidates` is one policy whose arrays carry a leading axis of candidates.
    """
    from anyorder.rollout.kernel import run_candidates  # compiles on first use

    gates, layer, readout = (np.asarray(part) for part in _pack_all(candidates))
    starts = np.asarray(_start_states(env, keys, _fixed_gain(candidates)))
    extra = np.asarray(_noise(env, keys, n_steps))
    returns = np.empty((layer.shape[0], starts.shape[0]), np.float32)
    made = np.empty(layer.shape[0], np.int64)
    neurons = isinstance(candidates, InvariantPolicy)
    run_candidates(neurons, gates, layer, readout, starts, extra, n_steps, returns, made)
    return returns, made


def fused_returns_on_gpu(
    candidates: AbstractPolicy,
    env: AbstractEnv,
    keys: Key[Array, " episodes"],
    n_steps: int | Int[Array, ""],
    *,
    interpret: bool = False,
) -> tuple[Float[Array, "candidates episodes"], Int[Array, ""]]:
    """The same on a GPU, inside jit. `interpret` runs the kernel anywhere, slowly."""
    from anyorder.rollout import gpu

    gates, layer, readout = _pack_all(candidates)
    if isinstance(candidates, InvariantPolicy):
        assert isinstance(candidates.neuron, AttentionNeuron)
        inner = eqx.filter_vmap(_pack_key_layers)(candidates)
        rows, groups = gpu.listener_rows(gates, inner, layer, readout)
        policy = gpu.Listener(groups, candidates.neuron.config.key_map)
    else:
        rows, groups = gpu.reactor_rows(layer, readout)
        policy = gpu.Reactor(groups)
    starts = _start_states(env, keys, _fixed_gain(candidates))
    extra = _noise(env, keys, n_steps if isinstance(n_steps, int) else env.n_steps)
    return gpu.gpu_returns(
        rows, starts, extra, n_steps, policy, gpu.CartPoleLanes(), interpret=interpret
    )


@eqx.filter_jit
def _start_states(
    env: AbstractEnv, keys: Key[Array, " episodes"], gain: float | None
) -> Float[Array, "episodes 6"]:
    """State, lowest cos theta, and the gain on the code for as many sensors as are there."""

    def start(key):
        step = env.reset(key)
        state = step.state.world if isinstance(env, PerturbedEnv) else step.state
        there = jnp.maximum(step.sensors.present.sum(), OBSERVED)
        factor = OBSERVED / there if gain is None else jnp.asarray(gain)
        return jnp.stack([state.x, state.x_dot, state.theta, state.theta_dot, state.floor, factor])

    return jax.vmap(start)(keys)


def _noisy(env: AbstractEnv) -> int:
    """How many extra sensors say something."""
    perturbation = env.perturbation if isinstance(env, PerturbedEnv) else None
    return perturbation.channels if isinstance(perturbation, Noise) and perturbation.sd > 0 else 0


@eqx.filter_jit
def _noise(
    env: AbstractEnv, keys: Key[Array, " episodes"], n_steps: int
) -> Float[Array, "episodes steps extra"]:
    """What extra sensors read at each step; an absent one reads zero, which adds nothing to a code."""
    if not isinstance(env, PerturbedEnv) or not _noisy(env):
        return jnp.zeros((keys.shape[0], 1, 0))
    nobody = Sensors.of(jnp.zeros(0))

    def readings(key):
        plan = env.reset(key).state.plan
        steps = jnp.arange(n_steps)
        return jax.vmap(lambda step: env.perturbation.apply(plan, nobody, step).readings())(steps)

    return jax.vmap(readings)(keys)


def _fixed_gain(policy: AbstractPolicy) -> float | None:
    """The gain a policy of sensory neurons has whatever its sensors, if so."""
    if isinstance(policy, InvariantPolicy) and isinstance(policy.neuron, AttentionNeuron):
        return policy.neuron.config.gain
    return None


@eqx.filter_jit
def _pack_all(candidates: AbstractPolicy) -> tuple[Array, Array, Array]:
    return eqx.filter_vmap(_pack)(candidates)


def _pack(policy: AbstractPolicy) -> tuple[Array, Array, Array]:
    """Parameters as the kernel wants them, everything that can be multiplied beforehand multiplied."""
    if isinstance(policy, PlainPolicy):
        first, last = policy.head.layers
        return jnp.zeros((0, 0, 0)), _with_bias(first), _with_bias(last)[0]
    assert isinstance(policy, InvariantPolicy)
    assert isinstance(policy.neuron, AttentionNeuron)
    return (
        _pack_gates(policy.neuron),
        _pack_scores(policy.neuron),
        _with_bias(policy.head.layers[0])[0],
    )


def _pack_gates(neuron: AttentionNeuron) -> Float[Array, "hidden 4 inputs"]:
    """LSTM weights by unit and gate: on h, the reading, the action and the bias.

    Arguments of sigmoids are halved, as sigmoid(x) = (1 + tanh(x / 2)) / 2.
    """
    cell = neuron.cell
    bias = neuron.bias[:, None]
    rows = jnp.concatenate([cell.weight_hh, cell.weight_ih, bias], axis=1)
    by_gate = rows.reshape(4, KERNEL_HIDDEN, -1) * jnp.array([0.5, 0.5, 1.0, 0.5])[:, None, None]
    return by_gate.swapaxes(0, 1)


def _pack_scores(neuron: AttentionNeuron) -> Float[Array, "slots inputs"]:
    """Q W_q W_k^T as one matrix on h, and the part of the scores that does not depend on h."""
    table = jnp.asarray(_table(neuron.config.slots, neuron.config.hidden))
    queries = jax.vmap(neuron.query_map)(table)
    if neuron.config.divided:
        queries = queries / neuron.config.width**0.5
    scores = queries @ _with_bias(neuron.key_map)
    phi = neuron.attention.key_map
    if isinstance(phi, TwoLayerKeys | GatedKeys):  # whose last layer is linear
        return jnp.concatenate([scores[:, :-1] @ phi.second.weight, scores[:, -1:]], axis=1)
    return scores


def _pack_key_layers(policy: InvariantPolicy) -> Float[Array, "layers hidden inputs"]:
    """Layers of the key map before its nonlinearity, on h and the bias."""
    assert isinstance(policy.neuron, AttentionNeuron)
    phi = policy.neuron.attention.key_map
    if isinstance(phi, FourierKeys):
        turns, shift = phi.layer(KERNEL_HIDDEN)
        return jnp.concatenate([turns, shift[:, None]], axis=1)[None].astype(jnp.float32)
    layers: list[eqx.nn.Linear] = []
    if isinstance(phi, TwoLayerKeys | GatedKeys):
        layers.append(phi.first)
    if isinstance(phi, GatedKeys):
        layers.append(phi.gate)
    if not layers:
        return jnp.zeros((0, KERNEL_HIDDEN, KERNEL_HIDDEN + 1))
    return jnp.stack([_with_bias(layer) for layer in layers])


@lru_cache
def _table(slots: int, width: int) -> Any:
    return sinusoidal_table(slots, width).astype(np.float32)


def _with_bias(layer: eqx.nn.Linear) -> Float[Array, "out inputs"]:
    bias = jnp.zeros(layer.weight.shape[0]) if layer.bias is None else layer.bias
    return jnp.concatenate([layer.weight, bias[:, None]], axis=1)
