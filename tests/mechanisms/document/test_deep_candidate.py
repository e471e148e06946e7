"""DeepCandidate: sensitivity and inequality by every replacement, the fast depth by the naive."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidValue
from discreet.mechanisms.document import DeepCandidate, _depth
from discreet.mechanisms.selection import RULES, Selection
from discreet.protocols import FiniteMechanism
from discreet.statement import Adjacency, Notion, PrivacyStatement, Unit
from goodness import fits
from naive_products import naive_products
from sentence_neighbours import PLACES, all_documents, largest_step

SEED = 20260502
ANGLES = np.arange(5) * math.pi / 5
PROJECTIONS = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
# Some of the candidates are where sentences may be, so that ties count.
CANDIDATES = np.concatenate([PLACES[:3], [[0.2, 0.1], [1.0, 0.4], [9.0, 9.0]]])

EXAMPLES = {
    f"{rule}-{epsilon}": (
        lambda rule=rule, epsilon=epsilon: DeepCandidate(CANDIDATES, PROJECTIONS, epsilon, rule)
    )
    for rule, epsilon in zip(RULES, (8.0, 2.0), strict=True)
}


def naive(mechanism, document):
    """Algorithm 1 as it is written, on products in whole numbers rounded to 32 bits at the end."""
    ours = naive_products(document, mechanism.projections).astype(np.float32)
    theirs = naive_products(mechanism.candidates, mechanism.projections).astype(np.float32)
    out = []
    for candidate in theirs:
        reach = (ours >= candidate).sum(axis=0)
        out.append(-np.abs(reach - len(document) / 2).max())
    return np.array(out)


def many(rng, documents, most, dimension):
    lengths = rng.integers(2, most, documents)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return rng.normal(size=(offsets[-1], dimension)), offsets


@pytest.mark.parametrize("sentences", [2, 3, 5])
def test_one_sentence_moves_no_score_by_more_than_one(sentences):
    vectors, offsets, chosen = all_documents(sentences)
    scores = DeepCandidate(CANDIDATES, PROJECTIONS, 1.0).scores(vectors, offsets)
    assert largest_step(scores, chosen) == 1.0
    assert scores.max() <= 0
    assert scores.min() == -sentences / 2


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_the_law_keeps_its_epsilon_over_all_replacements(rule, epsilon):
    vectors, offsets, chosen = all_documents(4)
    law = DeepCandidate(CANDIDATES, PROJECTIONS, epsilon, rule).log_probabilities(vectors, offsets)
    assert np.abs(np.exp(law).sum(axis=1) - 1).max() < 1e-12
    assert largest_step(law, chosen) <= epsilon + 1e-10


@pytest.mark.parametrize("rule", RULES)
def test_without_the_half_the_inequality_fails(rule):
    """The mutant exp(epsilon * u) in place of exp(epsilon * u / 2)."""
    vectors, offsets, chosen = all_documents(4)
    scores = DeepCandidate(CANDIDATES, PROJECTIONS, 2.0, rule).scores(vectors, offsets)
    assert largest_step(Selection(rule, 2 * 2.0).log_probabilities(scores), chosen) > 2.3


def test_counting_each_sentence_twice_would_be_seen():
    vectors, offsets, chosen = all_documents(3)
    twice = np.repeat(vectors, 2, axis=0)
    scores = DeepCandidate(CANDIDATES, PROJECTIONS, 1.0).scores(twice, offsets * 2)
    assert largest_step(scores, chosen) == 2.0


@settings(deadline=None, max_examples=40)
@example(795971, 1, 1)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 30))
def test_the_fast_depth_is_the_naive_one(seed, projections, candidates):
    rng = np.random.default_rng(seed)
    mechanism = DeepCandidate(
        rng.normal(scale=0.4, size=(candidates, 3)), rng.normal(size=(projections, 3)), 1.0
    )
    vectors, offsets = many(rng, 6, 14, 3)
    vectors[:2] = mechanism.candidates[0]
    fast = mechanism.scores(vectors, offsets)
    for i in range(6):
        assert (fast[i] == naive(mechanism, vectors[offsets[i] : offsets[i + 1]])).all()


@pytest.mark.parametrize("few", [3, 256], ids=["bounds first", "all counted"])
@pytest.mark.parametrize("cells", [4, 128])
def test_the_fast_depth_of_many_candidates_and_long_documents(monkeypatch, few, cells):
    monkeypatch.setattr(_depth, "_FEW", few)
    monkeypatch.setattr(_depth, "_MOST_CELLS", cells)
    monkeypatch.setattr(_depth, "_COMPARISONS", 2**10)
    rng = np.random.default_rng(SEED)
    mechanism = DeepCandidate(rng.normal(size=(200, 4)), rng.normal(size=(40, 4)), 1.0)
    vectors, offsets = many(rng, 3, 10, 4)
    long = rng.normal(scale=3.0, size=(300, 4))
    offsets = np.append(offsets, offsets[-1] + 300)
    fast = mechanism.scores(np.concatenate([vectors, long]), offsets)
    assert (fast[3] == naive(mechanism, long)).all()
    assert (fast[0] == naive(mechanism, vectors[: offsets[1]])).all()
    assert len(np.unique(fast[3])) > 5


@pytest.mark.parametrize(("low", "high"), [(1, 0), (0, -1)], ids=["below", "above"])
def test_who_may_be_deep_must_be_rounded_outwards(monkeypatch, low, high):
    """The mutant that rounds one end inwards loses candidates."""
    monkeypatch.setattr(_depth, "_MOST_CELLS", 8)
    rng = np.random.default_rng(SEED)
    vectors, offsets = many(rng, 20, 14, 3)
    mechanism = DeepCandidate(rng.normal(scale=0.5, size=(200, 3)), rng.normal(size=(6, 3)), 1.0)
    right = mechanism.scores(vectors, offsets)
    between = _depth.Depths._between
    monkeypatch.setattr(
        _depth.Depths, "_between", lambda self, a, b: between(self, a + low, b + high)
    )
    assert (mechanism.scores(vectors, offsets) != right).any()


def test_huge_vectors_count_like_any_other():
    mechanism = DeepCandidate(CANDIDATES, PROJECTIONS, 1.0)
    document = np.array([[1e300, -1e300], [1e300, 1e300], [0.0, 0.0], [0.1, 0.1]])
    before = mechanism.scores(document)
    for row in range(4):
        other = document.copy()
        other[row] = [0.3, 0.3]
        assert np.abs(mechanism.scores(other) - before).max() <= 1.0


@pytest.mark.parametrize("rule", RULES)
def test_the_sampler_follows_the_law_and_a_wrong_epsilon_does_not(rule):
    rng = np.random.default_rng(SEED)
    document = rng.normal(size=(7, 2))
    mechanism = DeepCandidate(CANDIDATES, PROJECTIONS, 1.5, rule)
    copies, offsets = np.tile(document, (20_000, 1)), np.arange(20_001) * 7
    drawn = mechanism.select(copies, rng, offsets)
    assert fits(drawn, np.exp(mechanism.log_probabilities(document))[0]), f"seed {SEED}"
    wrong = DeepCandidate(CANDIDATES, PROJECTIONS, 1.8, rule).log_probabilities(document)
    assert not fits(drawn, np.exp(wrong)[0])


def test_a_batch_is_its_documents_one_by_one():
    rng = np.random.default_rng(SEED)
    mechanism = DeepCandidate(rng.normal(size=(30, 3)), rng.normal(size=(9, 3)), 3.0)
    vectors, offsets = many(rng, 600, 8, 3)
    together = mechanism.log_probabilities(vectors, offsets)
    for i in (0, 255, 256, 599):
        alone = mechanism.log_probabilities(vectors[offsets[i] : offsets[i + 1]])
        assert (together[i] == alone[0]).all()
    chosen = mechanism.select(vectors, np.random.default_rng(1), offsets)
    released = mechanism.release(vectors, np.random.default_rng(1), offsets)
    assert (released == mechanism.candidates[chosen]).all()
    assert len(mechanism.select(vectors[:0], rng, [0])) == 0


def test_statement():
    mechanism = DeepCandidate(CANDIDATES, PROJECTIONS, 1.5)
    statement = mechanism.statement
    assert (statement.notion, statement.unit, statement.epsilon) == (
        Notion.PURE,
        Unit.SENTENCE,
        1.5,
    )
    assert statement.adjacency is Adjacency.REPLACE
    assert "the number of sentences of each document" in statement.public
    assert PrivacyStatement.from_json(statement.to_json()) == statement
    assert isinstance(mechanism, FiniteMechanism)


BAD_DOCUMENTS = {
    "no sentences": (np.empty((0, 2)), None, "at least 1 sentence"),
    "one sentence": (np.zeros((1, 2)), None, "at least 2 sentences"),
    "one sentence in a batch": (np.zeros((3, 2)), [0, 2, 3], "document 1 "),
    "an empty document": (np.zeros((4, 2)), [0, 2, 2, 4], "document 1 "),
    "too wide": (np.zeros((3, 3)), None, "must have 2 columns; got 3"),
    "flat": (np.zeros(4), None, "must be rows of numbers"),
    "words": (np.array([["a", "b"]] * 2), None, "must be rows of numbers"),
    "not a number": (np.array([[0.0, 0.0], [0.0, np.nan]]), None, "finite; row 1 "),
    "infinite": (np.array([[0.0, np.inf], [0.0, 0.0]]), None, "finite; row 0 "),
    "offsets that fall": (np.zeros((4, 2)), [0, 3, 1, 4], "must rise from 0"),
    "offsets that end early": (np.zeros((4, 2)), [0, 2], "must rise from 0"),
    "offsets that start late": (np.zeros((4, 2)), [2, 4], "must rise from 0"),
    "offsets of another kind": (np.zeros((4, 2)), [0.0, 4.0], "flat array of whole numbers"),
    "no offsets": (np.zeros((4, 2)), np.empty(0, dtype=int), "at least one"),
}


@pytest.mark.parametrize("case", BAD_DOCUMENTS)
def test_bad_documents_are_refused(case):
    vectors, offsets, message = BAD_DOCUMENTS[case]
    mechanism = DeepCandidate(CANDIDATES, PROJECTIONS, 1.0)
    for call in (
        lambda: mechanism.release(vectors, np.random.default_rng(0), offsets),
        lambda: mechanism.log_probabilities(vectors, offsets),
    ):
        with pytest.raises(InvalidValue, match=message):
            call()


@pytest.mark.parametrize(
    ("candidates", "projections", "epsilon", "selection"),
    [
        (np.empty((0, 2)), PROJECTIONS, 1.0, "exponential"),
        (CANDIDATES, np.empty((0, 2)), 1.0, "exponential"),
        (CANDIDATES, np.ones((3, 5)), 1.0, "exponential"),
        (CANDIDATES * math.nan, PROJECTIONS, 1.0, "exponential"),
        (CANDIDATES, np.full((2, 2), math.inf), 1.0, "exponential"),
        (CANDIDATES[0], PROJECTIONS, 1.0, "exponential"),
        (CANDIDATES, PROJECTIONS, -1.0, "exponential"),
        (CANDIDATES, PROJECTIONS, math.inf, "exponential"),
        (CANDIDATES, PROJECTIONS, 1.0, "largest"),
    ],
)
def test_bad_parameters_are_refused(candidates, projections, epsilon, selection):
    with pytest.raises(InvalidValue, match="must"):
        DeepCandidate(candidates, projections, epsilon, selection)


def test_public_vectors_cannot_be_changed_afterwards():
    mechanism = DeepCandidate(CANDIDATES, PROJECTIONS, 1.0)
    with pytest.raises(ValueError, match="read-only"):
        mechanism.candidates[0, 0] = 1.0
