"""The texts of the sentence-ldp recipe with their labels and vectors."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats32
from discreet.encoders.encoder import Encoder
from discreet_recipes.data_files import encoded_texts, labelled_rows


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
    """The first rows of a file, encoded once for the folder."""
    some = labelled_rows(data, name, rows)
    return Part(some.texts, some.labels or [], encoded_texts(encoder, some.texts, folder))
