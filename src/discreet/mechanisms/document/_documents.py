"""What the document mechanisms share: documents as rows of sentence vectors, and their wording."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arrays import Floats, Ids, Rows, ragged_blocks, row_blocks
from discreet.encoders.candidate_store import CandidateStore
from discreet.errors import InvalidValue
from discreet.mechanisms.selection import RULES
from discreet.mechanisms.sphere import number_rows, refuse
from discreet.mechanisms.whole_noise import GeometricNoise
from discreet.statement import Adjacency, Notion, PrivacyStatement, Unit

FEWEST_SENTENCES = 2
_BLOCK_SENTENCES = 4096
_BLOCK_DOCUMENTS = 256

SCOPE = (
    "one vector is released for each document; epsilon is for the whole release, and any one "
    "sentence of the document may be replaced by any other"
)
PUBLIC = ("the number of sentences of each document", "the encoder and any recoding of its vectors")


def sentence_statement(epsilon: float, *public: str) -> PrivacyStatement:
    """The pure guarantee for each sentence of a document that is released once."""
    return PrivacyStatement(
        notion=Notion.PURE,
        epsilon=epsilon,
        unit=Unit.SENTENCE,
        adjacency=Adjacency.REPLACE,
        scope=SCOPE,
        public=(*PUBLIC, *public),
    )


def public_rows(vectors: ArrayLike, name: str, dimension: int | None = None) -> Rows:
    """Finite rows of numbers, at least one, kept read-only in 32 bits."""
    array = np.array(number_rows(vectors, dimension, name), dtype=np.float32)
    if not array.size:
        raise InvalidValue(f"{name} must be at least one row of numbers; got none")
    refuse(_not_finite(array), name, "finite")
    array.flags.writeable = False
    return array


def checked_documents(
    vectors: ArrayLike, offsets: ArrayLike | None, dimension: int, owner: str
) -> tuple[Rows, Ids]:
    """Sentence vectors and where each document starts; anything unusable is an error.

    Args:
        vectors: ``(N, m)``, the sentences of all documents in order.
        offsets: where each document starts, and N at the end; None if there is one document.
        dimension: m.
        owner: what messages call the mechanism.
    """
    name = f"sentence vectors of {owner}"
    rows = number_rows(vectors, dimension, name)
    ends = np.array([0, len(rows)]) if offsets is None else np.asarray(offsets)
    if ends.ndim != 1 or not ends.size or ends.dtype.kind not in "iu":
        raise InvalidValue(
            f"offsets of {owner} must be a flat array of whole numbers, at least one"
        )
    starts: Ids = ends.astype(np.int64)
    lengths = np.diff(starts)
    if starts[0] != 0 or starts[-1] != len(rows) or (lengths < 0).any():
        raise InvalidValue(
            f"offsets of {owner} must rise from 0 to the number of sentence vectors, {len(rows)}"
        )
    refuse(lengths == 0, f"documents of {owner}", "of at least 1 sentence", what="document")
    refuse(
        lengths < FEWEST_SENTENCES,
        f"documents of {owner}",
        f"of at least {FEWEST_SENTENCES} sentences, which one of them could hide among",
        what="document",
    )
    for part in row_blocks(len(rows), numbers=_BLOCK_SENTENCES):
        refuse(_not_finite(rows[part]), name, "finite", first=part.start)
    return rows, starts


def document_blocks(offsets: Ids) -> Iterator[tuple[int, int]]:
    """Ranges of documents whose sentences are a block; a longer document is a block of its own."""
    return ragged_blocks(offsets, _BLOCK_SENTENCES, _BLOCK_DOCUMENTS)


def _not_finite(rows: Rows) -> NDArray[np.bool_]:
    return np.asarray(~np.isfinite(rows).all(axis=1))


class NoisyStatistic(ABC):
    """Geometric noise on whole numbers of each document, of which the release is made."""

    _noise: GeometricNoise

    @abstractmethod
    def statistic(self, vectors: ArrayLike, offsets: ArrayLike | None = None) -> Ids:
        """What the noise is added to. Not private."""

    def noisy(
        self, vectors: ArrayLike, rng: np.random.Generator, offsets: ArrayLike | None = None
    ) -> Ids:
        """The noisy statistic of each document, before anything is made of it: whole numbers."""
        return self._noise.add_noise(self.statistic(vectors, offsets), rng)

    def log_density(
        self, vectors: ArrayLike, outputs: ArrayLike, offsets: ArrayLike | None = None
    ) -> Floats:
        """Log-probability of each noisy statistic given the document of the same number."""
        true, noisy = self.statistic(vectors, offsets), np.asarray(outputs)
        if noisy.shape != true.shape or noisy.dtype.kind not in "iu":
            owner = type(self).__name__
            raise InvalidValue(f"outputs of {owner} must be whole numbers of shape {true.shape}")
        return np.asarray(self._noise.log_probabilities(noisy - true).sum(axis=1))


class PublicChoice(ABC):
    """Release one of some public vectors for each document."""

    choices: Rows

    @classmethod
    def from_store(cls, store: CandidateStore, epsilon: float, selection: str = RULES[0]) -> Self:
        """With the public side that a store holds.

        Args:
            store: made from public documents.
            epsilon: loss allowed for the release of a document, at least 0.
            selection: ``permute-and-flip`` or ``exponential``.
        """
        made: Self = cast(Any, cls)(*cls._held(store, epsilon), epsilon, selection)
        return made

    @staticmethod
    @abstractmethod
    def _held(store: CandidateStore, epsilon: float) -> tuple[Rows, ...]:
        """What a store has for this epsilon, as the constructor takes it."""

    @abstractmethod
    def select(
        self, vectors: ArrayLike, rng: np.random.Generator, offsets: ArrayLike | None = None
    ) -> Ids:
        """The index of the choice made for each document.

        Args:
            vectors: ``(N, d)``, the sentence vectors of all documents in order.
            rng: source of randomness.
            offsets: where each document starts, and N at the end; None for a single document.
        """

    def release(
        self, vectors: ArrayLike, rng: np.random.Generator, offsets: ArrayLike | None = None
    ) -> NDArray[np.float32]:
        """``(documents, m)``: an independently chosen public vector for each document."""
        return np.asarray(self.choices[self.select(vectors, rng, offsets)])
