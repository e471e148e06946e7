"""DocumentEmbedder: one vector for each document, from texts or from file to file."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import DocumentEmbedder, Receipt, SentenceEmbedder
from discreet.encoders.candidate_store import CandidateStore, Voters
from discreet.encoders.encoder import Encoder
from discreet.encoders.maps import PublicMap
from discreet.engines.embed_work import EmbedWork
from discreet.engines.plan import Part
from discreet.errors import InvalidValue, OutputError
from discreet.mechanisms.registry import entries, mechanism
from discreet.protocols import ChoosingMechanism
from discreet.randomness import SEEDED_CAVEAT
from discreet.release.vector_files import embed_file
from discreet.release.vectors import read_vectors

SECRET = "zanzibar"
TEXTS = ["Tea at noon. Rain again. A cup.", f"Far {SECRET}. No end.", "One.", "All is well. Oh."]


class Letters:
    """A made-up encoder: how often five letters occur, and 1."""

    def encode(self, texts):
        return np.array([[t.count(c) for c in "aeion"] + [1.0] for t in texts], dtype=np.float32)


ENCODER = Encoder("letters", "ab" * 32, 6, "a test", Letters())


def rows(count, width, seed):
    return np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)


def store():
    recoder = PublicMap((rows(6, 4, 1),), (rows(1, 4, 2)[0],), ENCODER.fingerprint, {})
    return CandidateStore(
        candidates=rows(9, 4, 3),
        texts=tuple(f"public {i}" for i in range(9)),
        clusters=np.zeros(9, np.int64),
        projections=rows(8, 4, 4),
        centroids={3: rows(3, 6, 5)},
        voters={2: Voters(rows(2, 6, 6), rows(2, 6, 7), np.zeros(2, np.float32))},
        soft_voters={1.0: Voters(rows(2, 6, 6), rows(2, 6, 7), np.zeros(2, np.float32))},
        box=np.stack([np.full(6, -1.0), np.full(6, 3.0)]).astype(np.float32),
        recoder=recoder,
        encoder=ENCODER.fingerprint,
        best_projections={1.0: 5},
        best_centroids={1.0: 3},
        best_voters={1.0: 2},
        about={"seed": 0},
    )


def embedder(name, **more):
    public = store()
    return DocumentEmbedder(ENCODER, public, mechanism(name, store=public, epsilon=3.0), **more)


@pytest.mark.parametrize("name", [entry.name for entry in entries("document")])
def test_every_mechanism_releases_a_vector_for_each_long_enough_document(name):
    made = embedder(name, skip_short=True)
    release = made.release(TEXTS, np.random.default_rng(0), first_row=7)
    assert release.values.rows.tolist() == [7, 8, 10]
    assert release.units == 7
    assert release.statement == made.statement.with_caveats(SEEDED_CAVEAT)
    assert SEEDED_CAVEAT not in made.release(TEXTS).statement.caveats
    if isinstance(made.mechanism, ChoosingMechanism):
        choices = made.mechanism.choices
        assert all((row == choices).all(axis=1).any() for row in release.values.vectors)
    about = made.receipt(release, left_out=1).to_dict()
    assert about["counts"] == {"documents": 3, "sentences": 7, "left_out": 1}
    assert about["mechanism"]["name"] == name
    assert about["candidates"]["fingerprint"] == made.store.fingerprint
    assert SECRET not in json.dumps(about)


def test_a_candidate_stands_for_what_was_chosen():
    shown = embedder("deep-candidate", with_candidate_text=True, skip_short=True).release(TEXTS)
    public = store()
    for text, row in zip(shown.values.kept["candidate"], shown.values.vectors, strict=True):
        np.testing.assert_array_equal(public.candidates[public.texts.index(text)], row)
    # The vector of another mechanism is no candidate: the nearest one is shown.
    made = embedder("sentence-votes", with_candidate_text=True, skip_short=True)
    values = made.release(TEXTS).values
    for text, row in zip(values.kept["candidate"], values.vectors, strict=True):
        place = public.recoded(row[None])[0]
        nearest = np.linalg.norm(public.candidates - place, axis=1).argmin()
        assert text == public.texts[nearest]


def test_what_cannot_be_released():
    with pytest.raises(InvalidValue, match="row 3 has 1 sentence"):
        embedder("truncation").release(TEXTS)
    with pytest.raises(InvalidValue, match="truncation chooses no public document"):
        embedder("truncation", with_candidate_text=True)
    other = Encoder("letters", "cd" * 32, 6, "a test", Letters())
    with pytest.raises(InvalidValue, match="another encoder"):
        DocumentEmbedder(other, store(), embedder("truncation").mechanism)


def write(path, texts=TEXTS):
    path.write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in enumerate(texts)))
    return path


def test_from_file_to_file(tmp_path):
    source, output = write(tmp_path / "in.jsonl"), tmp_path / "out.parquet"
    made = embedder("sentence-votes", with_candidate_text=True, skip_short=True)
    done = []
    receipt = embed_file(
        source,
        output,
        lambda: made,
        unit="document",
        keep=["id"],
        progress=lambda *at: done.append(at),
    )
    released = read_vectors(output)
    assert released.kept["id"] == [0, 1, 3]
    assert released.rows.tolist() == [1, 2, 4]
    assert len(released.kept["candidate"]) == 3
    assert Receipt.beside(output).to_dict() == json.loads(receipt.to_json())
    assert receipt.counts == {"documents": 3, "sentences": 7, "left_out": 1}
    assert receipt.input == {"format": "jsonl", "text_field": "text", "kept": ["id"]}
    assert "what is kept as it is: id" in receipt.statement.public
    assert SEEDED_CAVEAT not in receipt.statement.caveats
    assert done[-1] == (source.stat().st_size,) * 2


@pytest.mark.parametrize("unit", ["document", "sentence"])
def test_labels_that_are_kept_stand_as_labels(tmp_path, unit):
    """Beside vectors of documents there is no other way to have them."""
    source, output = tmp_path / "in.jsonl", tmp_path / "out.npz"
    rows = [{"text": text, "label": row % 2} for row, text in enumerate(TEXTS)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = embedder("sentence-votes", skip_short=True)
    if unit == "sentence":
        noise = mechanism("purkayastha", dimension=2, epsilon=3.0)
        made = SentenceEmbedder(ENCODER, PublicMap.random(ENCODER.dimension, 2), noise)
    receipt = embed_file(source, output, made, unit=unit, keep=["label"], accept_weak=True)
    released = read_vectors(output)
    assert released.labels == (["0", "1", "1"] if unit == "document" else ["0", "1", "0", "1"])
    assert "what is kept as it is: label" in receipt.statement.public


@pytest.mark.parametrize(
    ("texts", "output", "options", "error", "message"),
    [
        (["One.", "Two."], "out.parquet", {}, InvalidValue, "none of the 2 documents"),
        (TEXTS, "out.npy", {}, OutputError, "no place for numbers of documents"),
        (TEXTS, "no/out.npz", {}, OutputError, "does not exist"),
        (TEXTS, "out.npz", {"keep": ["text"]}, InvalidValue, "is to be protected"),
        (TEXTS, "out.npz", {"keep": ["candidate"]}, InvalidValue, "another column"),
        (TEXTS, "out.npz", {"keep": ["row"]}, InvalidValue, "another column"),
        (TEXTS, "out.npz", {"label_field": "id"}, InvalidValue, "are for sentences"),
        (TEXTS, "out.npz", {"unit": "sentence"}, InvalidValue, "embedder is for another"),
        (TEXTS, "out.npz", {"unit": "word"}, InvalidValue, "unit of embed_file must be one of"),
    ],
)
def test_a_mistake_leaves_nothing(tmp_path, texts, output, options, error, message):
    source = write(tmp_path / "in.jsonl", texts)
    with pytest.raises(error, match=message):
        embed_file(
            source,
            tmp_path / output,
            embedder("truncation", skip_short=True),
            **{"unit": "document"} | options,
        )
    assert list(tmp_path.iterdir()) == [source]


def test_categories_of_documents_that_are_left_out_are_not_written(tmp_path):
    wards = pa.array(["A", "B", f"{SECRET} ward", "A"]).dictionary_encode()
    source, target = tmp_path / "in.parquet", tmp_path / "0" / "out.parquet"
    pq.write_table(pa.table({"text": TEXTS, "ward": wards}), source)
    target.parent.mkdir()
    made = embedder("truncation", skip_short=True)
    named = {"unit": "document", "mechanism": "truncation", "keep": ("ward",)}
    work = EmbedWork(**named, made_by=lambda: made)
    status = source.stat()
    work.release(Part(0, str(source), status.st_size, status.st_mtime_ns, (0,)), target)
    assert pq.read_table(target).column("ward").to_pylist() == ["A", "B", "A"]
    assert SECRET.encode() not in target.read_bytes()
