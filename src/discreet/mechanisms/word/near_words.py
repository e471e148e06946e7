"""Near words: one of a few words that are near it, or now and then any other."""

import math
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import check
from discreet.arrays import Floats, Generator, Ids, Progress
from discreet.composition import UnitLoss
from discreet.errors import InvalidValue
from discreet.guides import load_guide
from discreet.mechanisms.word._alphabet import Wanted, choose
from discreet.mechanisms.word._near_sets import NearSets
from discreet.mechanisms.word._two_weights import TwoWeights
from discreet.mechanisms.word._words import PUBLIC, word_statement
from discreet.protocols import Guide
from discreet.spaces.prior import rank_prior
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Notion

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
    A word outside the vocabulary is one word, whatever it was, and nouns or names are near it.

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
        if isinstance(guide, str):
            guide = None if guide == NO_GUIDE else load_guide(guide, space)
        self.guide = guide
        self.contextual = guide is not None
        """Whether the law of a word depends on what was released before it."""
        self._given: dict[str, Any] = {
            "near": near,
            "outputs": outputs,
            "pool": pool,
            "weight": weight,
        }
        wanted = Wanted(self.epsilon, near, outputs, self.contextual)
        alphabet = choose(space, wanted, self.spared, progress)
        self.near, self.outputs = alphabet.near, len(alphabet.words)
        self.exemplars = alphabet.words
        """The outputs themselves, whatever they are written as."""
        self.expected_guess = alphabet.guessed
        """How often the best guess is right, as known when the settings were chosen, if they were:
        by public frequencies; with a guide, on average over public texts."""
        self.pool, self.weight = self._pool(pool, weight)
        self._law = TwoWeights(self.epsilon, self.near, self.outputs)
        self._sets = NearSets(alphabet, self.guide, self.pool, self.weight)
        self.statement = word_statement(
            space, Notion.PURE, self.epsilon, scope=self._scope(), public=self._public()
        )
        """The guarantee for each released word."""

    @property
    def words(self) -> Ids:
        """What can come out, as ids of the space."""
        return self._sets.written

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

    @cached_property
    def prior(self) -> Floats:
        """How often each word is expected among those that are replaced, by public frequencies."""
        return rank_prior(self.space, self.spared)

    def near_outputs(self, word: int) -> Ids:
        """What a word may well become, nearest first; with a guide, what it chooses from."""
        return self._sets.nearest_words(word)

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
        capitals: ArrayLike | None = None,
    ) -> NDArray[np.int64]:
        """A draw for each word id.

        Args:
            ids: of the words of some texts, end to end.
            rng: where the draws come from.
            offsets: where each text starts; without them every word is a text of its own. They
                matter to a guide alone.
            passed: which words are public and come out as they are; a guide reads them too.
            capitals: which words begin with a capital, where that is public: names stand in for
                unknown ones.
        """
        words = self.space.checked_ids(ids)
        public = np.zeros(len(words), np.bool_)
        if passed is not None:
            public = _mask(passed, len(words), "passed")
        rows = self._rows(words, capitals)
        out = words.copy()
        if self.guide is None:
            out[~public] = self.words[self._law.draw(self._sets.fixed, rows[~public], rng)]
            return out
        starts = _checked_offsets(offsets, len(words))
        self._release_on(self.guide, public, starts, rows, out, rng)
        return out

    def log_probabilities(
        self, ids: ArrayLike, released: ArrayLike = (), capitals: ArrayLike | None = None
    ) -> Floats:
        """``(n, words)``: the law of each word after a released text, given as word ids.

        Args:
            ids: of words.
            released: the text.
            capitals: which of the words begin with a capital, where that is public.
        """
        rows = self._rows(self.space.checked_ids(ids), capitals)
        table = np.full((len(rows), len(self.space)), -np.inf)
        table[:, self.words] = self._law.log_probabilities(self._sets.after(rows, released))
        return table

    def guess_rate(self, prior: ArrayLike, released: ArrayLike = ()) -> float:
        """How often the best guess at a word is right, for who knows the law and a prior.

        That is the sum over outputs of the largest ``prior(x) P(y|x)``.

        Args:
            prior: a share for every word of the space; they add up to 1.
            released: what was released before, as word ids.
        """
        given = np.asarray(prior)
        if given.shape != (len(self.space),) or given.dtype.kind not in "fiu":
            raise InvalidValue(f"prior must be a number for each of {len(self.space):,} words")
        shares = given.astype(np.float64, copy=False)
        sets = self._sets.after(np.arange(len(self.space)), released)
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
        drawn = np.ones(len(came_out), np.bool_)
        if passed is not None:
            drawn = ~_mask(passed, len(came_out), "passed")
        bounds = _checked_offsets(offsets, len(came_out))
        return self._sets.inverted(came_out, bounds, drawn, among)

    def _release_on(
        self,
        guide: Guide,
        public: NDArray[np.bool_],
        starts: Ids,
        rows: Ids,
        out: Ids,
        rng: Generator,
    ) -> None:
        """Release texts from left to right, many at once; the guide sees what came out.

        ``rows`` says whose near outputs each word has. ``out`` holds what is public, and takes what
        is released.
        """
        done = 0
        for reading, texts, places in self._sets.read_along(guide, starts):
            drawn = ~public[places]
            if drawn.any():
                own = places[drawn]
                sets = reading.likeliest(texts[drawn], rows[own])
                out[own] = self.words[self._law.draw(sets, np.arange(len(own)), rng)]
            reading.extend(texts, out[places])
            done += len(places)
            if self.progress is not None:
                self.progress(done, len(out))

    # -- settings ----------------------------------------------------------------------------------

    def _rows(self, words: Ids, capitals: ArrayLike | None) -> Ids:
        if capitals is None:
            return words
        return self._sets.rows(words, _mask(capitals, len(words), "capitals"))

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


def _mask(given: ArrayLike, count: int, name: str) -> NDArray[np.bool_]:
    mask = np.asarray(given)
    if mask.dtype != np.bool_ or mask.shape != (count,):
        raise InvalidValue(f"{name} of NearWords must say true or false of each word")
    return mask


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
