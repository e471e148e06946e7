"""What released vectors are worth for search: how many of the nearest neighbours are still there.

A vector can be private or where it was, not both. How far it was moved depends on the mechanism,
its epsilon and the dimension, so it can be measured on public words before anybody relies on it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Ids, Progress, Rows, row_blocks
from discreet.encoders.encoder import encoded_once
from discreet.files import cache_directory
from discreet.mechanisms.sentence import unit_rows
from discreet.release.sentences import SentenceEmbedder
from discreet.spaces import load_space

NEIGHBOURS = 10
_WORDS = 1000
_POOR, _GOOD = 0.3, 0.8


@dataclass(frozen=True)
class SearchQuality:
    """How many of the true nearest neighbours a search among released vectors finds.

    Attributes:
        recall: Of the 10 nearest by the encoder, the share among the 10 nearest as released.
        without_noise: The same after the map alone.
        among: How many texts were searched; among more, fewer are found.
        texts: What they were.
    """

    recall: float
    without_noise: float
    among: int
    texts: str

    @property
    def chance(self) -> float:
        """What a search finds that picks at random."""
        return NEIGHBOURS / (self.among - 1)

    def line(self) -> str:
        """In plain words."""
        verdict = (
            "do not use these vectors for search"
            if self.recall < _POOR
            else "search works"
            if self.recall >= _GOOD
            else "search works in part"
        )
        return (
            f"A search finds {NEIGHBOURS * self.recall:.1f} of the {NEIGHBOURS} nearest neighbours "
            f"({NEIGHBOURS * self.without_noise:.1f} of {NEIGHBOURS} without noise), measured on "
            f"{self.texts}: {verdict}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "recall_at_10": self.recall,
            "recall_at_10_without_noise": self.without_noise,
            "by_chance": self.chance,
            "measured_on": self.texts,
        }


def neighbours_kept(truth: Rows, searched: Rows, count: int = NEIGHBOURS) -> float:
    """The share of each row's nearest rows (by angle) that are also nearest in other vectors.

    Args:
        truth: Unit rows that say which are the nearest.
        searched: Unit rows for the same texts, in which they are searched.
        count: How many nearest ones.

    >>> rows = np.eye(4)[[0, 0, 1, 1]] + 0.01 * np.eye(4)
    >>> neighbours_kept(rows, rows, 1), neighbours_kept(rows, rows[[0, 2, 1, 3]], 1)
    (1.0, 0.0)
    """
    same = 0
    for part in row_blocks(len(truth), len(truth), 2**22):
        near, also = (_nearest(rows, part, count) for rows in (truth, searched))
        same += int((near[:, :, None] == also[:, None, :]).sum())
    return same / (count * len(truth))


def _nearest(rows: Rows, part: slice, count: int) -> Ids:
    scores = rows[part] @ rows.T
    scores[np.arange(len(scores)), np.arange(part.start, part.stop)] = -np.inf
    return np.asarray(np.argpartition(-scores, count - 1, axis=1)[:, :count], dtype=np.int64)


def search_quality(
    embedder: SentenceEmbedder, *, progress: Progress | None = None
) -> SearchQuality:
    """Measure an embedder on frequent public words; their vectors are kept for the next time."""
    words = [word for word in load_space("starter").words if word.isalpha()][:_WORDS]
    try:
        folder = cache_directory() / "encoded"
        vectors = encoded_once(embedder.encoder, words, folder, progress=progress)
    except OSError:  # nowhere to keep them: they are made anew each time
        vectors = embedder.encoder.encode(words, progress=progress)
    # Seeded: a setting is worth the same every time it is looked at. Nothing here is released.
    rng = np.random.default_rng(0)
    mapped = unit_rows(embedder.map.apply(vectors))
    released = embedder.mechanism.release(mapped, rng)
    truth = unit_rows(vectors)
    return SearchQuality(
        neighbours_kept(truth, released),
        neighbours_kept(truth, mapped),
        len(words),
        f"{len(words):,} frequent public words",
    )
