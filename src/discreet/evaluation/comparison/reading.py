"""The texts as they are, and what the sentence encoder reads in their releases.

Nothing here depends on a vocabulary: benches of several vocabularies share it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Ids
from discreet.attacks.survivors import identifiers_in
from discreet.attacks.word_attack import Columns
from discreet.encoders.settings import EncoderSettings
from discreet.errors import DiscreetError
from discreet.evaluation.comparison.task import Effort, Task
from discreet.mechanisms.sphere import units_or_zeros

_USUAL_WORDS = 40


@dataclass(frozen=True)
class TaskReading:
    """Reads the first texts of a task.

    Attributes:
        task: The texts.
        effort: How many words of each, and how many of them.
        encoder: Whether the sentence encoder reads them, if it is installed.
    """

    task: Task = field(repr=False)
    effort: Effort
    encoder: bool = True

    @cached_property
    def originals(self) -> list[str]:
        """The texts as they are, up to as many words as are used."""
        return [" ".join(text.split()[: self.effort.longest]) for text in self.task.texts]

    @cached_property
    def identifiers(self) -> list[list[str]]:
        """Those in each text."""
        return identifiers_in(self.originals)

    @cached_property
    def model(self) -> Any:
        """The encoder; None if it is not wanted, or not installed: its figures are left out."""
        if not self.encoder:
            return None
        try:
            return EncoderSettings().load()
        except DiscreetError:
            return None

    @cached_property
    def count(self) -> int:
        """How many texts are read: fewer of long ones."""
        words = np.cumsum([len(text.split()) for text in self.originals[: self.effort.encoded]])
        return max(1, int(np.searchsorted(words, _USUAL_WORDS * self.effort.encoded, "right")))

    @cached_property
    def vectors(self) -> Floats:
        """Of the texts as they are: words that a vocabulary does not have are lost as well."""
        return self._encoded(self.originals[: self.count])

    def found_in(self, released: Sequence[str]) -> Iterator[tuple[str, Columns]]:
        """What is left in the releases of the texts that are read; nothing without an encoder."""
        if self.model is None:
            return
        vectors, ones = self._encoded(released), np.ones(self.count)
        yield "similarity", (np.einsum("ij,ij->i", vectors, self.vectors), ones)
        if self.task.labels is not None:
            truth, folds = self.task.labels[: self.count], self.task.folds[: self.count]
            yield "accuracy, encoder", (right_by_vectors(vectors, truth, folds), ones)

    def alike(self, texts: Sequence[str], released: Sequence[str]) -> Iterator[tuple[str, Columns]]:
        """How similar some texts and their releases are; nothing if there is no encoder."""
        if self.model is not None:
            cosines = np.einsum("ij,ij->i", self._encoded(texts), self._encoded(released))
            yield "similarity", (cosines, np.ones(len(texts)))

    def _encoded(self, texts: Sequence[str]) -> Floats:
        return units_or_zeros(self.model.encode([text or "." for text in texts]))


def right_by_vectors(vectors: Floats, labels: Ids, folds: Ids) -> NDArray[np.bool_]:
    """Whether logistic regression that learnt from the other folds is right about each text.

    Args:
        vectors: Of the texts, a row each.
        labels: Of each, as numbers.
        folds: Which fold each is in. Where the others have one label only, nothing is right.
    """
    from sklearn.linear_model import LogisticRegression

    right = np.zeros(len(labels), np.bool_)
    for fold in np.unique(folds):
        known, hidden = folds != fold, folds == fold
        if len(np.unique(labels[known])) > 1:
            model = LogisticRegression(C=10.0, max_iter=300).fit(vectors[known], labels[known])
            right[hidden] = model.predict(vectors[hidden]) == labels[hidden]
    return right
