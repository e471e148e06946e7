"""Documents, as a person would protect them: a store from public text, then a release from it."""

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from command import but, called, each_text_encoded_once
from discreet.encoders.candidate_store import ARRAYS, CandidateStore
from discreet.ledger import Ledger
from discreet.tensors import load_tensors, save_tensors
from tiny_bert import MARKS, write_bert

TOPICS = {"tea": ["warm", "good", "cup"], "run": ["walk", "very", "cold"]}
WORDS = ["tea", "warm", "good", "cup", "run", "walk", "very", "cold", "the", "is", "was", "a"]
SECRET = "zanzibar"
STORE = ("--candidates", 12, "--min-sentences", 4, "--clusters", 2, "--projections", 10)


def texts(count, seed):
    """Documents of 5 to 8 sentences about one of two topics, and which."""
    rng = np.random.default_rng(seed)
    out = []
    for number in range(count):
        topic = list(TOPICS)[number % 2]
        sentences = [
            f"The {topic} is {' '.join(rng.choice(TOPICS[topic], 3))}."
            for _ in range(rng.integers(5, 9))
        ]
        out.append((" ".join(sentences), topic))
    return out


def write(path, rows):
    lines = [json.dumps({"text": text, "label": label}) for text, label in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A model, public and private documents, and a store of the public ones."""
    folder = tmp_path_factory.mktemp("documents")
    (folder / "model").mkdir()
    write_bert(folder / "model", head=False, pieces=[*MARKS, *WORDS, "."])
    write(folder / "public.jsonl", texts(40, 0))
    write(folder / "private.jsonl", texts(12, 1))
    done = called(
        *("train", "candidates", folder / "public.jsonl", "-o", folder / "store", *STORE),
        *("--encoder", folder / "model"),
        cache=folder / "cache",
    )
    assert done.code == 0, done.err
    assert "12 candidates from 35 documents" in done.err
    return folder


def embed(place, output, *arguments, source="private.jsonl", model="model"):
    return called(
        *("embed", place / source, "-o", output, "--unit", "document", "--encoder", place / model),
        *arguments,
        cache=place / "cache",
    )


def test_a_folder_of_documents(place, tmp_path):
    """Part by part, with the counts of all of them in one receipt."""
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(2):
        rows = texts(5, 2 + number)
        lines = [json.dumps({"text": text, "topic": topic}) for text, topic in rows]
        (folder / f"{number}.jsonl").write_text("\n".join(lines) + "\n")
    done = called(
        *("embed", folder, "-o", tmp_path / "out", "--unit", "document", "--workers", 1),
        *("--encoder", place / "model", "--epsilon", 10, "--candidates", place / "store"),
        *("--keep", "topic"),
        cache=place / "cache",
    )
    assert done.code == 0, done.err
    receipt = json.loads((tmp_path / "out" / "_privacy.json").read_text())
    assert receipt["counts"]["documents"] == 10
    assert receipt["engine"]["parts"] == 2
    table = pq.read_table(tmp_path / "out")
    assert table.num_rows == 10
    assert set(table.column("topic").to_pylist()) == {"tea", "run"}
    assert called("verify", tmp_path / "out", cache=place / "cache").code == 0
    single = embed(
        place, tmp_path / "one.parquet", "--epsilon", 10, "--candidates", place / "store"
    )
    assert single.code == 0, single.err
    alone = json.loads((tmp_path / "one.parquet.privacy.json").read_text())
    for same in ("statement", "mechanism"):
        without = {k: v for k, v in receipt[same].items() if k != "public"}
        assert without == {k: v for k, v in alone[same].items() if k != "public"}


@pytest.mark.parametrize("unit", ["document", "sentence"])
def test_a_folder_costs_what_it_costs_as_a_file(place, tmp_path, unit):
    (tmp_path / "in").mkdir()
    rows = [{"text": text, "other": text} for text, _ in texts(4, 3)]
    (tmp_path / "in" / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = {
        "document": ("-e", 10, "--candidates", place / "store"),
        "sentence": ("-e", 10, "--pair-field", "other"),
    }[unit]

    def release(source, output, *more):
        return called(
            *("embed", source, "-o", tmp_path / output, "--unit", unit, "--dataset", output),
            *("--encoder", place / "model", "--ledger", tmp_path / "l.db", *given, *more),
            cache=place / "cache",
        )

    both = ((tmp_path / "in" / "a.jsonl", "one.parquet"), (tmp_path / "in", "folder"))
    for (source, output), more in zip(both, ((), ("--workers", 1)), strict=True):
        done = release(source, output, "--again", "charge", *more)
        assert done.code == 0, done.err
    with Ledger.open(tmp_path / "l.db") as ledger:
        (one,), (folder,) = (list(ledger.entries(name)) for _, name in both)
        assert ledger.verify([tmp_path / name for _, name in both]) == []
    assert (one.state, one.amount, one.units) == (folder.state, folder.amount, folder.units)
    assert one.statement.unit == folder.statement.unit == "document"
    assert one.amount.nano > 0


@pytest.mark.parametrize(
    "mechanism", [None, "deep-candidate", "sentence-votes", "learned-votes", "truncation"]
)
def test_from_public_documents_to_a_release(place, tmp_path, mechanism):
    out = tmp_path / "out.parquet"
    named = () if mechanism is None else ("--mechanism", mechanism)
    done = embed(place, out, *named, "--epsilon", 10, "--candidates", place / "store")
    assert done.code == 0, done.err
    mechanism = mechanism or "sentence-votes"
    assert f"with {mechanism}, encoder" in done.err.replace("\n", " ")
    store = CandidateStore.load(place / "store")
    released = np.stack(pq.read_table(out).column("vector").to_numpy())
    assert released.shape == (12, 16)
    public = {
        "deep-candidate": store.candidates,
        "sentence-votes": store.centroids_for(10),
        "learned-votes": store.voters_for(10).choices,
    }.get(mechanism)
    if public is not None:
        assert all((row == public).all(axis=1).any() for row in released)
    receipt = json.loads((tmp_path / "out.parquet.privacy.json").read_text())
    statement = receipt["statement"]
    assert (statement["unit"], statement["adjacency"]) == ("sentence", "replace")
    assert (statement["notion"], statement["epsilon"]) == ("pure", 10)
    assert "the number of sentences of each document" in statement["public"]


def test_soft_votes_need_a_store_made_with_labels(place, tmp_path):
    out = tmp_path / "out.parquet"
    soft = ("--mechanism", "soft-votes", "--epsilon", 10, "--candidates")
    done = embed(place, out, *soft, place / "store")
    assert done.code == 2
    assert "this candidate store has no soft votes" in done.err
    done = called(
        *("train", "candidates", place / "public.jsonl", "-o", tmp_path / "labelled", *STORE),
        *("--encoder", place / "model", "--label-field", "label", "--no-recoder"),
        cache=place / "cache",
    )
    assert done.code == 0, done.err
    done = embed(place, out, *soft, tmp_path / "labelled", "--seed", 1)
    assert done.code == 0, done.err
    choices = CandidateStore.load(tmp_path / "labelled").soft_voters_for(10).choices
    released = np.stack(pq.read_table(out).column("vector").to_numpy())
    chosen = [int((row == choices).all(axis=1).argmax()) for row in released]
    assert (choices[chosen] == released).all()
    assert [sorted(TOPICS)[one] for one in chosen] == [topic for _, topic in texts(12, 1)]


def test_a_public_document_stands_in_for_a_private_one(place, tmp_path):
    out = tmp_path / "out.parquet"
    done = embed(
        *(place, out, "--mechanism", "deep-candidate", "--epsilon", 10),
        *("--candidates", place / "store", "--with-candidate-text"),
    )
    assert done.code == 0, done.err
    shown = pq.read_table(out).column("candidate").to_pylist()
    assert set(shown) <= {text for text, _ in texts(40, 0)}


def test_the_store_says_where_it_comes_from(place):
    about = json.loads((place / "store" / "about.json").read_text())
    assert about["candidates"] == 12
    assert about["about"]["public_documents"] == 35
    assert about["about"]["classes"] == "2 k-means clusters"
    assert len((place / "store" / "texts.jsonl").read_text().splitlines()) == 12


def test_a_known_task_makes_a_store_for_it(place, tmp_path):
    done = called(
        *("train", "candidates", place / "public.jsonl", "-o", tmp_path / "store", *STORE),
        *("--encoder", place / "model", "--label-field", "label", "--json"),
        cache=place / "cache",
    )
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert said["about"]["classes"] == "labels"
    assert said["about"]["labels"] == ["run", "tea"]
    assert said["fingerprint"] == CandidateStore.load(tmp_path / "store").fingerprint


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        (texts(20, 0), ("--candidates", 100), "100 candidates need as many public documents"),
        (texts(20, 0), ("--min-sentences", 9), "at least 9 sentences; 0 of the"),
        ([(f"Only {SECRET}", "a")] * 20, (), "no public document has 2 sentences"),
        ([("***", "a")] * 3, (), "no public document has 2 sentences"),
        (texts(20, 0), ("--label-field", "topic"), "topic"),
        (texts(20, 0), ("--text-field", "body"), "no field body"),
        (texts(20, 0), ("--validation-share", 1.5), "--validation-share"),
    ],
)
def test_bad_public_documents_are_one_sentence_and_nothing_is_written(
    place, tmp_path, rows, options, words
):
    source = write(tmp_path / "public.jsonl", rows)
    out = tmp_path / "store"
    arguments = ("train", "candidates", source, "-o", out, "--encoder", place / "model")
    done = called(*arguments, *but(STORE, *options), cache=place / "cache")
    assert done.code == 2
    assert words in done.err
    assert SECRET not in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["public.jsonl"]


def test_an_existing_store_is_kept_unless_forced(place, tmp_path):
    (tmp_path / "store").mkdir()
    arguments = ("train", "candidates", place / "public.jsonl", "-o", tmp_path / "store", *STORE)
    assert "exists already" in called(*arguments, cache=place / "cache").err
    assert "no candidate store" in called(*arguments, "--force", cache=place / "cache").err
    assert list((tmp_path / "store").iterdir()) == []


def change_arrays(name, change):
    def apply(folder):
        arrays, about = load_tensors(folder / ARRAYS, "candidate store")
        arrays[name] = change(arrays[name])
        save_tensors(folder / ARRAYS, "candidate store", arrays, about, force=True)

    return apply


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (shutil.rmtree, "no candidate store"),
        (change_arrays("candidates", lambda rows: rows[:0]), "at least one candidate"),
        (change_arrays("candidates", lambda rows: rows * np.nan), "must be finite"),
        (lambda folder: (folder / "texts.jsonl").write_text(""), "texts.jsonl"),
        (lambda folder: (folder / ARRAYS).write_bytes(b"no"), "not a file that discreet wrote"),
    ],
)
def test_a_bad_store_is_one_sentence_and_nothing_is_released(place, tmp_path, change, words):
    shutil.copytree(place / "store", tmp_path / "store")
    change(tmp_path / "store")
    out = tmp_path / "out.parquet"
    done = embed(
        *(place, out, "--mechanism", "deep-candidate", "--epsilon", 1),
        *("--candidates", tmp_path / "store"),
    )
    assert done.code == 2
    assert words in done.err
    assert not out.exists()


def test_a_store_of_another_encoder_is_refused(place, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    write_bert(other, head=False, pieces=[*MARKS, *reversed(WORDS), "."])
    out = tmp_path / "out.parquet"
    done = called(
        *("embed", place / "private.jsonl", "-o", out, "--unit", "document", "--encoder", other),
        *("--mechanism", "sentence-votes", "--epsilon", 1, "--candidates", place / "store"),
        cache=place / "cache",
    )
    assert done.code == 2
    assert "another encoder" in done.err
    assert not out.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "row 2 has no sentences"), ("***", "row 2 has no"), (f"Only {SECRET}", "1 sentence;")],
)
def test_a_document_too_short_is_refused_by_its_row(place, tmp_path, text, words):
    source = write(tmp_path / "private.jsonl", [texts(1, 3)[0], (text, "a")])
    out = tmp_path / "out.parquet"
    arguments = ("--mechanism", "sentence-votes", "--epsilon", 1, "--candidates", place / "store")
    done = embed(place, out, *arguments, source=source)
    assert done.code == 2
    assert words in done.err
    assert SECRET not in done.err
    assert not out.exists()


@pytest.mark.encoder
def test_the_packaged_encoder_tells_two_topics_apart(tmp_path):
    """Words that the encoder knows: most releases are of the document's own topic."""
    tea = ["Green tea is a fine drink.", "Boil the water first.", "Pour it into a warm cup."]
    space = ["The rocket reached orbit.", "Engines burn fuel.", "A satellite circles the Earth."]
    rng = np.random.default_rng(0)

    def rows(count):
        both = ((tea, "tea"), (space, "space"))
        return [
            (" ".join(rng.choice(some, 8)), topic)
            for some, topic in (both[i % 2] for i in range(count))
        ]

    write(tmp_path / "public.jsonl", rows(40))
    private = rows(20)
    write(tmp_path / "private.jsonl", private)
    with each_text_encoded_once():  # there are six sentences in all
        done = called(
            *("train", "candidates", tmp_path / "public.jsonl", "-o", tmp_path / "store", *STORE),
            cache=tmp_path / "cache",
        )
        assert done.code == 0, done.err
        done = called(
            *("embed", tmp_path / "private.jsonl", "-o", tmp_path / "out.parquet", "--unit"),
            *("document", "--mechanism", "deep-candidate", "--epsilon", 20, "--candidates"),
            *(tmp_path / "store", "--with-candidate-text", "--seed", 1),
            cache=tmp_path / "cache",
        )
        assert done.code == 0, done.err
    shown = pq.read_table(tmp_path / "out.parquet").column("candidate").to_pylist()
    right = [
        any(s in text for s in (tea if topic == "tea" else space))
        for text, (_, topic) in zip(shown, private, strict=True)
    ]
    assert np.mean(right) > 0.8
