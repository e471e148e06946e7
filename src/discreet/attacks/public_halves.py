"""Public text as vectors, with the noise and without: one half to learn from, one to attack."""

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Floats, Floats32, Ids, Progress, Rows
from discreet.errors import InvalidValue
from discreet.randomness import SEEDED_CAVEAT
from discreet.release.sentences import SentenceEmbedder
from discreet.settings import Setting, Settings

T = TypeVar("T")
_FEWEST = 20


def checked_halves(
    auxiliary: ArrayLike, known: Sized, targets: ArrayLike, hidden: Sized, names: tuple[str, str]
) -> tuple[Floats, Floats]:
    """The vectors of both halves, if there are enough of them and the truth of each is given.

    ``known`` is what is true of the vectors that the attacker learns from, ``hidden`` of those
    under attack; ``names`` are what the attack and the truth of a vector are called in a message.
    """
    attack, truth = names
    seen, under_attack = (np.asarray(rows, dtype=np.float64) for rows in (auxiliary, targets))
    if seen.ndim != 2 or under_attack.ndim != 2 or seen.shape[1] != under_attack.shape[1]:
        raise InvalidValue("auxiliary and target vectors must be rows of one length")
    if (len(seen), len(under_attack)) != (len(known), len(hidden)):
        raise InvalidValue(f"{attack} attack needs the {truth} of each vector")
    if len(seen) < _FEWEST or not len(under_attack):
        raise InvalidValue(
            f"{attack} attack needs at least {_FEWEST} public sentences and a target; "
            f"got {len(seen)} and {len(under_attack)}"
        )
    return seen, under_attack


@dataclass(frozen=True, kw_only=True)
class PublicTexts(Settings):
    """The public texts on which vectors are attacked."""

    heading: ClassVar[str] = "Public text"

    text_field: str = Setting("Column or field that holds the text.").default("text")
    texts: int = Setting("Use so many texts, drawn at random; 0 uses all.", at_least=0).default(
        4000
    )
    seed: int = Setting("Seed of the noise, the halves and the training.", at_least=0).default(0)


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
        make: Callable[[], SentenceEmbedder],
        *,
        most: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> "PublicHalves":
        """Encode, map and release some of the texts.

        Args:
            texts: PUBLIC, none of them blank.
            make: The embedder, asked for once the texts were looked at.
            most: How many, drawn at random; all unless given.
            seed: For the draw and the noise.
            progress: Called with (done, total) while texts are encoded.
        """
        for row, text in enumerate(texts, 1):
            if not text.strip():
                raise InvalidValue(f"the text of row {row} is empty; drop the row")
        rng = np.random.default_rng(seed)
        drawn = rng.permutation(len(texts))[:most]
        embedder = make()
        clean = embedder.units([texts[row] for row in drawn], progress=progress)
        released = embedder.mechanism.release(clean, rng)

        def cut(array: Any) -> Any:
            return np.split(array, [len(drawn) // 2])

        return cls(embedder, cut(drawn), cut(released), cut(clean))

    def attacked(
        self, attack: Callable[..., T], truth: Callable[[Ids], Any], *, seed: int = 0
    ) -> T:
        """What an attack on the released half achieves, with the noise and without.

        Args:
            attack: Takes vectors and truth of the attacker's half, then of the other.
            truth: What is true of these rows of the texts.
            seed: For the attack.
        """
        known, hidden = map(truth, self.rows)
        (seen, targets), bare = self.released, self.clean
        return attack(seen, known, targets, hidden, unprotected=bare, seed=seed)

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
