"""One view of whatever is audited: ids in, releases out, and what it says about itself.

Three kinds of mechanism are understood, told apart by what they offer:

- ids to ids, with ``log_probabilities(ids)`` if the law is known;
- ids to ids through a noisy vector: ``points``, ``noise.add_noise`` and ``noise.log_density``;
- vectors to vectors, with ``log_density(values, outputs)`` if the density is known, or with
  ``noise`` as above if a release is what post-processing makes of a noisy vector.

A mechanism whose ``release`` takes ``offsets`` is of documents, and is looked at as one of the
three (:mod:`discreet.audit.inputs`).

What may go in is said by ``space`` (its words), by ``classes`` (the number of labels) or by
``inputs`` (a number of ids, or a matrix of vectors to try); a sentence mechanism that says none of
it is fed unit vectors of its ``dimension``. A metric other than Euclidean distances and angles is
given by ``distance(first, second)``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Generator, Ids, Rows, row_norms
from discreet.audit.inputs import numbered, unit_vectors
from discreet.errors import DiscreetError, InvalidValue
from discreet.spaces.distances import Distances
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import MetricKind, Notion, PrivacyStatement, Unit

_TRIED = 3


@dataclass(frozen=True)
class VectorStage:
    """The part of a mechanism that turns vectors into noisy ones and has a density."""

    points: Rows
    add_noise: Callable[[Floats, Generator], Floats]
    log_density: Callable[[Floats, Floats], Floats]
    statistics: Rows | None = None
    """What the noise goes on, for each input, if that is not its vector."""

    @property
    def centres(self) -> Rows:
        """What the noise goes on."""
        return self.points if self.statistics is None else self.statistics

    def at(self, ids: Ids) -> Floats:
        """The vectors of some inputs."""
        return self.points[ids].astype(np.float64)

    def log_density_of(self, vector: Floats, outputs: Floats) -> Floats:
        """The density of one vector's release at many outputs."""
        return self.log_density(np.broadcast_to(vector, (len(outputs), len(vector))), outputs)


@dataclass(frozen=True)
class Subject:
    """What is audited. Inputs are numbers from 0 to ``count - 1``."""

    name: str
    mechanism: Any
    statement: PrivacyStatement
    count: int
    discrete: bool
    """True if releases are ids, False if they are vectors."""
    outputs: int | None
    """How many outputs there are, if the law says so."""
    vectors: Rows | None
    """A vector per input, to find near and far pairs with."""
    stage: VectorStage | None
    nearest_points: Rows | None
    """Set if a release is the nearest of these points to the stage's noisy vector."""
    distance: Callable[[Ids, Ids], Floats] | None
    """In the metric of the statement."""
    sensitive: NDArray[np.bool_] | None
    """Which inputs the utility-optimised notion protects."""
    complete: bool
    """True if no other inputs exist, as with words and labels."""

    def release(self, ids: Ids, rng: Generator) -> NDArray[Any]:
        """One release per input number, checked for shape and kind."""
        values = ids if self.discrete or self.vectors is None else self.vectors[ids]
        name = f"release of {self.name}"
        out = np.asarray(_guarded(name, self.mechanism.release, values, rng))
        if self.discrete:
            if out.shape != (len(ids),) or out.dtype.kind not in "iu":
                raise InvalidValue(
                    f"{name} must return one whole number for each of {len(ids)} ids; "
                    f"got shape {out.shape} of {out.dtype}"
                )
            if (out < 0).any() or (self.outputs is not None and (out >= self.outputs).any()):
                raise InvalidValue(f"{name} returned an id that its law does not have")
            return out.astype(np.int64, copy=False)
        if out.ndim != 2 or len(out) != len(ids) or out.dtype.kind != "f":
            raise InvalidValue(
                f"{name} must return one row of floats for each of {len(ids)} vectors; "
                f"got shape {out.shape} of {out.dtype}"
            )
        if not np.isfinite(out).all():
            raise InvalidValue(f"{name} returned numbers that are not finite")
        return out.astype(np.float64, copy=False)

    @property
    def has_law(self) -> bool:
        """True if the probabilities of the outputs are known."""
        return callable(getattr(self.mechanism, "log_probabilities", None))

    def log_probabilities(self, ids: Ids) -> Floats:
        """The law's rows for some inputs."""
        name = f"log_probabilities of {self.name}"
        out = np.asarray(_guarded(name, self.mechanism.log_probabilities, ids))
        if out.ndim != 2 or len(out) != len(ids) or out.dtype.kind != "f":
            raise InvalidValue(
                f"{name} must return a row of floats for each id; got shape {out.shape} "
                f"of {out.dtype} for {len(ids)} ids"
            )
        return out.astype(np.float64, copy=False)

    def label(self, number: int) -> str:
        """A name for an input: the public word, if there is one."""
        own = getattr(self.mechanism, "label", None)
        if callable(own):
            return str(own(number))
        space, labels = (getattr(self.mechanism, name, None) for name in ("space", "labels"))
        if isinstance(space, EmbeddingSpace):
            return space.words[number]
        return str(labels[number]) if isinstance(labels, tuple) else f"input {number}"

    def allowed(self, first: Ids, second: Ids) -> Floats:
        """The loss that the statement allows for each pair."""
        statement = self.statement
        if self.distance is None:
            return np.full(len(first), statement.epsilon)
        return statement.epsilon * self.distance(first, second) + statement.slack


def subject_of(
    mechanism: Any,
    name: str | None = None,
    inputs: int | Rows | None = None,
) -> Subject:
    """Look at a mechanism and say how to audit it; what cannot be audited is an error.

    Args:
        mechanism: anything with ``statement`` and ``release``.
        name: for the report; the mechanism's own unless given.
        inputs: how many ids there are, or vectors to try; what the mechanism says unless given.
    """
    name = name or getattr(mechanism, "name", None) or type(mechanism).__name__
    statement = _guarded(f"statement of {name}", getattr, mechanism, "statement", None)
    if not isinstance(statement, PrivacyStatement):
        raise InvalidValue(
            f"{name} needs an attribute statement, a discreet.PrivacyStatement; "
            f"got {type(statement).__name__}"
        )
    if statement.notion is Notion.NONE:
        raise InvalidValue(f"{name} claims nothing (notion none), so there is nothing to audit")
    if not callable(getattr(mechanism, "release", None)):
        raise InvalidValue(f"{name} needs a method release(ids, rng)")
    mechanism = numbered(mechanism, name)
    space = getattr(mechanism, "space", None)
    if inputs is None:
        inputs = _own_inputs(mechanism, statement)
    stage, points = _stage_of(mechanism, name, space, inputs)
    discrete = stage is None or points is not None
    count, vectors = _inputs_of(name, space, inputs, stage)
    if discrete and isinstance(vectors, np.ndarray) and stage is None and space is None:
        discrete = False  # a matrix of inputs: vectors go in, and vectors come out
    subject = Subject(
        name=name,
        mechanism=mechanism,
        statement=statement,
        count=count,
        discrete=discrete,
        outputs=None,
        vectors=vectors,
        stage=stage,
        nearest_points=points,
        distance=_distance_of(mechanism, name, statement, space, discrete, vectors),
        sensitive=_sensitive_of(mechanism, name, statement, count),
        complete=discrete and getattr(mechanism, "replaced", None) is None,
    )
    if subject.has_law:
        width = subject.log_probabilities(np.arange(min(_TRIED, count))).shape[1]
        subject = replace(subject, outputs=width)
        if subject.sensitive is not None and width != count:
            raise InvalidValue(f"{name} protects inputs by name, so its outputs must be its inputs")
    subject.release(np.arange(min(_TRIED, count)), np.random.default_rng(0))
    return subject


def _own_inputs(mechanism: Any, statement: PrivacyStatement) -> Any:
    for name in ("inputs", "classes"):
        if getattr(mechanism, name, None) is not None:
            return getattr(mechanism, name)
    dimension = getattr(mechanism, "dimension", None)
    vectors = statement.unit is Unit.SENTENCE and isinstance(dimension, int)
    return unit_vectors(dimension) if vectors and dimension is not None else None


def _stage_of(
    mechanism: Any, name: str, space: object, inputs: object
) -> tuple[VectorStage | None, Rows | None]:
    noise, points = getattr(mechanism, "noise", None), getattr(mechanism, "points", None)
    has_noise = callable(getattr(noise, "log_density", None))
    density = getattr(noise if has_noise else mechanism, "log_density", None)
    if not callable(density):
        return None, None
    add_noise = mechanism.release if noise is None or not has_noise else noise.add_noise
    if has_noise and points is not None:
        return _stage(name, points, add_noise, density), points
    if inputs is None and isinstance(space, EmbeddingSpace):
        inputs = space.vectors
    tried = np.asarray(inputs)
    if tried.ndim != 2 or tried.dtype.kind != "f" or len(tried) < 2:
        raise InvalidValue(
            f"{name} has a log_density, so it needs an attribute inputs: a matrix of two or "
            "more vectors to try (or a space)"
        )
    centres = getattr(noise, "centres", None) if has_noise else None
    return _stage(name, tried, add_noise, density, centres), None


def _stage(
    name: str, points: Rows, add_noise: Any, log_density: Any, centres: Any = None
) -> VectorStage:
    stage = VectorStage(
        points,
        partial(_guarded, f"the noise of {name}", add_noise),
        partial(_guarded, f"log_density of {name}", log_density),
        None if centres is None else _guarded(f"the statistic of {name}", centres, points),
    )
    vectors = stage.at(np.arange(_TRIED) % len(points))
    noisy = np.asarray(stage.add_noise(vectors, np.random.default_rng(0)))
    shape = (len(vectors), *stage.centres.shape[1:])
    if noisy.shape != shape or noisy.dtype.kind != "f":
        raise InvalidValue(
            f"{name} has a density, so it must return a row of floats as long as the input for "
            f"each vector; got shape {noisy.shape} of {noisy.dtype} for {shape}"
        )
    logs = np.asarray(stage.log_density(vectors, noisy))
    if logs.shape != (len(vectors),) or logs.dtype.kind != "f":
        raise InvalidValue(
            f"log_density of {name} must return a float for each row; got shape {logs.shape} "
            f"of {logs.dtype} for {len(vectors)} rows"
        )
    return stage


def _inputs_of(
    name: str, space: object, inputs: object, stage: VectorStage | None
) -> tuple[int, Rows | None]:
    if stage is not None:
        return len(stage.points), stage.points
    if isinstance(space, EmbeddingSpace):
        return len(space), space.vectors
    if isinstance(inputs, int | np.integer) and not isinstance(inputs, bool) and inputs >= 2:
        return int(inputs), None
    matrix = None if inputs is None else np.asarray(inputs)
    if matrix is not None and matrix.ndim == 2 and matrix.dtype.kind == "f" and len(matrix) > 1:
        return len(matrix), matrix
    raise InvalidValue(
        f"{name} needs an attribute space (an EmbeddingSpace) or inputs (how many ids there are, "
        "or a matrix of vectors): the audit must know what to feed it"
    )


def _distance_of(
    mechanism: Any,
    name: str,
    statement: PrivacyStatement,
    space: object,
    discrete: bool,
    vectors: Rows | None,
) -> Callable[[Ids, Ids], Floats] | None:
    if statement.metric is None:
        # Loss may grow with the number of units in which two inputs differ.
        grows = statement.notion is Notion.PURE
        return getattr(mechanism, "replaced", None) if grows else None
    own = getattr(mechanism, "distance", None)
    if callable(own):

        def measured(first: Ids, second: Ids) -> Floats:
            pair: tuple[Any, Any] = (first, second)
            if not discrete and vectors is not None:
                pair = (vectors[first], vectors[second])
            out = np.asarray(_guarded(f"distance of {name}", own, *pair), dtype=np.float64)
            if out.shape != (len(first),) or not (out >= 0).all():
                raise InvalidValue(
                    f"distance of {name} must return a number of at least 0 for each pair"
                )
            return out

        return measured
    if statement.metric.kind is MetricKind.EUCLIDEAN:
        if discrete and isinstance(space, EmbeddingSpace):
            return Distances(space).exact
        if not discrete and vectors is not None:
            return lambda first, second: row_norms(
                vectors[first].astype(np.float64) - vectors[second]
            )
    if statement.metric.kind is MetricKind.ANGLE and not discrete and vectors is not None:
        return lambda first, second: _angles(vectors[first], vectors[second])
    raise InvalidValue(
        f"the statement of {name} is in a metric that the audit cannot measure by itself; give "
        "the object a method distance(first, second)"
    )


def _angles(first: Rows, second: Rows) -> Floats:
    # From the half-angle formula: the arc cosine is useless for small angles.
    x, y = (
        rows / np.linalg.norm(rows.astype(np.float64), axis=1)[:, None] for rows in (first, second)
    )
    return np.asarray(2 * np.arctan2(row_norms(x - y), row_norms(x + y)))


def _sensitive_of(
    mechanism: Any, name: str, statement: PrivacyStatement, count: int
) -> NDArray[np.bool_] | None:
    if statement.notion is not Notion.UTILITY_OPTIMISED:
        return None
    ids = getattr(mechanism, "sensitive", None)
    if ids is None:
        raise InvalidValue(
            f"{name} has a utility-optimised statement, so it needs an attribute sensitive: "
            "the ids that it protects"
        )
    mask = np.zeros(count, dtype=np.bool_)
    mask[np.asarray(ids)] = True
    return mask


def _guarded(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call what a user wrote; its own mistake is one sentence, not a traceback."""
    try:
        return function(*arguments)
    except DiscreetError:
        raise
    except (Exception, SystemExit) as error:
        raise InvalidValue(f"{what} raised {type(error).__name__}: {error}") from error


def rate_of(statement: PrivacyStatement, loss: Floats, distance: Floats | None) -> Floats:
    """The epsilon that each loss would need, after the slack.

    For pairs at distance 0 that is infinite unless the loss is (but for rounding) within the slack.
    """
    over = loss - statement.slack
    if distance is None:
        return over
    over = over - ROUNDING
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = over / distance
    return np.where(distance > 0, rates, np.where(over > 0, math.inf, -math.inf))


ROUNDING = 1e-9
"""Loss that float64 logarithms of laws may be off by."""
