"""Is an input released alike in whatever company: alone, in small batches, at their ends?

The other checks draw large batches, as that is quick. A service releases a word at a time, and a
mechanism may have another way for that, or go wrong where a batch begins or ends. Here a few inputs
are released in many small batches, and what comes out of each place is compared with what a large
batch gives. Of two different inputs that are released together, one must not tell what becomes of
the other: they go together as often as those of two calls.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Generator, Ids
from discreet.audit.chance import same_rate_p_value
from discreet.audit.independence import Array, lively
from discreet.audit.sampler import Misfit
from discreet.audit.subject import Subject

CALLS = {1: 120, 2: 160, 3: 40, 17: 40}
"""How many batches of each size are released."""
_LARGE = 400
_FEW = 0.25

Features = Callable[[Array], list[tuple[str, NDArray[np.bool_]]]]


def check_company(subject: Subject, inputs: Ids, rng: Generator, *, few: bool) -> list[Misfit]:
    """Test releases of small batches against those of a large one.

    Args:
        subject: what is audited.
        inputs: to choose from: those whose releases vary most are used.
        rng: where the noise comes from.
        few: make fewer calls, which find larger faults only.
    """
    words, _ = lively(subject.release, inputs, 2, subject.has_law, subject.discrete, rng)
    if len(words) < 2:
        words = np.repeat(words, 2)
    share = _FEW if few else 1.0
    half = max(50, int(share * _LARGE))
    # What the questions are made from is not what the answers are compared with.
    drawn = {int(word): subject.release(np.full(2 * half, word), rng) for word in words}
    seen_by = {word: _features(subject, word, out[:half]) for word, out in drawn.items()}
    large = {word: out[half:] for word, out in drawn.items()}
    misfits: list[Misfit] = []
    for size, calls in CALLS.items():
        count = max(16, int(share * calls))
        batches = [words[(np.arange(size) + call) % len(words)] for call in range(count)]
        released = [subject.release(batch, rng) for batch in batches]
        for place in dict.fromkeys((0, size - 1)):
            where = "alone" if size == 1 else f"{'last' if place else 'first'} of {size}"
            for word in large:
                own = [
                    out[place]
                    for out, batch in zip(released, batches, strict=True)
                    if batch[place] == word
                ]
                misfits += _compared(seen_by[word], np.array(own), large[word], word, where)
        if size == 2:
            misfits += _together(seen_by, np.array(batches), np.array(released))
    return misfits


def _features(subject: Subject, word: int, usual: Array) -> Features:
    """What of a release is looked at: yes or no, by what a large batch gives."""
    if subject.discrete:
        values, counts = np.unique(usual, return_counts=True)
        likeliest = values[counts.argmax()]
        middle = np.median(usual)
        own = word if subject.outputs in (None, subject.count) else likeliest
        return lambda out: [
            ("are the likeliest", out == likeliest),
            ("are the input itself", out == own),
            ("come early among all outputs", out < middle),
        ]
    centre = usual.mean(axis=0)
    far = np.linalg.norm(usual - centre, axis=1)
    nearer, middle = np.quantile(far, 0.1), np.median(far)
    side = usual[0] - centre
    return lambda out: [
        ("are very near the middle", np.linalg.norm(out - centre, axis=1) < nearer),
        ("are near the middle", np.linalg.norm(out - centre, axis=1) < middle),
        ("are on one side of it", (out - centre) @ side > 0),
    ]


def _compared(features: Features, own: Array, usual: Array, word: int, where: str) -> list[Misfit]:
    return [
        Misfit(
            same_rate_p_value(seen, expected),
            1,
            word,
            f"{seen.mean():.0%} of releases {what}, {where}, and {expected.mean():.0%} in a "
            "large batch",
        )
        for (what, seen), (_, expected) in zip(features(own), features(usual), strict=True)
    ]


def _together(seen_by: dict[int, Features], batches: Ids, released: Array) -> list[Misfit]:
    """Whether two inputs of one call go together more often than those of two calls."""
    same, apart = list[NDArray[np.bool_]](), list[NDArray[np.bool_]]()
    for first, second in dict.fromkeys((int(a), int(b)) for a, b in batches):
        calls = np.flatnonzero((batches[:, 0] == first) & (batches[:, 1] == second))
        one, other = (
            np.array([event for _, event in seen_by[word](released[calls, place])])
            for place, word in enumerate((first, second))
        )
        same.append(one[:, 0::2] == other[:, 0::2])
        apart.append(one[:, 1::2] == np.roll(other[:, 1::2], 1, axis=1))
    misfits = []
    for together, usual in zip(np.hstack(same), np.hstack(apart), strict=True):
        told = (
            f"two inputs that are released together go together in {together.mean():.0%} of "
            f"calls, and in {usual.mean():.0%} those of two calls"
        )
        misfits.append(Misfit(same_rate_p_value(together, usual), 1, None, told))
    return misfits
