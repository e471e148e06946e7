"""A receipt is written beside an output and read back as what it was."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from command import sanitised
from discreet import Receipt, __version__
from discreet.errors import InputError, InvalidValue, NotFound, VerificationFailed
from discreet.mechanisms.label import RandomizedResponse
from discreet.receipt import RECEIPT_SUFFIX, receipt_path, sanitised_before, verified
from discreet.staging import Digest

STATEMENT = RandomizedResponse(2, epsilon=1.0).statement
LABELS = {
    "mechanism": "randomized-response",
    "labels": ["no", "yes"],
    "epsilon": 1.0,
    "transition": [[0.75, 0.25], [0.25, 0.75]],
}


def test_what_is_read_is_what_was_written(tmp_path):
    output = tmp_path / "out.csv"
    output.write_text("released")
    about = {"mechanism": {"name": "m", "epsilon": 1.0}, "é": [1, None]}
    receipt = Receipt(STATEMENT, about).of_output(Digest.of(output))
    receipt.write(receipt_path(output))
    assert Receipt.beside(output) == Receipt.beside(str(output)) == receipt
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "out.csv",
        "out.csv" + RECEIPT_SUFFIX,
    ]
    assert Receipt.beside(tmp_path / "other.csv") is None
    assert verified(output) == verified(receipt_path(output)) == (output, receipt)


def _sealed(folder):
    output = folder / "out.csv"
    output.write_text("released")
    Receipt(STATEMENT).of_output(Digest.of(output)).write(receipt_path(output))
    return output


def _without_digest(output):
    Receipt(STATEMENT).write(receipt_path(output))


def _of_nothing(output):
    Receipt(STATEMENT).of_output({}).write(receipt_path(output))


@pytest.mark.parametrize(
    "change",
    [
        lambda output: output.write_text("Released"),
        lambda output: output.write_text("released "),
        _without_digest,
        _of_nothing,
    ],
)
def test_a_file_that_is_not_the_one_of_its_receipt_is_refused(tmp_path, change):
    output = _sealed(tmp_path)
    change(output)
    for read in (Receipt.beside, verified):
        with pytest.raises(VerificationFailed, match="release it again") as caught:
            read(output)
        assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("said", "asked", "before"),
    [
        (None, ["text"], True),  # txt
        ("text", ["text"], True),
        ("text", ["tex"], False),
        (["title", "body"], ["body", "notes"], True),
        (["title", "body"], ["notes"], False),
    ],
)
def test_text_that_was_released_before_is_known_by_its_receipt(tmp_path, said, asked, before):
    output = tmp_path / "out.csv"
    output.write_text("released")
    assert not sanitised_before(output, asked)
    sanitised(output, said)
    assert sanitised_before(output, asked) == before
    output.write_text("something else")
    assert not sanitised_before(output, asked)


def test_vectors_and_damaged_receipts_do_not_tell_of_released_text(tmp_path):
    output = _sealed(tmp_path)
    assert not sanitised_before(output, ["text"])
    receipt_path(output).write_text("[]")
    assert not sanitised_before(output, ["text"])


def test_the_receipt_of_a_folder_is_for_all_its_files(tmp_path):
    files = {name: tmp_path / name for name in ("model", "words")}
    for path in files.values():
        path.write_text(path.name)
    digests = {name: Digest.of(path) for name, path in files.items()}
    receipt = Receipt(STATEMENT).of_output(digests)
    receipt.write(receipt_path(tmp_path))
    (tmp_path / "notes").write_text("of no matter")
    assert verified(tmp_path) == verified(tmp_path / "privacy.json") == (tmp_path, receipt)
    files["words"].unlink()
    with pytest.raises(VerificationFailed, match="words is not what its receipt was written for"):
        verified(tmp_path)


def test_a_receipt_names_no_file_outside_its_folder(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "other").write_text("x")
    digest = {"../other": Digest.of(tmp_path / "other")}
    Receipt(STATEMENT).of_output(digest).write(tmp_path / "run" / "privacy.json")
    with pytest.raises(VerificationFailed):
        verified(tmp_path / "run")


def test_no_receipt_is_not_a_false_one(tmp_path):
    (tmp_path / "out.csv").write_text("x")
    for path in ("out.csv", "absent.csv"):
        with pytest.raises(NotFound):
            verified(tmp_path / path)


def test_what_stands_in_it():
    values = Receipt(STATEMENT, {"counts": {"words": 3}}).with_section("input", {"format": "csv"})
    written = json.loads(values.to_json())
    assert list(written) == ["discreet", "statement", "in_words", "counts", "input"]
    assert written["discreet"] == __version__
    sealed = values.of_output(Digest("0" * 64, 5)).to_dict()
    assert sealed["output"] == {"sha256": "0" * 64, "bytes": 5}
    assert abs(datetime.now(UTC) - datetime.fromisoformat(sealed["written"])) < timedelta(minutes=5)
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
