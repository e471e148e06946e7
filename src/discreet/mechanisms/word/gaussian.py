"""Gaussian noise on a word's clipped vector, then the nearest word."""

import math
from typing import ClassVar

from discreet import check
from discreet.arrays import Progress
from discreet.errors import InvalidValue, VerificationFailed
from discreet.mechanisms.noise import GaussianNoise, gaussian_delta, gaussian_multiplier
from discreet.mechanisms.word._noisy_nearest import NoisyNearest
from discreet.mechanisms.word._sensitivity import (
    CLIPPED_PUBLIC,
    SCOPE,
    clipped,
    noise_scale,
    sensitivity_of,
)
from discreet.mechanisms.word._words import CALIBRATIONS, word_statement
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Notion


class Gaussian(NoisyNearest):
    """Release the word nearest to the clipped vector plus independent Gaussian noise.

    Privacy: unit word, adjacency replace, approximate notion. For any two words x, x' of the
    vocabulary and any set of outputs S, ``P(S|x) <= exp(epsilon) * P(S|x') + delta``. The guarantee
    is per word; a text of n words is protected word by word and n is public.

    Paper: Balle and Wang, "Improving the Gaussian Mechanism for Differential Privacy", ICML 2018,
    for ``calibration="certified"``, which is exact for every epsilon. ``calibration="published"``
    is the textbook rule ``Delta_2 * sqrt(2 ln(1.25 / delta)) / epsilon`` of the word-embedding
    papers, whose proof needs epsilon of at most 1. Where we differ: ``Delta_2`` is the largest
    distance over the public vocabulary (``sensitivity="exact"``), not ``2 * clip``
    (``"general"``).

    Args:
        space: the public vocabulary.
        epsilon: loss allowed between any two words, above 0.
        delta: probability with which the loss may be larger, between 0 and 1.
        clip: longer vectors are scaled down to this Euclidean norm.
        calibration: ``"certified"`` or ``"published"``.
        sensitivity: ``"exact"`` or ``"general"``.
        progress: called with (done, total) while the farthest pair of a large space is searched.

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0, 1.0], [1, 1], [5, 0]])
    >>> certified = Gaussian(space, epsilon=1.0, delta=1e-5, clip=1.0)
    >>> published = Gaussian(space, epsilon=1.0, delta=1e-5, clip=1.0, calibration="published")
    >>> certified.noise.standard_deviation < published.noise.standard_deviation
    True
    """

    name: ClassVar[str] = "gaussian"
    noise: GaussianNoise

    def __init__(
        self,
        space: EmbeddingSpace,
        epsilon: float,
        delta: float,
        clip: float,
        *,
        calibration: str = "certified",
        sensitivity: str = "exact",
        progress: Progress | None = None,
    ) -> None:
        self.epsilon = check.positive(epsilon, "epsilon of Gaussian")
        self.delta = check.probability(delta, "delta of Gaussian")
        self.clip = check.positive(clip, "clip of Gaussian")
        self.calibration = check.one_of(calibration, CALIBRATIONS, "calibration of Gaussian")
        if calibration == "certified":
            multiplier = gaussian_multiplier(self.epsilon, self.delta)
        else:
            multiplier = _textbook(self.epsilon, self.delta)
        points = clipped(space, self.clip)
        self.sensitivity = sensitivity_of(
            space,
            points,
            self.clip,
            "l2",
            choice=sensitivity,
            owner="Gaussian",
            progress=progress,
        )
        super().__init__(
            space,
            points,
            GaussianNoise(noise_scale(multiplier * self.sensitivity.value, "Gaussian")),
            word_statement(
                space,
                Notion.APPROXIMATE,
                self.epsilon,
                delta=self.delta,
                scope=SCOPE,
                public=CLIPPED_PUBLIC,
            ),
        )


def _textbook(epsilon: float, delta: float) -> float:
    if epsilon > 1:
        raise InvalidValue(
            "epsilon of Gaussian must be at most 1 with calibration published, because the proof "
            "of its rule ends there and at larger epsilon the rule can give too little noise; "
            f"got {epsilon!r}; use calibration certified, which holds for every epsilon"
        )
    multiplier = math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon
    if math.isfinite(multiplier) and gaussian_delta(epsilon, multiplier) > delta:
        raise VerificationFailed(
            f"the published rule misses delta {delta!r} at epsilon {epsilon!r}; "
            "use calibration certified"
        )
    return multiplier
