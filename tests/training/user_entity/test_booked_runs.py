"""Runs that are in a ledger: it knows of every step, and one charge gives one model."""

import json
import shutil
import sys
from unittest.mock import Mock

import pytest

from crash_points import crashes
from discreet.errors import BudgetExceeded, InputError, InvalidValue
from discreet.ledger import Ledger
from discreet.ledger.dataset import DatasetLedger
from discreet.receipt import Receipt
from discreet.training.user_entity import run as run_module
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


class Stopped(BaseException):
    """As a process is."""


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and locks of files")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_model_that_was_paid_for_is_written_wherever_the_run_is_stopped(place, monkeypatch):
    """Also between the commit and the last renaming; and it is the model that was made then."""
    folder = place / "all"
    folder.mkdir()
    for name in ("notes.jsonl", "words.txt"):
        (place / name).rename(folder / name)

    def train(at, *, resume=True):
        with Ledger.open(at / "l.db", key=bytes(32)) as ledger:
            return prepared(at, 1, resume=resume).train(None, booked(ledger))

    with monkeypatch.context() as patched:
        patched.setattr(UserEntityRun, "_write", Mock(side_effect=Stopped))
        with pytest.raises(Stopped):
            train(folder, resume=False)
    states, models = set(), set()
    for number, at in crashes(folder, train):
        with Ledger.open(at / "l.db", key=bytes(32)) as ledger:
            (entry,) = ledger.entries()
        whole = Receipt.beside(at / "run") is not None
        states.add((entry.state, whole))
        if number % (2 if entry.state == "committed" else 12):
            continue  # each takes a while
        if whole:
            with pytest.raises(BudgetExceeded, match="nothing more can be done for that charge"):
                train(at)
        else:
            outcome, receipt = train(at)
            assert (outcome.steps, outcome.charged, receipt.about["ledger"]["entry"]) == (
                *(1, 1),
                entry.id,
            )
        with Ledger.open(at / "l.db", key=bytes(32)) as ledger:
            (entry,) = ledger.entries()
            assert ledger.verify([at / "run" / "privacy.json"]) == []
        assert sorted(files(at / "run")) == [
            *("curve.json", "model.safetensors", "privacy.json", "vocabulary.txt")
        ]
        models.add(files(at / "run")["model.safetensors"])
    assert states == {("reserved", False), ("committed", False), ("committed", True)}
    assert len(models) == 1


def test_what_was_made_ready_is_not_written_for_another_charge(place, book, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(run_module, "put_in_place", Mock(side_effect=Stopped))
        with pytest.raises(Stopped):
            prepared(place, 1).train(None, booked(book))
    ready = place / "run" / "state" / "ready"
    model = (ready / "model.safetensors").read_bytes()
    (ready / "model.safetensors").write_bytes(b"another one")
    with pytest.raises(InputError, match="not what its receipt was written for"):
        prepared(place, 1, resume=True).train(None, booked(book))
    (ready / "model.safetensors").write_bytes(model)
    told = json.loads((ready / "privacy.json").read_text())
    (ready / "privacy.json").write_text(json.dumps(told | {"steps": told["steps"] | {"made": 0}}))
    with pytest.raises(InvalidValue, match="committed already"):
        prepared(place, 1, resume=True).train(None, booked(book))
    assert files(place / "run") == {}
    shutil.rmtree(ready)
    with pytest.raises(BudgetExceeded, match="nothing more can be done for that charge"):
        prepared(place, 1, resume=True).train(None, booked(book))
