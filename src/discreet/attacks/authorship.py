"""Who wrote a released text? A classifier of style, on characters and words.

Two attackers. The *static* one has learnt from texts of each author as they were written. The
*adaptive* one knows that the texts were released and learns from other texts of the authors that
went through the same mechanism, which is what a real attacker would do. A mechanism that only
holds against the first has moved the texts elsewhere, not hidden who wrote them.

Both are logistic regression on TF-IDF of words and of runs of 2 to 4 characters within words.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Ids
from discreet.attacks.outcome import Estimate, bootstrapped
from discreet.attacks.style import StyleFeatures
from discreet.attacks.wide_logistic import wide_logistic
from discreet.errors import InvalidValue

Scores = Callable[[Sequence[str]], Floats]

TOP = 5
_PENALTY = 1 / 30
_FEWEST = 4


@dataclass(frozen=True)
class Attributed:
    """What was guessed of each text.

    Attributes:
        guesses: The likeliest author of each.
        among_top: Whether the author is among the five likeliest.
        truth: Who wrote it.
        authors: How many there are.
    """

    guesses: Ids = field(repr=False)
    among_top: NDArray[np.bool_] = field(repr=False)
    truth: Ids = field(repr=False)
    authors: int

    def macro_f1(self, rng: np.random.Generator) -> Estimate:
        """The mean over authors of F1, with an interval by drawing texts anew."""
        return macro_f1(self.guesses, self.truth, self.authors, rng)

    def top(self, rng: np.random.Generator) -> Estimate:
        """How often the author is among the five likeliest."""
        ones = np.ones(len(self.truth))
        return bootstrapped((self.among_top, ones), lambda hits, n: hits / n, rng)


def authors_of(names: Sequence[str], folds: int) -> tuple[Ids, int]:
    """Authors as numbers, if there are several and each has a text for every fold."""
    authors, truth, counts = np.unique(np.asarray(names), return_inverse=True, return_counts=True)
    if len(authors) < 2:
        raise InvalidValue(
            f"an attack on authorship needs at least 2 different authors; got {len(authors)}"
        )
    if counts.min() < folds:
        raise InvalidValue(
            f"an attack on authorship needs at least {folds} texts of every author, one for each "
            f"fold; an author has {counts.min()}"
        )
    return truth.astype(np.int64), len(authors)


@dataclass(frozen=True)
class StyleAttack:
    """Classifiers of style, one for each fold of texts, which has not learnt from that fold.

    Attributes:
        authors: Who wrote each text, as numbers from 0.
        folds: Which fold each text is in.
    """

    authors: Ids = field(repr=False)
    folds: Ids = field(repr=False)
    _models: Mapping[int, tuple[Scores, Ids]] = field(repr=False)

    @classmethod
    def learnt(cls, known: Sequence[str], authors: Ids, folds: Ids) -> "StyleAttack":
        """Learn from texts of which the authors are known.

        Args:
            known: A form of each text under attack, of which only those of other folds are used:
                as it was written for the static attacker, as released for the adaptive one.
            authors: Of each, as numbers from 0.
            folds: Which fold each is in.
        """
        if not len(known) == len(authors) == len(folds) >= _FEWEST:
            raise InvalidValue(
                f"an attack on authorship needs at least {_FEWEST} texts, each with an author and "
                "a fold"
            )
        models = {}
        for fold in np.unique(folds).tolist():
            rows = np.flatnonzero(folds != fold)
            models[fold] = _learnt([known[row] for row in rows.tolist()], authors[rows])
        return cls(authors, folds, models)

    def on(self, released: Sequence[str]) -> Attributed:
        """Guess who wrote each released text."""
        if len(released) != len(self.authors):
            raise InvalidValue("an attack on authorship needs a release of each text")
        count = int(self.authors.max()) + 1
        scores = np.full((len(released), count), -np.inf)
        for fold, (model, classes) in self._models.items():
            rows = np.flatnonzero(self.folds == fold)
            scores[np.ix_(rows, classes)] = model([released[row] for row in rows.tolist()])
        own = scores[np.arange(len(scores)), self.authors][:, None]
        among_top = (scores > own).sum(axis=1) < TOP
        return Attributed(scores.argmax(axis=1), among_top, self.authors, count)


def macro_f1(guesses: Ids, truth: Ids, classes: int, rng: np.random.Generator) -> Estimate:
    """The mean F1 over classes, with an interval by drawing rows anew.

    >>> labels = np.array([0, 0, 1, 1] * 10)
    >>> macro_f1(labels, labels, 2, np.random.default_rng(0)).value
    1.0
    """
    each = np.eye(classes)
    said, true = each[guesses], each[truth]
    table = np.concatenate([said * true, said + true], axis=1)

    def figure(*sums: Any) -> Any:
        right, both = np.asarray(sums[:classes]), np.asarray(sums[classes:])
        # A class that neither occurs nor is guessed in a draw has no part in it.
        f1 = 2 * right / np.maximum(both, 1e-9)
        return f1.sum(axis=0) / np.maximum((both > 0).sum(axis=0), 1)

    return bootstrapped(list(table.T), figure, rng)


def _learnt(texts: Sequence[str], authors: Ids) -> tuple[Scores, Ids]:
    """A function from texts to scores of the authors that it has learnt, and which those are."""
    features, table = StyleFeatures.learnt(texts)
    classes, labels = np.unique(authors, return_inverse=True)
    weights = wide_logistic(table, labels, len(classes), _PENALTY)
    return lambda others: np.asarray(features.table(others) @ weights), classes.astype(np.int64)
