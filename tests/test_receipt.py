"""A receipt is written beside an output and read back as what it was."""

import json

import pytest

from discreet import Receipt
from discreet.errors import InputError, InvalidValue
from discreet.mechanisms.label import RandomizedResponse
from discreet.receipt import RECEIPT_SUFFIX, receipt_path

STATEMENT = RandomizedResponse(2, epsilon=1.0).statement
LABELS = {
    "mechanism": "randomized-response",
    "labels": ["no", "yes"],
    "epsilon": 1.0,
    "transition": [[0.75, 0.25], [0.25, 0.75]],
}


def test_what_is_read_is_what_was_written(tmp_path):
    receipt = Receipt(STATEMENT, {"mechanism": {"name": "m", "epsilon": 1.0}, "é": [1, None]})
    receipt.write(receipt_path(tmp_path / "out.csv"))
    assert Receipt.beside(tmp_path / "out.csv") == receipt
    assert Receipt.beside(str(tmp_path / "out.csv")) == receipt
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv" + RECEIPT_SUFFIX]
    assert Receipt.beside(tmp_path / "other.csv") is None


def test_what_stands_in_it():
    values = Receipt(STATEMENT, {"counts": {"words": 3}}).with_section("input", {"format": "csv"})
    written = json.loads(values.to_json())
    assert list(written) == ["discreet", "statement", "in_words", "counts", "input"]
    assert written["in_words"] == STATEMENT.lines()
    assert (values.counts["words"], values.input["format"]) == (3, "csv")
    assert values.mechanism == values.encoder == values.map == {}
    assert values.labels is None


def test_how_labels_were_released():
    labels = Receipt(STATEMENT, {"label": LABELS}).labels
    assert (labels.labels, labels.epsilon) == (("no", "yes"), 1.0)
    assert labels.transition[1] == (0.25, 0.75)
    assert Receipt(STATEMENT, {"label": None}).labels is None
    with pytest.raises(InputError, match="how its labels"):
        _ = Receipt(STATEMENT, {"label": {"mechanism": "m"}}).labels


@pytest.mark.parametrize(
    "text", ["[1", "[1]", "{}", '{"statement": "é"}', '{"statement": {}}', "[" * 100_000]
)
def test_a_receipt_that_is_none(tmp_path, text):
    receipt_path(tmp_path / "v.npy").write_text(text)
    with pytest.raises(InputError, match="not a receipt"):
        Receipt.beside(tmp_path / "v.npy")
    with pytest.raises(InvalidValue):
        Receipt.from_dict({})
