"""Documents on the same page: one released vector each, in which every sentence is protected.

What is left of a document for a model that learns labels from released vectors and for a search;
beside it how often whoever has the list of documents says which one a vector is of.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Floats, Generator, Ids, Rows
from discreet.attacks.outcome import Estimate, share
from discreet.encoders.candidate_store import CandidateStore
from discreet.encoders.encoder import Encoder
from discreet.errors import InvalidValue
from discreet.evaluation.comparison.reading import TaskReading, right_by_vectors
from discreet.mechanisms.registry import entries
from discreet.mechanisms.sphere import units_or_zeros
from discreet.protocols import ChoosingMechanism, DocumentMechanism
from discreet.release.search_quality import neighbours_kept
from discreet.text.sentences import kept_documents, long_enough, split_sentences
from discreet.training.documents.candidates import (
    Documents,
    train_candidates,
    training_and_validation,
)
from discreet.training.documents.settings import StoreSettings

EPSILONS = (3.0, 10.0, 30.0)
UNPROTECTED = "no protection"
FEWEST = 50
"""Documents of at least 2 sentences, here and in public, without which nothing is measured."""
_OWN, _PUBLIC = 2, 3  # sentences, as many times as there are texts among which a search is tried
_CANDIDATES, _PER_CLUSTER = 500, 20
_SEED = 0  # of the public side and of the noise


@dataclass(frozen=True)
class DocumentRow:
    """One mechanism at one setting.

    Attributes:
        mechanism: Its name.
        epsilon: For any sentence of a document; None without protection.
        accuracy: Of a model that learns from released vectors; None without labels.
        recall: Of the 10 nearest neighbours.
        recognised: How often whoever has the list names the document.
        documents: Among how many.
        sentences: Of a document, in the middle.
    """

    mechanism: str
    epsilon: float | None
    accuracy: Estimate | None
    recall: float
    recognised: Estimate
    documents: int
    sentences: float

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "DocumentRow":
        """From what was kept."""
        accuracy = values["accuracy"]
        estimates: dict[str, Any] = {
            "accuracy": None if accuracy is None else Estimate(**accuracy),
            "recognised": Estimate(**values["recognised"]),
        }
        return cls(**{**values, **estimates})


@dataclass(frozen=True)
class ReadDocuments:
    """Documents of at least 2 sentences, as sentences.

    Attributes:
        rows: Which texts of the task they are.
        sentences: Of all, end to end.
        offsets: Document i is sentences ``offsets[i]`` to ``offsets[i + 1]``.
    """

    rows: Ids
    sentences: Sequence[str]
    offsets: Ids

    @classmethod
    def of(cls, texts: Sequence[str], most: int) -> "ReadDocuments":
        """The first of them, with about so many sentences."""
        sentences, offsets = split_sentences(texts)
        enough = long_enough(offsets)
        keep = enough & (np.cumsum(np.where(enough, np.diff(offsets), 0)) <= most)
        return cls(np.flatnonzero(keep), *kept_documents(sentences, offsets, keep))

    def encoded(self, model: Encoder) -> Documents:
        """A vector for each sentence."""
        return Documents(np.asarray(model.encode(self.sentences), np.float32), self.offsets)


def documents_of(reading: TaskReading) -> tuple[ReadDocuments, ReadDocuments] | None:
    """Those that are measured and the public ones; None if the texts are no documents."""
    most, longest = reading.effort.searched, reading.effort.longest
    public = [" ".join(text.split()[:longest]) for text in reading.task.public]
    both = (
        ReadDocuments.of(reading.originals, _OWN * most),
        ReadDocuments.of(public, _PUBLIC * most),
    )
    return both if min(len(each.rows) for each in both) >= FEWEST else None


def document_rows(
    model: Encoder,
    reading: TaskReading,
    read: tuple[ReadDocuments, ReadDocuments],
    *,
    epsilons: Sequence[float] = EPSILONS,
) -> list[DocumentRow]:
    """Measure every document mechanism that public text without labels is enough for.

    Args:
        model: Makes vectors of sentences.
        reading: Whose labels a model learns, if it has any.
        read: From :func:`documents_of`.
        epsilons: To try, for any sentence.
    """
    own, public = read
    documents = own.encoded(model)
    store = _store(public.encoded(model), model.fingerprint)
    truth, rng = units_or_zeros(documents.means()), np.random.default_rng(_SEED)
    labels, folds = reading.task.labels, reading.task.folds[own.rows]

    def row(name: str, epsilon: float | None, released: Rows, guessed: Ids) -> DocumentRow:
        accuracy = None
        if labels is not None:
            right = right_by_vectors(units_or_zeros(released), labels[own.rows], folds)
            accuracy = share(right.astype(np.bool_))
        return DocumentRow(
            name,
            epsilon,
            accuracy,
            neighbours_kept(truth, units_or_zeros(released)),
            share(guessed == np.arange(len(documents))),
            len(documents),
            float(np.median(documents.counts)),
        )

    rows = [row(UNPROTECTED, None, documents.means(), np.arange(len(documents)))]
    for entry in entries("document"):
        for epsilon in epsilons:
            try:
                built: DocumentMechanism = entry.build({"store": store, "epsilon": epsilon})
            except InvalidValue:  # needs more than public text: labels of it, or a setting
                continue
            vectors = store.recoded(documents.vectors) if built.recoded else documents.vectors
            rows.append(row(entry.name, epsilon, *_attacked(built, vectors, documents, rng)))
    return rows


def _attacked(
    mechanism: DocumentMechanism, vectors: Rows, documents: Documents, rng: Generator
) -> tuple[Floats, Ids]:
    """A release of each document, and which of all documents each is taken for.

    Where one of a list is chosen the guess is the best there is: the document that the law makes
    most likely. Elsewhere it is the one whose mean is nearest, and the figure a lower bound.
    """
    if isinstance(mechanism, ChoosingMechanism):
        chosen = mechanism.select(vectors, rng, documents.offsets)
        law = mechanism.log_probabilities(vectors, documents.offsets)
        return np.asarray(mechanism.choices[chosen], np.float64), law.argmax(axis=0)[chosen]
    released = np.asarray(mechanism.release(vectors, rng, documents.offsets), np.float64)
    return released, (units_or_zeros(released) @ units_or_zeros(documents.means()).T).argmax(axis=1)


def _store(public: Documents, encoder: str) -> CandidateStore:
    """The public side, as 'discreet train candidates' makes it."""
    chosen, held_out = training_and_validation(len(public), _SEED)
    training = public.where(chosen)
    settings = StoreSettings(
        candidates=min(_CANDIDATES, len(training)),
        min_sentences=2,
        clusters=max(2, min(StoreSettings().clusters, len(training) // _PER_CLUSTER)),
        seed=_SEED,
    )
    return train_candidates(
        training,
        public.where(held_out),
        [""] * len(training),  # nobody reads which public document was chosen
        encoder=encoder,
        about={},
        settings=settings,
        epsilons=EPSILONS,
    )
