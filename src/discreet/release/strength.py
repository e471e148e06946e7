"""Whether a setting protects enough to be released without a second thought.

Every epsilon has a statement, and at a large one the statement is true and worth nothing. The two
limits here are where a release asks to be confirmed; they are the same for every mechanism.
"""

from typing import Protocol

import numpy as np

from discreet.errors import InvalidValue
from discreet.protocols import WordMechanism
from discreet.spaces.prior import rank_prior
from discreet.statement import PrivacyStatement, odds

MOST_KNOWN = 0.9
"""A setting is weak if more than this share of words is known from what is released."""
MOST_LOSS = 20.0
"""A statement is weak if words that are most alike may differ by more: odds of 500 million to 1.

Between any two words for pure and approximate privacy; between nearest neighbours where the loss
grows with the distance, since that notion promises little for words that are far apart. Of vectors
between any two texts, or between two at a distance of 1.
"""
_WORDS = 32
DRAWS = 1024
"""Draws for public words that say how often a word stays, where the law has no formula."""


def mean_keep(mechanism: WordMechanism, count: int = _WORDS) -> float | None:
    """Mean probability that a word stays, over a few words; None if the law cannot be said."""
    law = getattr(mechanism, "log_probabilities", None)
    if law is None:
        return None
    ids = mechanism.space.spread_words(count)
    return float(np.exp(law(ids)[np.arange(len(ids)), ids]).mean())


def best_guess(mechanism: WordMechanism) -> float | None:
    """How often the best guess at a word is right, by public frequencies; None if none is known.

    Of the words that are replaced. Where a guide reads along, on average over public texts if that
    was measured, and at the beginning of a text if not.
    """
    guess_rate = getattr(mechanism, "guess_rate", None)
    if guess_rate is None:
        return None
    known = getattr(mechanism, "expected_guess", None)
    if known is not None and getattr(mechanism, "contextual", False):
        return float(known)
    prior = getattr(mechanism, "prior", None)
    return float(guess_rate(rank_prior(mechanism.space) if prior is None else prior))


KeepRate = tuple[float, int | None]
"""How often a word stays, and from how many draws that is known; None for the law itself."""


class KnownMechanism(Protocol):
    """Whoever has a mechanism and knows how often a word stays, such as a sanitizer."""

    mechanism: WordMechanism

    @property
    def keep_rate(self) -> KeepRate:
        """Asked for once."""
        ...


def weakness(mechanism: WordMechanism, known: KeepRate | None = None) -> str | None:
    """What is weak about a mechanism's setting, as a sentence without its end; None if nothing is.

    Args:
        mechanism: with its setting.
        known: what :func:`keep_rate` says of it, if that was asked already.

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> from discreet.mechanisms.word import SanText
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup"], [[0.0], [1.0]])
    >>> weakness(SanText(space, epsilon=1.0))
    >>> weakness(SanText(space, epsilon=40.0))
    'this setting is weak: a word stays as it is with probability over 0.99 on average'
    """
    keep, _ = keep_rate(mechanism) if known is None else known
    if keep > MOST_KNOWN:
        return (
            f"this setting is weak: a word stays as it is with probability {share(keep)} on average"
        )
    guess = best_guess(mechanism)
    if guess is not None and guess > MOST_KNOWN:
        how = share(guess)
        return f"this setting is weak: the best guess at a word is right with probability {how}"
    statement = mechanism.statement
    distance, between = 1.0, "any two words"
    if statement.metric is not None:
        distance, between = statement.metric.nearest or 0.0, "nearest neighbours"
    loss = statement.epsilon * distance + statement.slack
    if loss > MOST_LOSS:
        return (
            f"the statement of this setting is weak: the odds between {between} may change by a "
            f"factor of {odds(loss)}"
        )
    return None


def refuse_weak_words(made: KnownMechanism, unless: str = "add --yes-weak") -> None:
    """Refuse to release words with a setting that protects next to nothing.

    Args:
        made: with a mechanism at its setting.
        unless: how to say that it is meant.
    """
    if (weak := weakness(made.mechanism, made.keep_rate)) is not None:
        raise InvalidValue(f"{weak}; lower epsilon, or {unless} if that is what you want")


def refuse_weak_vectors(statement: PrivacyStatement) -> None:
    """Refuse to release vectors under a statement that promises next to nothing.

    >>> from discreet.statement import PrivacyStatement
    >>> refuse_weak_vectors(PrivacyStatement(notion="pure", unit="sentence", epsilon=8.0))
    >>> weak = PrivacyStatement(notion="pure", unit="sentence", epsilon=800.0)
    >>> refuse_weak_vectors(weak)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    discreet.errors.InvalidValue: the statement of this setting is weak: ... 10^347.4; lower ...
    """
    loss = statement.epsilon + statement.slack
    if loss > MOST_LOSS:
        between = "any two texts" if statement.metric is None else "two texts at a distance of 1"
        raise InvalidValue(
            f"the statement of this setting is weak: the odds between {between} may change by a "
            f"factor of {odds(loss)}; lower epsilon, or add --yes-weak if that is what you want"
        )


def share(probability: float) -> str:
    """A probability for people.

    >>> share(0.656), share(0.9999), share(0.0)
    ('0.66', 'over 0.99', 'under 0.01')
    """
    if probability < 0.005:
        return "under 0.01"
    return f"{probability:.2g}" if probability < 0.99 else "over 0.99"


def keep_rate(mechanism: WordMechanism) -> KeepRate:
    """How often a word stays, and from how many draws that is known.

    The draws are seeded, so that they are always the same.
    """
    keep = mean_keep(mechanism)
    if keep is not None:
        return keep, None
    ids = np.resize(mechanism.space.spread_words(_WORDS), DRAWS)
    return float((mechanism.release(ids, np.random.default_rng(0)) == ids).mean()), DRAWS
