"""What a space is: its size, its distances, and words beside each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.evaluation.explanation import example_words
from discreet.mechanisms.certificate import known_table, metric_of
from discreet.spaces.index import cached_index
from discreet.spaces.neighbours import nearest
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Metric

_NEIGHBOURS = 8


@dataclass(frozen=True)
class Inspection:
    """A space, what is known of it, and neighbours of some of its words."""

    space: EmbeddingSpace
    metric: Metric
    neighbours: Mapping[str, list[str]]
    indexed: bool
    """Whether its neighbour index is kept."""
    certified: bool
    """Whether its certificate table is kept."""

    @classmethod
    def of(cls, space: EmbeddingSpace, words: Sequence[str] = ()) -> "Inspection":
        """Look at a space and at these words of it; at familiar ones unless any are given."""
        return cls(
            space,
            metric_of(space),
            {word: _neighbours(space, word) for word in words or example_words(space)},
            cached_index(space) is not None,
            known_table(space) is not None,
        )

    @property
    def unknown(self) -> str | None:
        """What unknown words become."""
        return None if self.space.unknown is None else self.space.words[self.space.unknown]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        distances = ("nearest", "median", "farthest")
        return {
            **self.space.to_dict(),
            "unknown": self.unknown,
            "frequencies": self.space.frequencies is not None,
            "distances": {name: getattr(self.metric, name) for name in distances},
            "indexed": self.indexed,
            "certified": self.certified,
            "neighbours": dict(self.neighbours),
        }

    def lines(self) -> list[str]:
        """In plain words."""
        space, metric = self.space, self.metric
        return [
            f"{space.name}: {len(space):,} words x {space.dimension}, "
            f"fingerprint {space.fingerprint}",
            f"From: {space.provenance}",
            f"Unknown words become: {self.unknown or 'none'}",
            "Public word frequencies: " + ("no" if space.frequencies is None else "yes"),
            f"Distances: nearest neighbour {metric.nearest:.3g} (median), any pair "
            f"{metric.median:.3g} (median), farthest pair at most {metric.farthest:.3g}",
            "Certificate table: " + ("yes" if self.certified else "not yet (spaces certify)"),
            "Neighbour index: " + ("yes" if self.indexed else "not yet (spaces build)"),
            *(f"  {one}: {', '.join(others)}" for one, others in self.neighbours.items()),
        ]


def _neighbours(space: EmbeddingSpace, word: str) -> list[str]:
    own = space.id_of(word)
    close = nearest(space.vectors, space.vectors[[own]], min(_NEIGHBOURS + 1, len(space)))[0]
    return [space.words[i] for i in close if i != own][:_NEIGHBOURS]
