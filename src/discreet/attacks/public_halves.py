"""Public text as vectors, with the noise and without: one half to learn from, one to attack."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Floats32, Ids, Progress, Rows
from discreet.errors import InvalidValue
from discreet.randomness import SEEDED_CAVEAT
from discreet.release.sentences import SentenceEmbedder


@dataclass(frozen=True)
class PublicHalves:
    """What an attacker on released vectors learns from, and what is under attack.

    Each attribute is a pair: the attacker's half, and the other.

    Attributes:
        embedder: The setting that is attacked.
        rows: Which of the texts.
        released: Their vectors as released.
        clean: The same without noise.
    """

    embedder: SentenceEmbedder
    rows: tuple[Ids, Ids]
    released: tuple[Floats32, Floats32]
    clean: tuple[Rows, Rows]

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        embedder: SentenceEmbedder | Callable[[], SentenceEmbedder],
        *,
        most: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> "PublicHalves":
        """Encode, map and release some of the texts.

        Args:
            texts: PUBLIC, none of them blank.
            embedder: Or a function that makes one, called once the texts were looked at.
            most: How many, drawn at random; all unless given.
            seed: Of the draw and of the noise.
            progress: Called with (done, total) while texts are encoded.
        """
        for row, text in enumerate(texts, 1):
            if not text.strip():
                raise InvalidValue(f"the text of row {row} is empty; drop the row")
        rng = np.random.default_rng(seed)
        drawn = rng.permutation(len(texts))[:most]
        made = embedder() if callable(embedder) else embedder
        clean = made.units([texts[row] for row in drawn], progress=progress)
        released = made.mechanism.release(clean, rng)
        middle = len(drawn) // 2

        def cut(array: Any) -> Any:
            return array[:middle], array[middle:]

        return cls(made, cut(drawn), cut(released), cut(clean))

    def to_dict(self) -> dict[str, Any]:
        """The setting that was attacked, ready for JSON."""
        mechanism, public = self.embedder.mechanism, self.embedder.map
        return {
            "statement": self.embedder.statement.with_caveats(SEEDED_CAVEAT).to_dict(),
            "mechanism": mechanism.name,
            "epsilon": mechanism.epsilon,
            "dimension": public.dimension,
            "encoder": self.embedder.encoder.fingerprint,
            "map": public.fingerprint,
            "auxiliary": len(self.rows[0]),
            "targets": len(self.rows[1]),
        }
