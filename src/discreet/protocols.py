"""What every mechanism offers, family by family, and what a release is."""

from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Floats32, Generator, Ids, Progress
from discreet.card import card
from discreet.encoders.candidate_store import CandidateStore
from discreet.errors import InvalidValue
from discreet.randomness import SEEDED_CAVEAT, is_secure
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import PrivacyStatement

IntArray = NDArray[np.integer[Any]]
FloatArray = NDArray[np.floating[Any]]

X = TypeVar("X")
Y = TypeVar("Y")
Z = TypeVar("Z")
X_contra = TypeVar("X_contra", contravariant=True)
Y_co = TypeVar("Y_co", covariant=True)


@runtime_checkable
class Mechanism(Protocol[X_contra, Y_co]):
    """A randomised function with a guarantee that does not depend on the protected data."""

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee for one released unit: a constant of the mechanism."""

    def release(self, values: X_contra, rng: Generator) -> Y_co:
        """Release a whole batch; every entry gets its own independent noise."""


@runtime_checkable
class FiniteMechanism(Mechanism[IntArray, IntArray], Protocol):
    """A mechanism over finitely many outputs that can say its law."""

    def log_probabilities(self, values: IntArray) -> NDArray[np.float64]:
        """``(n, outputs)``: the natural logarithm of the law that ``release`` samples from."""


@runtime_checkable
class DensityMechanism(Mechanism[FloatArray, FloatArray], Protocol):
    """A mechanism with a density."""

    def log_density(self, values: FloatArray, outputs: FloatArray) -> NDArray[np.float64]:
        """The log-density of each output given the value in the same row."""


class Stated(Protocol):
    """What a mechanism of every family has."""

    name: ClassVar[str]

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee for each word, vector, sentence of a document or label that is released."""


class WordMechanism(Stated, Protocol):
    """A mechanism that releases word ids of a space."""

    space: EmbeddingSpace

    def release(self, ids: Any, rng: Generator) -> Ids:
        """An independent draw for each word id."""


@runtime_checkable
class ContextualMechanism(Stated, Protocol):
    """A word mechanism whose law of a word depends on what was released before it in its text."""

    space: EmbeddingSpace
    contextual: bool
    """Whether it reads what was released; if not, it is a word mechanism like any other."""

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee for each released word, given all that was released before."""

    def release(
        self,
        ids: Any,
        rng: Generator,
        offsets: Any = None,
        passed: Any = None,
        capitals: Any = None,
    ) -> Ids:
        """A draw for each word id; ``offsets`` says where each text starts.

        Without them every word is a text of its own: nothing was released before it. Where
        ``passed`` is true, the word is public and released as it is. ``capitals`` says which words
        begin with a capital, where that is public.
        """

    def log_probabilities(self, ids: Any, released: Any = ()) -> Floats:
        """``(n, words)``: the law of each word after a released text, given as ids."""


def release_texts(
    mechanism: WordMechanism,
    ids: IntArray,
    rng: Generator,
    offsets: Ids,
    passed: NDArray[np.bool_] | None = None,
    capitals: NDArray[np.bool_] | None = None,
) -> Ids:
    """Release the words of some texts; mechanisms that read on are told what is public of them.

    Args:
        mechanism: for words.
        ids: of all texts, end to end.
        rng: where the noise comes from.
        offsets: where each text starts.
        passed: words that are public and come out as they are.
        capitals: words that begin with a capital, where that is public.
    """
    if isinstance(mechanism, ContextualMechanism):
        return mechanism.release(ids, rng, offsets, passed, capitals)
    if passed is None:
        return mechanism.release(ids, rng)
    if passed.dtype != np.bool_:  # whole numbers would be places, and words would pass
        raise InvalidValue("passed must say true or false of each word")
    out = ids.astype(np.int64)
    out[~passed] = mechanism.release(ids[~passed], rng)
    return out


def watched(mechanism: WordMechanism, progress: Progress) -> WordMechanism:
    """The same mechanism, which says how far a release is if it is a slow one."""
    if hasattr(mechanism, "progress"):
        mechanism.progress = progress
    return mechanism


class Guide(Protocol):
    """Says which words are likely to follow a released text; it never sees anything else.

    A mechanism hands it words that were released and words that might be, and keeps the private
    word to itself. For that to hold by construction, three things are asked of a guide:

    - ``scores[i, j]`` depends on the released text of document ``rows[i]`` and on
      ``candidates[i, j]``, not on the other candidates: which ones are asked about tells of the
      private word. (It may depend on how many documents there are and on what was released in them:
      all that is public.)
    - ``scores`` changes nothing: what it was asked does not show in what it answers later.
    - It was made from public data alone.
    """

    name: str
    fingerprint: str
    """Of all that its scores depend on, for receipts."""
    documents: int
    """How many it takes at once."""

    def begin(self, documents: int) -> Any:
        """A state for so many documents, of which nothing was released yet."""

    def scores(self, state: Any, rows: Ids, candidates: Ids) -> FloatArray:
        """``(rows, candidates)``: ln P(candidate follows what was released of the document).

        Args:
            state: of this batch.
            rows: documents, by number; the same one may be asked for twice.
            candidates: ``(len(rows), n)`` word ids of the space.
        """

    def extend(self, state: Any, rows: Ids, released: Ids) -> None:
        """Take note of one more released word of each of these (different) documents."""


class SentenceMechanism(Stated, Protocol):
    """A mechanism that releases unit vectors."""

    dimension: int
    epsilon: float

    def release(self, vectors: Any, rng: Generator) -> Floats32:
        """An independent draw for each unit row."""


class DocumentMechanism(Stated, Protocol):
    """A mechanism that releases one vector for the sentences of each document."""

    recoded: ClassVar[bool]
    """Whether it reads sentence vectors as the store's recoder makes them, or as they are."""
    dimension: int
    epsilon: float

    @classmethod
    def from_store(cls, store: CandidateStore, epsilon: float) -> "DocumentMechanism":
        """With the public side that a store holds."""

    def release(self, vectors: Any, rng: Generator, offsets: Any = None) -> Floats32:
        """An independent draw for each document; ``offsets`` says where each of them starts."""


@runtime_checkable
class ChoosingMechanism(DocumentMechanism, Protocol):
    """A document mechanism that releases one of several public vectors."""

    choices: Floats32
    selection: str

    def select(self, vectors: Any, rng: Generator, offsets: Any = None) -> Ids:
        """Which of the choices is released for each document."""

    def log_probabilities(self, vectors: Any, offsets: Any = None) -> Floats:
        """Of each choice, for each document; exact."""


class LabelMechanism(Stated, Protocol):
    """A mechanism that releases class indices."""

    epsilon: float

    @property
    def classes(self) -> int:
        """How many labels there are."""

    @property
    def transition(self) -> Floats:
        """Row y is the law of the release of y."""

    def release(self, indices: Any, rng: Generator) -> Ids:
        """An independent draw for each class index."""


@dataclass(frozen=True)
class PostProcessed(Generic[X, Y, Z]):
    """A mechanism followed by a function of its release alone: the guarantee stays the same.

    The function never receives the input, so it cannot look at it by mistake.

    >>> from discreet.mechanisms.label import RandomizedResponse
    >>> named = PostProcessed(RandomizedResponse(["no", "yes"], 2.0), lambda drawn: drawn == 1)
    >>> named.release([0, 1, 1], np.random.default_rng(0)).dtype, named.statement.epsilon
    (dtype('bool'), 2.0)
    """

    mechanism: Mechanism[X, Y]
    function: Callable[[Y], Z]

    @property
    def statement(self) -> PrivacyStatement:
        """The inner mechanism's guarantee, unchanged."""
        return self.mechanism.statement

    def release(self, values: X, rng: Generator) -> Z:
        """Release, then apply the function to what was released."""
        return self.function(self.mechanism.release(values, rng))


@dataclass(frozen=True)
class Release(Generic[Y]):
    """Released values together with the statement that holds for each unit of them.

    >>> from discreet.mechanisms.label import RandomizedResponse
    >>> rng, mechanism = np.random.default_rng(0), RandomizedResponse(2, epsilon=1.0)
    >>> release = Release.of(mechanism.release([0, 1], rng), mechanism.statement, 2, rng)
    >>> release.units, release.statement.caveats
    (2, ('seeded: not for release',))
    """

    values: Y
    statement: PrivacyStatement
    units: int
    """How many units (words, sentences, ...) were released."""
    identifiers: Mapping[str, int] = field(default_factory=dict)
    """How many identifiers of each type were replaced by surrogates; it is public."""
    draws: Ids | None = field(default=None, compare=False, repr=False)
    """Of texts, how many draws the words of each took: what the losses of a whole text add up
    over. It is public."""

    def __repr__(self) -> str:
        counted = ", ".join(f"{count} {what}" for what, count in self.counted().items())
        return f"{type(self).__name__}({counted}; {self.statement.brief()})"

    def _repr_html_(self) -> str:
        return card("Release", self.counted(), self.statement.lines())

    def counted(self) -> dict[str, str]:
        """How much was released, for people; nothing of the values themselves."""
        rows = f"{len(self.values):,}" if isinstance(self.values, Sized) else None
        what = "values" if isinstance(self.values, list | tuple | np.ndarray) else "rows"
        sized = {} if rows is None or isinstance(self.values, str) else {what: rows}
        return {**sized, f"{self.statement.unit}s": f"{self.units:,}"}

    @classmethod
    def of(
        cls,
        values: Y,
        statement: PrivacyStatement,
        units: int,
        rng: Generator,
        *,
        draws: Ids | None = None,
    ) -> "Release[Y]":
        """A release that says so if its randomness was repeatable."""
        if not is_secure(rng):
            statement = statement.with_caveats(SEEDED_CAVEAT)
        return cls(values, statement, units, draws=draws)
