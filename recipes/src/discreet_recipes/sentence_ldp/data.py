"""How much the sentence-ldp recipe runs, and its texts with their labels and vectors."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats32
from discreet.encoders.encoder import Encoder, encoded_once
from discreet_recipes.data_files import labelled_rows


@dataclass(frozen=True)
class Size:
    """How much is run: rows of each part, epochs, repetitions over the noise."""

    sst2: tuple[int, int, int]
    """Public, private and test rows."""
    imdb: tuple[int, int, int]
    dimensions: tuple[int, ...]
    map_epochs: int
    model_epochs: int
    trials: int
    attacked: int


QUICK = Size((6735, 6000, 872), (1200, 1200, 800), (2, 4, 16, 64, 384), 6, 5, 3, 800)
FULL = Size(
    (6735, 60_614, 872), (5000, 20_000, 25_000), (2, 4, 8, 16, 32, 64, 128, 384), 15, 8, 5, 3000
)


@dataclass(frozen=True)
class Part:
    """Texts, their labels and their vectors."""

    texts: list[str] = field(repr=False)
    labels: list[str] = field(repr=False)
    vectors: Floats32 = field(repr=False)

    @property
    def codes(self) -> NDArray[np.int64]:
        """Class index of each row."""
        return np.array([int(label) for label in self.labels])


def load_part(data: Path, name: str, rows: int, encoder: Encoder, folder: Path) -> Part:
    """The first rows of a file, encoded once for the folder (these data sets are public)."""
    some = labelled_rows(data, name, rows)
    return Part(some.texts, some.labels or [], encoded_once(encoder, some.texts, folder))
