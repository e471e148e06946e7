"""SentenceEmbedder: vectors and labels out, and a statement that is exact about what holds."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from discreet.encoders.encoder import Encoder
from discreet.encoders.maps import PublicMap
from discreet.encoders.settings import EncoderSettings, MapSettings
from discreet.errors import InvalidValue, OutputError
from discreet.mechanisms.label import PriorResponse, RandomizedResponse
from discreet.mechanisms.sentence import PlanarLaplace, Purkayastha, SphereGaussian, unit_rows
from discreet.randomness import SEEDED_CAVEAT
from discreet.receipt import Receipt
from discreet.release import sentences as module
from discreet.release.sentences import SentenceEmbedder
from discreet.release.vector_files import embed_file
from discreet.release.vectors import read_vectors
from discreet.statement import Notion, PrivacyStatement
from goodness import LEVEL, fits
from tiny_bert import write_bert

MARKER = "zanzibar"
LABELS = ("good", "bad", "so-so")


class Letters:
    """A made-up encoder: how often four letters occur, and 1."""

    def encode(self, texts):
        return np.array([[t.count(c) for c in "aeio"] + [1.0] for t in texts], dtype=np.float32)


def encoder(fingerprint: str = "ab" * 32) -> Encoder:
    return Encoder("letters", fingerprint, 5, "a test", Letters())


def embedder(mechanism=None, **more) -> SentenceEmbedder:
    mechanism = mechanism or Purkayastha(3, epsilon=4.0)
    return SentenceEmbedder(encoder(), PublicMap.random(5, 3), mechanism, **more)


TEXTS = ["tea at noon", "a", "coffee or tea", "rain", f"{MARKER} is far", "oio"]


def test_a_release_is_the_mechanism_on_mapped_unit_rows():
    made = embedder()
    expected = unit_rows(PublicMap.random(5, 3).apply(Letters().encode(TEXTS)))
    np.testing.assert_allclose(made.units(TEXTS), expected, atol=1e-6)
    released = made.release(TEXTS, rng=np.random.default_rng(1))
    again = made.mechanism.release(expected, np.random.default_rng(1))
    np.testing.assert_allclose(released.values.vectors, again, atol=1e-5)
    assert released.units == len(TEXTS) == len(released.values)
    assert released.values.labels is None


def test_blocks_change_nothing_but_memory(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 2)
    seen, most = [], []
    made = embedder(Purkayastha(3, epsilon=1e6))

    def progress(*done):
        seen.append(done)

    whole = made.units(TEXTS)
    original = Encoder.encode

    def watched(self, texts, **options):
        most.append(len(texts))
        return original(self, texts, **options)

    monkeypatch.setattr(Encoder, "encode", watched)
    released = made.release(TEXTS, progress=progress).values.vectors
    assert max(most) == 2
    assert seen[-1] == (6, 6)
    assert seen == sorted(seen)
    np.testing.assert_allclose(released, whole, atol=1e-4)


def test_noise_is_fresh_for_every_row_and_every_run():
    made = embedder()
    first, second = (made.release(["tea"] * 50) for _ in range(2))
    for release in (first, second):
        assert len(np.unique(release.values.vectors, axis=0)) == 50
        assert SEEDED_CAVEAT not in release.statement.caveats
    assert not np.array_equal(first.values.vectors, second.values.vectors)
    seeded = made.release(["tea"], rng=np.random.default_rng(0))
    assert SEEDED_CAVEAT in seeded.statement.caveats


def test_both_sentences_of_a_pair_get_noise_of_their_own():
    release = embedder().release(TEXTS, second=TEXTS)
    assert release.units == 12
    assert not np.isclose(release.values.vectors, release.values.second).all(axis=1).any()
    assert any("changing both costs the sum" in caveat for caveat in release.statement.caveats)
    assert not any("both" in caveat for caveat in embedder().release(TEXTS).statement.caveats)


@pytest.mark.parametrize(
    ("mechanism", "farthest"), [(Purkayastha, math.pi), (PlanarLaplace, 2.0)], ids=["pur", "lap"]
)
def test_the_statement_is_in_the_metric_after_encoder_and_map(mechanism, farthest):
    made = embedder(mechanism(3, epsilon=4.0))
    name = made.statement.metric.name
    assert encoder().fingerprint[:12] in name
    assert made.map.fingerprint[:12] in name
    other = SentenceEmbedder(encoder("cd" * 32), made.map, made.mechanism).statement
    turned = SentenceEmbedder(encoder(), PublicMap.random(5, 3, seed=1), made.mechanism).statement
    assert len({made.statement.metric, other.metric, turned.metric}) == 3
    most = f"between any two sentences the loss is at most {4 * farthest:.4g}"
    assert any(most in caveat for caveat in made.statement.caveats)
    assert made.statement.epsilon == 4.0
    assert made.statement.to_pure(diameter=farthest).epsilon == pytest.approx(4 * farthest)


def test_vector_and_label_together():
    made = embedder(labels=LABELS, label_mechanism=RandomizedResponse(LABELS, 1.5))
    statement = made.statement
    assert (statement.epsilon, statement.slack) == (4.0, 1.5)
    assert "exp(4 * d + 1.5)" in statement.lines()[0]
    assert any(f"at most {4 * math.pi + 1.5:.4g}" in caveat for caveat in statement.caveats)
    # Gaussian: no metric, the two epsilons simply add.
    gaussian = embedder(
        SphereGaussian(3, 4.0, 1e-5), labels=LABELS, label_mechanism=RandomizedResponse(3, 1.5)
    ).statement
    assert (gaussian.notion, gaussian.epsilon, gaussian.delta) == (Notion.APPROXIMATE, 5.5, 1e-5)


@pytest.mark.parametrize(
    "mechanism", [RandomizedResponse(LABELS, 1.0), PriorResponse([0.5, 0.3, 0.2], 1.0)]
)
def test_released_labels_follow_the_matrix_of_the_receipt(mechanism):
    made = embedder(labels=LABELS, label_mechanism=mechanism)
    rows = 20_000
    release = made.release(["tea"] * rows, ["bad"] * rows, np.random.default_rng(5))
    receipt = made.receipt(release).to_dict()
    drawn = np.array([LABELS.index(label) for label in release.values.labels])
    law = np.array(receipt["label"]["transition"])
    assert fits(drawn, law[1])
    assert not fits(drawn, law[0])
    assert receipt["label"]["labels"] == list(LABELS)
    assert LEVEL < 1e-6


def test_labels_without_a_mechanism_are_public_and_said_to_be():
    made = embedder(labels=LABELS)
    release = made.release(["tea", "rain"], ["bad", "good"])
    assert release.values.labels == ["bad", "good"]
    assert "the labels, which are released as they are" in release.statement.public
    assert made.receipt(release).to_dict()["label"]["transition"] == np.eye(3).tolist()


def test_the_receipt_tells_the_setting_and_nothing_of_the_text():
    made = embedder(SphereGaussian(3, 4.0, 1e-5))
    release = made.release([MARKER, f"{MARKER} again"])
    receipt = json.loads(made.receipt(release).to_json())
    assert MARKER not in json.dumps(receipt)
    assert PrivacyStatement.from_dict(receipt["statement"]) == release.statement
    assert receipt["in_words"] == release.statement.lines()
    assert receipt["mechanism"] == {
        "name": "sphere-gaussian",
        "dimension": 3,
        "epsilon": 4.0,
        "delta": 1e-5,
    }
    assert receipt["encoder"]["fingerprint"] == encoder().fingerprint
    assert receipt["map"]["fingerprint"] == made.map.fingerprint
    assert receipt["label"] is None
    assert receipt["counts"] == {"rows": 2, "sentences": 2}


def trained(fingerprint: str) -> PublicMap:
    plain = PublicMap.random(5, 3)
    return PublicMap(plain.weights, plain.biases, fingerprint, {"made": "trained"})


PUR = Purkayastha(3, 4.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SentenceEmbedder(encoder(), trained("cd" * 32), PUR), "another encoder"),
        (lambda: SentenceEmbedder(encoder(), PublicMap.random(6, 3), PUR), "6 dimensions"),
        (lambda: SentenceEmbedder(encoder(), PublicMap.random(5, 2), PUR), "the mechanism takes 3"),
        (lambda: embedder(labels=("a",)), "at least 2"),
        (lambda: embedder(labels=("a", "a")), "all different"),
        (lambda: embedder(label_mechanism=RandomizedResponse(2, 1.0)), "list of possible labels"),
        (
            lambda: embedder(labels=LABELS, label_mechanism=RandomizedResponse(2, 1.0)),
            "over 2 labels; 3 are given",
        ),
    ],
)
def test_parts_that_do_not_fit(make, message):
    with pytest.raises(InvalidValue, match=message):
        make()


@pytest.mark.parametrize(
    ("release", "message"),
    [
        (lambda e: e.release([MARKER, " "], ["bad"] * 2, first_row=10), "row 11 is empty"),
        (lambda e: e.release(["tea"], ["bad"], second=[""], first_row=3), "row 3 is empty"),
        (lambda e: e.release(["tea"], ["bad"], second=[None], first_row=3), "row 3 .* a string"),
        (lambda e: e.release([7], ["bad"]), "row 1 is not a string; got one of type int"),
        (lambda e: e.release(["tea"] * 3, ["bad", MARKER, "x"], first_row=7), "first in row 8"),
        (lambda e: e.release(["tea"] * 3, ["bad"]), "3 sentences need as many labels"),
        (lambda e: e.release(["tea"]), "give labels if"),
        (lambda e: e.release(["tea"], ["bad"], second=[]), "as many second"),
    ],
)
def test_rows_that_cannot_be_released(release, message):
    made = embedder(labels=LABELS, label_mechanism=RandomizedResponse(LABELS, 1.0))
    with pytest.raises(InvalidValue, match=message) as error:
        release(made)
    assert MARKER not in str(error.value)


def test_labels_that_nobody_announced():
    with pytest.raises(InvalidValue, match="only then"):
        embedder().release(["tea"], ["bad"])


def test_a_sentence_without_a_direction_is_an_error():
    nothing = PublicMap((np.zeros((5, 3), np.float32),), (np.zeros(3, np.float32),), None, {})
    with pytest.raises(InvalidValue, match="other than zero"):
        SentenceEmbedder(encoder(), nothing, PUR).release(["tea"])


def test_a_map_made_from_protected_text_says_so_in_every_release(tmp_path):
    plain = PublicMap.random(5, 2)
    made = replace(plain, about={"made": "trained", "caveat": "the map is not public"})
    made.save(tmp_path / "map.safetensors")
    loaded = PublicMap.load(tmp_path / "map.safetensors")
    built = SentenceEmbedder(encoder(), loaded, Purkayastha(2, epsilon=4.0))
    assert "the map is not public" in built.statement.caveats
    assert "the map is not public" in built.release(TEXTS).statement.caveats
    bare = SentenceEmbedder(encoder(), plain, Purkayastha(2, epsilon=4.0))
    assert "the map is not public" not in bare.statement.caveats


# -- by names, and from file to file ---------------------------------------------------------------


def test_an_embedder_by_names(tmp_path):
    write_bert(tmp_path / "tiny", head=False)
    made = SentenceEmbedder.from_names(
        "sphere-gaussian",
        {"epsilon": 4.0, "delta": 1e-5},
        MapSettings(dim=3),
        EncoderSettings(encoder=str(tmp_path / "tiny")),
    )
    assert (made.mechanism.name, made.mechanism.delta, made.map.dimension) == (
        "sphere-gaussian",
        1e-5,
        3,
    )
    with pytest.raises(InvalidValue, match="purkayastha needs epsilon"):
        SentenceEmbedder.from_names("purkayastha", {})
    with pytest.raises(InvalidValue, match="must be one of random, pca"):
        MapSettings(map="umap")


def test_from_file_to_file(tmp_path):
    source, output = tmp_path / "in.jsonl", tmp_path / "out.npz"
    rows = [{"id": i, "text": text, "mood": LABELS[i % 3]} for i, text in enumerate(TEXTS)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = embedder(labels=LABELS, label_mechanism=RandomizedResponse(LABELS, 1.0))
    done = []
    receipt = embed_file(
        source,
        output,
        lambda: made,
        label_field="mood",
        keep=["id"],
        progress=lambda *at: done.append(at),
    )
    released = read_vectors(output)
    assert released.vectors.shape == (6, 3)
    assert released.kept["id"] == [0, 1, 2, 3, 4, 5]
    assert set(released.labels) <= set(LABELS)
    assert Receipt.beside(output).to_dict() == json.loads(receipt.to_json())
    assert receipt.labels.labels == LABELS
    assert receipt.counts == {"rows": 6, "sentences": 6}
    assert SEEDED_CAVEAT not in receipt.statement.caveats
    assert MARKER not in receipt.to_json()
    assert done[-1] == (source.stat().st_size,) * 2
    with pytest.raises(OutputError, match="exists already"):
        embed_file(source, output, made, label_field="mood")
    with pytest.raises(InvalidValue, match="only then"):
        embed_file(source, tmp_path / "other.npz", made)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "in.jsonl",
        "out.npz",
        "out.npz.privacy.json",
    ]
