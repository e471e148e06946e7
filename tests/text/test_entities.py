"""Entities: keys, tags, lists, recognisers, rows, agreement."""

import json
import logging
import random
import re
import socket
from pathlib import Path

import pytest

from discreet.errors import InputError, InvalidValue, MissingExtra, NotFound
from discreet.text.entities.agreement import Agreement
from discreet.text.entities.found import (
    CATEGORIES,
    Entity,
    category_of,
    chosen_categories,
    entity_id,
    entity_key,
    merged,
    trimmed,
)
from discreet.text.entities.gazetteer import Gazetteer, load_gazetteer
from discreet.text.entities.labels import BadTags, labelled, spans_of_tags
from discreet.text.entities.recognisers import (
    PACKAGED,
    PresidioEntities,
    SpacyEntities,
    load_pipeline,
)
from discreet.text.entities.rows import Fields, TextRow, read_rows
from discreet.text.entities.survey import Survey

ALL = frozenset(CATEGORIES)
SECRET = "zanzibar"


def places(entities):
    return [(e.start, e.end, e.category) for e in entities]


# -- keys ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mentions",
    [
        ["Berlin", "BERLIN", "berlin's", "Berlin\u2019s", " Berlin ", "(Berlin)", "Berlin,"],
        ["New York", "new\u00a0york", "NEW\n YORK", "New  York's", "the New York"],
        ["O'Brien", "O\u2019Brien", "O ' Brien", "o\u02bcbrien"],
        ["Jean-Luc", "Jean\u2013Luc", "jean - luc"],
        ["U.S.", "U.S", "u . s ."],
        ["Straße", "STRASSE"],
        ["\uff22onn", "Bonn"],
        ["café", "cafe\u0301"],
        ["Jones", "Jones'"],
    ],
    ids=lambda mentions: mentions[0],
)
def test_mentions_of_one_entity_have_one_key(mentions):
    assert len({entity_key(mention) for mention in mentions}) == 1
    assert len({entity_id(mention) for mention in mentions}) == 1


def test_different_entities_have_different_keys():
    names = ["Berlin", "Bern", "New York", "Newyork", "York", "Theresa", "Paris. Hilton", "U.S."]
    assert len({entity_key(name) for name in names}) == len(names)
    assert entity_key("Paris Hilton") != entity_key("Paris. Hilton")
    assert entity_key("?!") == "?!"  # nothing but marks is still something


def test_a_key_is_its_own_key():
    rng = random.Random(1)
    alphabet = "aZ é'’-–. ,()ßＡthe s\u00a0"
    for _ in range(2000):
        mention = "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 12)))
        if mention.strip():
            assert entity_key(entity_key(mention)) == entity_key(mention)


def test_categories():
    assert category_of("PER") == category_of("person") == "person"
    assert "disease" in chosen_categories(["all"]), "also what only the data knows"
    assert "disease" not in chosen_categories(None)
    assert chosen_categories(["disease", "gpe"]) == {"disease", "gpe"}
    for bad in ([], ["Two Words"], [""], ["x" * 40]):
        with pytest.raises(InvalidValue):
            chosen_categories(bad)


def test_the_first_source_names_a_place_and_overlaps_stay():
    first = [Entity(0, 4, "org", "a")]
    second = [Entity(0, 4, "gpe", "a"), Entity(2, 6, "loc", "b")]
    assert places(merged([first, second])) == [(0, 4, "org"), (2, 6, "loc")]


def test_articles_and_possessives_are_outside_a_mention():
    for text, inside in [
        ("the Hague's", "Hague"),
        ("The  Hague \u2019s", "Hague"),
        ("Theresa", "Theresa"),
        ("the", "the"),
        ("Marks", "Marks"),
    ]:
        start, end = trimmed("x" + text + "x", 1, 1 + len(text))
        assert ("x" + text)[start:end] == inside


# -- tags ------------------------------------------------------------------------------------------


def test_spans_of_tags():
    tags = ["B-PER", "I-PER", "B-PER", "O", "I-LOC", "I-ORG", "I-ORG"]
    assert spans_of_tags(tags) == [
        (0, 2, "PER"),
        (2, 3, "PER"),
        (4, 5, "LOC"),
        (5, 7, "ORG"),
    ]
    kept, left_out = labelled("abcdefg", tags, frozenset({"person"}))
    assert places(kept) == [(0, 2, "person"), (2, 3, "person")]
    assert left_out == 2


@pytest.mark.parametrize("tag", ["PER", "B", "B-", "X-PER", "", "o", "-"])
def test_bad_tags_are_refused_without_being_shown(tag):
    with pytest.raises(BadTags) as error:
        spans_of_tags(["O", tag])
    assert "PER" not in str(error.value).replace("LABEL", "")


def test_tags_and_tokens_must_be_as_many():
    with pytest.raises(BadTags, match="2 tokens but 1 tags"):
        labelled(["a", "b"], ["O"], ALL)


# -- lists -----------------------------------------------------------------------------------------

ENTRIES = ["New York", "York", "O'Brien", "U.S.", "the Hague", "a b c d", "x"]


def slow_find(keys, text):
    """Every run of words of the text whose key is listed, obviously."""
    words = list(re.finditer(r"\w+", text))
    found = [
        (first.start(), last.end())
        for i, first in enumerate(words)
        for last in words[i : i + 5]
        if entity_key(text[first.start() : last.end()]) in keys
        # An article before it and a possessive after it are no part of a mention.
        and trimmed(text, first.start(), last.end()) == (first.start(), last.end())
    ]
    return sorted(found)


def test_a_list_finds_what_the_slow_way_finds():
    keys = {entity_key(entry): "misc" for entry in ENTRIES}
    rng = random.Random(5)
    words = [
        "new",
        "YORK",
        "York's",
        "o\u2019brien",
        "O",
        "'",
        "Brien",
        "u.s.",
        "U",
        ".",
        "S",
        "the",
    ]
    words += ["Hague", "a", "b", "c", "d", "x", "other", ","]
    texts = [
        "".join(rng.choice(words) + rng.choice([" ", "  ", "", "\n"]) for _ in range(12))
        for _ in range(400)
    ]
    found = Gazetteer(keys).find(["", *texts, ""])
    assert found[0] == found[-1] == []
    for text, entities in zip(texts, found[1:-1], strict=True):
        assert [(e.start, e.end) for e in entities] == slow_find(keys, text)
    assert sum(map(len, found)) > 1000


def test_no_entity_reaches_from_one_text_into_the_next():
    assert Gazetteer({"new york": "gpe"}).find(["this is new", "york is old"]) == [[], []]


def test_a_list_from_a_file(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("Berlin\tgpe\n\nAda Lovelace\tperson\r\nThe Berlin\tgpe\nFoo\nMonday\tdate\n")
    listed, left_out = load_gazetteer(path, chosen_categories(None))
    assert (len(listed), left_out) == (3, 1)
    assert listed.categories == {"gpe", "person", "misc"}
    [found] = listed.find(["ADA  LOVELACE's Berlin, foo"])
    assert places(found) == [(0, 13, "person"), (16, 22, "gpe"), (24, 27, "misc")]
    assert found[1].id == entity_id("BERLIN")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (f"ok\n{SECRET}\ta\tb\n", "line 2 .* more than one tab"),
        (f"ok\n...\n{SECRET}\n", "line 2 .* names no entity"),
        (f"{SECRET}\tNo Such {SECRET}\n", "line 1 .* category"),
        (f"{SECRET} " * 17 + "\n", "line 1 .* more than 16 words"),
        (f"{SECRET}\tgpe\n{SECRET.upper()}'s\tloc\n", "line 2 .* another category"),
        (f"ok\n{SECRET}\0\n", "line 2 .* NUL"),
        ("x" * 5000 + "\n", "line 1 .* longer than"),
        ("", "lists no entity"),
        (f"{SECRET}\tdate\n", "lists no entity of the chosen categories"),
    ],
)
def test_bad_lines_are_named_by_their_number_only(tmp_path, lines, message):
    path = tmp_path / "list.txt"
    path.write_text(lines)
    with pytest.raises(InputError, match=message) as error:
        load_gazetteer(path, chosen_categories(None))
    assert SECRET not in str(error.value).lower()


# -- recognisers -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rules(tmp_path_factory):
    """A pipeline of rules in a directory, with components that nobody needs."""
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.add_pipe("entity_ruler").add_patterns(
        [
            {"label": "PERSON", "pattern": "Ada Lovelace"},
            {"label": "GPE", "pattern": "the Netherlands"},
            {"label": "ORG", "pattern": "Acme"},
            {"label": "CARDINAL", "pattern": "seven"},
        ]
    )
    directory = tmp_path_factory.mktemp("pipeline")
    pipeline.to_disk(directory)
    return directory


TEXT = "In the Netherlands Ada Lovelace of Acme wrote seven notes."


def test_spacy_finds_chosen_categories_only(rules):
    pipeline = load_pipeline(str(rules))
    source = SpacyEntities(pipeline, frozenset({"person", "gpe", "pii"}))
    assert source.categories == {"person", "gpe"}
    [found, nothing] = source.find([TEXT, "nobody"])
    assert nothing == []
    assert places(found) == [(7, 18, "gpe"), (19, 31, "person")]
    assert found[0].id == entity_id("Netherlands")
    assert places(SpacyEntities(pipeline, ALL).find([TEXT])[0])[-1] == (46, 51, "cardinal")


@pytest.mark.parametrize("kind", [SpacyEntities, PresidioEntities])
def test_a_pipeline_keeps_no_word_of_a_text(rules, kind):
    pipeline = load_pipeline(str(rules))
    [found] = kind(pipeline, ALL).find([f"{TEXT} Xqzoe"])
    assert found
    assert "Acme" in pipeline.vocab.strings
    assert "Xqzoe" not in pipeline.vocab.strings


def test_only_needed_components_run_and_come_back(rules):
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("tagger")
    pipeline.add_pipe("ner")
    from discreet.text.entities.recognisers import _needed_components

    assert _needed_components(pipeline) == ["ner"]
    with_rules = load_pipeline(str(rules))
    SpacyEntities(with_rules, ALL).find([TEXT])
    assert with_rules.pipe_names == ["sentencizer", "entity_ruler"]
    # Rules may ask for what other components say, so nothing is left out beside them.
    assert _needed_components(with_rules) == ["sentencizer", "entity_ruler"]


def test_pipelines_that_cannot_be_used(tmp_path, rules):
    import spacy

    with pytest.raises(NotFound, match="no installed spaCy pipeline"):
        load_pipeline("no_such_pipeline")
    with pytest.raises(InputError, match="cannot be read"):
        load_pipeline(str(tmp_path))
    with pytest.raises(InvalidValue, match="finds no entities"):
        SpacyEntities(spacy.blank("en"), ALL)
    pipeline = load_pipeline(str(rules))
    pipeline.max_length = 10
    with pytest.raises(InvalidValue, match="text 2 of this batch") as error:
        SpacyEntities(pipeline, ALL).find(["short", SECRET * 3])
    assert SECRET not in str(error.value)


def test_without_spacy_the_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtra, match=r"discreet\[entities\]"):
        load_pipeline("anything")


def test_presidio_finds_identifiers_offline_and_says_nothing(rules, monkeypatch, caplog, capfd):
    def refuse(*_arguments, **_options):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    source = PresidioEntities(load_pipeline(str(rules)), ALL)
    assert source.categories == {"person", "loc", "org", "pii"}
    text = TEXT + " Write to ada@example.com or call (212) 555-0173."
    with caplog.at_level(logging.DEBUG):
        [found] = source.find([text])
    seen = {(text[e.start : e.end], e.category) for e in found}
    assert {
        ("Netherlands", "loc"),
        ("Ada Lovelace", "person"),
        ("Acme", "org"),
        ("ada@example.com", "pii"),
        ("(212) 555-0173", "pii"),
    } <= seen
    assert not any(e.category == "cardinal" for e in found)
    assert "Ada" not in caplog.text
    assert capfd.readouterr() == ("", "")
    only_pii = PresidioEntities(load_pipeline(str(rules)), frozenset({"pii"}))
    assert {e.category for e in only_pii.find([text])[0]} == {"pii"}


@pytest.mark.entities
def test_the_packaged_pipeline_finds_names():
    pipeline = load_pipeline(PACKAGED)
    source = SpacyEntities(pipeline, frozenset({"person", "gpe"}))
    assert source._needed == ["ner"]
    [found] = source.find(["Angela Merkel lived in Germany when she met Barack Obama."])
    assert {(e.category, e.id) for e in found} == {
        ("person", entity_id("Angela Merkel")),
        ("gpe", entity_id("Germany")),
        ("person", entity_id("barack obama")),
    }


# -- rows ------------------------------------------------------------------------------------------


def rows_of(path, fields):
    return [row for rows, _, _ in read_rows(str(path), fields, block=2) for row in rows]


def test_a_row_is_kept_as_it_stands(tmp_path):
    path = tmp_path / "in.jsonl"
    lines = [
        '{"id": 1.00, "text": "caf\\u00e9 Bonn" }',
        '{"text":""}',
        '{ "text": "x", "n": [1e400]}',
    ]
    path.write_text("\n".join(lines) + "\n")
    rows = rows_of(path, Fields())
    out = [row.written([Entity(5, 9, "gpe", "f")] if i == 0 else []) for i, row in enumerate(rows)]
    assert out[0] == lines[0][:-2] + (
        ', "entities": [{"start": 5, "end": 9, "category": "gpe", "id": "f"}]}'
    )
    assert out[1] == '{"text":"", "entities": []}'
    assert all(json.loads(line)["entities"] is not None for line in out)


def test_other_formats_become_objects(tmp_path):
    (tmp_path / "a.txt").write_text("Bonn\nCologne\n")
    (tmp_path / "a.csv").write_text("id,text,user\n1,Bonn,u\n2,Cologne,v\n")
    for name, first in [("a.txt", {}), ("a.csv", {"id": "1", "user": "u"})]:
        rows = rows_of(tmp_path / name, Fields())
        assert [row.text for row in rows] == ["Bonn", "Cologne"]
        assert json.loads(rows[0].written([])) == {"text": "Bonn", **first, "entities": []}


def test_characters_become_tokens():
    row = TextRow(
        1, "New York -based O ' Brien", ("New", "York", "-based", "O", "'", "Brien"), None, "{}"
    )
    found = [Entity(0, 8, "gpe", "a"), Entity(10, 12, "misc", "b"), Entity(16, 25, "person", "c")]
    assert places(row.by_tokens(found)) == [(0, 2, "gpe"), (2, 3, "misc"), (3, 6, "person")]


@pytest.mark.parametrize(
    ("line", "fields", "message"),
    [
        (f"<{SECRET}>", Fields(), "line 2 .* not a JSON object"),
        ("[1]", Fields(), "line 2 .* not a JSON object"),
        (
            f'{{"other": "{SECRET}"}}',
            Fields(),
            "line 2 .* no field text; it has 1 field",
        ),
        ('{"text": 3}', Fields(), "line 2 .* not a string"),
        (f'{{"text": "{SECRET}", "entities": []}}', Fields(), "line 2 .* entities already"),
        ('{"tokens": "abc"}', Fields(tokens="tokens"), "line 2 .* no list of strings .* tokens"),
        ('{"tokens": ["a"]}', Fields(tokens="tokens", tags="tags"), "line 2 .* field tags"),
    ],
)
def test_bad_rows(tmp_path, monkeypatch, line, fields, message):
    monkeypatch.chdir(tmp_path)  # the path of the row's directory repeats its name
    path = Path("in.jsonl")
    path.write_text('{"text": "a", "tokens": ["a"], "tags": ["O"]}\n' + line + "\n")
    with pytest.raises(InputError, match=message) as error:
        rows_of(path, fields)
    assert SECRET not in str(error.value)


def test_an_empty_file_and_tokens_outside_jsonl(tmp_path):
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(InputError, match="no documents"):
        rows_of(tmp_path / "a.jsonl", Fields())
    (tmp_path / "a.txt").write_text("x\n")
    with pytest.raises(InputError, match="tokens are read from jsonl"):
        rows_of(tmp_path / "a.txt", Fields(tokens="tokens"))


# -- a survey and its agreement --------------------------------------------------------------------


def test_agreement_by_hand():
    agreement = Agreement()
    gold = [Entity(0, 2, "person", "a"), Entity(3, 4, "loc", "b"), Entity(5, 6, "misc", "c")]
    found = [
        Entity(0, 1, "person", "a"),  # half of it
        Entity(1, 2, "org", "x"),  # not a label of the data
        Entity(3, 4, "gpe", "b"),  # counted under loc
        Entity(5, 6, "date", "c"),  # a category that nothing covers
        Entity(7, 8, "loc", "d"),  # not there
    ]
    agreement.add(gold, found)
    scores = agreement.scores()
    assert set(scores) == {"person", "loc", "misc", "all"}
    assert (scores["loc"].precision, scores["loc"].recall) == (0.5, 1.0)
    assert scores["person"].f1 == 0.0
    assert (scores["misc"].found, scores["misc"].precision) == (0, 0.0)
    assert (scores["all"].labelled, scores["all"].found, scores["all"].matched) == (3, 3, 1)
    assert agreement.covered == 1.0  # every token of each lies in something found


def test_a_survey_counts_and_its_summary_holds_no_text(tmp_path):
    path = tmp_path / "in.jsonl"
    rows = [
        {"user": "u", "tokens": ["Ada", "met", SECRET], "tags": ["B-PER", "O", "B-DISEASE"]},
        {"user": "v", "tokens": ["ADA", "'s", "notes"], "tags": ["B-PER", "O", "O"]},
        {"user": "v", "tokens": ["nothing"], "tags": ["O"]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    survey = Survey([Gazetteer({"notes": "misc"})], chosen_categories(None), labels=True)
    lines = list(survey.lines(str(path), Fields(tokens="tokens", tags="tags")))
    found = [json.loads(line)["entities"] for line in lines]
    assert [[(e["start"], e["end"]) for e in row] for row in found] == [
        [(0, 1)],
        [(0, 1), (2, 3)],
        [],
    ]
    assert found[0][0]["id"] == found[1][0]["id"]
    assert survey.to_dict() == {
        "rows": 3,
        "sensitive_rows": 2,
        "entities": 2,
        "mentions": {"misc": 1, "person": 2},
        "left_out": 1,
    }
    named = Survey([], frozenset({"disease"}), labels=True)
    assert len(list(named.lines(str(path), Fields(tokens="tokens", tags="tags")))) == 3
    assert named.mentions == {"disease": 1}
