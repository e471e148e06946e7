"""What an audit feeds to a mechanism that does not say it itself: unit vectors, short documents.

An audit numbers its inputs. A sentence mechanism gets unit vectors, near and opposite ones among
them. A document mechanism gets every document of three sentences over a few places where a
sentence may lie: far out on either side, on public vectors that may be released, and elsewhere. Two
documents that differ in r sentences may lose r times what two that differ in one may, so all pairs
count.
"""

import inspect
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from discreet.arrays import Floats, Floats32, Generator, Ids
from discreet.encoders.candidate_store import CandidateStore, Voters
from discreet.errors import InvalidValue
from discreet.statement import Notion

_SEED = 20260701
_UNITS = 24
_SENTENCES = 3
_FAR = 1e3
_CHOICES = 3


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
        ids = [self._ids.get(row.tobytes(), -1) for row in released]
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


def made_up_store() -> CandidateStore:
    """A small public side for document mechanisms, for audits alone: numbers at random."""
    width, candidates, choices, projections = 6, 12, 5, 4
    rng = np.random.default_rng(_SEED)

    def rows(count: int) -> Floats32:
        return rng.standard_normal((count, width)).astype(np.float32)

    voters = Voters(rows(choices), rows(choices), np.zeros(choices, np.float32))
    return CandidateStore(
        candidates=rows(candidates),
        texts=tuple(f"made-up document {number}" for number in range(candidates)),
        clusters=np.arange(candidates) % choices,
        projections=rows(projections),
        centroids={choices: rows(choices)},
        voters={choices: voters},
        box=np.stack([-np.ones(width), np.ones(width)]).astype(np.float32),
        recoder=None,
        encoder="made up",
        best_projections={1.0: projections},
        best_centroids={1.0: choices},
        best_voters={1.0: choices},
        about={"made": "for an audit"},
        soft_voters={1.0: voters},
    )
