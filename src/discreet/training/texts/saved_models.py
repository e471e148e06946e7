"""Models of texts by file: what ``discreet train classify`` wrote, whichever kind it is."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from discreet.errors import InputError
from discreet.tensors import kind_of
from discreet.training.linear_head import LinearHead
from discreet.training.texts import bag_of_words, classifier


class TextModel(Protocol):
    """Says a class or a number of each text, or pair of texts."""

    @property
    def head(self) -> LinearHead:
        """Its linear layer; ``head.classes`` is None for regression."""

    @property
    def pairs(self) -> bool:
        """Whether it reads pairs."""

    @property
    def about(self) -> dict[str, Any]:
        """Where it comes from."""

    def predict(
        self, texts: Sequence[str], seconds: Sequence[str] | None = None
    ) -> list[str] | list[float]:
        """A class or a number for each."""


def load_text_model(path: Path) -> TextModel:
    """Read a model of texts."""
    kind = kind_of(path)
    if kind == bag_of_words.KIND:
        return bag_of_words.BagOfWords.load(path)
    if kind == classifier.KIND:
        return classifier.TextClassifier.load(path)
    raise InputError(f"{path} is no model of texts; 'discreet train classify' writes one")
