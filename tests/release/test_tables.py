"""Arrow tables: the texts are released, everything else stays as it was."""

import numpy as np
import pyarrow as pa
import pytest

from discreet import Sanitizer
from discreet.encoders.encoder import Encoder
from discreet.encoders.maps import PublicMap
from discreet.errors import InputError, InvalidValue
from discreet.mechanisms.label import RandomizedResponse
from discreet.mechanisms.sentence import Purkayastha
from discreet.mechanisms.word import SanText
from discreet.release import tables
from discreet.release.sentences import SentenceEmbedder
from discreet.release.tables import release_column
from small_spaces import random_space

ROWS = {
    "id": pa.array([1, 2, 3, 4], pa.int16()),
    "body": pa.array(["word1 word2", None, "word3 zanzibar word4", ""]),
    "more": pa.array([["a"], [], None, ["b", "c"]]),
}


@pytest.fixture(scope="module")
def sanitizer():
    return Sanitizer(SanText(random_space(60), epsilon=1.0))


def _kinds():
    table = pa.table(ROWS).replace_schema_metadata({"made": "here"})
    return {"table": table, "batch": table.to_batches()[0]}


@pytest.mark.parametrize("kind", _kinds())
def test_texts_are_released_and_all_else_stays(sanitizer, kind):
    given = _kinds()[kind]
    out = sanitizer.sanitize_batch(given, text="body")
    assert type(out) is type(given)
    assert out.schema == given.schema
    assert out.schema.metadata is None
    for name in ("id", "more"):
        assert out.column(name).equals(given.column(name))
    texts = out.column("body").to_pylist()
    assert [None if text is None else len(text.split()) for text in texts] == [2, None, 3, 0]
    assert set(" ".join(filter(None, texts)).split()) <= set(sanitizer.mechanism.space.words)


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())],
    ids=str,
)
def test_the_type_of_the_text_stays(sanitizer, kind):
    table = pa.table({"body": ROWS["body"].cast(kind)})
    out = sanitizer.sanitize_batch(table, "body")
    assert out.schema == table.schema
    assert out.column("body").null_count == 1


def test_codes_are_widened_where_more_texts_may_come_out(sanitizer):
    table = pa.table({"body": ROWS["body"].cast(pa.dictionary(pa.int8(), pa.string()))})
    assert sanitizer.sanitize_batch(table, "body").schema.field("body").type.index_type == "int32"


@pytest.mark.parametrize("limit", [("ROWS", 7), ("_CHARACTERS", 30)])
def test_slices_come_out_in_their_order(sanitizer, monkeypatch, limit):
    monkeypatch.setattr(tables, *limit)
    lengths = np.random.default_rng(5).integers(0, 9, 100)
    texts = [None if n == 8 else "word1 " * n for n in lengths.tolist()]
    table = pa.table({"body": pa.chunked_array([texts[:33], texts[33:]])})
    for given in (table, table.combine_chunks().to_batches()[0]):
        release = release_column(given, "body", sanitizer.sanitize)
        out = release.values.column("body").to_pylist()
        assert [8 if text is None else len(text.split()) for text in out] == lengths.tolist()
        expected = np.where(lengths == 8, 0, lengths)
        assert release.draws.tolist() == expected.tolist()
        assert release.units == expected.sum()
        assert release.statement == sanitizer.statement


def test_no_rows_and_no_texts(sanitizer):
    table = pa.table(ROWS).slice(0, 0)
    release = release_column(table, "body", sanitizer.sanitize)
    assert release.values.schema == table.schema
    assert release.statement == sanitizer.statement
    nulls = pa.table({"body": pa.array([None, None], pa.string())})
    assert sanitizer.sanitize_batch(nulls, "body").equals(nulls)


def test_noise_is_fresh_for_every_call(sanitizer):
    table = pa.table({"text": ["word1 " * 200]})
    assert not sanitizer.sanitize_batch(table).equals(sanitizer.sanitize_batch(table))


@pytest.mark.parametrize(
    ("table", "text", "error", "said"),
    [
        (pa.table(ROWS), "boddy", InputError, "no column boddy"),
        (pa.table(ROWS), "id", InputError, "not of a string type"),
        (pa.table(ROWS), [], InvalidValue, "at least one column"),
        (pa.table(ROWS), ["body", "body"], InvalidValue, "each once"),
        (pa.table({"body": [None, "a\0zanzibar"]}), "body", InputError, "row 2 of the column body"),
        ({"body": ["zanzibar"]}, "body", InvalidValue, "pyarrow"),
        (
            pa.table({"body": pa.array([b"zanzibar\xff"]).view(pa.string())}),
            "body",
            InputError,
            "the column body",
        ),
    ],
    ids=["name", "type", "none", "twice", "nul", "no table", "no utf-8"],
)
def test_bad_tables_are_refused_without_their_text(sanitizer, table, text, error, said):
    with pytest.raises(error, match=said) as caught:
        sanitizer.sanitize_batch(table, text)
    assert "zanzibar" not in str(caught.value)


class _Lengths:
    def encode(self, texts):
        return np.array([[len(text), 1.0, 0.0] for text in texts], np.float32)


@pytest.mark.parametrize("characters", [1, 2**24])
def test_vectors_take_the_place_of_texts_and_labels(monkeypatch, characters):
    monkeypatch.setattr(tables, "_CHARACTERS", characters)
    encoder = Encoder("lengths", "0" * 64, 3, "an example", _Lengths())
    embedder = SentenceEmbedder(
        encoder,
        PublicMap.random(3, 2),
        Purkayastha(2, epsilon=5.0),
        ("1", "2"),
        RandomizedResponse(["1", "2"], epsilon=1.0),
    )
    table = pa.table({"body": ["One.", None, "Three."], "stars": [1, 2, 2], "id": [7, 8, 9]})
    for given in (table, table.to_batches()[0]):
        out = embedder.embed_batch(given, "body", label="stars")
        assert type(out) is type(given)
        assert out.schema.names == ["id", "vector", "label"]
        assert out.column("id").to_pylist() == [7, 8, 9]
        assert out.column("vector").is_null().to_pylist() == [False, True, False]
        assert out.column("label").is_null().to_pylist() == [False, True, False]
        vectors = np.array([row for row in out.column("vector").to_pylist() if row])
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    with pytest.raises(InputError, match="column vector already"):
        embedder.embed_batch(table.rename_columns(["body", "stars", "vector"]), "body")


def test_a_table_of_texts_alone_becomes_vectors_alone():
    encoder = Encoder("lengths", "0" * 64, 3, "an example", _Lengths())
    embedder = SentenceEmbedder(encoder, PublicMap.random(3, 2), Purkayastha(2, epsilon=5.0))
    table = pa.table({"text": ["One.", "Three."]}).replace_schema_metadata({"made": "here"})
    for given in (table, table.to_batches()[0]):
        out = embedder.embed_batch(given)
        assert out.schema.names == ["vector"]
        assert out.schema.metadata is None
        assert len(out) == 2
