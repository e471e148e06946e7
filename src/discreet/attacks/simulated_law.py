"""The law of a mechanism that has none in closed form, by simulation, for whoever inverts it.

Noise, then the nearest word: ``P(y|x)`` is the integral of the noise's density around x over all
vectors whose nearest word is y, which has no formula. But the density has one. So vectors z are
drawn from a mixture over words, ``m(z) = sum_x a(x) f(z|x)``, and sorted by their nearest word;
over those of a word y, the mean of ``f(z|x) / m(z)`` is ``P(y|x)`` for *every* x at once, up to a
factor that x does not change. That is importance sampling with all words as the proposal, whose
weights are bounded by ``1 / a(x)``, and it is all that an attacker needs.

A mechanism that shows no density is simulated as it is: words are released and counted.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.arrays import Floats, Floats32, Generator, Ids, Progress, ragged_blocks, row_blocks
from discreet.protocols import WordMechanism
from discreet.spaces.neighbours import NearestWords

DRAWS = 2**15
"""Vectors drawn, of which those of released words count."""
_COUNTED_DRAWS = 2**20
_AT_ONCE = 2**12
_MOST_OF_A_WORD = 256
_TABLE_NUMBERS = 2**22
# Where draws come from: the prior, the released words themselves, and any word, a little.
_PRIOR, _RELEASED = 0.49, 0.49


def shows_its_density(mechanism: WordMechanism) -> bool:
    """True of noise on vectors that is followed by the nearest word."""
    parts = all(hasattr(mechanism, name) for name in ("points", "noise", "noisy", "seen"))
    return parts and hasattr(mechanism.noise, "log_densities")  # type: ignore[attr-defined]


def simulated_rows(
    mechanism: WordMechanism,
    seen: Ids,
    prior: Floats,
    rng: Generator,
    progress: Progress | None = None,
) -> Iterator[tuple[slice, Floats32]]:
    """``ln P(y|x)``, but for a constant of each y, in blocks of released words.

    Args:
        mechanism: one without ``log_probabilities``.
        seen: different released words.
        prior: weights of all words that sum to 1.
        rng: of the simulation.
        progress: called with (done, total).

    Yields:
        which of the released words, and ``(released words, all words)``.
    """
    proposal = np.full(len(prior), (1.0 - _PRIOR - _RELEASED) / len(prior)) + _PRIOR * prior
    proposal[seen] += _RELEASED / len(seen)
    if shows_its_density(mechanism):
        yield from _by_density(mechanism, seen, proposal, rng, progress)
    else:
        yield from _by_counting(mechanism, seen, proposal, rng, progress)


def _by_density(
    mechanism: Any, seen: Ids, proposal: Floats, rng: Generator, progress: Progress | None
) -> Iterator[tuple[slice, Floats32]]:
    drawn, owner = _vectors_of(mechanism, seen, proposal, rng)
    starts = np.searchsorted(owner, np.arange(len(seen) + 1))
    points = mechanism.points.astype(np.float64)
    # As many released words as their vectors make a table of a bearable size.
    for first, last in ragged_blocks(starts, max(1, _TABLE_NUMBERS // len(points))):
        logs = np.asarray(
            mechanism.noise.log_densities(points, drawn[starts[first] : starts[last]]), np.float32
        )
        logs -= logs.max(axis=1, keepdims=True)
        ratios = np.exp(logs, out=logs)
        ratios /= (ratios @ proposal.astype(np.float32))[:, None]
        sums = np.add.reduceat(ratios, starts[first:last] - starts[first], axis=0)
        with np.errstate(divide="ignore"):
            yield slice(first, last), np.log(sums)
        if progress is not None:
            progress(last, len(seen))


def _vectors_of(mechanism: Any, seen: Ids, proposal: Floats, rng: Generator) -> tuple[Floats, Ids]:
    """Noisy vectors whose nearest word is among these, at least one of each, in their order."""
    search = NearestWords(mechanism.points)
    place = np.full(len(proposal), -1)
    place[seen] = np.arange(len(seen))
    # A word that no draw leads to is judged by its own vector, the middle of where it is nearest.
    vectors, owners = [], []
    for part in row_blocks(DRAWS, numbers=_AT_ONCE):
        words = rng.choice(len(proposal), part.stop - part.start, p=proposal)
        noisy = mechanism.noisy(words, rng)
        at = place[search.search(mechanism.seen(noisy))]
        vectors.append(noisy[at >= 0])
        owners.append(at[at >= 0])
    owner = np.concatenate(owners)
    missing = np.setdiff1d(np.arange(len(seen)), owner)
    drawn = np.concatenate([*vectors, mechanism.points[seen[missing]].astype(np.float64)])
    owner = np.concatenate([owner, missing])
    order = np.argsort(owner, kind="stable")
    drawn, owner = drawn[order], owner[order]
    number = np.arange(len(owner)) - np.searchsorted(owner, owner)
    few = number < _MOST_OF_A_WORD
    return drawn[few], owner[few]


def _by_counting(
    mechanism: WordMechanism,
    seen: Ids,
    proposal: Floats,
    rng: Generator,
    progress: Progress | None,
) -> Iterator[tuple[slice, Floats32]]:
    """Every word is released as often as it is likely; one draw more is shared by all outputs."""
    count = len(proposal)
    words = rng.choice(count, _COUNTED_DRAWS, p=proposal)
    released = np.empty(_COUNTED_DRAWS, dtype=np.int64)
    for part in row_blocks(_COUNTED_DRAWS, numbers=2**16, progress=progress):
        released[part] = mechanism.release(words[part], rng)
    times = np.bincount(words, minlength=count) + 1.0
    order = np.argsort(released, kind="stable")
    words, released = words[order], released[order]
    for part in row_blocks(len(seen), count, _TABLE_NUMBERS):
        table = np.full((part.stop - part.start, count), 1.0 / count)
        for row, word in enumerate(seen[part]):
            low, high = np.searchsorted(released, [word, word + 1])
            table[row] += np.bincount(words[low:high], minlength=count)
        yield part, np.log(table / times).astype(np.float32)
