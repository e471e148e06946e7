"""How good predictions are: accuracy and macro-F1 of classes, Pearson's correlation of numbers.

And whether a model learnt anything at all: a run with too much noise ends like any other.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from discreet.errors import InvalidValue

# Of a normal law, one-sided: what chance alone gives in 1 of 20 cases.
_CHANCE = 1.645
_NEAR_UNIFORM, _AS_WRONG = 0.5, 0.9
_WHAT_TO_DO = "use more data, a larger epsilon or more steps, and look at it before you rely on it"


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


def scores_say_nothing(scores: Mapping[str, float], rows: int) -> str | None:
    """A sentence if test scores are no better than those of a model that learnt nothing.

    Args:
        scores: From :func:`class_scores` or ``number_scores``.
        rows: How many rows they were measured on.

    >>> scores_say_nothing({"accuracy": 0.52, "commonest_class": 0.5}, 100)[:22]
    'Nothing was learnt: an'
    >>> scores_say_nothing({"accuracy": 0.9, "commonest_class": 0.5}, 100)
    """
    if rows < 1:
        return None
    if "accuracy" in scores and "commonest_class" in scores:
        base = scores["commonest_class"]
        if scores["accuracy"] > base + _CHANCE * math.sqrt(base * (1 - base) / rows):
            return None
        return (
            f"Nothing was learnt: an accuracy of {scores['accuracy']:.3f} on {rows:,} rows is no "
            f"more than always naming the commonest class gives ({base:.3f}); {_WHAT_TO_DO}."
        )
    if "pearson" in scores and scores["pearson"] <= _CHANCE / math.sqrt(rows):
        return (
            f"Nothing was learnt: a correlation of {scores['pearson']:.3f} on {rows:,} rows is no "
            f"more than chance gives; {_WHAT_TO_DO}."
        )
    return None


def perplexity_says_nothing(perplexity: float, wrong: float, outcomes: int) -> str | None:
    """A sentence if a model predicts little better than by giving all outcomes one chance.

    Args:
        perplexity: Of its predictions.
        wrong: The share of them that is wrong: a classifier may be right without being sure.
        outcomes: How many there are to choose from.

    >>> perplexity_says_nothing(9000.0, 0.99, 10_000)[:18]
    'Nothing was learnt'
    >>> perplexity_says_nothing(200.0, 0.8, 10_000)
    >>> perplexity_says_nothing(1.9, 0.27, 2)
    """
    if perplexity < _NEAR_UNIFORM * outcomes or wrong < _AS_WRONG * (1 - 1 / outcomes):
        return None
    return (
        f"Nothing was learnt: a perplexity of {perplexity:,.0f} is near that of guessing among "
        f"all {outcomes:,} outcomes alike; {_WHAT_TO_DO}."
    )
