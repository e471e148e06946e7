"""The attacker who knows the mechanism: the likeliest original of every released word.

A mechanism is public, so an attacker can compute ``P(y|x)`` as well as we can. With a public prior
over words, no guess at the word behind ``y`` is right more often than the ``x`` that maximises
``prior(x) P(y|x)``. That is the attacker by whom a word mechanism must be judged: its success is
that of the best rule that looks at one released word at a time. With a language model the prior
becomes what the words around suggest (:mod:`discreet.attacks.mask_inference`).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arrays import Floats, Generator, Ids, Progress, row_blocks
from discreet.attacks.simulated_law import simulated_rows
from discreet.errors import InvalidValue
from discreet.parallel import ahead
from discreet.protocols import WordMechanism
from discreet.randomness import secure_generator
from discreet.spaces.prior import rank_prior
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import TokenBatch

_NUMBERS = 2**22


def text_prior(space: EmbeddingSpace, batch: TokenBatch) -> Floats:
    """How often words occur in a PUBLIC text, and in English where it is too short to say.

    As many occurrences as there are words that occur once (and at least one) are shared by ranks:
    Good's estimate of how many words of another such text this one does not have.
    """
    counts = np.bincount(batch.ids, minlength=len(space)).astype(np.float64)
    counts += max(1, int((counts == 1).sum())) * rank_prior(space)
    return np.asarray(counts / counts.sum())


def best_guesses(
    mechanism: WordMechanism,
    released: ArrayLike,
    prior: ArrayLike,
    *,
    rng: Generator | None = None,
    progress: Progress | None = None,
) -> Ids:
    """For each released word the original that is likeliest under the prior.

    One pass over the law of every word that is possible beforehand, in blocks; only the columns of
    words that were released are looked at, and of these only the best is kept. A law without a
    formula (noise, then the nearest word) is simulated (:mod:`discreet.attacks.simulated_law`).

    Args:
        mechanism: a word mechanism.
        released: word ids that it gave.
        prior: a weight for every word, from public knowledge.
        rng: of the simulation, if there is one.
        progress: called with (done, total).

    >>> from discreet.mechanisms.word import SanText
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0.0], [1.0], [9.0]])
    >>> mechanism = SanText(space, epsilon=1.0, calibration="published")
    >>> best_guesses(mechanism, [0, 1, 2], [0.8, 0.1, 0.1]).tolist()
    [0, 0, 2]
    """
    seen, place = np.unique(np.asarray(released, dtype=np.int64), return_inverse=True)
    weights = checked_prior(prior, len(mechanism.space))
    guess = seen.copy()
    if not says_its_law(mechanism):
        source = secure_generator() if rng is None else rng
        for rows, block in simulated_rows(mechanism, seen, weights, source, progress):
            guess[rows] = guesses_from(np.arange(len(block)), block, weights)
        return guess[place]
    best = np.full(len(seen), -np.inf)
    for words, logs in _columns(mechanism, seen, np.flatnonzero(weights), progress):
        scores = logs + np.log(weights[words])[:, None]
        top = scores.argmax(axis=0)
        value = scores[top, np.arange(len(seen))]
        better = value > best
        best[better], guess[better] = value[better], words[top[better]]
    return guess[place]


def log_likelihoods(
    mechanism: WordMechanism,
    released: ArrayLike,
    prior: ArrayLike,
    *,
    possible: Ids | None = None,
    rng: Generator | None = None,
) -> tuple[Ids, NDArray[np.float32]]:
    """``ln P(y|x)`` of every word x, for each different released word y.

    Where it is simulated, a constant of each y is left out, which no guess depends on.

    Args:
        mechanism: a word mechanism.
        released: word ids that it gave.
        prior: a weight for every word, from public knowledge: where a simulation looks first.
        possible: only these words x, a column for each; every word unless given.
        rng: of the simulation, if there is one.

    Returns:
        for each released word its row, and the rows: ``(different words, words)``.
    """
    seen, place = np.unique(np.asarray(released, dtype=np.int64), return_inverse=True)
    every = np.arange(len(mechanism.space)) if possible is None else possible
    table = np.empty((len(seen), len(every)), dtype=np.float32)
    if says_its_law(mechanism):
        done = 0
        for words, logs in _columns(mechanism, seen, every):
            table[:, done : done + len(words)] = logs.T
            done += len(words)
    else:
        weights = checked_prior(prior, len(mechanism.space))
        source = secure_generator() if rng is None else rng
        for rows, block in simulated_rows(mechanism, seen, weights, source):
            table[rows] = block[:, every]
    return place.astype(np.int64), table


def guesses_from(place: Ids, logs: NDArray[np.float32], prior: ArrayLike) -> Ids:
    """As :func:`best_guesses`, from what :func:`log_likelihoods` gave."""
    with np.errstate(divide="ignore"):  # a word that is impossible beforehand
        weights = np.log(checked_prior(prior, logs.shape[1]))
    return np.asarray((logs + weights).argmax(axis=1)[place], dtype=np.int64)


def says_its_law(mechanism: WordMechanism) -> bool:
    """True if the mechanism has log-probabilities."""
    return hasattr(mechanism, "log_probabilities")


def checked_prior(prior: ArrayLike, count: int, name: str = "a prior") -> Floats:
    """A prior as weights that sum to 1."""
    weights = np.asarray(prior, dtype=np.float64)
    good = weights.shape == (count,) and bool(np.isfinite(weights).all())
    if not good or (weights < 0).any() or not weights.any():
        raise InvalidValue(
            f"{name} must be {count} finite numbers of at least 0, one per word, not all 0"
        )
    return np.asarray(weights / weights.sum())


def _columns(
    mechanism: Any, seen: Ids, possible: Ids, progress: Progress | None = None
) -> Iterator[tuple[Ids, Floats]]:
    """Blocks of inputs with the log-probabilities of the outputs that were seen."""
    blocks = row_blocks(len(possible), len(mechanism.space), _NUMBERS)
    parts = [possible[block] for block in blocks]
    laws = ahead(lambda words: mechanism.log_probabilities(words)[:, seen], parts)
    for number, (words, logs) in enumerate(zip(parts, laws, strict=True), 1):
        yield words, logs
        if progress is not None:
            progress(number, len(parts))
