"""What an audit feeds to a mechanism that does not say it itself: unit vectors, short documents.

An audit numbers its inputs. A sentence mechanism gets unit vectors, near and opposite ones among
them. A document mechanism gets every document of three sentences over a few places where a
sentence may lie: far out on either side, on public vectors that may be released, and elsewhere. Two
documents that differ in r sentences may lose r times what two that differ in one may, so all pairs
count. A word mechanism that reads what it released gets every text of two words over a few.
"""

import inspect
import math
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from discreet.arrays import Floats, Generator, Ids
from discreet.errors import InvalidValue
from discreet.protocols import ContextualMechanism
from discreet.statement import Notion

_SEED = 20260701
_UNITS = 24
_SENTENCES = 3
_FAR = 1e3
_CHOICES = 3
_WORDS = 8
_MOST_OUTPUTS = 2048
_TEXT_NUMBERS = 2**12


def unit_vectors(dimension: int) -> Floats:
    """Directions at random, each with its opposite and with a near one."""
    rng = np.random.default_rng(_SEED)
    some = rng.standard_normal((_UNITS // 3, dimension))
    some /= np.linalg.norm(some, axis=1, keepdims=True)
    near = some + 0.05 / np.sqrt(dimension) * rng.standard_normal(some.shape)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    return np.concatenate([some, -some, near])


def numbered(mechanism: Any, name: str) -> Any:
    """The mechanism, or if it takes documents a view of it that an audit can number inputs of."""
    try:
        parameters = inspect.signature(mechanism.release).parameters
    except (TypeError, ValueError):
        return mechanism
    if "offsets" not in parameters:
        return mechanism
    if isinstance(mechanism, ContextualMechanism):
        outputs = _possible(mechanism) if mechanism.contextual else np.arange(0)
        return (
            _TwoWordTexts(mechanism, name, outputs)
            if 0 < len(outputs) <= _MOST_OUTPUTS
            else mechanism
        )
    if not isinstance(getattr(mechanism, "dimension", None), int):
        raise InvalidValue(
            f"{name} takes documents, so it needs an attribute dimension, the length of a "
            "sentence vector"
        )
    if callable(getattr(mechanism, "log_probabilities", None)):
        return _Choosing(mechanism, name)
    if callable(getattr(mechanism, "log_density", None)):
        return _Noisy(mechanism, name)
    return _Documents(mechanism, name)


class _Documents:
    """A document mechanism that takes rows, each the sentences of one document end to end."""

    def __init__(self, mechanism: Any, name: str) -> None:
        self._inner, self._name = mechanism, name
        self.name, self.statement = getattr(mechanism, "name", name), mechanism.statement
        self._dimension = mechanism.dimension
        places = _places(mechanism)
        each = [range(len(places))] * _SENTENCES
        if self.statement.notion is Notion.APPROXIMATE:
            # Delta does not grow in proportion, so all pairs must differ in one sentence.
            each[1:] = [range(1)] * (_SENTENCES - 1)
        self._chosen: Ids = np.array(list(product(*each)))
        self.inputs: Any = places[self._chosen].reshape(len(self._chosen), -1)

    def release(self, rows: Any, rng: Generator) -> NDArray[Any]:
        """The vector released for each document."""
        return np.asarray(self._inner.release(*self._documents(rows, rng)))

    def replaced(self, first: Ids, second: Ids) -> Floats:
        """In how many sentences the documents of each pair differ."""
        differ = self._chosen[first] != self._chosen[second]
        return np.asarray(differ.sum(axis=1), dtype=np.float64)

    def label(self, number: int) -> str:
        """A document by its sentences."""
        return "document " + "-".join(str(place) for place in self._chosen[number])

    def _documents(self, rows: Any, *between: Any) -> tuple[Any, ...]:
        rows = np.asarray(rows)
        flat = rows.reshape(-1, self._dimension)
        return flat, *between, np.arange(len(rows) + 1) * _SENTENCES


class _Choosing(_Documents):
    """One of several public vectors is released: ids of documents in, ids of choices out."""

    def __init__(self, mechanism: Any, name: str) -> None:
        super().__init__(mechanism, name)
        self._rows, self.inputs = self.inputs, len(self.inputs)
        choices = np.asarray(mechanism.choices)
        different, self._kind = np.unique(choices, axis=0, return_inverse=True)
        self._ids = {row.tobytes(): number for number, row in enumerate(different)}

    def release(self, rows: Any, rng: Generator) -> Ids:
        """Which of the different choices came out, read off the released vectors themselves."""
        released = super().release(self._rows[rows], rng)
        bytes_each = released.dtype.itemsize * math.prod(released.shape[1:])
        whole = np.ascontiguousarray(released).reshape(-1).view(f"V{bytes_each}")
        ids = [self._ids.get(row, -1) for row in whole.tolist()]
        if -1 in ids:
            raise InvalidValue(f"release of {self._name} returned a vector that is no choice of it")
        return np.array(ids, dtype=np.int64)

    def log_probabilities(self, ids: Ids) -> Floats:
        """The law of the choice; equal choices are one."""
        logs = np.asarray(self._inner.log_probabilities(*self._documents(self._rows[ids])))
        kind = self._kind.reshape(-1)
        if logs.shape != (len(ids), len(kind)):
            raise InvalidValue(
                f"log_probabilities of {self._name} must return a number for each choice"
            )
        if len(self._ids) == len(kind):
            return np.asarray(logs[:, np.argsort(kind)])
        return np.stack(
            [logsumexp(logs[:, kind == i], axis=1) for i in range(len(self._ids))], axis=1
        )


class _Noisy(_Documents):
    """Noise on a statistic of the document; what is released is made of the noisy one."""

    @property
    def noise(self) -> "_Noisy":
        """The part that has a density."""
        return self

    def centres(self, rows: Floats) -> Floats:
        """What the noise is added to."""
        return np.asarray(self._inner.statistic(*self._documents(rows)), dtype=np.float64)

    def add_noise(self, rows: Floats, rng: Generator) -> Floats:
        """The noisy statistic; whole numbers are spread over the numbers that round to them."""
        noisy = np.asarray(self._inner.noisy(*self._documents(rows, rng)))
        if noisy.dtype.kind in "iu":
            return np.asarray(noisy + rng.random(noisy.shape) - 0.5)
        return noisy

    def log_density(self, rows: Floats, outputs: Floats) -> Floats:
        """Of each noisy statistic."""
        whole = np.asarray(self._inner.statistic(*self._documents(rows[:1]))).dtype.kind in "iu"
        told = np.rint(outputs).astype(np.int64) if whole else outputs
        return np.asarray(self._inner.log_density(*self._documents(rows, told)))


class _TwoWordTexts:
    """Texts of two words, released by a mechanism that reads the first as it came out.

    The law of a pair of outputs is the law of the first times that of the second after it, so two
    texts that differ in one word must be as close as two words are: the loss of a word is not to
    show again in the next.
    """

    def __init__(self, mechanism: Any, name: str, outputs: Ids) -> None:
        self._inner, self._name, self._outputs = mechanism, name, outputs
        self.name, self.statement = getattr(mechanism, "name", name), mechanism.statement
        few = max(2, min(_WORDS, _TEXT_NUMBERS // len(outputs)))
        self._words: Ids = mechanism.space.spread_words(few)
        self._chosen: Ids = np.array(list(product(range(len(self._words)), repeat=2)))
        self.inputs = len(self._chosen)
        # Texts that differ in the first word alone: is it seen again in the second?
        starts = np.flatnonzero(self._chosen[:, 1] == 0).tolist()
        self.telling_pairs = [(starts[0], other) for other in starts[1:]]

    def release(self, ids: Ids, rng: Generator) -> Ids:
        """The pair of outputs of each text, as one number."""
        flat = self._words[self._chosen[ids]].ravel()
        drawn = np.asarray(self._inner.release(flat, rng, np.arange(len(ids) + 1) * 2))
        places = np.searchsorted(self._outputs, drawn)
        if (self._outputs[np.minimum(places, len(self._outputs) - 1)] != drawn).any():
            raise InvalidValue(
                f"release of {self._name} returned a word that its law does not have"
            )
        return np.asarray(places[0::2] * len(self._outputs) + places[1::2])

    def log_probabilities(self, ids: Ids) -> Floats:
        """The law of pairs of outputs."""
        first, second = self._chosen[ids].T
        own = self._inner.log_probabilities(self._words[first])[:, self._outputs]
        after = self._after[:, second].transpose(1, 0, 2)
        return np.asarray((own[:, :, None] + after).reshape(len(ids), -1))

    @cached_property
    def _after(self) -> Floats:
        """``(outputs, words, outputs)``: the law of each word after each output."""
        return np.stack(
            [
                self._inner.log_probabilities(self._words, [output])[:, self._outputs]
                for output in self._outputs
            ]
        )

    def replaced(self, first: Ids, second: Ids) -> Floats:
        """In how many words the texts of each pair differ."""
        differ = self._chosen[first] != self._chosen[second]
        return np.asarray(differ.sum(axis=1), dtype=np.float64)

    def label(self, number: int) -> str:
        """A text by its words."""
        return " ".join(self._inner.space.words[word] for word in self._words[self._chosen[number]])


def _possible(mechanism: Any) -> Ids:
    """The words that can come out: the same for every word, or the law would show it."""
    law = np.asarray(mechanism.log_probabilities(np.arange(len(mechanism.space))[:1]))
    return np.flatnonzero(np.isfinite(law[0]))


def _places(mechanism: Any) -> Floats:
    """Where a sentence may lie."""
    dimension = mechanism.dimension
    rng = np.random.default_rng(_SEED)
    some = rng.standard_normal((_CHOICES + 1, dimension)) / np.sqrt(dimension)
    choices = np.asarray(getattr(mechanism, "choices", np.empty((0, 0))))
    if len(choices) >= _CHOICES and choices.shape[1] == dimension:
        some[:_CHOICES] = choices[np.linspace(0, len(choices) - 1, _CHOICES).astype(int)]
    far = np.full((1, dimension), _FAR)
    return np.concatenate([far, -far, some])
