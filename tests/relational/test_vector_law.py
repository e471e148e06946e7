"""``discreet embed``: the law of the bits that are written, for neighbouring sentences.

All bits of all numbers are looked at, so that an input cannot hide in the last ones of its noise.
"""

from dataclasses import replace

import numpy as np
import pytest

from discreet.encoders.encoder import Encoder
from discreet.encoders.maps import PublicMap
from discreet.mechanisms.material import made_up_store
from discreet.mechanisms.registry import entries, mechanism
from discreet.mechanisms.sentence import Purkayastha
from discreet.release import vectors as vectors_module
from discreet.release.documents import DocumentEmbedder
from discreet.release.sentences import SentenceEmbedder
from discreet.release.vector_files import embed_file
from discreet.release.vectors import read_vectors
from discreet.statement import MetricKind
from mechanism_examples import examples
from relational.evidence import Claim, contradictions, vector_events
from relational.worlds import LETTERS

COPIES = 1500
SENTENCES = ["tea at one", "a note at noon: zqxzqxzqxzqx", "iii", "eno tea ta 4711337", "oo e oo"]
"""The first and the fourth have the same letters that count, hence the same vector."""


def written(tmp_path, texts, release, ending, copies=COPIES):
    """What each text has become: rows of a file that holds many copies of all."""
    source, output = tmp_path / "in.txt", tmp_path / f"out{ending}"
    source.write_text("".join(f"{text}\n" for text in texts * copies))
    release(source, output, rng=np.random.default_rng(20261116))
    found = read_vectors(output)
    assert len(found) == len(texts) * copies
    return [found.vectors[number :: len(texts)] for number in range(len(texts))]


def distances(embedder):
    units = embedder.units(SENTENCES).astype(np.float64)
    metric = embedder.statement.metric
    if metric is None:
        return 1.0 - np.eye(len(units))
    apart = np.linalg.norm(units[:, None] - units, axis=2)
    if metric.kind is MetricKind.ANGLE:
        apart = 2 * np.arctan2(apart, np.linalg.norm(units[:, None] + units, axis=2))
    return apart


def broken_sentences(embedder, tmp_path, ending):
    apart, statement = distances(embedder), embedder.statement
    claims = [
        # Equal vectors have equal laws, up to the last bit of the encoder's own arithmetic.
        Claim(i, j, statement.epsilon * apart[i, j] + 1e-6, statement.delta * (apart[i, j] > 1e-9))
        for i in range(len(SENTENCES))
        for j in range(i)
    ]

    def release(source, output, rng):
        embed_file(source, output, embedder, rng=rng, force=True)

    draws = written(tmp_path, SENTENCES, release, ending)
    return contradictions(draws, claims, vector_events)


def sentence_embedder(made):
    return SentenceEmbedder(LETTERS, PublicMap.random(LETTERS.dimension, made.dimension), made)


CASES = [
    pytest.param(make, id=f"{entry.name}-{name}")
    for entry in entries("sentence")
    for name, make in examples(entry).items()
    if make().dimension <= LETTERS.dimension
]


@pytest.mark.parametrize("ending", [".parquet", ".npz", ".npy"])
@pytest.mark.parametrize("make", CASES)
def test_sentences_are_as_close_as_stated(make, ending, tmp_path):
    assert not broken_sentences(sentence_embedder(make()), tmp_path, ending)


def test_a_writer_that_copies_a_low_bit_is_caught(tmp_path, monkeypatch):
    """The lowest bit of each number says whether the row came from an even place."""
    checked = vectors_module._checked

    def marked(rows, name):
        bits = checked(rows, name).copy().view(np.uint32)
        bits[:, 0] = bits[:, 0] & ~np.uint32(1) | (np.arange(len(bits)) % 5 == 3)[:]
        return bits.view(np.float32)

    made = sentence_embedder(Purkayastha(3, epsilon=0.1))
    monkeypatch.setattr(vectors_module, "_checked", marked)
    found = broken_sentences(made, tmp_path, ".npy")
    assert (3, 0) in [(claim.first, claim.second) for claim, _ in found]


@pytest.mark.parametrize("entry", entries("label"), ids=lambda entry: entry.name)
def test_labels_are_as_close_as_stated(entry, tmp_path):
    """One sentence, three labels: what is released beside the vector."""
    labels = ("good", "bad", "so-so")
    prior = {"prior": (0.5, 0.3, 0.2)} if entry.name == "prior-response" else {}
    law = mechanism(entry.name, labels=labels, epsilon=1.0, **prior)
    base = sentence_embedder(Purkayastha(3, epsilon=1.0))
    embedder = replace(base, labels=labels, label_mechanism=law)
    source, output = tmp_path / "in.csv", tmp_path / "out.npz"
    rows = [f"tea at one,{label}\n" for label in labels] * COPIES
    source.write_text("text,stars\n" + "".join(rows))
    rng = np.random.default_rng(20261116)
    embed_file(source, output, embedder, label_field="stars", rng=rng)
    found = read_vectors(output)
    seen = np.array(found.labels)
    claims = [Claim(i, j, law.epsilon) for i in range(3) for j in range(i)]

    def events(places):
        told = seen[places][:, None] == np.array(labels)
        return np.concatenate([told, vector_events(found.vectors[places])], axis=1)

    draws = [np.arange(i, len(seen), 3) for i in range(3)]
    assert not contradictions(draws, claims, events)
    assert contradictions(draws, [replace(claim, loss=0.0) for claim in claims], events)


def test_pairs_are_as_close_as_stated(tmp_path):
    """Rows of two sentences, of which one is replaced: both released vectors are looked at."""
    embedder = sentence_embedder(Purkayastha(3, epsilon=2.0))
    apart = distances(embedder)
    source, output = tmp_path / "in.csv", tmp_path / "out.npz"
    pairs = [(0, 2), (4, 2), (0, 1), (2, 0)]
    rows = [f'"{SENTENCES[a]}","{SENTENCES[b]}"\n' for a, b in pairs] * COPIES
    source.write_text("text,other\n" + "".join(rows))
    rng = np.random.default_rng(20261116)
    embed_file(source, output, embedder, pair_field="other", rng=rng)
    found = read_vectors(output)
    both = np.concatenate([found.vectors, found.second], axis=1)
    draws = [both[number :: len(pairs)] for number in range(len(pairs))]
    claims = []
    for i, (first, second) in enumerate(pairs):
        for j, (other_first, other_second) in enumerate(pairs[:i]):
            changed = apart[first, other_first] + apart[second, other_second]
            claims.append(Claim(i, j, embedder.statement.epsilon * changed))
    assert not contradictions(draws, claims, vector_events)
    assert contradictions(draws, [replace(claim, loss=0.0) for claim in claims], vector_events)


DOCUMENTS = [
    "Tea at one. It rains again. Oh no.",
    "A zqx of 4711337. It rains again. Oh no.",
    "Tea at one. Iiiii iiiii iiiii. Oh no.",
    "Tea at one. It rains again. Nnnnnnn oooo.",
]
"""Each of the others differs from the first in one sentence."""


@pytest.mark.parametrize("ending", [".parquet", ".npz"])
@pytest.mark.parametrize("entry", entries("document"), ids=lambda entry: entry.name)
def test_documents_are_as_close_as_stated(entry, ending, tmp_path):
    store = made_up_store()
    encoder = Encoder("letters", store.encoder, LETTERS.dimension, "a test", LETTERS._model)
    for epsilon in (0.5, 4.0):
        made = mechanism(entry.name, store=store, epsilon=epsilon)
        embedder = DocumentEmbedder(encoder, store, made)

        def release(source, output, rng, embedder=embedder):
            embed_file(source, output, embedder, unit="document", rng=rng, force=True)

        draws = written(tmp_path, DOCUMENTS, release, ending, copies=600)
        claims = [Claim(0, other, embedder.statement.epsilon) for other in (1, 2, 3)]
        assert not contradictions(draws, claims, vector_events)
