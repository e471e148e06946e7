"""What a model says of a file: one shape for vectors and texts, and nothing taken in silence."""

import csv
import io
import json

import numpy as np
import pytest

from command import called, sanitised
from discreet.encoders.layers import Layers
from discreet.errors import InputError, InvalidValue, NotFound, VerificationFailed
from discreet.evaluation.predictions import predict_file
from discreet.mechanisms.label import RandomizedResponse
from discreet.models.task import ReleasedAs, TaskModel
from discreet.receipt import PARTS_RECEIPT, Receipt
from discreet.release.vectors import VectorSet, write_vectors
from discreet.staging import Digest
from discreet.text.labelled import Labelled
from discreet.training.texts.bag_of_words import fit_bag_of_words

MADE = ReleasedAs("purkayastha", 4.0, 2, "e" * 64, "m" * 64)
STATEMENT = RandomizedResponse(2, epsilon=1.0).statement
ABOUT = {
    "mechanism": {"name": MADE.mechanism, "epsilon": MADE.epsilon, "dimension": MADE.dimension},
    "encoder": {"fingerprint": MADE.encoder},
    "map": {"fingerprint": MADE.map},
    "label": {
        "mechanism": "none",
        "labels": ["no", "yes"],
        "epsilon": None,
        "transition": [[1.0, 0.0], [0.0, 1.0]],
    },
}
VECTORS = np.array([[1, 0.5], [-1, 0.25], [0.5, 1], [-2, 1]] * 3, np.float32)
LABELS = ["yes", "no", "yes", "yes"] * 3


def layer(*rows) -> Layers:
    weight = np.array(rows, np.float32)
    return ((weight, np.zeros(weight.shape[1], np.float32)),)


@pytest.fixture
def folder(tmp_path):
    """A model that reads the sign of the first coordinate, and vectors in a folder of parts."""
    head = layer([-1.0, 1.0], [0.0, 0.0])
    model = TaskModel(layer([1.0, 0.0], [0.0, 1.0]), head, ("no", "yes"), False, MADE, {})
    model.save(tmp_path / "m.safetensors")
    parts = tmp_path / "parts"
    parts.mkdir()
    for number, part in enumerate((slice(0, 5), slice(5, 12))):
        half = VectorSet(VECTORS[part], labels=LABELS[part])
        write_vectors(parts / f"part-00000{number}.parquet", half)
    digests = {part.name: Digest.of(part) for part in sorted(parts.iterdir())}
    Receipt(STATEMENT, ABOUT).of_output(digests).write(parts / PARTS_RECEIPT)
    return tmp_path


@pytest.fixture
def texts(tmp_path):
    """A bag of words, and texts for it in JSON lines."""
    rows = Labelled(["good tea", "bad tea", "good cup", "bad cup"], None, list("1010"))
    fit_bag_of_words(rows).save(tmp_path / "m.safetensors")
    lines = [{"text": t, "label": n} for t, n in (("a good day", 1), ("so bad", 0), ("bad", 1))]
    (tmp_path / "new.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_vectors_of_a_folder(folder):
    found = predict_file(folder / "parts", folder / "m.safetensors")
    assert found.columns["row"] == list(range(1, 13))
    assert found.columns["prediction"] == ["yes", "no", "yes", "no"] * 3
    assert found.scores["accuracy"] == 0.75
    assert found.receipt.statement == STATEMENT
    (folder / "parts" / "part-000001.parquet").unlink()
    with pytest.raises(VerificationFailed):
        predict_file(folder / "parts", folder / "m.safetensors")


def test_a_model_is_trained_on_vectors_of_a_folder(folder):
    pytest.importorskip("torch")
    from discreet.training.vectors.files import task_from_release
    from discreet.training.vectors.settings import TaskSettings

    settings = TaskSettings(epochs=1, hidden=4, device="cpu")
    made = task_from_release(folder / "parts", folder / "new.safetensors", settings)
    assert made.about["rows"] == 12
    assert made.released == MADE


def test_vectors_and_texts_give_the_same_columns(folder):
    vectors = predict_file(folder / "parts", folder / "m.safetensors")
    assert list(vectors.columns) == ["row", "prediction", "probability"]
    odds = np.exp(2 * np.abs(np.tanh(VECTORS[:, 0])))
    np.testing.assert_allclose(vectors.columns["probability"], odds / (1 + odds), atol=1e-5)


def test_texts_have_a_row_and_a_probability(texts):
    found = predict_file(texts / "new.jsonl", texts / "m.safetensors", label_field="label")
    assert list(found.columns) == ["row", "prediction", "probability"]
    assert found.columns["row"] == [1, 2, 3]
    assert found.columns["prediction"] == ["1", "0", "0"]
    assert all(0.5 < chance < 1 for chance in found.columns["probability"])
    rows = Labelled(["one", "two", "three"], None, list("123"))
    fit_bag_of_words(rows, regression=True).save(texts / "numbers.safetensors")
    numbers = predict_file(texts / "new.jsonl", texts / "numbers.safetensors")
    assert list(numbers.columns) == ["row", "prediction"]


@pytest.mark.parametrize("name", ["label_field", "text_field", "pair_field", "format", "base"])
def test_options_of_texts_are_refused_with_vectors(folder, name):
    flag = "--" + name.replace("_", "-")
    with pytest.raises(InvalidValue, match=f"{flag} is for texts, .* vectors.*; leave it out"):
        predict_file(folder / "parts", folder / "m.safetensors", **{name: "nonsense"})


def test_options_of_other_models_are_refused(folder, tmp_path):
    with pytest.raises(InvalidValue, match="--score-field is for a model of scores"):
        predict_file(folder / "parts", folder / "m.safetensors", score_field="nonsense")
    fit_bag_of_words(Labelled(["a", "b"], None, ["x", "y"])).save(tmp_path / "texts.safetensors")
    for name, match in (("score_field", "is for vectors"), ("base", "is for the folder of a run")):
        with pytest.raises(InvalidValue, match=match):
            predict_file(folder / "none.csv", tmp_path / "texts.safetensors", **{name: "nonsense"})


def test_standard_input_needs_a_format(texts):
    model, out, cache = texts / "m.safetensors", texts / "out.csv", texts / "cache"
    given = (texts / "new.jsonl").read_bytes()
    options = ("predict", "-", "--model", model, "-o", out)
    refused = called(*options, cache=cache, stdin=given)
    assert refused.code == 2
    assert "give --format" in refused.err
    assert not out.exists()
    assert called(*options, "--format", "jsonl", cache=cache, stdin=given).code == 0
    predicted = [row["prediction"] for row in csv.DictReader(io.StringIO(out.read_text()))]
    assert predicted == ["1", "0", "0"]


def test_low_scores_of_raw_text_are_not_put_down_to_the_training(texts):
    source = texts / "train.csv"
    source.write_text("text,label\n" + "good tea,1\nbad tea,0\n" * 2)
    cache, model, out = texts / "cache", texts / "trained.safetensors", texts / "out.csv"
    assert called("train", "classify", sanitised(source), "-o", model, cache=cache).code == 0
    other = texts / "raw.csv"
    other.write_text("text,label\n" + "good,0\nbad,1\n" * 2)
    options = ("--model", model, "-o", out, "--label-field", "label", "--force")
    raw = called("predict", other, *options, cache=cache).err
    assert "no receipt covers these texts" in raw
    assert "Nothing was learnt" not in raw
    covered = called("predict", sanitised(other), *options, cache=cache).err
    assert "Nothing was learnt" in covered


def test_a_folder_is_told_from_a_file_that_is_not_there(texts):
    with pytest.raises(NotFound, match="there is no file"):
        predict_file(texts / "new.jsonl", texts / "none.safetensors")
    with pytest.raises(InputError, match="is a directory; name a file"):
        predict_file(texts, texts / "m.safetensors")
    with pytest.raises(InputError, match="is a folder; name the file of a task model"):
        TaskModel.load(texts)
