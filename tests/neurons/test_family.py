"""Every choice beside every other: pairs of them, since the full product would take all night.

Calls are not compiled as wholes here: the parts have been compiled for the pair before.
"""

import itertools
from typing import Any, cast, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anyorder.neurons import AttentionNeuronConfig
from anyorder.neurons.config import CHOICES, OF_SLOTS
from anyorder.policies import InvariantConfig, InvariantPolicy, Memory
from anyorder.sensors import Sensors

GIVEN = ";".join(
    ",".join(str((3 * row + column) % 5 - 2) for column in range(8)) for row in range(3)
)
SLOTS = {
    "score": get_args(CHOICES["score"]),
    "weighting": get_args(CHOICES["weighting"]),
    "key_map": get_args(CHOICES["key_map"]),
    "queries": ("sinusoidal", "learned", GIVEN),
    "self_attention": (False, True),
    "bias": (False, True),
    "scaled": (False, True),
    "top": (2,),
}
SHARED = {
    "memory": get_args(CHOICES["memory"]),
    "heads": (1, 2),
    "previous_action": (True, False),
}
ENCODERS = {
    "kind": tuple(kind for kind in get_args(CHOICES["kind"]) if kind != "attention"),
    "pooling": get_args(CHOICES["pooling"]),
    "layers": (1, 2),
}
SIZES = {"slots": 3, "hidden": 8, "width": 8, "stack": 3, "points": 3}


def pairs_of(row):
    return set(itertools.combinations(sorted(row.items()), 2))


def pairwise(options):
    """Few rows of settings in which every two choices of different settings meet."""
    rng = np.random.default_rng(0)
    names = sorted(options)
    missing = {
        pair
        for one, other in itertools.combinations(names, 2)
        for pair in itertools.product(
            [(one, choice) for choice in options[one]],
            [(other, choice) for choice in options[other]],
        )
    }
    rows = []
    while missing:
        first = sorted(missing, key=str)[0]
        row = dict(first)
        for name in sorted((n for n in names if n not in row), key=lambda n: -len(options[n])):
            choices = list(rng.permutation(len(options[name])))
            row[name] = max(
                (options[name][i] for i in choices),
                key=lambda choice: len(missing & pairs_of({**row, name: choice})),
            )
        missing -= pairs_of(row)
        rows.append(row)
    return rows


ROWS = pairwise({**SLOTS, **SHARED}) + pairwise({**ENCODERS, **SHARED})


def test_all_choices_there_are_take_part():
    assert set(SLOTS) == set(OF_SLOTS)
    assert set(CHOICES) <= {*SLOTS, *SHARED, *ENCODERS}


def told(row):
    return "-".join(str(value)[:11] for value in row.values())


@pytest.mark.parametrize("row", ROWS, ids=told)
def test_every_pair_of_choices_is_invariant(row):
    config = InvariantConfig(AttentionNeuronConfig(**SIZES, **row))
    policy = InvariantPolicy(4, 2, config, key=jax.random.key(1))
    rng = np.random.default_rng(2)
    order, gone = jnp.array([3, 0, 5, 1, 4, 2]), jnp.arange(6) == 4
    left = jnp.array([0, 1, 2, 3, 5])
    memory, moved, alone = policy.init(6), policy.init(6), policy.init(5)
    moved = Memory(jax.tree.map(lambda leaf: leaf + 1, moved.neurons), moved.previous_action)
    gone_moved = gone[order]
    moved = Memory(  # whatever the memory of an absent sensor holds
        jax.tree.map(
            lambda leaf, fresh: jnp.where(
                gone_moved.reshape(-1, *[1] * (leaf.ndim - 1)), leaf, fresh
            ),
            moved.neurons,
            policy.init(6).neurons,
        ),
        moved.previous_action,
    )
    for _ in range(3):
        values = jnp.asarray(2 * rng.normal(size=6), jnp.float32)
        seen = policy.decide(Sensors(jnp.where(gone, jnp.nan, values), ~gone), memory)
        other = policy.decide(Sensors(values[order], ~gone_moved), moved)
        without = policy.decide(Sensors.of(values[left]), alone)
        assert seen.weights is not None
        assert other.weights is not None
        np.testing.assert_allclose(seen.action, other.action, atol=1e-5)
        np.testing.assert_allclose(seen.code, other.code, atol=2e-5)
        np.testing.assert_allclose(seen.weights[:, order], other.weights, atol=1e-5)
        np.testing.assert_allclose(seen.action, without.action, atol=1e-6)
        np.testing.assert_allclose(seen.code, without.code, atol=1e-5)
        assert not np.asarray(seen.weights[:, 4]).any()
        assert np.asarray(seen.weights).any()
        memory, moved, alone = seen.memory, other.memory, without.memory


@pytest.mark.parametrize("row", ROWS[::10], ids=told)
def test_every_number_of_a_policy_can_be_learned(row):
    config = InvariantConfig(AttentionNeuronConfig(**SIZES, **row))
    policy = InvariantPolicy(4, 1, config, key=jax.random.key(1))

    def acts(policy):
        memory, total = policy.init(4), 0.0
        for step in range(2):
            decision = policy.decide(Sensors.of(jnp.arange(4.0) - step), memory)
            memory, total = decision.memory, total + decision.raw.sum()
        return total

    slopes = eqx.filter_grad(acts)(policy)
    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(slopes, eqx.is_inexact_array))
    for path, leaf in leaves:
        assert bool(jnp.isfinite(leaf).all()), path


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"heads": 3}, "cannot be shared"),
        ({"hidden": 7, "self_attention": True, "heads": 2}, "cannot be shared"),
        ({"queries": "1,2;3"}, "rows of numbers"),
        ({"queries": "whatever"}, "rows of numbers"),
        ({"queries": "1,nan"}, "finite"),
        ({"queries": "1,0;0,1"}, "16 x 8"),
        ({"kind": "deep-sets", "score": "cosine"}, "not for deep-sets"),
        ({"top": 0}, "at least one"),
    ],
)
def test_nonsense_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        AttentionNeuronConfig(**wrong)


@pytest.mark.parametrize("setting", CHOICES)
def test_unknown_names_are_refused(setting):
    with pytest.raises((ValueError, TypeError), match=r"Unknown|Type-check"):
        AttentionNeuronConfig(**dict.fromkeys([setting], cast(Any, "guess")))
