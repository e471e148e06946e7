"""Which words can come out, and how many of them are near a word: chosen on public data.

Under the law of two weights the expected squared distance between a word and what comes out is
known exactly from two public means: to its nearest outputs, and to all of them. For a given epsilon
the alphabet and the number of near words are those for which it is smallest, among those at which
the best guess at a word is not right too often. A larger alphabet has nearer words, but more of it
is far; with fewer near words more is guessed.

With a guide, what counts is the guide's own measure, distance beside log-likelihood, and the guess
of who knows the guide: both were measured on public texts for the spaces that ship.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Floats32, Ids, Progress
from discreet.files import unsealed_json
from discreet.mechanisms.word._two_weights import TwoWeights
from discreet.spaces.exemplars import (
    AlphabetFigures,
    Spared,
    exemplars,
    kept_nearest,
    measured_alphabet,
    memo_of,
    nearest_of,
)
from discreet.spaces.prior import rank_prior
from discreet.spaces.space import EmbeddingSpace

Tables = Mapping[int, AlphabetFigures]
"""What is known of alphabets, by their size."""


@dataclass(frozen=True)
class Wanted:
    """What an alphabet is chosen for; what is None is to be chosen."""

    epsilon: float
    near: int | None = None
    outputs: int | None = None
    guided: bool = False


@dataclass(frozen=True)
class Alphabet:
    """The words that can come out, and how many of them are near each word."""

    space: EmbeddingSpace
    words: Ids
    near: int
    guessed: float | None = None
    """How often the best guess is right by the figures it was chosen by, if it was chosen."""
    spared: Spared = None
    """Words that pass unchanged, if any do."""

    def nearest_to(self, word: int, size: int) -> Ids:
        """The places of the outputs nearest to one word: without the lists of all."""
        places, _ = nearest_of(self.space, np.array([word]), self.words, size)
        nearest: Ids = places[0].astype(np.int64)
        return nearest

    def nearest(self, size: int) -> tuple[NDArray[np.int32], Floats32]:
        """For each word of the space the places of its nearest outputs, and their distances."""
        return kept_nearest(self.space, self.words, size)

    @cached_property
    def typical_distance(self) -> float:
        """Root of the mean squared distance of two words; 1 if all are at one point."""
        spread = self.space.vectors.var(axis=0, dtype=np.float64)
        return float(np.sqrt(2 * spread.sum())) or 1.0


def choose(
    space: EmbeddingSpace,
    wanted: Wanted,
    spared: Spared = None,
    progress: Progress | None = None,
) -> Alphabet:
    """The alphabet for an epsilon; what is not given is chosen so that words stay near.

    Args:
        space: the public vocabulary.
        wanted: epsilon, and what is given.
        spared: words that pass unchanged.
        progress: called with (done, total) while exemplars are chosen for the first time.
    """
    near, outputs = _checked(len(space), wanted.near, wanted.outputs)
    if near is not None and outputs == len(space):
        return Alphabet(space, np.arange(len(space)), near, spared=spared)
    ranked = exemplars(space, progress, spared)
    if near is not None and outputs is not None:
        return Alphabet(space, np.sort(ranked.order[:outputs]), near, spared=spared)
    figures = map(AlphabetFigures, ranked.near, ranked.far, ranked.named)
    tables: Tables = dict(zip(ranked.sizes, figures, strict=True))
    if wanted.guided:
        measured = guided_tables(space, spared) or {}
        fewest = near or 0
        tables = {n: each for n, each in measured.items() if fewest <= len(each.near)} or tables
    if outputs is not None and outputs not in tables:
        tables = {outputs: measured_alphabet(space, np.sort(ranked.order[:outputs]), spared)}
    elif outputs is not None:
        tables = {outputs: tables[outputs]}
    commonest = float(rank_prior(space, spared).max())
    best = _nearest_on_average(wanted, near, tables, commonest)
    words = np.sort(ranked.order[: best.outputs])
    return Alphabet(space, words, best.near, best.guessed, spared)


def guided_tables(space: EmbeddingSpace, spared: Spared) -> Tables | None:
    """What scripts/build_guided.py measured with the n-gram guide; None for other spaces."""
    memo = memo_of(space, spared)
    place = resources.files("discreet") / "data" / "guided" / memo.path.name
    if not place.is_file():
        return None
    values = unsealed_json(place.read_text("utf-8"))
    if {name: values.get(name) for name in memo.key} != memo.key:
        return None
    columns = map(tuple, values["near"]), values["far"], map(tuple, values["named"])
    return dict(zip(values["sizes"], map(AlphabetFigures, *columns), strict=True))


def _checked(count: int, near: int | None, outputs: int | None) -> tuple[int | None, int | None]:
    if outputs is not None:
        outputs = check.whole(outputs, "outputs of NearWords", at_least=2)
        if outputs > count:
            rule = f"at most {count}, the number of words of the space"
            raise check.fail("outputs of NearWords", rule, outputs)
    if near is not None:
        near = check.whole(near, "near of NearWords", at_least=1)
        if near > (outputs or count):
            rule = f"at most the number of outputs, {outputs or count}"
            raise check.fail("near of NearWords", rule, near)
    return near, outputs


def most_guessed(epsilon: float, *, guided: bool = False) -> float:
    """How often the best guess may be right, by public frequencies, at settings that are chosen.

    Real texts use fewer words: there it is right about 1.3 times as often at epsilon 8, and 1.1
    times at 12 or with a guide: at most 0.35 and 0.5 of the time on film reviews and news. Texts in
    a narrow vocabulary are guessed more often; see the mechanism's page.

    >>> [round(most_guessed(epsilon), 3) for epsilon in (1.0, 8.0, 10.0, 12.0, 20.0)]
    [0.27, 0.27, 0.355, 0.44, 0.44]
    """
    return float(np.interp(epsilon, (8.0, 12.0), (0.31, 0.45) if guided else (0.27, 0.44)))


@dataclass(frozen=True, order=True)
class _Tried:
    """A setting, the better the smaller."""

    excess: float
    """By how much too much is guessed."""
    far: float
    outputs: int
    near: int
    guessed: float


def _nearest_on_average(
    wanted: Wanted, near: int | None, tables: Tables, commonest: float
) -> _Tried:
    """How many near and in all, of those measured: words that stay near and are not guessed.

    Of equally good ones the fewest; if too much is guessed at all of them, where it is least.
    """
    epsilon, allowed = wanted.epsilon, most_guessed(wanted.epsilon, guided=wanted.guided)
    tried = []
    for size, figures in tables.items():
        for count in range(1, len(figures.near) + 1):
            if near in (None, count):
                far, guessed = _expected(epsilon, count, size, figures, commonest)
                tried.append(_Tried(max(0.0, guessed - allowed), far, size, count, guessed))
    if not tried:
        most = max(len(figures.near) for figures in tables.values())
        raise check.fail("near of NearWords", f"at most {most} unless outputs is given", near)
    return min(tried)


def _expected(
    epsilon: float, near: int, outputs: int, figures: AlphabetFigures, commonest: float
) -> tuple[float, float]:
    """Mean of what counts between a word and what comes out, and the best guess at most.

    Args:
        epsilon: loss allowed.
        near: number of near outputs.
        outputs: how many there are.
        figures: of this alphabet.
        commonest: share of the commonest word.
    """
    law = TwoWeights(epsilon, near, outputs)
    heavy, light = law.near_chance / near, law.light / law.total
    # Every output with the weight of a far one, and the near ones with the rest on top.
    distance = outputs * light * figures.far
    distance += (law.near_chance - near * light) * figures.near[near - 1]
    return distance, heavy * figures.named[near - 1] + outputs * light * commonest
