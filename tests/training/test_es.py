import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.probes import Countdown, Echo

from anyorder.policies import InvariantPolicy, PlainPolicy
from anyorder.rollout import choose_engine
from anyorder.runs.tree import tensors_of
from anyorder.training import ESConfig, Evolution, Progress, Stop, learn
from anyorder.training.es import Examination, examination
from anyorder.training.space import flatten, unflatten

ALGORITHMS = ["open-es", "pgpe", "snes", "sep-cma-es", "cma-es"]


def evolution(policy, env, **changes):
    settings = {
        "generations": 60, "population": 32, "episodes": 4, "sigma": 0.3, "learning_rate": 0.15,
        "test_every": 20, "test_episodes": 64, "averaging": 0.5,
    }  # fmt: skip
    return Evolution(policy, choose_engine(policy, env, "scan"), ESConfig(**settings | changes))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_learns_to_echo_its_only_sensor(algorithm):
    learner = evolution(PlainPolicy(1, 1, key=jax.random.key(0)), Echo(), algorithm=algorithm)
    state = learner.init(jax.random.key(1))
    *_, last = learn(learner, state, Progress(), Stop(60), test_every=20)
    assert last.metrics is not None
    assert last.metrics["test"] > 7.2  # of 8
    policy, score = learner.best(last.state, episodes=64)
    assert score > 7.2
    assert policy.reads(1)


def test_sensory_neurons_learn_to_echo_from_zeros():
    learner = evolution(
        InvariantPolicy(1, 1, key=jax.random.key(0)),
        Echo(),
        start="zeros",
        sigma=0.5,
        generations=150,
    )
    state = learner.init(jax.random.key(2))
    assert float(jnp.abs(state.search.mean).max()) == 0
    *_, last = learn(learner, state, Progress(), Stop(150, score=7.0), test_every=10)
    assert last.metrics is not None
    assert last.metrics["test"] > 7.0


def test_the_same_key_gives_the_same_run_and_another_another():
    learner = evolution(PlainPolicy(1, 1, key=jax.random.key(0)), Echo())

    def final(seed):
        *_, last = learn(
            learner, learner.init(jax.random.key(seed)), Progress(), Stop(5), test_every=5
        )
        return np.asarray(last.state.search.mean)

    np.testing.assert_array_equal(final(1), final(1))
    assert (final(1) != final(2)).any()


def test_candidates_of_a_generation_play_the_same_episodes():
    policy = PlainPolicy(1, 1, key=jax.random.key(0))
    engine = choose_engine(policy, Echo(), "scan")
    same = jax.tree.map(lambda x: jnp.stack([x, x]) if eqx.is_inexact_array(x) else x, policy)
    returns, steps = engine(same, jax.random.split(jax.random.key(1), 10))
    np.testing.assert_array_equal(returns[0], returns[1])
    assert int(steps) == 2 * 10 * 8


def test_steps_count_only_what_was_lived():
    policy = PlainPolicy(2, 1, key=jax.random.key(0))
    one = jax.tree.map(lambda x: x[None] if eqx.is_inexact_array(x) else x, policy)
    _, steps = choose_engine(policy, Countdown(3), "scan")(
        one, jax.random.split(jax.random.key(1), 5)
    )
    assert int(steps) == 15


def test_finalists_are_the_best_tested_centres():
    learner = evolution(PlainPolicy(1, 1, key=jax.random.key(0)), Echo(), finalists=2)
    state = learner.init(jax.random.key(1))
    seen = []
    for report in learn(learner, state, Progress(), Stop(8), test_every=1):
        state = report.state
        assert report.metrics is not None
        seen.append(report.metrics["test"])
        kept = sorted(float(score) for score in state.finalist_scores if np.isfinite(score))
        np.testing.assert_allclose(kept, sorted(seen)[-2:], rtol=1e-5)


def test_states_are_arrays_of_constant_shape_and_type():
    for algorithm in ALGORITHMS:
        learner = evolution(PlainPolicy(1, 1, key=jax.random.key(0)), Echo(), algorithm=algorithm)
        state = learner.init(jax.random.key(1))
        later, _ = learner.update(state, 0)
        later, _ = learner.test(later)
        first, then = tensors_of(state), tensors_of(later)
        assert {k: (v.shape, v.dtype) for k, v in first.items()} == {
            k: (v.shape, v.dtype) for k, v in then.items()
        }


@pytest.mark.parametrize(
    ("stop", "why"),
    [
        (Stop(3), "reached 3 updates"),
        (Stop(50, seconds=0.0), "minutes are over"),
        (Stop(50, score=-100.0), "test score"),
    ],
)
def test_stops_when_told_to_and_says_why(stop, why):
    learner = evolution(PlainPolicy(1, 1, key=jax.random.key(0)), Echo())
    *_, last = learn(learner, learner.init(jax.random.key(1)), Progress(), stop, test_every=2)
    assert last.stopped is not None
    assert why in last.stopped
    assert last.progress.updates <= 3


def test_examinations_grow_along_the_schedule():
    config = ESConfig(
        generations=100, episodes=16, final_episodes=64, steps=400, practice=1.0, final_practice=0.2
    )
    assert examination(config, 0, 1000) == Examination(16, 400, 1.0)
    assert examination(config, 99, 1000) == Examination(64, 1000, 0.2)
    assert examination(config, 500, 1000) == Examination(64, 1000, 0.2)
    exams = [examination(config, number, 1000) for number in range(100)]
    sizes = [(exam.episodes, exam.steps, -exam.practice) for exam in exams]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 8


def test_flatten_and_unflatten_are_inverse():
    policy = InvariantPolicy(5, 1, key=jax.random.key(0))
    vector = jnp.arange(913.0)
    np.testing.assert_array_equal(flatten(unflatten(policy, vector)), vector)


@pytest.mark.parametrize(
    "wrong",
    [
        {"population": 7}, {"population": 2}, {"generations": 0}, {"sigma": 0.0},
        {"learning_rate": -1.0}, {"averaging": 1.0}, {"episodes": 0}, {"finalists": 0},
    ],
)  # fmt: skip
def test_nonsense_is_refused(wrong):
    with pytest.raises(ValueError, match=r"must|population|positive"):
        ESConfig(**wrong)
