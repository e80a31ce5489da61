"""Agents from files and from Python, opened as subjects of the audit."""

from pathlib import Path

import numpy as np
import pytest

from anyorder.bridges.foreign import is_foreign, open_subject
from anyorder.bridges.gym_worlds import gym_interface, to_actions
from anyorder.errors import UsageError
from anyorder.evaluation.host_episodes import ActsOnMany
from anyorder.evaluation.subject import AuditSubject, Remembers

AGENTS = str(Path(__file__).with_name("foreign_agents.py"))
OBSERVATIONS = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)


def opened(name, world="CartPole-v1"):
    return open_subject(f"{AGENTS}:{name}", world)


def actions(subject, observations=OBSERVATIONS):
    subject.reset(observations.shape[1])
    found = np.stack([subject.act(row) for row in observations])
    if isinstance(subject, ActsOnMany):
        np.testing.assert_array_equal(subject.act_on_many(observations), found)
    return found


def weights():
    rng = np.random.default_rng(1)
    return [rng.normal(size=shape).astype(np.float32) for shape in ((4, 8), (8,), (8, 2), (2,))]


def by_hand(observations):
    """What the network with these weights chooses."""
    first, bias, second, offset = weights()
    return (np.tanh(observations @ first + bias) @ second + offset).argmax(axis=1)


def test_a_function_acts_as_it_is():
    subject = opened("leaning")
    assert isinstance(subject, AuditSubject)
    assert subject.n_sensors == 4
    expected = OBSERVATIONS[:, 2] + 0.5 * OBSERVATIONS[:, 3] > 0
    np.testing.assert_array_equal(actions(subject), expected)
    assert actions(subject).dtype.kind == "i"


def test_a_function_that_reads_any_number_is_found_out():
    subject = opened("sorted_mean")
    assert subject.n_sensors is None
    assert actions(subject, OBSERVATIONS[:, :3]).shape == (20,)


def test_scores_choose_and_numbers_are_clipped():
    assert set(actions(opened("scores"))) == {0, 1}
    torques = actions(opened("torque", "Pendulum-v1"), OBSERVATIONS[:, :3])
    np.testing.assert_allclose(torques[:, 0], np.clip(-3 * OBSERVATIONS[:, 2], -2, 2))


def test_objects_are_taken_as_they_are():
    subject = opened("Remembering")
    assert (subject.name, subject.n_sensors, subject.world) == (
        "foreign_agents.py:Remembering", 4, "CartPole-v1",
    )  # fmt: skip
    assert isinstance(subject, Remembers)
    assert not isinstance(opened("Secretive"), Remembers)
    complete = open_subject(f"{AGENTS}:Complete", None)
    assert (complete.name, complete.world) == ("complete", "CartPole-v1")


def test_our_own_task_goes_by_its_short_name():
    interface = gym_interface("cartpole")
    assert (interface.world, interface.n_sensors) == ("anyorder/CartPoleSwingUpHarder-v0", 5)


@pytest.mark.parametrize(
    ("name", "world", "words"),
    [
        ("out_of_reach", "CartPole-v1", "cannot read the 4 numbers that CartPole-v1 shows"),
        ("no_action", "CartPole-v1", r"answered \[7\], which is no action of CartPole-v1"),
        ("not_a_number", "Pendulum-v1", "not finite"),
        ("torque", "CartPole-v1", "no action of CartPole-v1"),
        ("text", "CartPole-v1", "name a function"),
        ("Demanding", "CartPole-v1", "without arguments"),
        ("Complete", "Acrobot-v1", "says that it plays CartPole-v1"),
        ("Scoring", "CartPole-v1", "answer with an action itself"),
        ("Secretive", "Blackjack-v1", "1-D Box"),
        ("nothing_here", "CartPole-v1", "defines no 'nothing_here'"),
        ("leaning", None, "Say so with --env"),
        ("leaning", "Chess-v1", "cannot make the world 'Chess-v1'"),
        ("leaning", "Blackjack-v1", "1-D Box"),
    ],
)
def test_mistakes_get_one_sentence(name, world, words):
    with pytest.raises(UsageError, match=words):
        opened(name, world)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("nowhere.py:act", "no file nowhere.py"),
        ("nowhere.zip", "no file nowhere.zip"),
        ("agent.txt", "no agent that anyorder can open"),
    ],
)
def test_files_that_are_not_there_are_named(spec, words):
    with pytest.raises(UsageError, match=words):
        open_subject(spec, "CartPole-v1")


def test_what_is_ours_is_not_foreign():
    assert is_foreign("agent.py:act")
    assert is_foreign("models/ppo.zip")
    assert not is_foreign("cartpole")
    assert not is_foreign("runs/first")


def test_files_of_another_kind_are_refused(tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("readme", "hello")
    (tmp_path / "agent.py").write_text("import nothing_of_this_name\n")
    for spec, words in (
        (tmp_path / "data.zip", "stable-baselines3"),
        (f"{tmp_path / 'agent.py'}:act", "ModuleNotFoundError"),
    ):
        with pytest.raises(UsageError, match=words):
            open_subject(str(spec), "CartPole-v1")


def test_a_missing_package_names_its_cure(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    (tmp_path / "net.onnx").write_bytes(b"")
    with pytest.raises(UsageError, match=r'pip install "anyorder\[onnx\]"'):
        open_subject(str(tmp_path / "net.onnx"), "CartPole-v1")


def test_every_layout_of_an_action_is_known():
    from gymnasium import spaces

    from anyorder.bridges.gym_worlds import GymInterface

    def found(space, answer):
        return to_actions(np.asarray([answer]), GymInterface("world", 3, space), "agent")[0]

    assert found(spaces.Discrete(3, start=2), [0.0, 5.0, 1.0]) == 3
    assert found(spaces.Discrete(3, start=2), 4) == 4
    np.testing.assert_array_equal(found(spaces.MultiDiscrete([2, 3]), [1.0, 2.0]), [1, 2])
    np.testing.assert_array_equal(found(spaces.MultiBinary(2), [True, False]), [1, 0])
    for space, answer in (
        (spaces.Discrete(3), 0.5), (spaces.Discrete(3), 3), (spaces.Discrete(3), [1, 2]),
        (spaces.MultiDiscrete([2, 3]), [0.5, 1.0]), (spaces.Box(-1, 1, (2,)), [1.0]),
    ):  # fmt: skip
        with pytest.raises(UsageError, match="no action"):
            found(space, answer)


# torch


def torch_network(torch):
    first, bias, second, offset = map(torch.from_numpy, weights())
    network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    state = {"0.weight": first.T, "0.bias": bias, "2.weight": second.T, "2.bias": offset}
    network.load_state_dict(state)
    return network


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason='needs pip install "anyorder[torch]"')


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("saved", ["script", "export", "module"])
def test_torch_networks_act_as_computed_by_hand(saved, torch, tmp_path):
    network, path = torch_network(torch), tmp_path / "net.pt"
    if saved == "script":
        torch.jit.script(network).save(str(path))
    elif saved == "export":
        program = torch.export.export(network, (torch.zeros(1, 4),))
        path = tmp_path / "net.pt2"
        torch.export.save(program, path)
    else:
        torch.save(network.state_dict(), tmp_path / "state.pt")
        lines = (
            "import torch",
            "net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))",
            f"net.load_state_dict(torch.load({str(tmp_path / 'state.pt')!r}, weights_only=True))",
        )
        (tmp_path / "agent.py").write_text("\n".join(lines))
        path = f"{tmp_path / 'agent.py'}:net"
    if saved == "export":
        with pytest.raises(UsageError, match="unpickles parts of exported programs"):
            open_subject(str(path), "CartPole-v1")
    trust = saved == "export"
    subject = open_subject(str(path), "CartPole-v1", trust=trust)
    assert subject.n_sensors == 4
    np.testing.assert_array_equal(actions(subject), by_hand(OBSERVATIONS))
    with pytest.raises(UsageError, match="cannot read the 6 numbers that Acrobot-v1 shows"):
        open_subject(str(path), "Acrobot-v1", trust=trust)


def test_weights_alone_are_no_agent(torch, tmp_path):
    torch.save(torch_network(torch).state_dict(), tmp_path / "weights.pt")
    with pytest.raises(UsageError, match="weights or a pickled module"):
        open_subject(str(tmp_path / "weights.pt"), "CartPole-v1")
    (tmp_path / "other.pt").write_bytes(b"no zip")
    with pytest.raises(UsageError, match="not a file of torch"):
        open_subject(str(tmp_path / "other.pt"), "CartPole-v1")


# ONNX


def write_onnx(path, batch):
    """The same network as an ONNX graph that reads (batch, 4)."""
    onnx = pytest.importorskip("onnx", reason="builds the graph")
    pytest.importorskip("onnxruntime", reason='needs pip install "anyorder[onnx]"')
    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    stored = [
        make.make_tensor(name, kind, value.shape, value.ravel().tolist())
        for name, value in zip(("w", "b", "v", "c"), weights(), strict=True)
    ]
    steps = [
        ("MatMul", ["x", "w"], "p"), ("Add", ["p", "b"], "q"), ("Tanh", ["q"], "r"),
        ("MatMul", ["r", "v"], "s"), ("Add", ["s", "c"], "y"),
    ]  # fmt: skip
    graph = make.make_graph(
        [make.make_node(kind_, inputs, [output]) for kind_, inputs, output in steps],
        "network",
        [make.make_tensor_value_info("x", kind, [batch, 4])],
        [make.make_tensor_value_info("y", kind, [batch, 2])],
        stored,
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize("batch", ["many", 1])
def test_onnx_networks_act_as_computed_by_hand(batch, tmp_path):
    path = tmp_path / "net.onnx"
    write_onnx(path, batch)
    subject = open_subject(str(path), "CartPole-v1")
    assert subject.n_sensors == 4
    np.testing.assert_array_equal(actions(subject), by_hand(OBSERVATIONS))
    with pytest.raises(UsageError, match="cannot read the 3 numbers"):
        open_subject(str(path), "Pendulum-v1")


def test_what_is_no_onnx_is_refused(tmp_path):
    pytest.importorskip("onnxruntime", reason='needs pip install "anyorder[onnx]"')
    (tmp_path / "net.onnx").write_bytes(b"hello")
    with pytest.raises(UsageError, match="not an ONNX file"):
        open_subject(str(tmp_path / "net.onnx"), "CartPole-v1")
