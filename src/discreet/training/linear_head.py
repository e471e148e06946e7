"""The linear layer on top of features: logistic or ridge regression, saved as plain arrays."""

from collections.abc import Sequence, Sized
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Floats32
from discreet.errors import InvalidValue, needs_extra
from discreet.tensors import Arrays


@dataclass(frozen=True)
class LinearHead:
    """Scores ``features @ weight + bias``: one column for each class, or one number.

    Attributes:
        weight: ``(features, outputs)``.
        bias: ``(outputs,)``.
        classes: The names of the classes; None for regression.
    """

    weight: Floats32 = field(repr=False)
    bias: Floats32 = field(repr=False)
    classes: tuple[str, ...] | None

    def scores(self, features: Any) -> Floats:
        """``(rows, outputs)``: of each class the logarithm of its odds, or a number."""
        return np.asarray(features @ self.weight, dtype=np.float64) + self.bias

    def decide(self, features: Any) -> list[str] | list[float]:
        """The likeliest class of each row, or its number."""
        return decided(self.scores(features), self.classes)

    @property
    def arrays(self) -> Arrays:
        """To be saved with the model."""
        return {"head.weight": self.weight, "head.bias": self.bias}

    @classmethod
    def of_arrays(cls, arrays: Arrays, classes: Sequence[str] | None) -> "LinearHead":
        """The layer whose :attr:`arrays` are among these."""
        names = None if classes is None else tuple(classes)
        return cls(arrays["head.weight"], arrays["head.bias"], names)


def decided(scores: NDArray[Any], classes: Sequence[str] | None) -> list[str] | list[float]:
    """The likeliest class of each row of scores, or without classes its number.

    >>> decided(np.array([[0.1, 2.0], [3.0, 0.2]]), ("bad", "good"))
    ['good', 'bad']
    """
    if classes is None:
        return [float(value) for value in scores[:, 0]]
    return [classes[best] for best in scores.argmax(axis=1)]


def fit_head(
    features: Any,
    labels: Sequence[str] | Sequence[float],
    *,
    regression: bool,
    penalty: float = 1.0,
) -> LinearHead:
    """Fit a linear layer on dense or sparse features, with a penalty on its squared weights."""
    with needs_extra("a classifier", "train"):
        from sklearn.linear_model import LogisticRegression, Ridge
    if regression:
        ridge = Ridge(alpha=penalty).fit(features, np.asarray(labels, dtype=np.float64))
        weight = np.asarray(ridge.coef_, dtype=np.float32).reshape(-1, 1)
        return LinearHead(weight, np.array([ridge.intercept_], dtype=np.float32), None)
    classes, codes = classes_of([str(label) for label in labels])
    logistic = LogisticRegression(C=1 / penalty, max_iter=1000).fit(features, codes)
    coef, intercept = logistic.coef_, logistic.intercept_
    if len(classes) == 2:  # one column that tells the second from the first
        coef, intercept = np.vstack([-coef, coef]) / 2, np.array([-1, 1]) * intercept / 2
    return LinearHead(
        np.ascontiguousarray(coef.T, dtype=np.float32), intercept.astype(np.float32), classes
    )


def classes_of(labels: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The classes in order, and the number of each label's class."""
    names, codes = np.unique(np.array(labels, dtype=object), return_inverse=True)
    if len(names) < 2:
        raise InvalidValue(
            f"a classifier needs labels of at least 2 classes; the {len(labels)} rows have "
            f"{len(names)}"
        )
    return tuple(map(str, names)), codes.astype(np.int64)


def require_pairs(texts: Sized, seconds: Sized | None, pairs: bool) -> None:
    """Refuse single texts where pairs were learnt, pairs where single texts were, and odd ones."""
    if (seconds is not None) != pairs:
        raise InvalidValue(
            "this model was trained on pairs of texts; give both"
            if pairs
            else "this model was trained on single texts; give no second one"
        )
    if seconds is not None and len(seconds) != len(texts):
        raise InvalidValue(f"{len(texts)} texts need as many second texts; got {len(seconds)}")
