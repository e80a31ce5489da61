import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from anyorder.errors import UsageError
from anyorder.runs.document import read_document, write_document

TENSORS = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array(7, dtype=np.int32)}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "thing.json"
    write_document(path, "thing", {"answer": 42}, TENSORS)
    return path


def tensor_file(path):
    return next(path.parent.glob("thing-*.safetensors"))


def test_what_is_written_is_read(path):
    facts, tensors = read_document(path, "thing")
    assert facts["answer"] == 42
    for name, value in TENSORS.items():
        np.testing.assert_array_equal(tensors[name], value)
        assert tensors[name].dtype == value.dtype
        assert tensors[name].shape == value.shape


def test_equal_content_gives_equal_bytes(path, tmp_path):
    first = path.read_bytes(), tensor_file(path).read_bytes()
    write_document(path, "thing", {"answer": 42}, dict(reversed(TENSORS.items())))
    assert (path.read_bytes(), tensor_file(path).read_bytes()) == first


def test_replacing_leaves_nothing_behind(path):
    write_document(path, "thing", {}, {"a": np.zeros(3)})
    assert sorted(p.suffix for p in path.parent.iterdir()) == [".json", ".safetensors"]


def test_a_crash_before_the_json_leaves_the_old_one_whole(path, monkeypatch):
    monkeypatch.setattr("anyorder.runs.document.write_text", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_document(path, "thing", {}, {"a": np.zeros(3)})
    assert read_document(path, "thing")[0]["answer"] == 42


def spoil_by_cutting(path):
    file = tensor_file(path)
    file.write_bytes(file.read_bytes()[:-5])


def spoil_by_replacing(path):
    save_file({"other": np.zeros(2)}, tensor_file(path))


def spoil_by_removing(path):
    tensor_file(path).unlink()


def spoil_json(path):
    path.write_text(path.read_text()[:40])


def spoil_with_bytes(path):
    path.write_bytes(b"\xff\xfe\x00" * 20)


def spoil_kind(path):
    path.write_text(json.dumps({"format": 1, "kind": "soup"}))


def spoil_type(path):
    path.write_text("[1, 2]")


def spoil_format(path):
    facts = json.loads(path.read_text())
    path.write_text(json.dumps(facts | {"format": 99}))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (spoil_by_cutting, "cut short"),
        (spoil_by_replacing, "altered"),
        (spoil_by_removing, "not there"),
        (spoil_json, "not valid JSON"),
        (spoil_with_bytes, "cannot be read"),
        (spoil_kind, "no thing"),
        (spoil_type, "no thing"),
        (spoil_format, "reads up to 1: upgrade"),
    ],
)
def test_damage_is_told_in_one_sentence(path, spoil, words):
    spoil(path)
    with pytest.raises(UsageError, match=words) as caught:
        read_document(path, "thing")
    assert "\n" not in str(caught.value)
