"""Models of stable-baselines3, saved by it and opened without unpickling anything."""

import json
import zipfile

import numpy as np
import pytest

from anyorder.bridges.foreign import open_subject
from anyorder.bridges.gym_worlds import gym_interface
from anyorder.errors import UsageError
from anyorder.evaluation.host_episodes import ActsOnMany

sb3 = pytest.importorskip("stable_baselines3", reason='needs pip install "anyorder[sb3]"')
torch = pytest.importorskip("torch", reason='needs pip install "anyorder[sb3]"')

WORLDS = {
    "PPO": "CartPole-v1",
    "A2C": "CartPole-v1",
    "DQN": "CartPole-v1",
    "SAC": "Pendulum-v1",
    "TD3": "Pendulum-v1",
    "DDPG": "Pendulum-v1",
}
SMALL = {"net_arch": [8], "activation_fn": torch.nn.ELU}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def no_pickle(monkeypatch):
    """stable-baselines3 may not unpickle."""

    def refuse(data):
        raise AssertionError("something was unpickled")

    monkeypatch.setattr("stable_baselines3.common.save_util.cloudpickle.loads", refuse)


def saved(algorithm, folder, **settings):
    settings = {"policy_kwargs": dict(SMALL), "seed": 3, "device": "cpu"} | settings
    more = {} if algorithm in ("PPO", "A2C") else {"buffer_size": 10}
    model = getattr(sb3, algorithm)("MlpPolicy", WORLDS[algorithm], **settings, **more)
    path = folder / f"{algorithm}.zip"
    model.save(path)
    return model, path


@pytest.mark.parametrize("algorithm", WORLDS)
def test_every_algorithm_acts_as_it_did(algorithm, tmp_path, no_pickle):
    model, path = saved(algorithm, tmp_path)
    subject = open_subject(str(path), WORLDS[algorithm])
    n_sensors = gym_interface(WORLDS[algorithm]).n_sensors
    assert isinstance(subject, ActsOnMany)
    assert (subject.name, subject.n_sensors) == (path.name, n_sensors)
    seen = np.random.default_rng(0).normal(size=(30, n_sensors)).astype(np.float32)
    expected = model.predict(seen, deterministic=True)[0]
    np.testing.assert_array_equal(subject.act_on_many(seen), expected)
    subject.reset(n_sensors)
    alone = np.stack([subject.act(row) for row in seen])
    np.testing.assert_allclose(alone, expected, atol=1e-5)


def test_another_world_than_its_own_is_refused(tmp_path):
    _, path = saved("PPO", tmp_path)
    with pytest.raises(UsageError, match="trained on observations of shape"):
        open_subject(str(path), "Pendulum-v1")


class Scaled(torch.nn.Module):  # pyright: ignore[reportGeneralTypeIssues]
    """A layer that stable-baselines3 does not have."""

    def forward(self, x):
        return torch.tanh(2 * x)


def test_code_of_ones_own_runs_only_if_trusted(tmp_path):
    model, path = saved("PPO", tmp_path, policy_kwargs={"activation_fn": Scaled})
    with pytest.raises(UsageError, match=r"Python of its own in policy_kwargs.*--trust"):
        open_subject(str(path), "CartPole-v1")
    subject = open_subject(str(path), "CartPole-v1", trust=True)
    assert isinstance(subject, ActsOnMany)
    seen = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    expected = model.predict(seen, deterministic=True)[0]
    np.testing.assert_array_equal(subject.act_on_many(seen), expected)


def test_versions_that_unpickle_weights_are_not_used(tmp_path, monkeypatch):
    _, path = saved("PPO", tmp_path)
    monkeypatch.setattr(sb3, "__version__", "2.3.2")
    with pytest.raises(UsageError, match="may unpickle weights"):
        open_subject(str(path), "CartPole-v1")


def test_zips_of_other_algorithms_are_refused(tmp_path):
    path = tmp_path / "odd.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", json.dumps({"policy_kwargs": {}}))
        archive.writestr("policy.pth", b"")
    with pytest.raises(
        UsageError, match="an algorithm that stable-baselines3 itself does not have"
    ):
        open_subject(str(path), "CartPole-v1")
