"""The best guess at the words of a text that near-words released, without a pass over its law.

Under two weights the likeliest original of an output is the commonest word that has it among its
near outputs, unless some other word is so common that it wins with the smaller weight. With a guide
the near outputs of a word depend on what was released before, which the attacker reads as well.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arrays import Ids, ragged_blocks, ragged_places
from discreet.attacks.bayes import checked_prior
from discreet.errors import InvalidValue
from discreet.mechanisms.word.near_words import NearWords

_ROWS = 2**17


def near_word_guesses(
    mechanism: NearWords,
    released: ArrayLike,
    prior: ArrayLike,
    passed: ArrayLike | None = None,
) -> Ids:
    """For each word of a released text the original that is likeliest under the prior.

    As :func:`discreet.attacks.bayes.best_guesses`, which knows no text before a word.

    Args:
        mechanism: with or without a guide.
        released: the word ids of one text, in order.
        prior: a weight for every word, from public knowledge.
        passed: which of them are public and came out as they were; they are their own guess.

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0.0], [1.0], [9.0]])
    >>> mechanism = NearWords(space, epsilon=4.0, near=2, outputs=3)
    >>> near_word_guesses(mechanism, [0, 1, 2], [0.7, 0.2, 0.1]).tolist()
    [0, 0, 2]
    """
    text = mechanism.space.checked_ids(released)
    shares = checked_prior(prior, len(mechanism.space))
    public = np.zeros(len(text), np.bool_) if passed is None else np.asarray(passed)
    if public.dtype != np.bool_ or public.shape != text.shape:
        raise InvalidValue("passed must say true or false of each released word")
    drawn = np.flatnonzero(~public)
    guess = text.copy()
    guess[drawn] = _commonest(mechanism, text, drawn, shares)
    return guess


def _commonest(mechanism: NearWords, text: Ids, drawn: Ids, shares: NDArray[np.float64]) -> Ids:
    outputs = text[drawn]
    wanted = np.zeros(len(mechanism.space), np.bool_)
    wanted[outputs] = True
    candidates = mechanism.candidates
    words, columns = np.nonzero(wanted[candidates] & (shares > 0)[:, None])
    made = candidates[words, columns]
    order = np.argsort(made, kind="stable")
    words, made = words[order], made[order]
    first = np.searchsorted(made, outputs, "left")
    counts = np.searchsorted(made, outputs, "right") - first
    best = np.full(len(drawn), -1, dtype=np.int64)
    for start, end in ragged_blocks(np.append(0, np.cumsum(counts)), _ROWS):
        at, run = ragged_places(first[start:end], counts[start:end])
        asked, run = words[at], run + start
        near = mechanism.near_at(asked, drawn[run], text)
        fits = (near == outputs[run, None]).any(axis=1)
        asked, run = asked[fits], run[fits]
        rising = np.argsort(shares[asked], kind="stable")  # the last one that is written stays
        best[run[rising]] = asked[rising]
    likeliest = int(shares.argmax())
    with np.errstate(divide="ignore"):
        near_score = np.where(best < 0, -np.inf, np.log(shares[best]) + mechanism.epsilon)
    return np.where(near_score >= np.log(shares[likeliest]), best, likeliest)
