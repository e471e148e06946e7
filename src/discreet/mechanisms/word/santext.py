"""SanText: replace each word by one that is near it, nearer ones more often."""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import check
from discreet.composition import UnitLoss
from discreet.mechanisms.certificate import (
    Certificate,
    by_theorem,
    certificate_table,
    metric_of,
)
from discreet.mechanisms.word._distance_law import DistanceLaw
from discreet.mechanisms.word._words import CALIBRATIONS, word_statement
from discreet.spaces.index import cached_index
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Notion


class SanText:
    """Release each word as ``y`` with probability proportional to ``exp(-kappa * d(x, y))``.

    Privacy: unit word, adjacency replace, metric notion. For any two words x, x' and any output y,
    ``P(y|x) <= exp(epsilon * d(x, x')) * P(y|x')``. Words are released independently, so a text of
    n words is protected at ``epsilon * sum_i d(x_i, x'_i)``; n itself is public.

    Paper: Yue et al., "Differential Privacy for Text Analytics via Natural Text Sanitization",
    Findings of ACL 2021. Where we differ: the paper sets ``kappa = epsilon / 2``
    (``calibration="published"``). ``calibration="certified"`` uses the largest kappa of the space's
    table for which the same inequality was checked over every pair of words. Every word of the
    vocabulary keeps its exact probability, however small.

    Args:
        space: the public vocabulary.
        epsilon: loss allowed per unit of distance, above 0.
        calibration: ``"certified"`` or ``"published"``.
        progress: called with (done, total) while a space is certified for the first time.

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0.0], [1.0], [5.0]])
    >>> mechanism = SanText(space, epsilon=2.0)
    >>> mechanism.release(np.array([0, 1, 2]), np.random.default_rng(0)).shape
    (3,)
    >>> 1.0 <= mechanism.kappa <= 2.0
    True
    """

    name: ClassVar[str] = "santext"
    uses_index: ClassVar[bool] = True
    """Whether an index of neighbours makes it faster."""

    def __init__(
        self,
        space: EmbeddingSpace,
        epsilon: float,
        *,
        calibration: str = "certified",
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.space = space
        self.epsilon = check.positive(epsilon, "epsilon of SanText")
        self.calibration = check.one_of(calibration, CALIBRATIONS, "calibration of SanText")
        self.certificate: Certificate = (
            certificate_table(space, progress=progress).certify(self.epsilon)
            if calibration == "certified"
            else by_theorem(space.fingerprint, self.epsilon)
        )
        self._law = DistanceLaw(space, self.kappa, index=cached_index(space))
        self._metric = metric_of(space)
        self.statement = word_statement(space, Notion.METRIC, self.epsilon, metric=self._metric)
        """The guarantee for each released word."""

    @property
    def kappa(self) -> float:
        """How fast the probability falls with distance."""
        return self.certificate.kappa

    @property
    def unit_loss(self) -> UnitLoss:
        """What is known of the loss of a word: its range over the outputs, too.

        ``ln P(y|x) - ln P(y|x')`` is ``kappa * (d(x', y) - d(x, y))`` and a term without y. By the
        triangle inequality it differs by at most ``2 * kappa * d(x, x')`` between two outputs.
        """
        return UnitLoss(
            self.epsilon * self._metric.farthest, spread=2 * self.kappa * self._metric.farthest
        )

    def release(self, ids: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """An independent draw for each word id."""
        return self._law.sample(self.space.checked_ids(ids), rng)

    def log_probabilities(self, ids: ArrayLike) -> NDArray[np.float64]:
        """``(n, words)``: the law that :meth:`release` samples from."""
        return self._law.log_probabilities(self.space.checked_ids(ids))
