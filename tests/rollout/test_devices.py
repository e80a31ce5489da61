"""Many devices and many hosts come to what one device comes to."""

import json
import os
import socket
import subprocess
import sys
from functools import cache

import jax
import numpy as np

from anyorder.envs import CartPoleSwingUpHarder
from anyorder.policies import PlainPolicy
from anyorder.rollout import choose_engine
from anyorder.rollout.hosts import HostsEngine
from anyorder.training import ESConfig, Evolution

SCORES = """
import json, sys, jax
jax.config.update("jax_disable_most_optimizations", True)
if len(sys.argv) > 1:
    address, count, index = sys.argv[1:]
    jax.distributed.initialize(address, int(count), int(index))
from tests.rollout.test_devices import scores
print(json.dumps(scores()), flush=True)
"""


@cache
def scores():
    """Two generations and a test: (devices that shared the work, mean, best, test, steps)."""
    env = CartPoleSwingUpHarder()
    engine = choose_engine(PlainPolicy(5, 1, key=jax.random.key(0)), env, "scan")
    if jax.process_count() > 1:
        engine = HostsEngine(engine)
    config = ESConfig(population=16, episodes=3, steps=60, test_episodes=8, generations=2)
    learner = Evolution(PlainPolicy(5, 1, key=jax.random.key(0)), engine, config)
    state = learner.init(jax.random.key(1))
    found = []
    for _ in range(2):
        state, metrics = learner.update(state, 0)
        found += [float(metrics[name]) for name in ("mean", "best", "steps")]
    _, tested = learner.test(state)
    devices = len(state.search.mean.sharding.device_set)
    return [devices, *found, float(tested["test"])]


def elsewhere(*arguments, devices):
    flags = f"--xla_force_host_platform_device_count={devices}"
    return subprocess.Popen(
        [sys.executable, "-c", SCORES, *arguments],
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        cwd=os.getcwd(), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def said(process):
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return json.loads(out.splitlines()[-1])


def test_eight_devices_come_to_what_one_comes_to():
    one, eight = scores(), said(elsewhere(devices=8))
    assert (one[0], eight[0]) == (1, 8)
    np.testing.assert_allclose(eight[1:], one[1:], rtol=1e-4)


def test_two_hosts_come_to_what_one_comes_to():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    hosts = [elsewhere(address, "2", str(index), devices=2) for index in range(2)]
    try:
        first, second = map(said, hosts)
    finally:
        for host in hosts:
            host.kill()
            host.communicate()
    assert first == second
    np.testing.assert_allclose(first[1:], scores()[1:], rtol=1e-4)
