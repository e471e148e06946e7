"""Whether a model learnt anything at all: a run with too much noise ends like any other."""

import math
from collections.abc import Mapping

# Of a normal law, one-sided: what chance alone gives in 1 of 20 cases.
_CHANCE = 1.645
_NEAR_UNIFORM = 0.5
_WHAT_TO_DO = "use more data, a larger epsilon or more steps, and look at it before you rely on it"


def scores_say_nothing(scores: Mapping[str, float], rows: int) -> str | None:
    """A sentence if test scores are no better than those of a model that learnt nothing.

    Args:
        scores: From :func:`discreet.training.scores.class_scores` or ``number_scores``.
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


def perplexity_says_nothing(perplexity: float, outcomes: int) -> str | None:
    """A sentence if a model predicts little better than by giving all outcomes one chance.

    >>> perplexity_says_nothing(9000.0, 10_000)[:18]
    'Nothing was learnt'
    >>> perplexity_says_nothing(200.0, 10_000)
    """
    if perplexity < _NEAR_UNIFORM * outcomes:
        return None
    return (
        f"Nothing was learnt: a perplexity of {perplexity:,.0f} is near that of guessing among "
        f"all {outcomes:,} outcomes alike; {_WHAT_TO_DO}."
    )
