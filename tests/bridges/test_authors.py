import numpy as np
import pytest

from anyorder.bridges.authors import import_weights, sizes
from anyorder.errors import UsageError
from anyorder.neurons import AttentionNeuron
from anyorder.policies import InvariantPolicy


def write(path, **arrays):
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("kind", ["cartpole", "ant"])
@pytest.mark.parametrize("named", [True, False])
def test_a_vector_of_the_right_size_is_an_agent(kind, named, tmp_path):
    vector = np.linspace(-1, 1, sizes()[kind])
    agent = import_weights(write(tmp_path / "w.npz", params=vector), kind if named else None)
    assert agent.task == kind
    assert agent.n_parameters == vector.size
    policy = agent.policy
    assert isinstance(policy, InvariantPolicy)
    assert isinstance(policy.neuron, AttentionNeuron)
    np.testing.assert_allclose(policy.neuron.cell.weight_ih.ravel()[:4], vector[:4], rtol=1e-6)
    last = policy.head.layers[-1].bias
    assert last is not None
    np.testing.assert_allclose(last[-1], vector[-1], rtol=1e-6)


def test_sizes_are_the_papers():
    assert sizes() == {"cartpole": 913, "ant": 2504}


@pytest.mark.parametrize(
    ("arrays", "kind", "words"),
    [
        ({"params": np.zeros(912)}, None, r"912 parameters.*cartpole \(913\), ant \(2504\)"),
        ({"params": np.zeros(913)}, "ant", "913 parameters and a ant agent has 2504"),
        ({"params": np.zeros(7212)}, None, "CarRacing.*reads images"),
        ({"params": np.zeros(913)}, "chess", "no kind 'chess'"),
        ({"weights": np.zeros(913)}, None, "no array named `params`"),
        ({"params": np.full(913, np.nan)}, None, "finite"),
        ({"params": np.zeros((913, 1))}, None, "flat vector"),
        ({"params": np.array(["a", "b"])}, None, "plain arrays"),
    ],
)
def test_what_does_not_fit_is_refused_clearly(arrays, kind, words, tmp_path):
    with pytest.raises(UsageError, match=words):
        import_weights(write(tmp_path / "w.npz", **arrays), kind)


def test_files_that_are_no_npz_are_refused(tmp_path):
    with pytest.raises(UsageError, match="There is no file"):
        import_weights(tmp_path / "nothing.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(UsageError, match=r"not an \.npz"):
        import_weights(tmp_path / "text.npz")
    np.save(tmp_path / "plain.npy", np.zeros(913))
    with pytest.raises(UsageError, match=r"not an \.npz"):
        import_weights(tmp_path / "plain.npy")


def test_objects_in_a_file_are_never_unpickled(tmp_path):
    path = tmp_path / "evil.npz"
    np.savez(path, params=np.array([object()], dtype=object))
    with pytest.raises(UsageError, match="plain arrays"):
        import_weights(path)
