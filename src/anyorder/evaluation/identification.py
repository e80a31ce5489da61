"""Does a neuron know which sensor it holds? A linear probe reads it from the neuron's memory.

The probe is a softmax regression, trained on half of the episodes, undisturbed and after a shuffle, and
tested on the other half. It is the same at every step, as the layer that reads the memories is.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize
from scipy.special import log_softmax

from anyorder.evaluation.estimate import NOT_MEASURED, Estimate, estimate
from anyorder.evaluation.shadows import Shadow
from anyorder.evaluation.shuffled_once import Seen

SINCE = (0, 1, 2, 3, 5, 8, 12, 20, 35, 50, 75, 100, 150, 200, 300)
"""Steps at which the probe is tested."""
PENALTY = 1e-3
CALM = 60
"""Undisturbed steps of each episode the probe is trained on."""


@dataclass(frozen=True)
class IdentificationAudit:
    """Share of neurons whose sensor the probe names, in episodes it has not seen."""

    chance: float
    before: Estimate
    """In the step before the shuffle."""
    by_reading: Estimate
    """There, of a probe of the same kind that is shown the present reading and no memory."""
    since: tuple[int, ...]
    after_shuffle: tuple[Estimate, ...]
    from_start: tuple[Estimate, ...]
    """Steps since the beginning of an undisturbed episode."""
    confusion: Float[np.ndarray, "sensors sensors"]
    """Undisturbed: by the sensor held, how often each is named."""


Probe = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Weights (the last row is the bias), and the features' mean and standard deviation."""


def features(shadow: Shadow) -> Float[np.ndarray, "episodes steps sensors features"]:
    """All that each neuron remembers after each step."""
    leaves = [np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(shadow.neurons)]
    return np.concatenate([leaf.reshape(*leaf.shape[:3], -1) for leaf in leaves], axis=3)


def fit_probe(
    inputs: Float[np.ndarray, "samples features"], labels: Int[np.ndarray, " samples"], classes: int
) -> Probe:
    """Softmax regression with a small penalty on the weights."""
    mean, sd = inputs.mean(axis=0), inputs.std(axis=0) + 1e-9
    scaled = np.hstack([(inputs - mean) / sd, np.ones((len(inputs), 1))])
    truth = np.eye(classes)[labels]

    def loss(flat):
        weights = flat.reshape(-1, classes)
        log_shares = log_softmax(scaled @ weights, axis=1)
        slope = scaled.T @ (np.exp(log_shares) - truth) / len(scaled) + PENALTY * weights
        value = -(log_shares * truth).sum() / len(scaled) + 0.5 * PENALTY * (weights**2).sum()
        return value, slope.ravel()

    start = np.zeros(scaled.shape[1] * classes)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    return found.x.reshape(-1, classes), mean, sd


def named(probe: Probe, inputs: Float[np.ndarray, "*some features"]) -> Int[np.ndarray, "*some"]:
    """The sensor the probe takes each neuron's to be."""
    weights, mean, sd = probe
    return (((inputs - mean) / sd) @ weights[:-1] + weights[-1]).argmax(axis=-1)


def audit_identification(seen: Seen) -> IdentificationAudit | None:
    """Train on half of the episodes and test on the others; None without memory or with too few episodes."""
    footage, at, straight, kept = seen.footage, seen.at, seen.straight, seen.kept
    if not jax.tree.leaves(straight.neurons) or footage.n_episodes < 4:
        return None
    lengths = np.asarray(footage.lengths)
    calm, stirred = features(straight), features(kept)
    n_sensors = calm.shape[2]
    training = np.arange(footage.n_episodes) < footage.n_episodes // 2
    now = np.arcsinh(np.asarray(footage.sensors, np.float64))
    readings = np.stack([now, now**2, np.abs(now)], axis=3)

    def trained(undisturbed, shuffled):
        inputs = []
        for episode in np.flatnonzero(training):
            steps = np.unique(np.linspace(0, lengths[episode] - 1, CALM).astype(int))
            since = at[episode] + np.array(SINCE)
            since = since[since < lengths[episode]]
            inputs += [undisturbed[episode, steps], shuffled[episode, since]]
        samples = np.concatenate(inputs)
        labels = np.broadcast_to(np.arange(n_sensors), samples.shape[:2])
        return fit_probe(samples.reshape(-1, samples.shape[2]), labels.ravel(), n_sensors)

    probe = trained(calm, stirred)

    def accuracy(found, steps, probe=probe):
        there = ~training & (steps >= 0) & (steps < lengths)
        if not there.any():
            return NOT_MEASURED
        rows = np.flatnonzero(there)
        right = named(probe, found[rows, steps[rows]]) == np.arange(n_sensors)
        return estimate(right.mean(axis=1))

    confusion = np.zeros((n_sensors, n_sensors))
    for episode in np.flatnonzero(~training):
        said = named(probe, calm[episode, : lengths[episode]])
        for sensor in range(n_sensors):
            confusion[sensor] += np.bincount(said[:, sensor], minlength=n_sensors)
    start = np.zeros_like(at)
    return IdentificationAudit(
        chance=1 / n_sensors,
        before=accuracy(calm, at - 1),
        by_reading=accuracy(readings, at - 1, trained(readings, readings)),
        since=SINCE,
        after_shuffle=tuple(accuracy(stirred, at + step) for step in SINCE),
        from_start=tuple(accuracy(calm, start + step) for step in SINCE),
        confusion=confusion / confusion.sum(axis=1, keepdims=True),
    )
