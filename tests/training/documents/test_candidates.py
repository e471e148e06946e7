"""Making a candidate store: choices on other documents, what the recoder and votes have learned."""

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.mechanisms.document import DeepCandidate, LearnedVotes, SoftVotes
from discreet.training.documents.candidates import Documents, learned_voters, train_candidates
from discreet.training.documents.recoder import train_recoder
from discreet.training.documents.settings import StoreSettings

WIDTH, TOPICS = 12, 4


def documents(count, seed, *, drift=0.0, labels=False):
    """Sentences about a topic among others; with drift each document has a bent of its own."""
    rng = np.random.default_rng(seed)
    topics = np.arange(count) % TOPICS
    counts = rng.integers(4, 12, count)
    owner = np.repeat(np.arange(count), counts)
    vectors = 0.5 * rng.normal(size=(len(owner), WIDTH))
    vectors += drift * rng.normal(size=(count, WIDTH))[owner]
    vectors[np.arange(len(owner)), topics[owner]] += rng.random(len(owner)) < 0.7
    vectors[:, -1] += 2.0  # what all sentences share
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return Documents(vectors.astype(np.float32), offsets, topics if labels else None), topics


def make(public, validation, **options):
    values = {"candidates": 40, "min_sentences": 6, "clusters": TOPICS, "projections": 20}
    settings = StoreSettings(**(values | {"epochs": 8} | options))
    texts = [f"document {i}" for i in range(len(public))]
    return train_candidates(
        public,
        validation,
        texts,
        encoder="e",
        about={"from": "test"},
        settings=settings,
        epsilons=(3.0, 10.0),
    )


@pytest.fixture(scope="module")
def store():
    return make(documents(160, 0)[0], documents(40, 1)[0])


def test_candidates_are_means_of_long_public_documents(store):
    public, _ = documents(160, 0)
    numbers = [int(text.removeprefix("document ")) for text in store.texts]
    assert len(set(numbers)) == 40
    assert (public.counts[numbers] >= 6).all()
    recoded = public.means(store.recoded(public.vectors))
    assert np.allclose(store.candidates, recoded[numbers], atol=1e-5)


def test_projections_are_unit_and_choices_within_what_there_is(store):
    assert np.allclose(np.linalg.norm(store.projections, axis=1), 1.0, atol=1e-6)
    assert set(store.best_projections) == set(store.best_centroids) == {3.0, 10.0}
    assert set(store.best_projections.values()) <= {5, 10, 20}
    assert set(store.best_voters.values()) == set(store.voters)
    assert store.about["from"] == "test"
    assert store.about["classes"] == f"{TOPICS} k-means clusters"


def test_the_box_holds_three_quarters_of_public_means(store):
    means = documents(160, 0)[0].means()
    inside = ((means >= store.box[0]) & (means <= store.box[1])).mean(axis=0)
    assert np.abs(inside - 0.75).max() < 0.02


def test_the_same_seed_gives_the_same_store_and_another_another(store):
    public, validation = documents(160, 0)[0], documents(40, 1)[0]
    assert make(public, validation).fingerprint == store.fingerprint
    assert make(public, validation, seed=1).fingerprint != store.fingerprint


def expected_hits(law, topics_of_choices, topics):
    """How likely the release is of the document's topic, by the exact law."""
    return float((np.exp(law) * (topics_of_choices[None] == topics[:, None])).sum(axis=1).mean())


def test_the_recoder_brings_the_right_candidates_deep():
    public, topics = documents(160, 0, drift=0.4, labels=True)
    validation = documents(40, 1, drift=0.4, labels=True)[0]
    private, truth = documents(60, 2, drift=0.4)
    found = []
    for recoder in (False, True):
        store = make(public, validation, recoder=recoder, epochs=40)
        numbers = [int(text.removeprefix("document ")) for text in store.texts]
        assert (store.clusters == topics[numbers]).all()
        mechanism = DeepCandidate(store.candidates, store.projections_for(10.0), 10.0)
        law = mechanism.log_probabilities(store.recoded(private.vectors), private.offsets)
        found.append(expected_hits(law, store.clusters, truth))
    assert found[1] > found[0] + 0.1
    assert found[1] > 0.45


def test_learned_votes_find_the_topic():
    public, topics = documents(160, 0)
    private, truth = documents(80, 2)
    voters, members = learned_voters(public, TOPICS)
    of_cluster = np.array([np.bincount(topics[members == c]).argmax() for c in range(TOPICS)])
    assert set(of_cluster) == set(range(TOPICS))
    learned = LearnedVotes(voters.choices, voters.weights, voters.biases, 3.0)
    law = learned.log_probabilities(private.vectors, private.offsets)
    assert expected_hits(law, of_cluster, truth) > 0.8
    swapped = LearnedVotes(voters.choices, voters.weights[::-1], voters.biases, 3.0)
    law = swapped.log_probabilities(private.vectors, private.offsets)
    assert expected_hits(law, of_cluster, truth) < 1 / TOPICS


def test_with_labels_the_number_of_centroids_follows_the_task():
    public, validation = documents(160, 0, labels=True)[0], documents(40, 1, labels=True)[0]
    store = make(public, validation, recoder=False)
    assert store.about["classes"] == "labels"
    law = SoftVotes.from_store(store, 3.0).log_probabilities(validation.vectors, validation.offsets)
    assert (law.argmax(axis=1) == validation.labels).mean() > 0.9
    assert store.recoder is None
    assert store.best_centroids[3.0] == 5  # the fewest on offer for four topics


def test_a_recoder_of_noise_learns_nothing_and_says_so():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(600, WIDTH)).astype(np.float32)
    offsets, classes = np.arange(0, 601, 6), rng.integers(0, 2, 100)
    found = train_recoder(vectors, offsets, classes, StoreSettings(epochs=3))
    assert found.accuracy <= 0.9
    assert 1 <= found.epochs <= 3
    assert [w.shape for w, _ in found.layers] == [(WIDTH, WIDTH)] * 4


def test_some_documents_are_those_documents():
    public, topics = documents(20, 0, labels=True)
    for keep in (np.array([7, 2, 9]), np.arange(20) % 3 == 0):
        some, chosen = public.where(keep), np.arange(20)[keep]
        assert (some.labels == topics[chosen]).all()
        for i, j in enumerate(chosen):
            mine = some.vectors[some.offsets[i] : some.offsets[i + 1]]
            assert (mine == public.vectors[public.offsets[j] : public.offsets[j + 1]]).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"candidates": 161}, "161 candidates need as many public documents of at least 6"),
        ({"candidates": 0}, "candidates"),
        ({"min_sentences": 50}, "at least 50 sentences; 0 of the 160"),
        ({"clusters": 161}, "161 clusters"),
        ({"clusters": 1}, "clusters"),
        ({"projections": 0}, "projections"),
        ({"epochs": 0}, "epochs"),
    ],
)
def test_what_cannot_be_made_is_refused(options, words):
    with pytest.raises(InvalidValue, match=words):
        make(documents(160, 0)[0], documents(40, 1)[0], **options)


def test_validation_documents_must_be_as_long_as_candidates():
    short = Documents(np.ones((8, WIDTH), np.float32), np.array([0, 4, 8]))
    with pytest.raises(InvalidValue, match="no public validation document has 6 sentences"):
        make(documents(160, 0)[0], short, recoder=False)


@pytest.mark.parametrize(
    ("vectors", "offsets", "labels", "words"),
    [
        (np.zeros((0, 3)), [0], None, "at least one sentence"),
        (np.zeros((2, 3)), [0, 2, 2], None, "at least one sentence"),
        (np.zeros((2, 3)), [0, 1], None, "end at the last"),
        (np.full((2, 3), np.nan), [0, 2], None, "finite; row 1"),
        (np.zeros((2, 3)), [0, 2], [1, 2], "as many labels"),
    ],
)
def test_documents_that_do_not_fit_are_refused(vectors, offsets, labels, words):
    with pytest.raises(InvalidValue, match=words):
        Documents(vectors, np.array(offsets), labels)


def test_too_few_documents_for_a_recoder():
    with pytest.raises(InvalidValue, match="at least 10"):
        train_recoder(
            np.ones((4, 3), np.float32), np.array([0, 2, 4]), np.array([0, 1]), StoreSettings()
        )
