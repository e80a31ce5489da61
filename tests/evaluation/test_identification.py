"""Probes, estimates and ablations on made-up numbers."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.evaluation.ablated import ABLATIONS, ablated, applicable, n_slots
from anyorder.evaluation.estimate import estimate
from anyorder.evaluation.identification import fit_probe, named
from anyorder.evaluation.recovery import LEAD, WINDOW, jump
from anyorder.policies import InvariantPolicy, Memory, PlainPolicy, RelationalPolicy
from anyorder.sensors import Sensors


def test_a_probe_names_what_can_be_told_apart_and_guesses_the_rest():
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=2000)
    told = np.eye(4)[labels] @ rng.normal(size=(4, 6)) + 0.05 * rng.normal(size=(2000, 6))
    probe = fit_probe(told[:1000], labels[:1000], 4)
    assert (named(probe, told[1000:]) == labels[1000:]).mean() > 0.99
    noise = rng.normal(size=(2000, 6))
    probe = fit_probe(noise[:1000], labels[:1000], 4)
    assert abs((named(probe, noise[1000:]) == labels[1000:]).mean() - 0.25) < 0.06


def test_intervals_hold_the_truth_as_often_as_they_should():
    rng = np.random.default_rng(0)
    found = [estimate(rng.normal(size=40), seed=seed) for seed in range(200)]
    held = np.mean([each.low <= 0 <= each.high for each in found])
    assert 0.88 < held < 0.99


def test_what_never_happens_is_infinite_and_json_has_no_number_for_it():
    never = estimate(np.array([math.inf, math.inf, 3.0]), lambda samples: float(np.max(samples)))
    assert never.value == math.inf
    assert never.as_json()["value"] is None
    assert never.as_json()["episodes"] == 3
    assert math.isnan(estimate(np.zeros(0)).value)


def test_a_jump_that_fades_has_the_half_life_it_was_given():
    steps = np.arange(-LEAD, WINDOW + 1)
    fades = np.where(steps < 0, 0, 2.0 * 0.5 ** (steps / 30))
    found = jump(np.stack([fades * scale for scale in (0.9, 1.0, 1.1, 1.0)]))
    assert found.size.value == pytest.approx(2.0)
    assert found.half_life.value == 30
    assert 129 <= found.settled.value <= 131  # 30 steps, log2(20) times
    stays = np.where(steps < 0, 0, 1.0)
    found = jump(np.stack([stays, stays]))
    assert found.half_life.value == math.inf
    assert jump(np.zeros((3, len(steps)))).size.value == 0


def test_an_ablated_layer_without_an_ablation_is_the_layer():
    for policy in (
        InvariantPolicy(5, 1, key=jax.random.key(0)),
        RelationalPolicy(5, 1, key=jax.random.key(0)),
    ):
        slots = n_slots(policy, 5)
        assert slots is not None
        sensors = Sensors.of([0.3, -1.0, 0.5, 0.2, 2.0])

        def act(changed, sensors=sensors):
            memory = Memory(changed.init(5).neurons, jnp.array([0.5]))
            return changed.decide(sensors, memory).raw

        def without(ablation, policy=policy, slots=slots, act=act):
            return act(ablated(policy, ablation, slots))

        numbers = jnp.array([0, *(ABLATIONS[name][0] for name in applicable(policy, 5))])
        nothing, *others = jax.jit(jax.vmap(without))(numbers)
        whole = act(policy)
        np.testing.assert_allclose(nothing, whole, rtol=1e-4, atol=1e-5)
        for name, gone in zip(applicable(policy, 5), others, strict=True):
            assert np.isfinite(gone).all()
            if name != "attention frozen":  # which it is only later
                assert np.abs(gone - whole).max() > 1e-6, name


def test_a_policy_without_neurons_cannot_be_ablated():
    policy = PlainPolicy(5, 1, key=jax.random.key(0))
    assert applicable(policy, 5) == ()
    assert n_slots(policy, 5) is None
