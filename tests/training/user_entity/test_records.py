"""Which entities of a file count as sensitive, and what the statement says of it."""

import json

import pytest

from discreet.accounting.receipts import add_statements
from discreet.errors import InputError, InvalidValue
from discreet.models.vocabulary import Vocabulary
from discreet.training.user_entity.records import read_users
from discreet.training.user_entity.run import UserEntityRun
from discreet.training.user_entity.settings import (
    NetworkSettings,
    Records,
    RuleOptions,
    RunSettings,
)

WORDS = Vocabulary(["he", "has"])
TAGS, MARKS = {"tags": "tags"}, {"entities": "entities"}


@pytest.fixture
def notes(tmp_path):
    """Each user has a disease; the list has one, too."""
    marks = [{"start": 2, "end": 3, "category": "disease", "id": "d"}]
    row = {"tokens": ["he", "has", "leprosy"], "tags": ["O", "O", "B-DISEASE"], "entities": marks}
    lines = [json.dumps({"user": f"u{number}"} | row) + "\n" for number in range(3)]
    (tmp_path / "notes.jsonl").write_text("".join(lines))
    (tmp_path / "list.txt").write_text("leprosy\tdisease\nAnna\tperson\n")
    (tmp_path / "words.txt").write_text("he\nhas\n")
    return tmp_path


def records(notes, source, categories=None):
    given = {"gazetteer": notes / "list.txt"} if source == "list" else source
    return Records(tokens="tokens", categories=categories, **given)


def cells(notes, source, categories):
    users = read_users(str(notes / "notes.jsonl"), records(notes, source, categories), WORDS)
    return [len(user.cells) for user in users]


@pytest.mark.parametrize("source", [TAGS, MARKS, "list"])
def test_entities_of_kinds_that_nobody_named_are_refused(notes, source):
    with pytest.raises(InputError, match="nobody named") as refused:
        cells(notes, source, None)
    message = str(refused.value).lower()
    assert "--categories all" in message
    assert "leprosy" not in message
    assert "disease" not in message
    assert cells(notes, source, "disease") == cells(notes, source, "all") == [1, 1, 1]
    assert cells(notes, source, "person") == [0, 0, 0], "only persons were asked for"


def test_a_label_that_is_no_name_counts_under_no_name(notes):
    path = notes / "notes.jsonl"
    path.write_text(path.read_text().replace("B-DISEASE", "B-Anna Roe"))
    with pytest.raises(InputError, match="not a short name") as refused:
        cells(notes, TAGS, "all")
    assert "Roe" not in str(refused.value)


def run(notes, source, categories, **more):
    network = NetworkSettings(vocabulary=notes / "words.txt", embedding=2, hidden=2, **more)
    return UserEntityRun(
        str(notes / "notes.jsonl"),
        notes / f"out {categories}",
        rules=RuleOptions(noise=9.0, user_rate=1.0, entity_rate=1.0, population=3),
        records=records(notes, source, categories),
        network=network,
        run=RunSettings(steps=1, again=True),
    )


@pytest.mark.parametrize(
    ("source", "categories", "said"),
    [
        (TAGS, "org,disease", "entities of the kinds disease, org, by the tags of the data"),
        (MARKS, "all", "entities of all kinds, by the marks in the data"),
        ("list", "disease", "entities of the kinds disease, by a list"),
    ],
)
def test_the_statement_says_what_counts_as_an_entity(notes, source, categories, said):
    assert said in run(notes, source, categories).trainer.statement(1).scope


def test_what_was_spent_on_entities_of_other_kinds_is_not_added(notes):
    run(notes, TAGS, "all").train()
    run(notes, TAGS, "all", start=notes / "out all")  # of the same
    with pytest.raises(InvalidValue, match="scope"):
        run(notes, TAGS, "person", start=notes / "out all")
    kinds = ("all", "all", "person")
    said = [run(notes, TAGS, kind).trainer.statement(1) for kind in kinds]
    sums = add_statements(dict(zip("abc", said, strict=True)))
    assert [together.of for together in sums] == [("a", "b"), ("c",)]
