"""Files of arrays: what was written is read, and nothing else is taken for it."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from discreet.errors import InputError, NotFound, OutputError
from discreet.files import refuse_existing
from discreet.tensors import kind_of, load_tensors, save_tensors

ARRAYS = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([7])}


def test_arrays_and_description_come_back(tmp_path):
    path = tmp_path / "new" / "x.safetensors"
    turned = {"a": ARRAYS["a"].T, "b": ARRAYS["b"]}  # not contiguous
    save_tensors(path, "public map", turned, {"made": "ä", "rows": 3})
    arrays, about = load_tensors(path, "public map")
    assert arrays.keys() == turned.keys()
    for name, array in turned.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype
    assert (about["made"], about["rows"]) == ("ä", 3)
    assert kind_of(path) == "public map"


def test_another_kind_is_refused(tmp_path):
    save_tensors(tmp_path / "x", "task model", ARRAYS, {})
    with pytest.raises(InputError, match="is not a public map"):
        load_tensors(tmp_path / "x", "public map")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: path.write_bytes(b""), "is not a file that discreet wrote"),
        (
            lambda path: path.write_bytes(b"\x80\x04pickle" * 20),
            "is not a file that discreet wrote",
        ),
        (lambda path: save_file(ARRAYS, path), "is not a"),
        (lambda path: save_file(ARRAYS, path, {"discreet": "{"}), "is not a file that"),
        (lambda path: save_file(ARRAYS, path, {"discreet": "[]"}), "is not a"),
        (lambda path: _cut(path), "is not a file that discreet wrote"),
    ],
    ids=["empty", "garbage", "a stranger's", "bad JSON", "not an object", "cut short"],
)
def test_what_is_not_ours(tmp_path, write, message):
    path = tmp_path / "x.safetensors"
    write(path)
    with pytest.raises(InputError, match=message):
        load_tensors(path, "public map")
    assert kind_of(path) in (None, "public map")


def _cut(path: Path) -> None:
    save_tensors(path, "public map", ARRAYS, {})
    path.write_bytes(path.read_bytes()[:-4])


def test_a_missing_file(tmp_path):
    with pytest.raises(NotFound, match="there is no file"):
        load_tensors(tmp_path / "x", "public map")
    assert kind_of(tmp_path / "x") is None


def test_what_exists_is_kept_unless_forced(tmp_path):
    path = tmp_path / "x"
    path.write_text("precious")
    with pytest.raises(OutputError, match="--force"):
        save_tensors(path, "public map", ARRAYS, {})
    assert path.read_text() == "precious"
    refuse_existing(path, force=True)
    save_tensors(path, "public map", ARRAYS, {}, force=True)
    assert kind_of(path) == "public map"


def test_a_failure_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        save_tensors(tmp_path / "x", "public map", {"a": np.array([object()])}, {"bad": object()})
    assert list(tmp_path.iterdir()) == []
