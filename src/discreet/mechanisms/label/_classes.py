"""What the label mechanisms share: class indices, and the wording of their statements."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import check
from discreet.arrays import Ids
from discreet.errors import InvalidValue
from discreet.statement import Adjacency, Notion, PrivacyStatement, Unit

SCOPE = "each label is replaced by a draw, independent of the others; only the label is covered"
PUBLIC = ("the list of possible labels", "the number of labels")


class LabelLaw(ABC):
    """A mechanism for labels whose law is a row for each of them."""

    def __init__(self, classes: int, statement: PrivacyStatement) -> None:
        self.classes = classes
        """How many labels there are."""
        self.statement = statement
        """The guarantee for each released label."""

    @property
    def transition(self) -> NDArray[np.float64]:
        """``(k, k)``: row y is the law of the release of y; public, and what training corrects."""
        return np.exp(self.log_probabilities(np.arange(self.classes)))

    @abstractmethod
    def log_probabilities(self, indices: ArrayLike) -> NDArray[np.float64]:
        """``(n, k)``: the law of the release of each class index."""


def checked_indices(indices: ArrayLike, classes: int, owner: str) -> Ids:
    """A flat array of class indices; anything else is an error that repeats no label."""
    array = np.asarray(indices)
    if array.size == 0 and array.ndim <= 1:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidValue(
            f"labels of {owner} must be a flat array of class indices; got {array.ndim} dimensions "
            f"of {array.dtype}"
        )
    outside = (array < 0) | (array >= classes)
    if outside.any():
        raise InvalidValue(
            f"labels of {owner} must be class indices from 0 to {classes - 1}; "
            f"{int(outside.sum())} of {array.size} are not, the first in row {outside.argmax()}"
        )
    return array.astype(np.int64, copy=False)


def indices_of(values: Iterable[Hashable], labels: tuple[Hashable, ...], owner: str) -> Ids:
    """The class index of each label; one that is not in the list is an error that names its row."""
    places = {label: index for index, label in enumerate(labels)}
    indices = [places.get(value, -1) for value in values]
    if -1 in indices:
        raise InvalidValue(
            f"labels of {owner} must be among the {len(labels)} possible ones; "
            f"{indices.count(-1)} of {len(indices)} are not, the first in row {indices.index(-1)}"
        )
    return np.array(indices, dtype=np.int64)


def label_statement(epsilon: float, *public: str) -> PrivacyStatement:
    """The pure guarantee of a label's release."""
    return PrivacyStatement(
        notion=Notion.PURE,
        epsilon=epsilon,
        unit=Unit.LABEL,
        adjacency=Adjacency.REPLACE,
        scope=SCOPE,
        public=(*PUBLIC, *public),
    )


def possible_labels(labels: int | Sequence[Hashable], owner: str) -> tuple[Hashable, ...]:
    """The labels there may be: given, or numbered; at least two, and distinct."""
    if isinstance(labels, int | np.integer):
        labels = range(check.whole(labels, f"labels of {owner}", at_least=1))
    elif isinstance(labels, str):
        raise InvalidValue(f"labels of {owner} must be a list of labels, not one text")
    possible = tuple(labels)
    if len(set(possible)) < len(possible):
        raise InvalidValue(f"labels of {owner} must be distinct")
    if len(possible) < 2:
        raise InvalidValue(
            f"labels of {owner} must be at least 2; got {len(possible)}: with a single "
            "class the keep-probability is 1 and a label has no privacy"
        )
    return possible
