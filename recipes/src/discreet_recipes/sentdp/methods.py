"""Ways to release documents, and the classifiers that read what comes out."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Rows
from discreet.encoders.candidate_store import CandidateStore
from discreet.encoders.encoder import Encoder
from discreet.mechanisms.document import DeepCandidate, LearnedVotes, SentenceVotes, Truncation
from discreet.mechanisms.word import CMP
from discreet.release.text import Sanitizer
from discreet.spaces.space import EmbeddingSpace
from discreet.training.documents.candidates import (
    Documents,
    choose_projections,
    document_clusters,
    judged_documents,
)
from discreet_recipes.sentdp.data import Corpus, Part
from discreet_recipes.sentdp.pages import PAPER
from discreet_recipes.sentdp.sizes import SentDPOptions

Release = Callable[[float, np.random.Generator], Rows]
Predict = Callable[[Rows], NDArray[np.int64]]

MIN_SENTENCES = 8
"""Of a candidate, and of the documents that choices are made on."""
FLIP = "permute-and-flip"


@dataclass(frozen=True)
class Method:
    """A way to release documents, and the classifier that reads what it releases.

    Attributes:
        release: From epsilon and randomness to a vector for each private document.
        predict: From released vectors to classes; fitted on public documents only.
    """

    release: Release
    predict: Predict


def methods(
    corpus: Corpus, with_recoder: CandidateStore, plain: CandidateStore, size: SentDPOptions
) -> dict[str, Method]:
    """All sentence-private methods by the name that plots give them."""
    public, private = corpus.public, corpus.private
    own, recoded = private.vectors, with_recoder.recoded(private.vectors)
    public_means = public.means(public.vectors)
    recoded_means = public.means(with_recoder.recoded(public.vectors))
    kind = size.classifier, size.classifier_epochs
    read_own = classifier(public_means, public.labels, *kind)
    read_recoded = classifier(recoded_means, public.labels, *kind)
    low, high = plain.box
    boxed = public.means(np.clip(public.vectors, low, high))
    clipped = classifier(boxed, public.labels, *kind)
    offsets = private.offsets
    recoded_centroids = {
        number: document_clusters(recoded_means, number, 0)[0] for number in with_recoder.centroids
    }

    def deep(store: CandidateStore, sentences: Rows, rule: str) -> Release:
        return lambda epsilon, rng: DeepCandidate(
            store.candidates, store.projections_for(epsilon), epsilon, rule
        ).release(sentences, rng, offsets)

    def votes(epsilon: float, rng: np.random.Generator) -> Rows:
        return SentenceVotes(plain.centroids_for(epsilon), epsilon).release(own, rng, offsets)

    def learned(epsilon: float, rng: np.random.Generator) -> Rows:
        some = plain.voters_for(epsilon)
        mechanism = LearnedVotes(some.choices, some.weights, some.biases, epsilon)
        return mechanism.release(own, rng, offsets)

    def recoded_votes(epsilon: float, rng: np.random.Generator) -> Rows:
        number = len(with_recoder.centroids_for(epsilon))
        return SentenceVotes(recoded_centroids[number], epsilon).release(recoded, rng, offsets)

    def truncation(epsilon: float, rng: np.random.Generator) -> Rows:
        return Truncation(low, high, epsilon).release(own, rng, offsets)

    return {
        PAPER: Method(deep(with_recoder, recoded, "exponential"), read_recoded),
        "deep-candidate, recoder": Method(deep(with_recoder, recoded, FLIP), read_recoded),
        "deep-candidate, no recoder, exponential": Method(
            deep(plain, own, "exponential"), read_own
        ),
        "deep-candidate, no recoder": Method(deep(plain, own, FLIP), read_own),
        "sentence-votes": Method(votes, read_own),
        "learned-votes": Method(learned, read_own),
        "sentence-votes after the recoder": Method(recoded_votes, read_recoded),
        "truncation": Method(truncation, clipped),
    }


def without_recoder(store: CandidateStore, corpus: Corpus) -> CandidateStore:
    """The same candidates as the encoder gives them, with projections chosen for these."""
    public = corpus.public
    row = {text: i for i, text in enumerate(public.texts)}
    means = public.means(public.vectors)[[row[text] for text in store.texts]].astype(np.float32)
    judged = judged_documents(documents_of(corpus.validation), MIN_SENTENCES)
    best = choose_projections(judged, judged.vectors, means, store.projections, None)
    return replace(store, candidates=means, recoder=None, best_projections=best)


def classifier(
    vectors: Rows, labels: NDArray[np.int64], kind: str = "logistic", epochs: int = 60
) -> Predict:
    """Fitted on public documents: logistic regression, or the paper's network of four layers."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if kind == "mlp":
        # Widths are ours: the paper says four layers. It stops when a tenth that it holds back
        # gets no better.
        fitted = MLPClassifier(
            (256, 128, 64), alpha=0.01, early_stopping=True, max_iter=epochs, random_state=0
        )
    else:
        fitted = LogisticRegression(C=0.01, max_iter=1000)
    model = make_pipeline(StandardScaler(), fitted)
    model.fit(vectors, labels)
    return lambda rows: np.asarray(model.predict(rows))


def word_method(
    corpus: Corpus, encoder: Encoder, space: EmbeddingSpace, size: SentDPOptions
) -> tuple[Corpus, Method]:
    """CMP on every word of some private documents, then the encoder and the mean."""
    private = corpus.private
    some = private.where(np.arange(len(private.labels)) < size.word_documents)

    def release(epsilon: float, rng: np.random.Generator) -> Rows:
        words = Sanitizer(CMP(space, epsilon)).sanitize(some.sentences, rng).values
        # A sentence of marks that the space lacks may leave nothing.
        return some.means(encoder.encode([text if text.strip() else "." for text in words]))

    public = corpus.public
    means = public.means(public.vectors)
    read = classifier(means, public.labels, size.classifier, size.classifier_epochs)
    return replace(corpus, private=some), Method(release, read)


def documents_of(part: Part) -> Documents:
    """A part as what a store is trained on."""
    return Documents(part.vectors, part.offsets, None)
