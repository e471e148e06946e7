"""A rewriter learns what the noise of a mechanism does, from public text alone."""

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.mechanisms.word import Gaussian, SanText
from discreet.models.rewriter import Rewriter
from discreet.protocols import PostProcessed
from discreet.randomness import SEEDED_CAVEAT
from discreet.release.text import Sanitizer
from discreet.text.tokens import tokenizer_for
from discreet.training.texts.rewriting import RewritingSanitizer, measure_rewriter, train_rewriter
from discreet.training.texts.settings import RewriterTraining
from small_spaces import random_space

SPACE = random_space(30, 5)
MECHANISM = SanText(SPACE, epsilon=2.0, calibration="published")


def sentences(count, seed=0):
    """Each word says which comes next, so that neighbours tell what the noise hid."""
    starts = np.random.default_rng(seed).integers(0, 12, count)
    return [" ".join(f"word{1 + (s + 2 * i) % 12}" for i in range(6)) for s in starts]


@pytest.fixture(scope="module")
def trained():
    return train_rewriter(
        MECHANISM, sentences(1500), RewriterTraining(hidden=24, epochs=10, learning_rate=0.01)
    )


def test_it_restores_more_than_the_mechanism_keeps_and_more_than_words_alone_allow(trained):
    tokenizer = tokenizer_for(SPACE.words, SPACE.unknown, SPACE.subwords)
    test = tokenizer.encode(sentences(300, seed=1))
    found = measure_rewriter(trained, MECHANISM, test)
    # Bayes' rule for one word on its own, with all words alike: the best without neighbours.
    alone = np.exp(MECHANISM.log_probabilities(np.arange(1, 13))).max(axis=0).sum() / 12
    assert found["kept"] < 0.4
    assert found["restored"] > alone + 0.2
    assert found["cross_entropy"] < np.log(12)


def test_the_same_seed_trains_the_same_rewriter():
    first, second, other = (
        train_rewriter(MECHANISM, sentences(60), RewriterTraining(hidden=4, epochs=1, seed=seed))
        for seed in (1, 1, 2)
    )
    same = [
        a.equal(b)
        for a, b in zip(first.network.parameters(), second.network.parameters(), strict=True)
    ]
    assert all(same)
    assert not first.network.output.equal(other.network.output)


def test_the_statement_is_the_mechanisms_unchanged(trained):
    sanitizer = RewritingSanitizer(MECHANISM, trained)
    assert sanitizer.statement == Sanitizer(MECHANISM).statement
    release = sanitizer.sanitize(sentences(4))
    assert release.units == 24
    assert release.statement == sanitizer.statement
    seeded = sanitizer.sanitize(sentences(4), np.random.default_rng(0))
    assert SEEDED_CAVEAT in seeded.statement.caveats


def test_the_rewriter_is_handed_the_release_and_never_the_input(trained, monkeypatch):
    seen = []

    def spy(_self, released):
        seen.append(released.ids.copy())
        return released

    monkeypatch.setattr(Rewriter, "rewrite", spy)
    texts = sentences(50)
    sanitizer = RewritingSanitizer(MECHANISM, trained)
    assert isinstance(sanitizer._released, PostProcessed)
    out = sanitizer.sanitize(texts, np.random.default_rng(3)).values
    ids = tokenizer_for(SPACE.words, SPACE.unknown, SPACE.subwords).encode(texts).ids
    (given,) = seen
    assert np.array_equal(given, MECHANISM.release(ids, np.random.default_rng(3)))
    assert not np.array_equal(given, ids)
    assert out == Sanitizer(MECHANISM).sanitize(texts, np.random.default_rng(3)).values


def test_two_inputs_with_one_release_are_rewritten_alike(trained):
    class Constant:
        name, space, statement = MECHANISM.name, SPACE, MECHANISM.statement

        def release(self, ids, _rng):
            return np.full(len(ids), 5)

    sanitizer = RewritingSanitizer(MECHANISM, trained)
    sanitizer._released.mechanism._mechanism = Constant()
    a, b = (
        sanitizer.sanitize([text]).values for text in ("word1 word2 word3", "word9 word4 word8")
    )
    assert a == b


def test_a_mechanism_without_a_law_works_too():
    mechanism = Gaussian(SPACE, 5.0, delta=1e-3, clip=3.0)
    rewriter = train_rewriter(mechanism, sentences(100), RewriterTraining(hidden=4, epochs=1))
    assert RewritingSanitizer(mechanism, rewriter).statement.delta == 1e-3


def test_empty_documents_stay_empty(trained):
    assert RewritingSanitizer(MECHANISM, trained).sanitize(["", "  "]).values == ["", ""]


def test_a_rewriter_of_another_mechanism_is_refused(trained):
    with pytest.raises(InvalidValue, match="was trained for santext"):
        RewritingSanitizer(SanText(SPACE, epsilon=3.0), trained)


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (["", " "], {}, "occur twice"),
        (["word1 word2"], {}, "occur twice"),
        (["zzz zzz"] * 5, {}, "occur twice"),
        (["word1 word1"] * 30, {"body": "gpt"}, "one of bilstm, masked"),
        (["word1 word1"] * 30, {"epochs": 0}, "at least 1"),
        (["word1 word1"] * 30, {"learning_rate": -1}, "above 0"),
    ],
)
def test_bad_input(texts, options, message):
    with pytest.raises(InvalidValue, match=message):
        train_rewriter(MECHANISM, texts, RewriterTraining(**options))


@pytest.mark.encoder
def test_the_layers_of_the_packaged_encoder(tmp_path):
    """Words that the encoder writes as several pieces are read as one position."""
    mechanism = SanText(SPACE, epsilon=1.0, calibration="published")
    rewriter = train_rewriter(mechanism, sentences(40), RewriterTraining(body="masked", epochs=1))
    rewriter.save(tmp_path / "r")
    assert (tmp_path / "r").stat().st_size < 60e6  # without the encoder's own token matrix
    again = RewritingSanitizer(mechanism, Rewriter.load(tmp_path / "r"))
    texts = sentences(5)
    first = RewritingSanitizer(mechanism, rewriter).sanitize(texts, np.random.default_rng(0))
    assert again.sanitize(texts, np.random.default_rng(0)).values == first.values
    assert [len(t.split()) for t in first.values] == [6] * 5
