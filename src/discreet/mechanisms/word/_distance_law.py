"""The law P(y | x) proportional to exp(-kappa * d(x, y)), sampled exactly and fast.

Exactly: every draw is proposed from float weights that are proven upper bounds of the true weights,
and accepted with the ratio of the two (rejection sampling), so float32 distances and cut-off tails
speed things up but do not change the law. Nearly all proposals are accepted without looking at the
exact distance, because the bounds are tight.

Each row has a *head*, words whose weight is listed, and a *rest*, all others, which share one upper
bound and are proposed uniformly. A word of the rest is accepted by a test that can succeed with any
probability, however small, so every word keeps its probability: none is unreachable because it lies
below the resolution of a uniform number.

The head comes either from the whole row (one matrix product, worth it for frequent words) or from
the public neighbour index of the space (no product at all, good for most words).
"""

import math

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Ids, row_blocks
from discreet.errors import InvalidValue
from discreet.mechanisms.word._heads import CHUNK, Head, IndexHead, RowHead
from discreet.parallel import ahead
from discreet.randomness import exponential
from discreet.spaces.distances import Distances, block_error
from discreet.spaces.index import NeighborIndex
from discreet.spaces.space import EmbeddingSpace

# Words below this share of a row's weight are left to the rest: what stays in the head is then
# resolved by a 53-bit uniform to a relative precision of 2**-27.
_HEAD_SHARE = 2.0**-26
# Float32 rounding of exp(-t) and of its argument, for the t <= 18.1 that a head can hold; a row
# that was shifted adds the rounding of the shifted distances.
_ROUNDING = 1e-5
_SHIFT_ROUNDING = 2.0**-22
# By how much a lower bound may miss an exponent before distances are taken in float64.
_MOST_MISSED = 8.0
LARGEST_EXPONENT = 1e10
"""What kappa times the largest distance may be: so far float64 distances decide a law."""
_ROW_BLOCK_NUMBERS = 2**22
_INDEX_BLOCK_NUMBERS = 2**20
# One row product costs about as much as this many proposals from the rest.
_PROPOSALS_PER_ROW = 1000
_MOST_ROUNDS = 64


class DistanceLaw:
    """Draws words near given words.

    Args:
        space: the public vocabulary.
        kappa: how fast the probability falls with distance.
        targets: ids of the words that may come out (all unless given).
        index: the neighbour index of the whole space; used only if all words may come out.
    """

    def __init__(
        self,
        space: EmbeddingSpace,
        kappa: float,
        *,
        targets: Ids | None = None,
        index: NeighborIndex | None = None,
    ) -> None:
        self.kappa = kappa
        self.distances = Distances(space, targets)
        exponent = kappa * self.distances.reach
        if exponent > LARGEST_EXPONENT:
            most = LARGEST_EXPONENT / self.distances.reach
            raise InvalidValue(
                f"epsilon is too large for float arithmetic in {space.name}, whose words are up to "
                f"{self.distances.reach:.3g} apart; use at most {most:.3g}"
            )
        self._some_targets = targets is not None
        missed = exponent * math.sqrt(4.0 * self.distances.relative_error)
        self._double = self._some_targets and missed > _MOST_MISSED
        self._shift_rounding = (
            2.0 * block_error(space.dimension) if self._double else _SHIFT_ROUNDING
        )
        self._index = None if self._some_targets else index

    @property
    def targets(self) -> Ids:
        """Ids of the words that may come out, in the order of the law's columns."""
        return self.distances.targets

    def log_probabilities(self, ids: Ids) -> Floats:
        """``(n, targets)``: the logarithm of the law, in float64."""
        logs = self.distances.block(ids)
        logs *= -self.kappa
        # Shift first: exp of the unshifted row may be 0 everywhere if x itself is not a target.
        logs -= logs.max(axis=1, keepdims=True)
        logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
        return logs

    def sample(self, ids: Ids, rng: np.random.Generator) -> Ids:
        """One independent draw for each id."""
        out = np.empty(len(ids), dtype=np.int64)
        # Sorted by word: each word's row is then made once for all its occurrences.
        open_ = np.argsort(_narrow(ids, len(self.distances.space)), kind="stable")
        if self._index is not None:
            open_ = self._sample_with_index(ids, open_, out, rng, self._index)
        self._sample_with_rows(ids, open_, out, rng)
        return out

    # -- heads from whole rows -----------------------------------------------------------------

    def _sample_with_rows(self, ids: Ids, order: Ids, out: Ids, rng: np.random.Generator) -> None:
        blocks_of_rows = _row_blocks(
            ids, order, max(2, _ROW_BLOCK_NUMBERS // self.distances.padded)
        )
        heads = ahead(self._whole_rows, [words for words, _, _ in blocks_of_rows])
        for head, (words, members, rows) in zip(heads, blocks_of_rows, strict=True):
            while members.size:
                drawn, accepted = self._round(head, words, rows, rng)
                out[members[accepted]] = drawn[accepted]
                members, rows = members[~accepted], rows[~accepted]

    def _whole_rows(self, words: Ids) -> Head:
        weights, shift = (self._double_weights if self._double else self._single_weights)(words)
        bound = np.empty(len(words))
        outside = np.empty(len(words), dtype=np.bool_)
        sums = np.empty((len(words), weights.shape[1] // CHUNK))
        for part in row_blocks(len(words), weights.shape[1]):
            some = weights[part]
            limit = some.sum(axis=1) * np.float32(_HEAD_SHARE)
            listed = some >= limit[:, None]
            some *= listed
            bound[part] = limit
            outside[part] = ~listed[:, : len(self.targets)].all(axis=1)
            chunks = some.reshape(len(some), -1, CHUNK)
            np.einsum("rcw->rc", chunks, dtype=np.float64, casting="same_kind", out=sums[part])
        return RowHead(
            cumulative=np.cumsum(sums, axis=1, out=sums),
            bound=bound,
            outside=outside,
            shift=shift,
            reach=np.full(len(words), np.inf),
            weights=weights,
        )

    def _single_weights(self, words: Ids) -> tuple[NDArray[np.float32], Floats]:
        """``(n, padded)`` weights from lower bounds of the distances, and each row's shift."""
        weights = self.distances.lower_squared(words)
        shift = np.zeros(len(words))
        for part in row_blocks(len(words), weights.shape[1]):
            some = weights[part]
            np.sqrt(np.maximum(some, 0.0, out=some), out=some)
            if self._some_targets:
                # Without this a row whose word is no target could underflow everywhere.
                least = some.min(axis=1)
                some -= least[:, None]
                shift[part] = self.kappa * least.astype(np.float64)
            some *= np.float32(-self.kappa)
            np.exp(some, out=some)
            some[:, len(self.targets) :] = 0.0  # columns that only fill up the block
        return weights, shift

    def _double_weights(self, words: Ids) -> tuple[NDArray[np.float32], Floats]:
        """The same from distances in float64.

        A row whose word is no target has none at distance 0. If kappa is large the nearest one may
        then be so far below its lower bound in float32 that it is never accepted.
        """
        weights = np.zeros((len(words), self.distances.padded), dtype=np.float32)
        exponents = self.kappa * self.distances.block(words)
        shift = exponents.min(axis=1)
        np.exp(shift[:, None] - exponents, out=exponents)
        weights[:, : len(self.targets)] = exponents
        return weights, shift

    # -- heads from the index ------------------------------------------------------------------

    def _sample_with_index(
        self, ids: Ids, order: Ids, out: Ids, rng: np.random.Generator, index: NeighborIndex
    ) -> Ids:
        """Draw what is cheap to draw from the index; return what is better done by whole rows."""
        left = []
        block = max(1, _INDEX_BLOCK_NUMBERS // index.size)
        for words, members, rows in _row_blocks(ids, order, block):
            head = self._index_rows(words, index)
            occurrences = np.bincount(rows, minlength=len(words))
            # Frequent words with a heavy rest would need more proposals than a whole row costs.
            share = self._rest(head) / (head.cumulative[:, -1] + self._rest(head))
            costly = (occurrences * share > _PROPOSALS_PER_ROW)[rows]
            left.append(members[costly])
            members, rows = members[~costly], rows[~costly]
            for _ in range(_MOST_ROUNDS):
                if not members.size:
                    break
                drawn, accepted = self._round(head, words, rows, rng)
                out[members[accepted]] = drawn[accepted]
                members, rows = members[~accepted], rows[~accepted]
                # What is still open is drawn afresh by either way, so choosing the cheaper one by
                # how many proposals failed does not touch the law.
                waiting = np.bincount(rows, minlength=len(words))
                rate = np.maximum(1.0 - waiting / np.maximum(occurrences, 1), 1 / _MOST_ROUNDS)
                occurrences = waiting
                costly = (waiting / rate > _PROPOSALS_PER_ROW)[rows]
                left.append(members[costly])
                members, rows = members[~costly], rows[~costly]
            left.append(members)
        return np.concatenate(left) if left else order[:0]

    def _index_rows(self, words: Ids, index: NeighborIndex) -> Head:
        weights = np.exp(-self.kappa * index.lower[words].astype(np.float64))
        last = weights[:, -1]
        limit = weights.sum(axis=1) * _HEAD_SHARE
        bound = np.maximum(limit, last)
        weights *= weights >= limit[:, None]
        return IndexHead(
            cumulative=np.cumsum(weights, axis=1),
            bound=bound,
            outside=np.count_nonzero(weights, axis=1) < len(self.targets),
            shift=np.zeros(len(words)),
            reach=self.distances.upper(words, index.lower[words, -1]),
            weights=weights,
            neighbors=index.neighbors[words],
        )

    def _rest(self, head: Head) -> Floats:
        """Weight of all proposals from the rest of each row.

        They are made uniformly over all targets, listed ones too (which are then refused), so each
        target takes its share. With nothing outside the head there is no rest.
        """
        return len(self.targets) * head.bound * head.outside

    # -- one round of proposals ----------------------------------------------------------------

    def _round(
        self, head: Head, words: Ids, rows: Ids, rng: np.random.Generator
    ) -> tuple[Ids, NDArray[np.bool_]]:
        """Propose a word for each occurrence and say which proposals are accepted."""
        listed = head.cumulative[:, -1]
        total = listed + self._rest(head)
        point = rng.random(len(rows)) * total[rows]
        in_head = point < listed[rows]
        drawn = np.empty(len(rows), dtype=np.int64)
        accepted = np.empty(len(rows), dtype=np.bool_)

        chosen = np.flatnonzero(in_head)
        column, weight = head.find(rows[chosen], point[chosen])
        drawn[chosen] = self.targets[np.minimum(column, len(self.targets) - 1)]
        # log of the proposal weight, as a distance times kappa; a zero weight was met by rounding.
        level = head.shift[rows[chosen]] - np.log(np.maximum(weight, 1e-300))
        rounding = _ROUNDING + self._shift_rounding * head.shift
        accepted[chosen] = (weight > 0) & self._accept(
            words[rows[chosen]], drawn[chosen], level, rounding[rows[chosen]], rng
        )

        chosen = np.flatnonzero(~in_head)
        if chosen.size:
            column = rng.integers(0, len(self.targets), chosen.size)
            drawn[chosen] = self.targets[column]
            level = (head.shift - np.log(head.bound) - rounding)[rows[chosen]]
            passed, least = self._accept_rest(words[rows[chosen]], drawn[chosen], level, rng)
            # Farther than any listed word means not listed; only the near ones are looked up.
            near = passed[least <= head.reach[rows[chosen[passed]]]]
            listed_too = near[head.lists(rows[chosen[near]], column[near])]
            accepted[chosen] = False
            accepted[chosen[passed]] = True
            accepted[chosen[listed_too]] = False
        return drawn, accepted

    def _accept(
        self, x: Ids, y: Ids, level: Floats, rounding: Floats, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """True with probability exp(-(kappa * d(x, y) - level + rounding))."""
        near = level / self.kappa
        most = self.kappa * (np.sqrt(near * near + self.distances.band(x, y)) - near)
        most += 3 * rounding
        np.copyto(most, rounding, where=x == y)
        uniform = rng.random(len(x))
        accepted = uniform < np.exp(-most)
        unsure = np.flatnonzero(~accepted)
        if unsure.size:
            excess = self.kappa * self.distances.exact(x[unsure], y[unsure]) - level[unsure]
            accepted[unsure] = uniform[unsure] < np.exp(-(excess + rounding[unsure]))
        return accepted

    def _accept_rest(
        self, x: Ids, y: Ids, level: Floats, rng: np.random.Generator
    ) -> tuple[Ids, Floats]:
        """Accept each with probability exp(-(kappa * d(x, y) - level)), however small.

        Returns the places that were accepted, and lower bounds of the distances there.
        """
        # An exponential draw is at least t with probability exp(-t). Quick bounds of the distance
        # settle nearly all comparisons with it.
        reach = level + exponential(level.shape, rng)
        least, most = self.distances.bounds(x, y)
        accepted = self.kappa * most <= reach
        unsure = np.flatnonzero(~accepted & (self.kappa * least <= reach))
        exact = self.distances.exact(x[unsure], y[unsure])
        accepted[unsure] = self.kappa * exact <= reach[unsure]
        places = np.flatnonzero(accepted)
        return places, least[places]


def _row_blocks(ids: Ids, order: Ids, block: int) -> "list[tuple[Ids, Ids, Ids]]":
    """Blocks of distinct words: the words, the positions that hold them, and each one's row."""
    if not order.size:
        return []
    ordered = ids[order]
    fresh = np.append(True, ordered[1:] != ordered[:-1])
    starts = np.flatnonzero(fresh)
    ends = np.append(starts, len(order))
    number = np.cumsum(fresh) - 1
    out = []
    for first in range(0, len(starts), block):
        last = min(first + block, len(starts))
        inside = slice(ends[first], ends[last])
        out.append((ordered[starts[first:last]], order[inside], number[inside] - first))
    return out


def _narrow(ids: Ids, count: int) -> NDArray[np.unsignedinteger]:
    # NumPy sorts 16-bit numbers by radix: ten times faster than wider ones.
    return ids.astype(np.uint16 if count <= 2**16 else np.uint32)
