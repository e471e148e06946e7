"""The vocabulary of a guarantee: what is protected, against which change, by which inequality."""

from dataclasses import dataclass, field
from enum import StrEnum

from discreet import check
from discreet.errors import InvalidValue


class Unit(StrEnum):
    """What one step of the neighbouring relation may change."""

    WORD = "word"
    SENTENCE = "sentence"
    DOCUMENT = "document"
    LABEL = "label"
    USER = "user"
    USER_ENTITY = "user+entity"


class Adjacency(StrEnum):
    """How two neighbouring inputs differ in one unit."""

    REPLACE = "replace"
    ADD_REMOVE = "add/remove"


class Notion(StrEnum):
    """The kind of inequality."""

    PURE = "pure"
    APPROXIMATE = "approximate"
    METRIC = "metric"
    UTILITY_OPTIMISED = "utility-optimised metric"
    NONE = "none"


class MetricKind(StrEnum):
    """How a distance is measured, for programs."""

    EUCLIDEAN = "euclidean"
    ANGLE = "angle"
    MAHALANOBIS = "mahalanobis"
    OTHER = "other"
    """Whatever its name says; also what a file says that was written before there were kinds."""


@dataclass(frozen=True)
class Metric:
    """A named distance, with what it is typically worth between two units.

    The name identifies the metric (it holds the fingerprint of the space); the figures explain it.
    """

    name: str
    nearest: float | None = field(compare=False)
    """Median distance of a unit to its nearest neighbour; None where there is no finite set."""
    median: float = field(compare=False)
    """Median distance of a pair."""
    farthest: float = field(compare=False)
    """At least the distance of any pair (the diameter, or a proven bound on it)."""
    kind: MetricKind = field(default=MetricKind.OTHER, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", MetricKind(self.kind))
        if not isinstance(self.name, str):
            raise InvalidValue("the name of a metric must be a string")
        for name in ("nearest", "median", "farthest"):
            if (distance := getattr(self, name)) is not None or name != "nearest":
                check.non_negative(distance, f"{name} distance of a metric")
