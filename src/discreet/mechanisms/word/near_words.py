"""Near words: one of a few words that are near it, or now and then any other."""

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import check
from discreet.arrays import Floats, Floats32, Generator, Ids, Progress, ragged_places, row_blocks
from discreet.composition import UnitLoss
from discreet.errors import InvalidValue
from discreet.guides import load_guide
from discreet.mechanisms.word._alphabet import Wanted, choose
from discreet.mechanisms.word._two_weights import Places, TwoWeights
from discreet.mechanisms.word._words import PUBLIC
from discreet.protocols import Guide
from discreet.spaces.prior import rank_prior
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Adjacency, Notion, PrivacyStatement, Scope, Unit

NO_GUIDE = "none"
# Measured on reviews and news with the n-gram guide; see the mechanism's page.
_POOL = 16
_WEIGHT = 12.0


class NearWords:
    """Release each word as one of the ``near`` outputs near it, or more rarely as any other output.

    Every output is one of ``outputs`` public words. For a word x, the set H(x) holds exactly
    ``near`` of them; each comes out with weight ``exp(epsilon)``, each other output with weight 1.
    With a guide, H(x) is chosen anew at every place: of the ``pool`` outputs nearest to x, those
    that a public language model finds likeliest after the words that were already released.

    Privacy: unit word, adjacency replace, pure. For any two words x, x', any output y and any text
    released before, ``P(y|x) <= exp(epsilon) * P(y|x')``: all words have as many near outputs, so
    the weights of all add up to the same. The loss is 0 between words with the same near outputs.
    Two texts of n words that differ in j of them are ``j * epsilon`` apart; n itself is public.

    Ours: randomised response over sets of words of one size. What may come out, how many are near
    and how near each is depend on the public space alone; a guide reads released words alone.

    Args:
        space: the public vocabulary.
        epsilon: loss allowed between any two words, above 0.
        near: how many outputs are near each word; chosen for epsilon unless given.
        outputs: how many words can come out, the first of the space's exemplars; chosen for epsilon
            unless given.
        guide: what says which words are likely next: ``"ngram"``, the folder of a causal language
            model, or ``"none"``.
        pool: of how many nearest outputs a guide chooses the near ones; 16, or 4 times as many as
            are near, unless given.
        weight: what the typical distance between two words counts for beside a guide's
            log-likelihood; 12 unless given.
        spared: which words of the space are public and pass unchanged, by whoever cuts texts: the
            outputs are chosen for the others, and among them.
        progress: called with (done, total) while exemplars are chosen for the first time.

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0.0], [1.0], [5.0]])
    >>> mechanism = NearWords(space, epsilon=2.0, near=2, outputs=3)
    >>> np.exp(mechanism.log_probabilities([0])).round(3)
    array([[0.468, 0.468, 0.063]])
    """

    name: ClassVar[str] = "near-words"

    progress: Progress | None = None
    """Called with (words done, words in all) while a guide reads along, if it is set."""

    def __init__(
        self,
        space: EmbeddingSpace,
        epsilon: float,
        *,
        near: int | None = None,
        outputs: int | None = None,
        guide: str | Guide | None = None,
        pool: int | None = None,
        weight: float | None = None,
        spared: NDArray[np.bool_] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.space = space
        self.epsilon = check.positive(epsilon, "epsilon of NearWords")
        self.spared = _checked_spared(spared, len(space))
        self.guide = self._guide(guide)
        self._given: dict[str, Any] = {
            "near": near,
            "outputs": outputs,
            "pool": pool,
            "weight": weight,
        }
        wanted = Wanted(self.epsilon, near, outputs, self.guide is not None)
        self._alphabet = choose(space, wanted, self.spared, progress)
        self.near, self.outputs = self._alphabet.near, len(self._alphabet.words)
        self.pool, self.weight = self._pool(pool, weight)
        self.words = self._alphabet.words
        """What can come out, as ids of the space."""
        self._law = TwoWeights(self.epsilon, self.near, self.outputs)
        self._statement = PrivacyStatement(
            notion=Notion.PURE,
            epsilon=self.epsilon,
            unit=Unit.WORD,
            adjacency=Adjacency.REPLACE,
            over=Scope(cut=space.fingerprint),
            scope=self._scope(),
            public=self._public(),
        )

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee for each released word."""
        return self._statement

    @property
    def contextual(self) -> bool:
        """Whether the law of a word depends on what was released before it."""
        return self.guide is not None

    @property
    def unit_loss(self) -> UnitLoss:
        """What is known of the loss of one word: epsilon as often as a near output comes out.

        That is between words without a common near output; any two others are closer.
        """
        return UnitLoss(self.epsilon, top=math.nextafter(self.near_chance, 1.0))

    @property
    def near_chance(self) -> float:
        """The probability that one of the near outputs comes out, the same for every word."""
        return self._law.near_chance

    @property
    def expected_guess(self) -> float | None:
        """How often the best guess is right, as known when the settings were chosen, if they were.

        By public frequencies; with a guide, on average over public texts.
        """
        return self._alphabet.guessed

    @cached_property
    def prior(self) -> Floats:
        """How often each word is expected among those that are replaced, by public frequencies."""
        return rank_prior(self.space, self.spared)

    def near_outputs(self, word: int) -> Ids:
        """What a word may well become, nearest first; with a guide, what it chooses from."""
        return self._alphabet.nearest_words(word, self.pool or self.near)

    def sparing(self, spared: NDArray[np.bool_]) -> "NearWords":
        """The same for texts in which some words are public: what was not given is chosen anew."""
        if self.spared is not None and np.array_equal(self.spared, spared):
            return self
        made = NearWords(
            self.space,
            self.epsilon,
            guide=self.guide,
            spared=spared,
            **self._given,
        )
        made.progress = self.progress
        return made

    def release(
        self,
        ids: ArrayLike,
        rng: Generator,
        offsets: ArrayLike | None = None,
        passed: ArrayLike | None = None,
    ) -> NDArray[np.int64]:
        """A draw for each word id.

        Args:
            ids: of the words of some texts, end to end.
            rng: where the draws come from.
            offsets: where each text starts; without them every word is a text of its own. They
                matter to a guide alone.
            passed: which words are public and come out as they are; a guide reads them too.
        """
        words = self.space.checked_ids(ids)
        public = np.zeros(len(words), np.bool_) if passed is None else np.asarray(passed)
        out = words.copy()
        if self.guide is None:
            out[~public] = self.words[self._law.draw(self._sets, words[~public], rng)]
            return out
        starts = _checked_offsets(offsets, len(words))
        for part in row_blocks(len(starts) - 1, numbers=self.guide.documents):
            self._release_on(self.guide, public, starts[part.start : part.stop + 1], out, rng)
        return out

    def log_probabilities(self, ids: ArrayLike, released: ArrayLike = ()) -> Floats:
        """``(n, words)``: the law of each word after a released text, given as word ids."""
        words = self.space.checked_ids(ids)
        table = np.full((len(words), len(self.space)), -np.inf)
        table[:, self.words] = self._law.log_probabilities(self._sets_after(words, released))
        return table

    def guess_rate(self, prior: ArrayLike, released: ArrayLike = ()) -> float:
        """How often the best guess at a word is right, for who knows the law and a prior.

        That is the sum over outputs of the largest ``prior(x) P(y|x)``.

        Args:
            prior: a share for every word of the space; they add up to 1.
            released: what was released before, as word ids.
        """
        shares = np.asarray(prior, dtype=np.float64)
        sets = self._sets_after(np.arange(len(self.space)), released)
        best = np.zeros(self.outputs)
        np.maximum.at(best, sets.ravel(), np.repeat(shares, self.near))
        heavy, light = np.exp(self._law.log_chances)
        return float(np.maximum(heavy * best, light * shares.max()).sum())

    @property
    def log_chances(self) -> tuple[float, float]:
        """The logarithm of the probability of a near output, and of any other output."""
        return self._law.log_chances

    def near_inputs(
        self,
        released: ArrayLike,
        offsets: ArrayLike,
        passed: ArrayLike | None = None,
        among: NDArray[np.bool_] | None = None,
    ) -> tuple[Ids, Ids]:
        """Which words have each released word among their near outputs, given what came before.

        All that an attacker needs to invert the law: at each place these words have the larger of
        :attr:`log_chances`, all others the smaller.

        Args:
            released: word ids that came out, of some texts end to end.
            offsets: where each text starts.
            passed: which of them are public and came out as they were: a guide reads them too, and
                there is nothing to invert.
            among: which words of the space are asked about; all unless given.

        Returns:
            pairs: places in the released text, in rising order, and words.
        """
        came_out = self.space.checked_ids(released)
        drawn = np.ones(len(came_out), np.bool_) if passed is None else ~np.asarray(passed)
        at = np.full(len(self.space), -1)
        at[self.words] = np.arange(self.outputs)
        outputs = at[came_out]
        if (outputs[drawn] < 0).any():
            raise InvalidValue("a word was given that cannot come out of this mechanism")
        near = self._sets if self.guide is None else self._pools[0]
        asked_about = np.arange(near.size)
        if among is not None:
            asked_about = np.flatnonzero(np.repeat(among, near.shape[1]))
        order = asked_about[np.argsort(near.ravel()[asked_about], kind="stable")]
        starts = np.searchsorted(near.ravel()[order], np.arange(self.outputs + 1))
        owners, counts = order // near.shape[1], np.diff(starts)
        starts = starts[:-1]
        if self.guide is None:
            own = np.flatnonzero(drawn)
            found, place = ragged_places(starts[outputs[own]], counts[outputs[own]])
            return own[place], owners[found]
        places, words = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        bounds = _checked_offsets(offsets, len(came_out))
        for part in row_blocks(len(bounds) - 1, numbers=self.guide.documents):
            for guide, state, texts, here in self._read_along(
                self.guide, bounds[part.start : part.stop + 1]
            ):
                mine, own = drawn[here], here[drawn[here]]
                found, row = ragged_places(starts[outputs[own]], counts[outputs[own]])
                asked = owners[found]
                sets = self._likeliest(guide, state, texts[mine][row], asked)
                near_one = (sets == outputs[own][row][:, None]).any(axis=1)
                places.append(own[row[near_one]])
                words.append(asked[near_one])
                guide.extend(state, texts, came_out[here])
        flat, whose = np.concatenate(places), np.concatenate(words)
        rising = np.argsort(flat, kind="stable")
        return flat[rising], whose[rising]

    @property
    def candidates(self) -> Ids:
        """``(words, n)``: the outputs that can be near each word, whatever was released before."""
        return self.words[self._sets if self.guide is None else self._pools[0]]

    def near_at(self, ids: ArrayLike, places: ArrayLike, released: ArrayLike) -> Ids:
        """``(n, near)``: the near outputs of words, each as if it stood at a place of a text.

        Args:
            ids: of words.
            places: for each how many words of the text were released before it.
            released: the text, as word ids.
        """
        words = self.space.checked_ids(ids)
        if self.guide is None:
            return self.words[self._sets[words]]
        text = self.space.checked_ids(released)
        state = self.guide.begin(len(text) + 1)
        # Document p is the text up to place p.
        for place, word in enumerate(text, 1):
            later = np.arange(place, len(text) + 1)
            self.guide.extend(state, later, np.full(len(later), word))
        return self.words[self._likeliest(self.guide, state, np.asarray(places), words)]

    # -- near sets ---------------------------------------------------------------------------------

    @cached_property
    def _sets(self) -> Places:
        """The near places of every word, without a guide."""
        return np.sort(self._alphabet.nearest(self.near)[0], axis=1)

    @cached_property
    def _pools(self) -> tuple[Places, Floats32]:
        """What a guide chooses from for every word, and what the distance of each counts for."""
        pools, distances = self._alphabet.nearest(self.pool or self.near)
        each = np.float32((self.weight or 0.0) / self._alphabet.typical_distance)
        return pools, distances * each

    def _sets_after(self, words: Ids, released: ArrayLike) -> Places:
        if self.guide is None:
            return self._sets[words]
        state = self.guide.begin(1)
        here = np.zeros(1, dtype=np.int64)
        for word in self.space.checked_ids(released):
            self.guide.extend(state, here, np.array([word]))
        return self._likeliest(self.guide, state, np.zeros(len(words), dtype=np.int64), words)

    def _likeliest(self, guide: Guide, state: Any, documents: Ids, words: Ids) -> Places:
        """The near places of each word: whatever a guide says, exactly so many different ones."""
        every, penalties = self._pools
        pools = every[words]
        scores = np.asarray(guide.scores(state, documents, self.words[pools]), dtype=np.float64)
        if scores.shape != pools.shape:
            raise InvalidValue(
                f"a guide must give a score for each of {pools.shape[1]} candidates of each of "
                f"{len(words)} documents; got shape {scores.shape}"
            )
        # A stable order: of equal scores the nearer word comes first.
        order = np.argsort(penalties[words] - scores, axis=1, kind="stable")
        return np.sort(np.take_along_axis(pools, order[:, : self.near], axis=1), axis=1)

    def _release_on(
        self, guide: Guide, public: NDArray[np.bool_], starts: Ids, out: Ids, rng: Generator
    ) -> None:
        """Release texts from left to right, all texts at once; the guide sees what came out.

        ``out`` holds the words, each until it is released.
        """
        done = int(starts[0])
        for _, state, texts, places in self._read_along(guide, starts):
            drawn = ~public[places]
            if drawn.any():
                own = places[drawn]
                sets = self._likeliest(guide, state, texts[drawn], out[own])
                out[own] = self.words[self._law.draw(sets, np.arange(len(own)), rng)]
            guide.extend(state, texts, out[places])
            done += len(places)
            if self.progress is not None:
                self.progress(done, len(out))

    def _read_along(self, guide: Guide, starts: Ids) -> Iterator[tuple[Guide, Any, Ids, Ids]]:
        """Place after place of some texts: the guide and its state, which texts, and where."""
        lengths = np.diff(starts)
        longest_first = np.argsort(-lengths, kind="stable")
        left = len(lengths) - np.searchsorted(
            np.sort(lengths), np.arange(lengths.max(initial=0)), "right"
        )
        state = guide.begin(len(lengths))
        for step, count in enumerate(left):
            texts = longest_first[:count]
            yield guide, state, texts, starts[texts] + step

    # -- settings ----------------------------------------------------------------------------------

    def _guide(self, guide: str | Guide | None) -> Guide | None:
        if isinstance(guide, str):
            return None if guide == NO_GUIDE else load_guide(guide, self.space)
        return guide

    def _pool(self, pool: int | None, weight: float | None) -> tuple[int | None, float | None]:
        if self.guide is None:
            for name, value in (("pool", pool), ("weight", weight)):
                if value is not None:
                    raise InvalidValue(
                        f"{name} of NearWords is for a guide; name a guide or leave it out"
                    )
            return None, None
        size = min(max(_POOL, 4 * self.near), self.outputs)
        if pool is not None:
            size = check.whole(pool, "pool of NearWords", at_least=self.near)
        if size > self.outputs:
            rule = f"at most {self.outputs}, the number of outputs"
            raise check.fail("pool of NearWords", rule, size)
        return size, check.non_negative(
            _WEIGHT if weight is None else weight, "weight of NearWords"
        )

    def _scope(self) -> str:
        after = ", given the words released before it in its text" if self.contextual else ""
        return (
            f"every word is replaced by one of {self.outputs:,} public words{after}, any of which "
            f"can come out; words with the same near outputs ({self.near} each) cannot be told "
            "apart"
        )

    def _public(self) -> tuple[str, ...]:
        public = (*PUBLIC, "the public frequencies of words")
        if self.guide is None:
            return public
        return (*public, f"the guide {self.guide.name} ({self.guide.fingerprint[:16]})")


def _checked_spared(spared: ArrayLike | None, count: int) -> NDArray[np.bool_] | None:
    if spared is None:
        return None
    mask = np.asarray(spared)
    if mask.dtype != np.bool_ or mask.shape != (count,) or mask.all():
        raise InvalidValue(
            f"spared of NearWords must say true or false of each of {count} words, and not true of "
            "all"
        )
    return mask


def _checked_offsets(offsets: ArrayLike | None, count: int) -> Ids:
    if offsets is None:
        return np.arange(count + 1)
    ends = np.asarray(offsets)
    if ends.ndim != 1 or not ends.size or ends.dtype.kind not in "iu":
        raise InvalidValue("offsets of NearWords must be a flat array of whole numbers")
    starts: Ids = ends.astype(np.int64)
    if starts[0] != 0 or starts[-1] != count or (np.diff(starts) < 0).any():
        raise InvalidValue(f"offsets of NearWords must rise from 0 to the number of ids, {count}")
    return starts
