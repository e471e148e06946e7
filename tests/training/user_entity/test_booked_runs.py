"""Runs that are in a ledger: it knows of every step, and one charge gives one model."""

import json
import shutil

import pytest

from discreet.errors import BudgetExceeded, InvalidValue
from discreet.ledger import Ledger
from discreet.ledger.dataset import DatasetLedger
from discreet.receipt import Receipt
from discreet.training.user_entity import settings
from discreet.training.user_entity.run import UserEntityRun


@pytest.fixture
def place(tmp_path):
    row = {"tokens": ["tea", "of", "it"], "tags": ["O", "O", "B-LOC"]}
    lines = [json.dumps(row | {"user": f"u{number}"}) + "\n" for number in range(3)]
    (tmp_path / "notes.jsonl").write_text("".join(lines))
    (tmp_path / "words.txt").write_text("tea\nof\n")
    return tmp_path


@pytest.fixture
def book(place):
    with Ledger.open(place / "l.db") as ledger:
        yield ledger


def booked(book, dataset="notes"):
    return DatasetLedger(book, dataset, "train user-entity")


def prepared(place, steps, name="run", *, resume=False):
    sizes = {"vocabulary": place / "words.txt", "embedding": 2, "hidden": 2}
    return UserEntityRun(
        str(place / "notes.jsonl"),
        place / name,
        rules=settings.RuleOptions(noise=20.0, user_rate=1.0, entity_rate=1.0, population=3),
        records=settings.Records(tokens="tokens", tags="tags"),
        network=settings.NetworkSettings(**sizes),
        run=settings.RunSettings(steps=steps, resume=resume, checkpoint_every=1),
    )


def files(run):
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}


def charged(run):
    return json.loads((run / "state" / "ledger.json").read_text())["charged"]


def test_a_booked_run_goes_on_in_its_ledger_only(place, book):
    prepared(place, 1).train(None, booked(book))
    before = files(place / "run")
    for ledger in (None, booked(book, "others")):
        with pytest.raises(InvalidValue, match="the same --ledger and --dataset"):
            prepared(place, 2, resume=True).train(None, ledger)
    assert files(place / "run") == before
    assert charged(place / "run") == 1
    assert [entry.state for entry in book.entries()] == ["committed"]
    _, receipt = prepared(place, 2, resume=True).train(None, booked(book))
    assert receipt.about["steps"]["charged"] == 2
    assert book.verify([place / "run" / "privacy.json"]) == []


def test_runs_on_the_same_users_are_in_one_sum(place, book):
    prepared(place, 1).train(None, booked(book))
    with pytest.raises(BudgetExceeded, match="one --ledger and --dataset"):
        prepared(place, 1, "other").train(None, booked(book, "others"))
    prepared(place, 1, "other").train(None, booked(book))


def test_a_copied_run_makes_no_second_model_for_one_charge(place, book):
    prepared(place, 1).train(None, booked(book))
    shutil.copytree(place / "run", place / "copy")
    prepared(place, 2, resume=True).train(None, booked(book))
    before = files(place / "copy")
    with pytest.raises(BudgetExceeded, match="nothing more can be done for that charge"):
        prepared(place, 2, "copy", resume=True).train(None, booked(book))
    assert files(place / "copy") == before
    assert charged(place / "copy") == 1, "refused before a step"
    prepared(place, 3, "copy", resume=True).train(None, booked(book))  # which is charged


def test_of_two_copies_at_once_the_ledger_takes_one_and_the_other_is_not_written(place, book):
    prepared(place, 1).train(None, booked(book))
    shutil.copytree(place / "run", place / "copy")
    before = files(place / "run")

    def meanwhile(done, total):
        if done == total:
            prepared(place, 2, "copy", resume=True).train(None, booked(book))

    with pytest.raises(InvalidValue, match="committed already"):
        prepared(place, 2, resume=True).train(meanwhile, booked(book))
    assert files(place / "run") == before, "the model, and its receipt, of one step"
    assert Receipt.beside(place / "copy").about["steps"]["made"] == 2
    assert book.verify([place / name / "privacy.json" for name in ("run", "copy")]) == []
