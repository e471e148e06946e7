"""The fast baseline: weighted word counts and a linear layer, saved without code."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Floats
from discreet.errors import InvalidValue, needs_extra, read_as
from discreet.tensors import load_tensors, save_tensors
from discreet.text.labelled import Labelled
from discreet.training.linear_head import LinearHead, decided, fit_head, require_pairs

KIND = "bag-of-words model"
_MOST_WORDS = 50_000
_TOKEN = r"(?u)\w[\w'’-]*|[^\w\s]"


@dataclass(frozen=True)
class BagOfWords:
    """Word counts, weighted by rarity, and a linear layer; :func:`fit_bag_of_words` makes one.

    Of a pair the features are the products and the absolute differences of the two counts.

    >>> rows = Labelled(["good tea", "bad tea", "good cup", "bad cup"], None, list("1010"))
    >>> fit_bag_of_words(rows).predict(["a good day"])
    ['1']
    """

    words: tuple[str, ...] = field(repr=False)
    rarity: NDArray[np.float32] = field(repr=False)
    head: LinearHead
    pairs: bool
    about: dict[str, Any] = field(repr=False)

    def predict(
        self, texts: Sequence[str], seconds: Sequence[str] | None = None
    ) -> list[str] | list[float]:
        """A class or a number for each text, or pair of texts."""
        return decided(self.scores(texts, seconds), self.classes)

    def scores(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Floats:
        """``(texts, outputs)``: of each class the logarithm of its odds, or a number."""
        return self.head.scores(self._features(texts, seconds))

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The classes in the order of the scores; None for regression."""
        return self.head.classes

    def _features(self, texts: Sequence[str], seconds: Sequence[str] | None) -> Any:
        require_pairs(texts, seconds, self.pairs)
        first = self._weighted(texts)
        if seconds is None:
            return first
        from scipy import sparse

        second = self._weighted(seconds)
        same = first.multiply(second).tocsr()
        overlap = sparse.csr_array(same.sum(axis=1).reshape(-1, 1))
        return sparse.hstack([overlap, same, abs(first - second)]).tocsr()

    def _weighted(self, texts: Sequence[str]) -> Any:
        from sklearn.preprocessing import normalize

        return normalize(self._counter.transform(texts).multiply(self.rarity).tocsr())

    @cached_property
    def _counter(self) -> Any:
        return _vectorizer(vocabulary=list(self.words))

    def save(self, path: Path, *, force: bool = False) -> None:
        """Write it as safetensors."""
        about = {
            "words": list(self.words),
            "classes": self.head.classes,
            "pairs": self.pairs,
            "about": self.about,
        }
        save_tensors(path, KIND, {"rarity": self.rarity, **self.head.arrays}, about, force=force)

    @classmethod
    def load(cls, path: Path) -> "BagOfWords":
        """Read what :meth:`save` wrote."""
        arrays, about = load_tensors(path, KIND)
        with read_as(f"{path} lacks parts of a model; train it again"):
            head = LinearHead.of_arrays(arrays, about["classes"])
            words, rarity, pairs = tuple(about["words"]), arrays["rarity"], bool(about["pairs"])
            if rarity.shape != (len(words),) or not all(isinstance(word, str) for word in words):
                raise ValueError("words and weights differ")
            model = cls(words, rarity, head, pairs, dict(about["about"]))
            empty = [""]
            model.predict(empty, empty if pairs else None)  # refuses weights of another size
            return model


def fit_bag_of_words(
    examples: Labelled,
    *,
    regression: bool = False,
    penalty: float = 1.0,
    about: dict[str, Any] | None = None,
) -> BagOfWords:
    """Train the baseline; the 50,000 most frequent words are kept.

    Privacy: the model holds words of the examples and counts of them. Train it on released text, or
    keep it as you keep the text.
    """
    if examples.labels is None:
        raise InvalidValue("training needs labels; name their field")
    every = [*examples.texts, *(examples.seconds or [])]
    counter = _vectorizer(max_features=_MOST_WORDS)
    try:
        counts = counter.fit_transform(every)
    except ValueError as error:
        raise InvalidValue("the texts hold no words at all; check the text field") from error
    documents = np.asarray((counts > 0).sum(axis=0)).ravel()
    rarity = (np.log((1 + len(every)) / (1 + documents)) + 1).astype(np.float32)
    words = tuple(map(str, counter.get_feature_names_out()))
    labels: Any = examples.numbers() if regression else examples.labels
    empty = LinearHead(np.empty((0, 0), np.float32), np.empty(0, np.float32), None)
    bare = BagOfWords(words, rarity, empty, examples.seconds is not None, about or {})
    features = bare._features(examples.texts, examples.seconds)
    penalty = check.positive(penalty, "penalty")
    return replace(bare, head=fit_head(features, labels, regression=regression, penalty=penalty))


def _vectorizer(*, vocabulary: list[str] | None = None, max_features: int | None = None) -> Any:
    with needs_extra("a bag of words", "train"):
        from sklearn.feature_extraction.text import CountVectorizer
    return CountVectorizer(
        token_pattern=_TOKEN,
        lowercase=True,
        dtype=np.float32,
        vocabulary=vocabulary,
        max_features=max_features,
    )
