"""CMA-ES with old axes."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from evosax.algorithms import CMA_ES

from anyorder.training.lazy_cma import LazyCMA


def descend(strategy, generations):
    """Search for the lowest point of a stretched bowl; returns states after each generation."""
    stretch = jnp.array([1.0, 10.0, 100.0])
    params = strategy.default_params
    state = strategy.init(jax.random.key(0), jnp.full(3, 3.0), params)
    states = []
    for key in jax.random.split(jax.random.key(1), generations):
        population, state = strategy.ask(key, state, params)
        fitness = (stretch * population**2).sum(axis=1)
        state, _ = strategy.tell(key, population, fitness, state, params)
        states.append(state)
    return states


def test_never_lazy_is_the_same():
    ours = descend(LazyCMA(8, jnp.zeros(3), every=1), 5)[-1]
    theirs = descend(CMA_ES(8, jnp.zeros(3)), 5)[-1]
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-4)


def test_axes_are_found_anew_when_due():
    lengths = [np.asarray(state.D) for state in descend(LazyCMA(8, jnp.zeros(3), every=3), 7)]
    same = [np.array_equal(a, b) for a, b in itertools.pairwise(lengths)]
    assert same == [True, True, False, True, True, False]


def test_only_large_covariances_wait():
    assert LazyCMA(12, jnp.zeros(3)).every == 1
    assert 20 < LazyCMA(256, jnp.zeros(913)).every < 50


def test_waiting_costs_little_where_the_covariance_changes_slowly():
    weights = jnp.linspace(1, 3, 60)

    def last(strategy):
        params, state = (
            strategy.default_params,
            strategy.init(jax.random.key(0), jnp.ones(60), strategy.default_params),
        )
        for key in jax.random.split(jax.random.key(1), 60):
            population, state = strategy.ask(key, state, params)
            fitness = (weights * population**2).sum(axis=1)
            state, _ = strategy.tell(key, population, fitness, state, params)
        return float((weights * state.mean**2).sum())

    start = float(weights.sum())
    lazy, eager = last(LazyCMA(16, jnp.zeros(60), every=3)), last(CMA_ES(16, jnp.zeros(60)))
    assert lazy < 0.5 * start
    assert lazy < 1.5 * eager
