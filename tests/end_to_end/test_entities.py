"""``discreet entities`` as a person runs it."""

import gzip
import json
import os

import pytest

from command import MARKER, called, discreet

ROWS = [
    {
        "user": "u1",
        "tokens": ["Ada", "Lovelace", "saw", MARKER],
        "tags": ["B-PER", "I-PER", "O", "B-LOC"],
    },
    {"user": "u2", "tokens": ["nothing", "here"], "tags": ["O", "O"]},
    {
        "user": "u2",
        "tokens": ["ADA", "LOVELACE", "'s", "Acme"],
        "tags": ["B-PER", "I-PER", "O", "B-ORG"],
    },
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "list.txt").write_text(f"acme\torg\n{MARKER}\tgpe\n")
    return tmp_path


def pipeline(place):
    import spacy

    blank = spacy.blank("en")
    blank.add_pipe("entity_ruler").add_patterns(
        [
            {"label": "PERSON", "pattern": [{"LOWER": "ada"}, {"LOWER": "lovelace"}]},
            {"label": "GPE", "pattern": [{"LOWER": MARKER}]},
        ]
    )
    blank.to_disk(place / "pipeline")
    return "pipeline"


def test_labels_become_entities_and_only_counts_are_said(place):
    done = discreet("entities", "in.jsonl", "-o", "out.jsonl", "--labels", cache=place)
    assert done.code == 0, done.err
    assert done.out == b""
    assert MARKER not in done.err
    assert "lovelace" not in done.err.lower()
    assert "2 rows of 3 hold 4 mentions of 3 different entities" in done.err
    assert "as sensitive as the input" in done.err
    rows = [json.loads(line) for line in (place / "out.jsonl").read_text().splitlines()]
    assert [{k: v for k, v in row.items() if k != "entities"} for row in rows] == ROWS
    assert [[(e["start"], e["end"], e["category"]) for e in row["entities"]] for row in rows] == [
        [(0, 2, "person"), (3, 4, "loc")],
        [],
        [(0, 2, "person"), (3, 4, "org")],
    ]
    assert rows[0]["entities"][0]["id"] == rows[2]["entities"][0]["id"]
    assert sorted(os.listdir(place)) == ["in.jsonl", "list.txt", "out.jsonl"]


def test_standard_streams_gzip_and_json(place):
    text = ("\n".join(" ".join(row["tokens"]) for row in ROWS) + "\n").encode()
    done = discreet("entities", "-", "-o", "-", "--gazetteer", "list.txt", cache=place, stdin=text)
    assert done.code == 0, done.err
    first = json.loads(done.lines[0])
    assert [(e["start"], e["end"], e["category"]) for e in first["entities"]] == [
        (17, 17 + len(MARKER), "gpe")
    ]
    assert "Written" not in done.err
    done = called(
        "entities",
        "in.jsonl",
        "-o",
        "out.jsonl.gz",
        "--gazetteer",
        "list.txt",
        "--tokens-field",
        "tokens",
        "--json",
        cache=place,
    )
    assert json.loads(done.out)["mentions"] == {"gpe": 1, "org": 1}
    with gzip.open(place / "out.jsonl.gz", "rt") as file:
        assert [len(json.loads(line)["entities"]) for line in file] == [1, 0, 1]


def test_agreement_with_the_tags(place):
    model = pipeline(place)
    done = called("entities", "in.jsonl", "--evaluate", "--spacy", model, cache=place)
    assert done.code == 0, done.err
    table = {line.split()[0]: line.split()[1:] for line in done.lines[2:-1]}
    assert table["person"] == ["2", "2", "1.000", "1.000", "1.000"]
    assert table["loc"] == ["1", "1", "1.000", "1.000", "1.000"]
    assert table["org"] == ["1", "0", "0.000", "0.000", "0.000"]
    assert "75.0% of the labelled entities" in done.lines[-1]
    done = called("entities", "in.jsonl", "--evaluate", "--spacy", model, "--json", cache=place)
    values = json.loads(done.out)
    assert values["agreement"]["all"]["recall"] == 0.75
    assert values["covered"] == 0.75


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.jsonl", "--labels"], "give --output, or --evaluate"),
        (["in.jsonl", "-o", "out.jsonl"], "name a source"),
        (["in.jsonl", "--labels", "--evaluate"], "leave out --labels"),
        (
            ["in.jsonl", "-o", "out.jsonl", "--labels", "--least-score", "0.5"],
            "belongs to --presidio",
        ),
        (["in.jsonl", "-o", "in.jsonl", "--labels", "--force"], "is the input itself"),
        (["in.jsonl", "-o", "list.txt", "--labels"], "would be txt"),
        (["in.jsonl", "-o", "there.jsonl", "--labels"], "exists already"),
        (["in.jsonl", "-o", "no/out.jsonl", "--labels"], "directory that does not exist"),
        (["missing.jsonl", "-o", "out.jsonl", "--labels"], "does not exist"),
        (
            ["in.jsonl", "-o", "out.jsonl", "--labels", "--tags-field", "user"],
            "line 1 of in.jsonl has no list",
        ),
        (["bad.jsonl", "-o", "out.jsonl", "--labels"], "line 4 of bad.jsonl has a tag"),
        (["in.jsonl", "-o", "out.jsonl", "--gazetteer", "bad.txt"], "line 2 of bad.txt"),
        (["in.jsonl", "-o", "out.jsonl", "--gazetteer", "list.txt"], "has no field text"),
        (["in.jsonl", "-o", "out.jsonl", "--spacy", "no_such"], "no installed spaCy pipeline"),
        (
            ["in.jsonl", "-o", "out.jsonl", "--gazetteer", "list.txt", "--categories", "gpe,date"],
            "no source given here finds date",
        ),
        (["in.jsonl", "-o", "out.jsonl", "--labels", "--categories", "A B"], "a category is"),
    ],
)
def test_mistakes(place, arguments, message):
    (place / "there.jsonl").write_text("")
    (place / "bad.txt").write_text(f"ok\n{MARKER}\ta\tb\n")
    bad = {"tokens": [MARKER], "tags": [MARKER]}
    (place / "bad.jsonl").write_text((place / "in.jsonl").read_text() + json.dumps(bad) + "\n")
    before = sorted(os.listdir(place))
    done = called("entities", *arguments, cache=place)
    assert done.code == 2
    assert message in done.err
    assert MARKER not in done.err
    assert done.out == b""
    assert sorted(os.listdir(place)) == before
