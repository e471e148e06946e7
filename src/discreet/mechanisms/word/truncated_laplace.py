"""Laplace noise cut off at a box, on a word's clipped vector, then the nearest word."""

import contextlib
import math
from typing import ClassVar

import numpy as np

from discreet import check
from discreet.arrays import Floats, Progress
from discreet.errors import InvalidValue
from discreet.mechanisms.word import _box
from discreet.mechanisms.word._noisy_nearest import NoisyNearest
from discreet.mechanisms.word._sensitivity import (
    CLIPPED_PUBLIC,
    SCOPE,
    Points,
    Sensitivity,
    clipped,
    general,
    noise_scale,
    sensitivity_of,
)
from discreet.mechanisms.word._words import CALIBRATIONS, word_statement
from discreet.mechanisms.word.laplace import LaplaceNoise
from discreet.search import last_whole_that_holds
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Notion

_OWNER = "TruncatedLaplace"
# Below, probabilities are no longer full-precision floating-point numbers.
_SMALLEST_DELTA = 1e-300
_SAMPLED_WORDS = 4096
_STEPS = 4


class TruncatedLaplace(NoisyNearest):
    """Release the word nearest to the clipped vector plus Laplace noise that stays in a box.

    Privacy: unit word, adjacency replace, approximate notion. For any two words x, x' of the
    vocabulary and any set of outputs S, ``P(S|x) <= exp(epsilon) * P(S|x') + delta``. Where both
    boxes overlap the loss is at most ``epsilon``; delta is the mass of one box outside the other.
    The guarantee is per word; a text of n words is protected word by word and n is public.

    Paper: Huang et al., "Private Language Models via Truncated Laplacian Mechanism", EMNLP 2024.
    Where we differ: the paper's box is too small. Its proof takes the part of one box outside the
    other for a small cube, but in more than one dimension it is a set of slabs with far more mass.
    ``calibration="certified"`` uses the smallest box that is proven to keep delta over every pair
    of words. ``calibration="published"`` uses the paper's box and sensitivities, and its statement
    carries the delta that really holds. The certified box is so large that in high dimension this
    mechanism is hardly better than Laplace, and far behind Gaussian.

    Args:
        space: the public vocabulary.
        epsilon: loss allowed between any two words, above 0.
        delta: probability with which the loss may be larger, between 0 and 1; with ``published``
            the delta that the paper would claim.
        clip: longer vectors are scaled down to this Euclidean norm.
        calibration: ``"certified"`` or ``"published"``.
        sensitivity: ``"exact"`` (over the vocabulary) or ``"general"`` (over all clipped vectors);
            ``published`` takes its noise from the general one and only its delta from this.
        dummy_dimensions: coordinates added before the noise and dropped after it, the paper's
            device for a large epsilon; ``published`` only.
        log_delta: natural logarithm of the delta that the paper would claim, where that is too
            small for a number; ``delta`` is then any larger one. ``published`` only.
        progress: called with (done, total) while the farthest pair of a large space is searched.

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0, 1.0], [1, 1], [5, 0]])
    >>> certified = TruncatedLaplace(space, 0.1, delta=0.01, clip=1)
    >>> certified.statement.delta, certified.true_delta <= 0.01
    (0.01, True)
    >>> published = TruncatedLaplace(space, 0.1, delta=0.01, clip=1, calibration="published")
    >>> round(published.true_delta, 3), published.half_width < certified.half_width
    (0.065, True)
    """

    name: ClassVar[str] = "truncated-laplace"
    noise: LaplaceNoise

    def __init__(
        self,
        space: EmbeddingSpace,
        epsilon: float,
        delta: float,
        clip: float,
        *,
        calibration: str = "certified",
        sensitivity: str = "exact",
        dummy_dimensions: int = 0,
        log_delta: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.epsilon = check.positive(epsilon, f"epsilon of {_OWNER}")
        self.delta = check.probability(delta, f"delta of {_OWNER}")
        self.clip = check.positive(clip, f"clip of {_OWNER}")
        self.calibration = check.one_of(calibration, CALIBRATIONS, f"calibration of {_OWNER}")
        self.dummy_dimensions = check.whole(dummy_dimensions, f"dummy_dimensions of {_OWNER}")
        if self.delta < _SMALLEST_DELTA:
            raise check.fail(f"delta of {_OWNER}", f"at least {_SMALLEST_DELTA}", delta)
        published = self.calibration == "published"
        if self.dummy_dimensions and not published:
            raise InvalidValue(
                f"dummy_dimensions of {_OWNER} belong to calibration published; "
                "the certified box holds for every epsilon"
            )
        self.log_delta = log_delta
        if log_delta is not None:
            if not published:
                raise InvalidValue(
                    f"log_delta of {_OWNER} belongs to calibration published; the certified box "
                    "keeps a delta that is a number"
                )
            log_delta = check.in_range(
                log_delta, f"log_delta of {_OWNER}", at_most=math.log(self.delta)
            )
        log_claimed = math.log(self.delta) if log_delta is None else log_delta
        points = clipped(space, self.clip)
        reach = {
            norm: sensitivity_of(
                space, points, self.clip, norm, choice=sensitivity, owner=_OWNER, progress=progress
            )
            for norm in ("l1", "l2", "linf")
        }
        dimension = space.dimension + self.dummy_dimensions
        self.sensitivity: Sensitivity = (
            general(dimension, self.clip, "l1") if published else reach["l1"]
        )
        """The l1 sensitivity that the rate of the noise is set from."""
        scale = noise_scale(self.sensitivity.value / self.epsilon, _OWNER)
        bounds = _box.Reach(*(reach[norm].value / scale for norm in ("l1", "l2", "linf")))
        if published:
            width = _published_width(self.epsilon, log_claimed, space.dimension, dimension)
        else:
            enough = _box.enough_width(self.epsilon, self.delta)
            width = _box.smallest_width(bounds.exponent, self.delta, enough)
        exponent, exact = bounds.exponent(width), False
        # Of few words every pair can be looked at in about a second.
        few = len(space) ** 2 / 2 * space.dimension <= _box.MOST_WORK
        if sensitivity == "exact" and few:
            with contextlib.suppress(_box.TooManyPairs):
                pairs = points.astype(np.float64), 1.0 / scale, bounds.linf
                if not published:
                    width = _box.smallest_width_of_pairs(*pairs, self.delta, width)
                exponent, exact = _box.exponent(*pairs, width)[0], True
        self.true_delta = min(1.0, -math.expm1(-exponent))
        """The largest mass of one word's box outside another's: exact, or a proven bound."""
        self.true_delta_is_exact = exact
        shift = _far_shift(points) / scale
        seen = float(_box.coordinate_exponent(shift, width).sum()) / _box.MARGIN
        self.least_delta = self.true_delta if exact else -math.expm1(-seen)
        """What the true delta is at least: the mass of two words that are far apart."""
        held = self.true_delta if published else self.delta
        none = held >= 1.0
        super().__init__(
            space,
            points,
            LaplaceNoise(scale, noise_scale(width * scale, _OWNER)),
            word_statement(
                space,
                Notion.NONE if none else Notion.APPROXIMATE,
                math.inf if none else self.epsilon,
                delta=0.0 if none else held,
                scope=SCOPE,
                public=CLIPPED_PUBLIC,
                caveats=self._caveats(log_claimed) if published else (),
            ),
        )

    @property
    def half_width(self) -> float:
        """The noise of each coordinate lies between minus this and this."""
        return self.noise.half_width

    def _caveats(self, log_claimed: float) -> tuple[str, ...]:
        """What the paper claims of this noise, if less than that holds."""
        if self.true_delta <= math.exp(log_claimed):
            return ()
        claimed = f"{self.delta:.3g}"
        if self.log_delta is not None:
            claimed = f"1e{log_claimed / math.log(10):.0f}"
        actual = f"{self.true_delta:.3g}"
        if not self.true_delta_is_exact:
            actual = f"at least {self.least_delta:.3g} and at most {actual}"
        return (
            f"the paper claims delta = {claimed} for this noise at epsilon = "
            f"{self.epsilon:.6g}, but delta is {actual}: its proof takes the part of one box "
            "outside the other for a small cube, and it is a set of slabs",
        )


def _far_shift(points: Points) -> Floats:
    """The difference of two words that are far apart: walk to the farthest word a few times."""
    count = len(points)
    some = points[np.linspace(0, count - 1, min(count, _SAMPLED_WORDS)).astype(np.int64)]
    some = some.astype(np.float64)
    at = 0
    for _ in range(_STEPS):
        gaps = np.abs(some - some[at])
        at = int(gaps.sum(axis=1).argmax())
    return np.asarray(gaps[at])


def _published_width(epsilon: float, log_delta: float, dimension: int, padded: int) -> float:
    """The paper's half-width times the rate of the noise."""
    share = epsilon / _published_range(log_delta, padded)
    if share >= 1.0:
        needed = padded
        while epsilon >= _published_range(log_delta, needed):
            needed *= 2
        needed = last_whole_that_holds(
            lambda d: epsilon < _published_range(log_delta, d), needed, needed // 2
        )
        raise InvalidValue(
            f"epsilon of {_OWNER} must be below 2 * delta**(1/d) * sqrt(d) = "
            f"{_published_range(log_delta, padded):.6g} with calibration published; got "
            f"{epsilon!r}; use calibration certified, or dummy_dimensions={needed - dimension} as "
            "the paper does"
        )
    return -math.log1p(-share)


def _published_range(log_delta: float, dimension: int) -> float:
    return 2.0 * math.exp(log_delta / dimension) * math.sqrt(dimension)
