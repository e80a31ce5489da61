"""A cluster of two nodes, one of which is killed in the middle of a generation."""

import builtins

import numpy as np
import pytest
from tests.rollout.test_gymnasium_worlds import KEYS, Here, candidates_for
from tests.rollout.uneven import ID, SLOW

from anyorder.envs import GymnasiumEnv
from anyorder.errors import UsageError
from anyorder.rollout import GymnasiumEngine
from anyorder.rollout.ray import RayPool, load_ray

# Ray leaves sockets to the garbage collector and warns of changes to come.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::FutureWarning",
    "ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning",
)  # fmt: skip

VIGILANT = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 300,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 3,
}
"""Notices within seconds that a node is gone."""


@pytest.fixture
def cluster(monkeypatch):
    """Two nodes of one core each; steps take a little time, so that a kill comes in the middle."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    from ray.cluster_utils import Cluster  # pyright: ignore[reportMissingImports]

    monkeypatch.setenv(SLOW, "0.002")
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False, "_system_config": VIGILANT},
    )
    second = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="CRITICAL")
    yield cluster, second
    ray.shutdown()
    cluster.shutdown()


def test_a_killed_node_changes_nothing(cluster):
    nodes, second = cluster
    env = GymnasiumEnv(ID)
    candidates = candidates_for(env, 8)
    expected, steps = GymnasiumEngine(env, Here())(candidates, KEYS)
    pool, said = RayPool(), []
    assert pool.describe() == "Ray, 2 cores on 2 nodes"

    def watch(done, total):
        said.append((done, total))
        if done == 4:
            nodes.remove_node(second, allow_graceful=False)

    pool.watch = watch
    returns, made = GymnasiumEngine(env, pool)(candidates, KEYS)
    np.testing.assert_array_equal(returns, expected)
    assert int(made) == int(steps)
    assert said == [(n + 1, 16) for n in range(16)]
    assert pool.describe() == "Ray, 1 cores on 1 node"
    pool.close()


def test_where_no_cluster_answers_that_is_said():
    pytest.importorskip("ray", reason="Ray is not installed")
    with pytest.raises(UsageError, match=r"no Ray cluster at 127\.0\.0\.1:1"):
        RayPool("127.0.0.1:1")


def test_without_ray_its_cure_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "ray":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=r'pip install "anyorder\[ray\]"'):
        load_ray()
