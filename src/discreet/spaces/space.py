"""A finite public vocabulary with a vector for each word."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InvalidValue, NotFound

UNKNOWN_NAMES = ("[UNK]", "<unk>", "<UNK>")
LARGEST_NUMBER = 1e12
"""Squared distances of vectors of larger numbers would leave the range of 32 bits."""


@dataclass(frozen=True, eq=False)
class EmbeddingSpace:
    """Words, their vectors and where both come from. Nothing in it may come from protected text.

    Make one with :meth:`from_arrays` or :func:`discreet.load_space`; both check their input.

    >>> space = EmbeddingSpace.from_arrays(["tea", "cup"], [[0.0, 1.0], [1.0, 1.0]])
    >>> len(space), space.dimension, space.id_of("cup")
    (2, 2, 1)
    """

    words: tuple[str, ...]
    vectors: NDArray[np.floating]
    provenance: str
    name: str = "custom"
    unknown: int | None = None
    """Index of the word that stands for every word the space does not have."""
    frequencies: NDArray[np.float64] | None = None
    """Public frequency of each word (any increasing scale), if known."""
    subwords: bool = False
    """True if the words are WordPieces (continuations begin with ``##``)."""
    source: tuple[str, int | None] | None = field(default=None, repr=False)
    """What :func:`discreet.load_space` was asked for, and how many words of it, so that another
    process can load the same; None if it was made from arrays."""
    _ids: Mapping[str, int] = field(default_factory=dict, repr=False)

    @classmethod
    def from_arrays(
        cls,
        words: Iterable[str],
        vectors: ArrayLike,
        provenance: str = "given as arrays",
        *,
        name: str = "custom",
        unknown: str | None = None,
        frequencies: ArrayLike | None = None,
        subwords: bool = False,
    ) -> "EmbeddingSpace":
        """A space from words and a matrix with one row per word.

        Args:
            words: unique, not empty.
            vectors: finite numbers of at most 1e12 in size, one row per word; float32 and float64
                keep their type.
            provenance: one line that says where the vectors come from.
            name: a short name for messages.
            unknown: the word that stands for unknown words; ``[UNK]`` and ``<unk>`` are recognised.
            frequencies: public frequency of each word.
            subwords: the words are WordPieces.
        """
        words = tuple(words)
        ids = {word: index for index, word in enumerate(words)}
        matrix = _checked_vectors(vectors, len(words))
        if len(words) < 2:
            raise InvalidValue("a space needs at least 2 words; got " + str(len(words)))
        if len(ids) != len(words):
            first = next(i for i, word in enumerate(words) if ids[word] != i)
            raise InvalidValue(
                f"the words of a space must be unique; entry {first} occurs again at entry "
                f"{ids[words[first]]} (counted from 0)"
            )
        for index, word in enumerate(words):
            if not isinstance(word, str) or not word:
                raise InvalidValue(
                    f"words of a space must be non-empty strings; entry {index} is not"
                )
        if unknown is not None and unknown not in ids:
            raise InvalidValue("the unknown token is not a word of this space; name one that is")
        unknown_word = unknown or next((mark for mark in UNKNOWN_NAMES if mark in ids), None)
        counts = None
        if frequencies is not None:
            given = np.asarray(frequencies)
            numbers = given.shape == (len(words),) and given.dtype.kind in "fiu"
            if not numbers or not np.isfinite(given).all():
                raise InvalidValue("frequencies must be one finite number per word")
            counts = given.astype(np.float64)
            counts.flags.writeable = False
        return cls(
            words=words,
            vectors=matrix,
            provenance=provenance,
            name=name,
            unknown=None if unknown_word is None else ids[unknown_word],
            frequencies=counts,
            subwords=subwords,
            _ids=ids,
        )

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"EmbeddingSpace({self.name!r}, {len(self):,} words x {self.dimension})"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self.vectors.shape[1])

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def id_of(self, word: str) -> int:
        """Index of a word; the message of the error does not repeat the word."""
        try:
            return self._ids[word]
        except KeyError:
            raise NotFound(
                f"that word is not among the {len(self):,} words of {self.name}; choose another, "
                "and mind capitals"
            ) from None

    def checked_ids(self, ids: ArrayLike) -> NDArray[np.int64]:
        """A flat array of ids of these words; anything else is an error that repeats no id."""
        array = np.asarray(ids)
        if array.size == 0:
            array = array.astype(np.int64)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise InvalidValue(
                f"word ids must be a flat array of whole numbers; got {array.ndim} dimensions "
                f"of {array.dtype}"
            )
        outside = (array < 0) | (array >= len(self))
        if outside.any():
            raise InvalidValue(
                f"word ids of {self.name} run from 0 to {len(self) - 1}; "
                f"{int(outside.sum())} of {array.size} are outside"
            )
        return array.astype(np.int64, copy=False)

    @property
    def ids(self) -> Mapping[str, int]:
        """Word to index."""
        return self._ids

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of words and vectors: a certificate holds for this and nothing else."""
        digest = hashlib.sha256()
        digest.update(f"{self.vectors.dtype.str}{self.vectors.shape}\n".encode())
        digest.update("\0".join(self.words).encode())
        digest.update(np.ascontiguousarray(self.vectors).data)
        return digest.hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """What a receipt says of it, ready for JSON."""
        return {
            "name": self.name,
            "words": len(self),
            "dimension": self.dimension,
            "fingerprint": self.fingerprint,
            "provenance": self.provenance,
        }

    def spread_words(self, count: int = 128) -> NDArray[np.int64]:
        """Evenly spaced words of the vocabulary, by id."""
        return np.unique(np.linspace(0, len(self) - 1, min(count, len(self))).astype(np.int64))

    def with_unknown(self, token: str = "<unk>") -> "EmbeddingSpace":
        """This space with one more word that stands for unknown words (:func:`unknown_vector`)."""
        if self.unknown is not None:
            return self
        exact = self.vectors.astype(np.float64)
        vector = unknown_vector(exact.sum(axis=0), np.linalg.norm(exact, axis=1))
        frequencies = None
        if self.frequencies is not None:
            # The rarest: a word nobody knows is treated as the most sensitive kind.
            frequencies = np.append(self.frequencies, self.frequencies.min())
        return EmbeddingSpace.from_arrays(
            (*self.words, token),
            np.vstack([self.vectors, vector.astype(self.vectors.dtype)]),
            f"{self.provenance}; {token} added in the mean direction",
            name=self.name,
            unknown=token,
            frequencies=frequencies,
            subwords=self.subwords,
        )

    def least_frequent(self, share: float) -> NDArray[np.int64]:
        """Indices of the least frequent ``share`` of the words, by public frequency.

        Words of equal frequency are ordered by index, later ones counted as rarer.
        """
        if self.frequencies is None:
            raise InvalidValue(
                f"the space {self.name} has no public word frequencies; give the sensitive words "
                "as a list or a file instead"
            )
        rarest_first = np.lexsort((-np.arange(len(self)), self.frequencies))
        return np.sort(rarest_first[: round(share * len(self))])

    def ids_of(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Indices of words that must all be in the space; the error says how many are not."""
        indices = [self._ids.get(word, -1) for word in words]
        missing = indices.count(-1)
        if missing:
            raise NotFound(
                f"{missing} of {len(indices)} words are not in the space {self.name}; "
                f"the first is at position {indices.index(-1)} (counted from 0)"
            )
        return np.array(indices, dtype=np.int64)


def unknown_vector(total: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where the token for unknown words is put: the mean direction, at the median length.

    From the sum of all vectors and the length of each. The mean itself would lie nearer to every
    word than words lie to each other, an outlier that draws probability and blunts the certificate.
    """
    size = float(np.linalg.norm(total))
    direction = total / size if size > 0 else np.full(len(total), len(total) ** -0.5)
    return np.asarray(float(np.median(lengths)) * direction)


def _checked_vectors(vectors: ArrayLike, rows: int) -> NDArray[np.floating]:
    try:
        matrix = np.asarray(vectors)
    except ValueError:
        raise InvalidValue("vectors must be a matrix with rows of equal length") from None
    if matrix.dtype not in (np.float32, np.float64):
        if matrix.dtype.kind not in "fiu":
            raise InvalidValue(f"vectors must be numbers; got an array of {matrix.dtype}")
        matrix = matrix.astype(np.float32 if matrix.dtype == np.float16 else np.float64)
    if matrix.ndim != 2 or matrix.shape[1] < 1:
        raise InvalidValue(f"vectors must be a matrix; got an array of shape {matrix.shape}")
    if matrix.shape[0] != rows:
        raise InvalidValue(f"{rows} words need {rows} vectors; got {matrix.shape[0]}")
    finite = np.isfinite(matrix).all(axis=1)
    if not finite.all():
        raise InvalidValue(
            f"vectors must be finite; entry {int(np.argmin(finite))} (counted from 0) is not"
        )
    if max(matrix.max(initial=0), -matrix.min(initial=0)) > LARGEST_NUMBER:
        large = (np.abs(matrix) > LARGEST_NUMBER).any(axis=1)
        raise InvalidValue(
            f"numbers of vectors must be at most {LARGEST_NUMBER:g} in size, for distances to be "
            f"computed; entry {int(large.argmax())} (counted from 0) has a larger one: divide all "
            "vectors by one number"
        )
    if matrix.flags.writeable:
        matrix = matrix.copy()  # the caller's array stays the caller's
        matrix.flags.writeable = False
    return matrix
