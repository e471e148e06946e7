"""A task model runs without PyTorch, survives a file, and takes only vectors that fit it."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from discreet.encoders.maps import PublicMap
from discreet.errors import InputError, InvalidValue
from discreet.mechanisms.label import RandomizedResponse
from discreet.models.task import ReleasedAs, TaskModel, features
from discreet.receipt import Receipt
from discreet.release.vectors import VectorSet

MADE = ReleasedAs("purkayastha", 4.0, 3, "e" * 64, "m" * 64)


def _layers(*sizes: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    return tuple(
        (rng.standard_normal((a, b), np.float32), rng.standard_normal(b, np.float32))
        for a, b in pairwise(sizes)
    )


def _model(pairs: bool = False, labels=("no", "yes")) -> TaskModel:
    head = _layers(20 if pairs else 5, 4, len(labels or "1"), seed=1)
    return TaskModel(_layers(3, 5), head, labels, pairs, MADE, {"rows": 7})


def _rows(count: int = 6, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, 3)).astype(np.float32)


def test_probabilities_of_pairs_by_hand():
    model, data = _model(pairs=True), VectorSet(_rows(), _rows(seed=3))
    (restore, lift), *_ = model.restore
    u, v = (np.tanh(side @ restore + lift) for side in (data.vectors, data.second))
    seen = np.concatenate([u, v, np.abs(u - v), u * v], axis=1)
    (w1, b1), (w2, b2) = model.head
    scores = np.exp(np.tanh(seen @ w1 + b1) @ w2 + b2)
    expected = scores / scores.sum(axis=1, keepdims=True)
    assert np.allclose(model.probabilities(data), expected, atol=1e-5)
    assert model.predict(data) == [("no", "yes")[i] for i in expected.argmax(axis=1)]


def test_features_of_tensors_are_those_of_arrays():
    torch = pytest.importorskip("torch")
    sides = [_rows(), _rows(seed=3)]
    tensors = features([torch.from_numpy(side) for side in sides])
    assert np.allclose(tensors.numpy(), features(sides))


@pytest.mark.parametrize("labels", [("no", "yes"), None])
def test_a_file_brings_everything_back(tmp_path, labels):
    model, data = _model(labels=labels), VectorSet(_rows())
    model.save(tmp_path / "m.safetensors")
    found = TaskModel.load(tmp_path / "m.safetensors")
    assert found.predict(data) == model.predict(data)
    assert (found.labels, found.pairs, found.released, found.about) == (
        (labels, False, MADE, {"rows": 7})
    )


def test_another_kind_of_file_is_refused(tmp_path):
    PublicMap.random(4, 2).save(tmp_path / "map.safetensors")
    with pytest.raises(InputError, match="is not a task model"):
        TaskModel.load(tmp_path / "map.safetensors")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (VectorSet(_rows(), _rows()), "for single vectors; these are pairs"),
        (VectorSet(np.ones((2, 4))), "vectors of 3 dimensions; these have 4"),
    ],
)
def test_vectors_of_another_shape_are_refused(data, message):
    with pytest.raises(InvalidValue, match=message):
        _model().predict(data)


def test_scores_have_no_probabilities():
    with pytest.raises(InvalidValue, match="predicts scores"):
        _model(labels=None).probabilities(VectorSet(_rows()))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"mechanism": "planar-laplace"}, r"another mechanism .*planar-laplace, not purkayastha"),
        ({"epsilon": 5.0}, r"another epsilon .*5.0, not 4.0"),
        ({"encoder": "f" * 64}, "another encoder"),
        ({"map": "f" * 64}, "another map"),
    ],
)
def test_vectors_released_in_another_way_are_refused(other, message):
    MADE.require(replace(MADE))
    with pytest.raises(InvalidValue, match=message):
        MADE.require(replace(MADE, **other))


@pytest.mark.parametrize("receipt", [{}, {"mechanism": None}, {"mechanism": {"name": "x"}}])
def test_a_receipt_of_something_else_is_refused(receipt):
    with pytest.raises(InputError, match="not one of 'discreet embed'"):
        ReleasedAs.of(Receipt(RandomizedResponse(2, epsilon=1.0).statement, receipt))
