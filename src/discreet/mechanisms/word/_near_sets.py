"""Which outputs are near a word: as many for every word, found in public data and in nothing else.

Without a guide they are the nearest ones. With a guide they are chosen anew at every place: of the
pool of nearest ones, those that a public language model finds likeliest after what was released.

A word outside the vocabulary is one word here, whatever it was. Near it are no neighbours of its
token, which has none, but the outputs nearest to a public list of nouns; where the layout is public
and such a word begins with a capital, to a list of names. A guide takes turns among them by the
word that was released before, or one name would stand for all.

Where function words pass, text is for people, and an output is written as the word that is said
most of those it stands for: "first", where "tenth" is in the middle of all such words. No two
outputs are written alike and a guide reads the outputs themselves, so nothing changes but names.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arrays import Floats, Floats32, Ids, ragged_places, row_blocks
from discreet.errors import InvalidValue
from discreet.mechanisms.word._alphabet import Alphabet
from discreet.mechanisms.word._two_weights import Places
from discreet.protocols import Guide
from discreet.spaces.exemplars import nearest_of
from discreet.spaces.prior import rank_prior
from discreet.text.stand_ins import NAMES, NOUNS
from discreet.text.unsaid import are_unsaid

Mask = NDArray[np.bool_]
# What the last in turn must be likelier by than the first, as a logarithm.
_TURN = 3.0
# What the square of the typical distance counts for beside the logarithm of a frequency.
_FAR_NAME = 10.0


class NearSets:
    """The near outputs of every word of an alphabet's space, by their places in the alphabet.

    Args:
        alphabet: what can come out, and how many are near each word.
        guide: what chooses among the nearest, if anything does.
        pool: of how many nearest outputs a guide chooses.
        weight: what the typical distance counts for beside a guide's log-likelihood.
    """

    def __init__(
        self, alphabet: Alphabet, guide: Guide | None, pool: int | None, weight: float | None
    ) -> None:
        self.alphabet, self._space, self._guide = alphabet, alphabet.space, guide
        self._pool, self._weight = pool or alphabet.near, weight or 0.0

    def rows(self, words: Ids, capitals: Mask) -> Ids:
        """Whose near outputs each word has: its own, or those of unknown words with a capital."""
        if self._space.unknown is None:
            return words
        return np.where(capitals & (words == self._space.unknown), len(self._space), words)

    def are_unknown(self, rows: Ids) -> Mask:
        """Which rows are of words outside the vocabulary."""
        return np.asarray((rows == len(self._space)) | (rows == self._space.unknown))

    # -- what is near ------------------------------------------------------------------------------

    @cached_property
    def fixed(self) -> Places:
        """The near places of every row, without a guide."""
        return np.sort(self._nearest(self.alphabet.near)[0], axis=1)

    @cached_property
    def pools(self) -> tuple[Places, Floats32]:
        """What a guide chooses from for every row, and what the distance of each counts for."""
        pools, distances = self._nearest(self._pool)
        each = np.float32(self._weight / self.alphabet.typical_distance)
        return pools, distances * each

    @property
    def candidates(self) -> Places:
        """``(words, n)``: what can be near each word, whatever was released before."""
        near = self.fixed if self._guide is None else self.pools[0]
        return near[: len(self._space)]

    def nearest_words(self, word: int) -> Ids:
        """What a word may well become, as ids, best first: without the lists of all words."""
        if word == self._space.unknown:
            places = self._stand_ins(self._pool, NOUNS)
        else:
            places = self.alphabet.nearest_to(word, self._pool)
        return self.written[places]

    # -- what outputs are called -------------------------------------------------------------------

    @cached_property
    def written(self) -> Ids:
        """The word that each output is written as: itself, or a commoner one that it stands for."""
        space, outputs, spared = self._space, self.alphabet.words, self.alphabet.spared
        names = outputs.copy()
        if spared is None:
            return names
        places, distances = (part[: len(space), 0] for part in self._nearest(self._pool))
        apart = (distances / self.alphabet.typical_distance).astype(np.float64)
        scores = np.log(rank_prior(space)) - _FAR_NAME * apart**2
        best = scores[outputs]
        barred = spared | are_unsaid(space.words)
        barred[outputs] = True  # an output is written as itself or as none: names stay different
        if space.unknown is not None:
            barred[space.unknown] = True
        others = np.flatnonzero(~barred)
        others = others[scores[others] > best[places[others]]]
        # The best comes last, and stays.
        others = others[np.argsort(scores[others], kind="stable")]
        names[places[others]] = others
        return names

    @cached_property
    def read_as(self) -> Ids:
        """For each word of the space the output that is written so; itself, if none is."""
        outputs = np.arange(len(self._space))
        outputs[self.written] = self.alphabet.words
        return outputs

    def _nearest(self, size: int) -> tuple[Places, Floats32]:
        """Places and distances, nearest first: a row for each word, and one for unknown names."""
        places, distances = self.alphabet.nearest(size)
        unknown = self._space.unknown
        if unknown is None:
            return places, distances
        more = np.append(np.arange(len(places)), unknown)
        places, distances = places[more], distances[more]
        for row, listed in ((unknown, NOUNS), (-1, NAMES)):
            places[row] = self._stand_ins(size, listed)
            distances[row] = 0.0
        return places, distances

    def _stand_ins(self, size: int, listed: tuple[str, ...]) -> Ids:
        """The outputs nearest to listed words, as far as they go; then those near the token."""
        space, outputs = self._space, self.alphabet.words
        known = [space.ids[word] for word in listed if word in space]
        nearest, _ = nearest_of(space, np.array(known, dtype=np.int64), outputs, 1)
        others = self.alphabet.nearest_to(int(space.unknown or 0), size)
        distinct = dict.fromkeys([*nearest[:, 0].tolist(), *others.tolist()])
        return np.array(list(distinct)[:size])

    # -- after what was released -------------------------------------------------------------------

    def after(self, rows: Ids, released: ArrayLike) -> Places:
        """The near places of some rows after a released text, given as word ids."""
        if self._guide is None:
            return self.fixed[rows]
        reading, here = GuideReading(self, self._guide, 1), np.zeros(1, dtype=np.int64)
        for word in self._space.checked_ids(released):
            reading.extend(here, np.array([word]))
        return reading.likeliest(np.zeros(len(rows), dtype=np.int64), rows)

    def read_along(self, guide: Guide, starts: Ids) -> Iterator[tuple["GuideReading", Ids, Ids]]:
        """Place after place of some texts, many texts at once: which texts, and where."""
        for part in row_blocks(len(starts) - 1, numbers=guide.documents):
            bounds = starts[part.start : part.stop + 1]
            lengths = np.diff(bounds)
            longest_first = np.argsort(-lengths, kind="stable")
            left = len(lengths) - np.searchsorted(
                np.sort(lengths), np.arange(lengths.max(initial=0)), "right"
            )
            reading = GuideReading(self, guide, len(lengths))
            for step, count in enumerate(left):
                texts = longest_first[:count]
                yield reading, texts, bounds[texts] + step

    def inverted(
        self, released: Ids, starts: Ids, drawn: Mask, among: Mask | None
    ) -> tuple[Ids, Ids]:
        """Which words have each released word among their near outputs, given what came before.

        Args:
            released: word ids, of some texts end to end.
            starts: where each text starts.
            drawn: which of them are not public.
            among: which words of the space are asked about; all unless given.

        Returns:
            pairs: places in the released text, in rising order, and words.
        """
        at = np.full(len(self._space), -1)
        at[self.written] = np.arange(len(self.written))
        outputs = at[released]
        if (outputs[drawn] < 0).any():
            raise InvalidValue("a word was given that cannot come out of this mechanism")
        near, came_out = self.candidates, np.zeros(len(self.written), np.bool_)
        came_out[outputs[drawn]] = True
        asked_about = came_out[near] if among is None else came_out[near] & among[:, None]
        order = np.flatnonzero(asked_about)
        order = order[np.argsort(near.ravel()[order], kind="stable")]
        firsts = np.searchsorted(near.ravel()[order], np.arange(len(self.alphabet.words) + 1))
        owners, counts = order // near.shape[1], np.diff(firsts)
        firsts = firsts[:-1]
        if self._guide is None:
            own = np.flatnonzero(drawn)
            entries, place = ragged_places(firsts[outputs[own]], counts[outputs[own]])
            return own[place], owners[entries]
        places, words = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for reading, texts, here in self.read_along(self._guide, starts):
            mine, own = drawn[here], here[drawn[here]]
            entries, row = ragged_places(firsts[outputs[own]], counts[outputs[own]])
            asked = owners[entries]
            sets = reading.likeliest(texts[mine][row], asked)
            near_one = (sets == outputs[own][row][:, None]).any(axis=1)
            places.append(own[row[near_one]])
            words.append(asked[near_one])
            reading.extend(texts, released[here])
        flat, whose = np.concatenate(places), np.concatenate(words)
        rising = np.argsort(flat, kind="stable")
        return flat[rising], whose[rising]


@dataclass
class GuideReading:
    """A guide on its way through some texts: it is told what was released, and nothing else."""

    sets: NearSets
    guide: Guide
    documents: int

    def __post_init__(self) -> None:
        self.state: Any = self.guide.begin(self.documents)
        self.last = np.full(self.documents, -1)

    def extend(self, documents: Ids, released: Ids) -> None:
        """One more released word of each of these documents."""
        outputs = self.sets.read_as[released]
        self.guide.extend(self.state, documents, outputs)
        self.last[documents] = outputs

    def likeliest(self, documents: Ids, rows: Ids) -> Places:
        """The near places of each row: whatever a guide says, exactly so many different ones."""
        every, penalties = self.sets.pools
        pools = every[rows]
        alphabet = self.sets.alphabet
        told = self.guide.scores(self.state, documents, alphabet.words[pools])
        scores = np.asarray(told, dtype=np.float64)
        if scores.shape != pools.shape:
            raise InvalidValue(
                f"a guide must give a score for each of {pools.shape[1]} candidates of each of "
                f"{len(rows)} documents; got shape {scores.shape}"
            )
        costs = penalties[rows] - scores
        unknown = np.flatnonzero(self.sets.are_unknown(rows))
        costs[unknown] += self._turns(documents[unknown], pools.shape[1])
        # A stable order: of equal scores the nearer word comes first.
        order = np.argsort(costs, axis=1, kind="stable")
        return np.sort(np.take_along_axis(pools, order[:, : alphabet.near], axis=1), axis=1)

    def _turns(self, documents: Ids, size: int) -> Floats:
        """What counts against each stand-in for an unknown word, by what came out before it."""
        turn = (self.last[documents][:, None] + np.arange(size)) % size
        return np.asarray(turn * (_TURN / size))
