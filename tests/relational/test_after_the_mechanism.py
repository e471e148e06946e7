"""What is written is a function of what was released and of what is public: exactly.

Here mechanisms are deaf: they release the same for whatever they are given. Then two inputs that
agree in what the statement names as public must give the same files, byte for byte, receipts
included, in every format, layout and slicing into batches.
"""

import gzip
import io
import json
import re
import sys
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from discreet.encoders.encoder import Encoder
from discreet.encoders.maps import PublicMap
from discreet.mechanisms.label import RandomizedResponse
from discreet.mechanisms.material import made_up_store
from discreet.mechanisms.registry import entries, mechanism
from discreet.mechanisms.sentence import Purkayastha
from discreet.mechanisms.word import SanText
from discreet.models.rewriter import BiLSTM, Rewriter, RewriterNetwork, described
from discreet.release import text_files, vector_files
from discreet.release.documents import DocumentEmbedder
from discreet.release.sentences import SentenceEmbedder
from discreet.release.text import Sanitizer
from discreet.release.text_files import sanitize_file
from discreet.release.vector_files import embed_file
from discreet.text import parquet
from discreet.text.readers import open_documents
from discreet.training.texts.rewriting import RewritingSanitizer
from relational.worlds import LETTERS, cased_space, deaf

ROWS = 400
SHORT = ["tea", "Cup", "a-b", "7", "TEA, tea.", "zq!", "don't"]
LONG = [
    "zqxwordzqxwordzqxwordzqxword",
    "Ünknownünknownünknown",
    "zqxwordzqxword-4711337",
    "👍",
    "ZQXWORDZQXWORD, 123,456.789.",
    "zqxwordzqxwordzqxwordzqxword!",
    "日本日本日本日本日本日本日本日本",
]
"""One for one as many words of the same capitals, with the same marks between them."""


def column(kinds, seed):
    """Texts of all kinds in a public order; how long each is depends on the seed."""
    order = np.random.default_rng(0).integers(0, len(SHORT), ROWS)
    which = np.random.default_rng(seed).integers(0, len(kinds), ROWS)
    return [f"{kinds[k][i]} {kinds[k][i]}" for i, k in zip(order, which, strict=True)]


FIRST, SECOND = column([SHORT], 1), column([SHORT, LONG, LONG], 2)


def written_txt(texts):
    return "".join(f"{text}\n" for text in texts).encode()


def written_csv(texts, delimiter=","):
    rows = [f'{i}{delimiter}"{text}"{delimiter}x{i % 3}' for i, text in enumerate(texts)]
    return "\n".join([delimiter.join(("id", "text", "more")), *rows, ""]).encode()


def written_jsonl(texts):
    rows = [{"id": i, "text": text, "more": i % 3} for i, text in enumerate(texts)]
    # What is escaped in the input is no sign that it was.
    return "".join(json.dumps(row, ensure_ascii=i % 2 == 0) + "\n" for i, row in enumerate(rows))


def written_parquet(texts, kind=None):
    kind = kind or pa.string()
    text = pa.array(texts, pa.string())
    columns = {
        "id": list(range(len(texts))),
        "text": text.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else text,
        "more": pa.array([f"x{i % 3}" for i in range(len(texts))]).dictionary_encode(),
        "often": [None if i % 7 else [i] for i in range(len(texts))],
    }
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


FORMATS = {
    "txt": written_txt,
    "csv": written_csv,
    "tsv": partial(written_csv, delimiter="\t"),
    "jsonl": lambda texts: written_jsonl(texts).encode(),
    "txt.gz": lambda texts: gzip.compress(written_txt(texts)),
    "jsonl.gz": lambda texts: gzip.compress(written_jsonl(texts).encode()),
    "parquet": written_parquet,
    "dictionary.parquet": partial(written_parquet, kind=pa.dictionary(pa.int16(), pa.string())),
}


@pytest.fixture
def small_batches(monkeypatch):
    """Batches of a few rows, whose number depends on how long the texts are."""

    def opened(*args, **options):
        return open_documents(*args, **{**options, "batch_bytes": 500})

    for module in (text_files, vector_files):
        monkeypatch.setattr(module, "open_documents", opened)
    monkeypatch.setattr(parquet, "GROUP_CHARACTERS", 3_000)


def files(folder):
    """The bytes of each file; when a receipt was written is not a matter of the texts."""
    moment = re.compile(rb'"written": "[^"]*"')
    return {path.name: moment.sub(b"", path.read_bytes()) for path in sorted(folder.iterdir())}


def outputs(tmp_path, ending, write, released):
    """What is in the folder of each of the two inputs after its release."""
    found = []
    for name, texts in (("first", FIRST), ("second", SECOND)):
        folder = tmp_path / name
        folder.mkdir()
        source = tmp_path / f"{name}.{ending}"
        source.write_bytes(write(texts))
        released(source, folder)
        found.append(files(folder))
    assert len(found[0]) >= 2  # the release and its receipt
    return found


def sanitizer(layout, kind=Sanitizer):
    return kind(deaf(SanText(cased_space(), epsilon=1.0), [1]), layout=layout)


def sanitized(tmp_path, ending, layout, kind=Sanitizer):
    def release(source, folder):
        output = folder / f"out.{ending}"
        rng = np.random.default_rng(0)
        sanitize_file(source, output, sanitizer(layout, kind), others="keep", rng=rng)

    return outputs(tmp_path, ending, FORMATS[ending], release)


@pytest.mark.parametrize("layout", ["tokens", "public"])
@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.usefixtures("small_batches")
def test_sanitised_files_are_the_same(tmp_path, ending, layout):
    first, second = sanitized(tmp_path, ending, layout)
    assert first == second


@pytest.mark.parametrize("layout", ["tokens", "public"])
@pytest.mark.usefixtures("small_batches")
def test_sanitised_streams_are_the_same(monkeypatch, layout):
    found = []
    for texts in (FIRST, SECOND):
        out = io.TextIOWrapper(io.BytesIO())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written_txt(texts))))
        monkeypatch.setattr(sys, "stdout", out)
        receipt = sanitize_file("-", "-", sanitizer(layout), rng=np.random.default_rng(0))
        found.append((out.buffer.getvalue(), receipt.to_json()))
    assert found[0] == found[1]
    assert found[0][0].count(b"\n") == ROWS


class LengthShown(Sanitizer):
    """A planted fault: a long text is written with a space behind it."""

    def sanitize(self, texts, rng=None):
        release = super().sanitize(texts, rng)
        pairs = zip(release.values, texts, strict=True)
        release.values[:] = [out + " " * (len(text) > 20) for out, text in pairs]
        return release


@pytest.mark.parametrize("ending", FORMATS)
def test_a_writer_that_shows_lengths_is_caught(tmp_path, ending):
    first, second = sanitized(tmp_path, ending, "tokens", LengthShown)
    assert first != second


@pytest.mark.usefixtures("small_batches")
def test_a_group_of_rows_for_each_batch_is_caught(tmp_path, monkeypatch):
    """How many texts are in a batch depends on their length: groups of rows would tell it."""

    def straight(sink, batch):
        write(sink, batch)
        sink._write_group(len(sink._texts))

    write = parquet.ParquetSink.write
    monkeypatch.setattr(parquet.ParquetSink, "write", straight)
    first, second = sanitized(tmp_path, "parquet", "tokens")
    assert first != second


def rewriting():
    """A rewriter that was never trained, but has scores of its own for every window."""
    torch.manual_seed(3)
    space = cased_space()
    law = deaf(SanText(space, epsilon=1.0), [1])
    vectors = torch.from_numpy(space.vectors.astype(np.float32))
    body = BiLSTM(vectors.shape[1], hidden=4)
    network = RewriterNetwork(vectors, torch.arange(1, len(space)), body, space.unknown)
    network.start(torch.full((len(space) - 1,), 0.05), 0.01, 4.0)
    return RewritingSanitizer(law, Rewriter(network, described(law), {}))


@pytest.mark.parametrize("ending", ["txt", "jsonl", "parquet"])
@pytest.mark.usefixtures("small_batches")
def test_rewritten_files_are_the_same(tmp_path, ending):
    def release(source, folder):
        rng, output = np.random.default_rng(0), folder / f"out.{ending}"
        sanitize_file(source, output, rewriting(), others="keep", rng=rng)

    first, second = outputs(tmp_path, ending, FORMATS[ending], release)
    assert first == second


def test_a_rewritten_text_knows_nothing_of_those_beside_it(monkeypatch):
    """Which texts share a batch depends on how long the unreleased ones were."""
    rewriter = rewriting()
    shapes = []
    forward = RewriterNetwork.forward

    def watched(network, released):
        shapes.append(len(released))
        return forward(network, released)

    monkeypatch.setattr(RewriterNetwork, "forward", watched)
    rewriter.sanitize(FIRST[:50], np.random.default_rng(0))
    assert set(shapes) == {1}


# -- vectors ---------------------------------------------------------------------------------------


def sentence_embedder(law=None, **more):
    return SentenceEmbedder(
        LETTERS,
        PublicMap.random(LETTERS.dimension, 3),
        law or deaf(Purkayastha(3, epsilon=4.0), np.eye(1, 3)),
        **more,
    )


@pytest.mark.parametrize("ending", [".parquet", ".npz", ".npy"])
@pytest.mark.usefixtures("small_batches")
def test_sentence_vectors_are_the_same(tmp_path, ending):
    labels = {} if ending == ".npy" else {"label_field": "more"}

    def release(source, folder):
        if labels:
            named = ("0", "1", "2")
            law = deaf(RandomizedResponse(named, 1.0), [1])
            made = sentence_embedder(labels=named, label_mechanism=law)
        else:
            made = sentence_embedder()
        rng = np.random.default_rng(0)
        embed_file(source, folder / f"out{ending}", made, rng=rng, **labels)

    first, second = outputs(tmp_path, "jsonl", FORMATS["jsonl"], release)
    assert first == second


@pytest.mark.parametrize("ending", [".parquet", ".npz"])
@pytest.mark.usefixtures("small_batches")
def test_vectors_of_pairs_are_the_same(tmp_path, ending):
    def write(texts):
        rows = [{"text": t, "second": s} for t, s in zip(texts, texts[::-1], strict=True)]
        return "".join(json.dumps(row) + "\n" for row in rows).encode()

    def release(source, folder):
        rng, output = np.random.default_rng(0), folder / f"out{ending}"
        # One row: first and second sentences are drawn in turns, batch by batch.
        made = sentence_embedder(deaf(Purkayastha(3, epsilon=4.0), np.eye(1, 3), rows=1))
        embed_file(source, output, made, pair_field="second", rng=rng)

    first, second = outputs(tmp_path, "jsonl", write, release)
    assert first == second


@pytest.mark.parametrize("ending", [".parquet", ".npz"])
@pytest.mark.parametrize("entry", entries("document"), ids=lambda entry: entry.name)
@pytest.mark.usefixtures("small_batches")
def test_document_vectors_are_the_same(tmp_path, entry, ending):
    store = made_up_store()
    encoder = Encoder("letters", store.encoder, LETTERS.dimension, "a test", LETTERS._model)

    def release(source, folder):
        chosen = deaf(mechanism(entry.name, store=store, epsilon=3.0), np.eye(1, 6))
        made, rng = DocumentEmbedder(encoder, store, chosen), np.random.default_rng(0)
        embed_file(source, folder / f"out{ending}", made, unit="document", rng=rng)

    def write(texts):
        plain = [text.translate(dict.fromkeys(map(ord, "!,."))) for text in texts]
        return FORMATS["jsonl"]([f"It rains. So {text} again." for text in plain])

    first, second = outputs(tmp_path, "jsonl", write, release)
    assert first == second
