"""SanText+: keep common words as they are most of the time, replace sensitive ones always."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import check
from discreet.errors import InvalidValue
from discreet.mechanisms.certificate import (
    Certificate,
    by_theorem,
    certificate_table,
    metric_of,
)
from discreet.mechanisms.word._distance_law import DistanceLaw
from discreet.mechanisms.word._words import CALIBRATIONS, PUBLIC, word_statement
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Notion
from discreet.text.readers import open_documents


class SanTextPlus:
    """SanText for a public list of sensitive words; other words mostly stay as they are.

    A sensitive word becomes a sensitive word by the SanText law over the sensitive words. Another
    word stays with probability ``1 - p``, else it too becomes a sensitive word by that law.

    Privacy: unit word, adjacency replace, utility-optimised metric notion
    ``(V_S, V_P, epsilon, ln(1/p))``: for any two words x, x' and any sensitive output y,
    ``P(y|x) <= exp(epsilon * d(x, x') + ln(1/p)) * P(y|x')``; and only the word itself can come out
    as an unsensitive y. **A word outside the list that comes out unchanged is disclosed.**

    Paper: Yue et al., Findings of ACL 2021. Where we differ: the sensitive words must come from a
    public source, never from the text being protected; the unknown token is always sensitive; the
    certified calibration checks the pair condition over all words with the normaliser over the
    sensitive ones.

    Args:
        space: the public vocabulary.
        epsilon: loss allowed per unit of distance, above 0.
        sensitive: ids of the sensitive words, from a public source (for example
            ``space.least_frequent(0.9)``).
        p: probability that an unsensitive word is replaced, between 0 and 1.
        calibration: ``"certified"`` or ``"published"``.
        progress: called with (done, total) while a space is certified for the first time.

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> space = EmbeddingSpace.from_arrays(["the", "ann", "bob"], [[0.0], [1.0], [1.5]])
    >>> mechanism = SanTextPlus(space, epsilon=2.0, sensitive=[1, 2], p=0.3)
    >>> bool(0 in mechanism.release([1, 1, 1, 2], np.random.default_rng(0)))
    False
    """

    name: ClassVar[str] = "santext-plus"

    def __init__(
        self,
        space: EmbeddingSpace,
        epsilon: float,
        *,
        sensitive: ArrayLike,
        p: float = 0.3,
        calibration: str = "certified",
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.space = space
        self.epsilon = check.positive(epsilon, "epsilon of SanText+")
        self.p = check.probability(p, "p of SanText+")
        self.calibration = check.one_of(calibration, CALIBRATIONS, "calibration of SanText+")
        self.sensitive = chosen = sensitive_targets(space, sensitive)
        self._is_sensitive = np.zeros(len(space), dtype=np.bool_)
        self._is_sensitive[chosen] = True
        self.certificate: Certificate = (
            certificate_table(space, chosen, progress).certify(self.epsilon)
            if calibration == "certified"
            else by_theorem(space.fingerprint, self.epsilon)
        )
        self._law = DistanceLaw(space, self.kappa, targets=chosen)
        self.statement = word_statement(
            space,
            Notion.UTILITY_OPTIMISED,
            self.epsilon,
            slack=math.log(1 / self.p),
            metric=metric_of(space),
            scope=(
                f"only the {len(chosen):,} words of the public sensitive list are protected; a "
                f"word outside it comes out unchanged with probability {1 - self.p:.6g}, and is "
                "then disclosed"
            ),
            public=(*PUBLIC, "the list of sensitive words"),
        )
        """The guarantee for each released word."""

    @classmethod
    def from_space(
        cls,
        space: EmbeddingSpace,
        epsilon: float,
        *,
        sensitive_share: float | None = None,
        sensitive_file: Path | None = None,
        p: float = 0.3,
        calibration: str = "certified",
        progress: Callable[[int, int], None] | None = None,
    ) -> "SanTextPlus":
        """With sensitive words by public frequency or from a public list.

        Args:
            space: the public vocabulary.
            epsilon: loss allowed per unit of distance, above 0.
            sensitive_share: this share of the least frequent words (by public frequencies) is
                sensitive; 0.9 unless given.
            sensitive_file: a public list of sensitive words, one per line. Words that the
                space does not have are unknown, and so sensitive anyway.
            p: probability that an unsensitive word is replaced, between 0 and 1.
            calibration: ``"certified"`` or ``"published"``.
            progress: called with (done, total) while a space is certified for the first time.
        """
        sensitive = sensitive_words(space, sensitive_share, sensitive_file)
        return cls(
            space, epsilon, sensitive=sensitive, p=p, calibration=calibration, progress=progress
        )

    @property
    def kappa(self) -> float:
        """How fast the probability falls with distance."""
        return self.certificate.kappa

    def release(self, ids: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """An independent draw for each word id."""
        words = self.space.checked_ids(ids)
        replaced = self._is_sensitive[words] | (rng.random(len(words)) < self.p)
        out = words.copy()
        out[replaced] = self._law.sample(words[replaced], rng)
        return out

    def log_probabilities(self, ids: ArrayLike) -> NDArray[np.float64]:
        """``(n, words)``: the law that :meth:`release` samples from; ``-inf`` where it cannot."""
        words = self.space.checked_ids(ids)
        common = ~self._is_sensitive[words]
        out = np.full((len(words), len(self.space)), -np.inf)
        out[:, self.sensitive] = self._law.log_probabilities(words)
        out[common] += math.log(self.p)
        out[common, words[common]] = math.log1p(-self.p)
        return out


def sensitive_targets(space: EmbeddingSpace, sensitive: ArrayLike) -> NDArray[np.int64]:
    """The sensitive words in order, the unknown token always among them."""
    chosen = np.unique(space.checked_ids(sensitive))
    if space.unknown is not None:
        # A word nobody knows may be a name or a number: it must never pass as "unknown".
        chosen = np.union1d(chosen, [space.unknown])
    if len(chosen) < 2:
        raise InvalidValue("SanText+ needs at least 2 sensitive words to choose among")
    return chosen


def sensitive_words(
    space: EmbeddingSpace, share: float | None = None, file: Path | None = None
) -> NDArray[np.int64]:
    """Ids of the sensitive words, by public frequency or from a public list, one word a line.

    Args:
        space: the public vocabulary.
        share: of the least frequent words; 0.9 unless it or a list is given.
        file: the list. It may name words that the space does not have: they are unknown, hence
            sensitive anyway.
    """
    if share is not None and file is not None:
        raise InvalidValue("give --sensitive-share or --sensitive-file, not both")
    if file is None:
        return space.least_frequent(
            check.share(0.9 if share is None else share, "--sensitive-share")
        )
    with open_documents(file, format="txt") as reader:
        words = [line.strip() for batch in reader for line in batch.texts]
    ids = [space.ids.get(word, space.ids.get(word.lower())) for word in words]
    known = [number for number in ids if number is not None]
    if not known:
        raise InvalidValue(
            f"{file}: none of its {len(words)} lines is a word of {space.name}; "
            "give one word per line"
        )
    return np.array(known, dtype=np.int64)
