"""How good predictions are: accuracy and macro-F1 of classes, Pearson's correlation of numbers."""

from collections.abc import Sequence

import numpy as np

from discreet.errors import InvalidValue


def class_scores(truth: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """Accuracy, the mean F1 of all classes that occur, and what naming one class always gives.

    >>> class_scores(["a", "a", "b", "b"], ["a", "b", "b", "b"])
    {'accuracy': 0.75, 'macro_f1': 0.7333333333333334, 'commonest_class': 0.5}
    """
    _as_many(len(truth), len(predicted))
    names, codes = np.unique(np.array([*truth, *predicted], dtype=object), return_inverse=True)
    right, guess = codes[: len(truth)], codes[len(truth) :]
    hits = np.bincount(right[right == guess], minlength=len(names))
    both = np.bincount(right, minlength=len(names)) + np.bincount(guess, minlength=len(names))
    return {
        "accuracy": float((right == guess).mean()),
        "macro_f1": float((2 * hits / both).mean()),
        "commonest_class": float(np.bincount(right).max() / len(right)),
    }


def number_scores(truth: Sequence[float], predicted: Sequence[float]) -> dict[str, float]:
    """Pearson's correlation (0 if the predictions are all alike) and the mean squared error.

    >>> number_scores([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])["pearson"]
    1.0
    """
    _as_many(len(truth), len(predicted))
    first, second = np.asarray(truth, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    a, b = first - first.mean(), second - second.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    pearson = float(a @ b) / size if size > 0 else 0.0
    return {"pearson": pearson, "mean_squared_error": float(((first - second) ** 2).mean())}


def _as_many(truth: int, predicted: int) -> None:
    if truth != predicted or not truth:
        raise InvalidValue(f"{truth} labels and {predicted} predictions cannot be compared")
