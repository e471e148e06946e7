"""What the SanText recipe runs: how much, and which mechanisms in which space."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet import mechanism
from discreet.protocols import WordMechanism
from discreet.spaces.space import EmbeddingSpace

FEW = 20
"""Dimensions in which noise on vectors leaves something at epsilons that are of use."""


@dataclass(frozen=True)
class SanTextSetting:
    """A mechanism at one epsilon."""

    mechanism: str
    epsilon: float = 0.0
    calibration: str = "published"
    w: float = 0.9
    p: float = 0.3
    few: bool = False
    """In the first ``FEW`` principal directions of the space."""

    @property
    def key(self) -> str:
        """For tables: w and p are the same in all rows of one."""
        return self._named("")

    @property
    def part(self) -> str:
        """For names of parts."""
        return self._named(f"-w{self.w:g}-p{self.p:g}" if self.mechanism == "santext-plus" else "")

    def _named(self, plus: str) -> str:
        few = f"-d{FEW}" if self.few else ""
        return f"{self.mechanism}-{self.calibration}-{self.epsilon:g}{plus}{few}"

    def build(self, space: EmbeddingSpace) -> WordMechanism | None:
        """The mechanism; None leaves the text as it is."""
        if self.mechanism == "unsanitised":
            return None
        plus = self.mechanism == "santext-plus"
        built: WordMechanism = mechanism(
            self.mechanism,
            space=space,
            epsilon=self.epsilon or None,
            calibration=self.calibration if plus or self.mechanism == "santext" else None,
            sensitive_share=self.w if plus else None,
            p=self.p if plus else None,
        )
        return built


BOTH = ("published", "certified")


def settings_at(epsilons: Sequence[float]) -> list[SanTextSetting]:
    """The rows of the paper's Table 1 at each epsilon, in both calibrations where they differ."""
    rows = [SanTextSetting("unsanitised"), SanTextSetting("uniform")]
    for epsilon in epsilons:
        rows.append(SanTextSetting("cmp", epsilon))
        rows += [SanTextSetting(m, epsilon, c) for m in ("santext", "santext-plus") for c in BOTH]
    return rows


def with_shares(settings: Iterable[SanTextSetting], w: float, p: float) -> list[SanTextSetting]:
    """The same with other shares of sensitive and of replaced words."""
    return [replace(setting, w=w, p=p) for setting in settings]


def order_at(epsilons: Sequence[float]) -> list[SanTextSetting]:
    """The published mechanisms in few dimensions."""
    names = ("cmp", "santext", "santext-plus")
    return [SanTextSetting(name, epsilon, few=True) for epsilon in epsilons for name in names]


def masked_at(epsilons: Sequence[float]) -> list[SanTextSetting]:
    """The rows of the paper's Figure 4: SanText at each epsilon, and the text as it is."""
    rows = [SanTextSetting("santext", epsilon, c) for c in BOTH for epsilon in epsilons]
    return [SanTextSetting("unsanitised"), *rows] if rows else []


def ranked(space: EmbeddingSpace) -> EmbeddingSpace:
    """A space with public frequencies: those it has, or Zipf's law of the order of its words.

    Files of vectors such as GloVe's list the frequent words first.
    """
    if space.frequencies is not None:
        return space
    return replace(space, frequencies=1.0 / np.arange(1, len(space) + 1))


def in_few_dimensions(space: EmbeddingSpace) -> EmbeddingSpace:
    """A space in the principal directions of its own vectors, each of length 1.

    A function of the public space alone.
    """
    centred = space.vectors.astype(np.float64)
    centred -= centred.mean(axis=0)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:FEW]
    vectors = centred @ directions.T
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return EmbeddingSpace.from_arrays(
        space.words,
        vectors.astype(np.float32),
        f"the first {FEW} principal directions of: {space.provenance}",
        name=f"{space.name}-{FEW}",
        unknown=None if space.unknown is None else space.words[space.unknown],
        frequencies=space.frequencies,
        subwords=space.subwords,
    )
