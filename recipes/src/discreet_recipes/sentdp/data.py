"""The data sets of the SentDP recipe: split into sentences, encoded once, parted three ways."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.encoders.encoder import Encoder
from discreet.text.sentences import AT_LEAST, kept_documents, long_enough, split_sentences
from discreet_recipes.data_files import encoded_texts, labelled_rows
from discreet_recipes.sentdp.sizes import TEN, parted

NINE_CATEGORIES = {
    "computers and electronics": (
        "comp.graphics",
        "comp.os.ms-windows.misc",
        "comp.sys.ibm.pc.hardware",
        "comp.sys.mac.hardware",
        "comp.windows.x",
        "sci.electronics",
    ),
    "for sale": ("misc.forsale",),
    "vehicles": ("rec.autos", "rec.motorcycles"),
    "sport": ("rec.sport.baseball", "rec.sport.hockey"),
    "cryptography": ("sci.crypt",),
    "medicine": ("sci.med",),
    "space": ("sci.space",),
    "politics": ("talk.politics.guns", "talk.politics.mideast", "talk.politics.misc"),
    "religion": ("alt.atheism", "soc.religion.christian", "talk.religion.misc"),
}
"""The paper says nine categories and not which; these join the groups on one subject."""


@dataclass(frozen=True)
class Part:
    """Documents of one part of a data set.

    Attributes:
        sentences: Of all documents, end to end.
        vectors: A row for each sentence.
        offsets: Document i is rows ``offsets[i]`` to ``offsets[i + 1]``.
        labels: Class of each document.
    """

    sentences: list[str]
    vectors: NDArray[np.float32]
    offsets: NDArray[np.int64]
    labels: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of sentences of each document."""
        return np.diff(self.offsets)

    @property
    def texts(self) -> list[str]:
        """The sentences of each document in one text."""
        return [" ".join(self.sentences[a:b]) for a, b in pairwise(self.offsets.tolist())]

    def means(self, vectors: NDArray[np.floating]) -> NDArray[np.floating]:
        """Mean of each document's rows."""
        return np.add.reduceat(vectors, self.offsets[:-1], axis=0) / self.counts[:, None]

    def where(self, keep: NDArray[np.bool_]) -> "Part":
        """The documents marked True."""
        rows = np.repeat(keep, self.counts)
        sentences, offsets = kept_documents(self.sentences, self.offsets, keep)
        return Part(sentences, self.vectors[rows], offsets, self.labels[keep])


@dataclass(frozen=True)
class Corpus:
    """A data set parted into public documents, public validation documents and private ones."""

    name: str
    public: Part
    validation: Part
    private: Part


def load_corpus(
    name: str,
    data: Path,
    sizes: Sequence[int],
    encoder: Encoder,
    cache: Path,
    most_sentences: int = 0,
) -> Corpus:
    """Read a data set from its folder; vectors are kept in ``cache``.

    Args:
        name: ``20news``, ``imdb`` or ``yelp``.
        data: The folder.
        sizes: How many documents are public, for validation, and private at most.
        encoder: Of the sentences.
        cache: Where vectors are kept.
        most_sentences: Of a document; 0 for all. Encoding is what the recipe spends its time on.
    """
    pools = {"20news": _twenty_news, "imdb": _imdb, "yelp": _yelp}[name](data)
    most = most_sentences or sys.maxsize
    parts = [_part(*each, encoder, cache, most) for each in zip(pools, sizes, strict=True)]
    return Corpus(name, *parts)


Pool = list[tuple[str, int]]


def _part(pool: Pool, size: int, encoder: Encoder, cache: Path, most: int) -> Part:
    sentences, offsets = split_sentences([text for text, _ in pool], max_sentences=most)
    keep = long_enough(offsets, AT_LEAST)
    keep[np.flatnonzero(keep)[size:]] = False
    sentences, offsets = kept_documents(sentences, offsets, keep)
    labels = np.array([label for _, label in pool])[keep]
    return Part(sentences, encoded_texts(encoder, sentences, cache), offsets, labels)


def _twenty_news(data: Path) -> list[Pool]:
    """Nine categories; the whole set is shuffled and parted 60/20/20, as the paper does."""
    category = {g: i for i, groups in enumerate(NINE_CATEGORIES.values()) for g in groups}
    rows = _rows(data, "20news-train") + _rows(data, "20news-test")
    pool = [(text, category[label]) for text, label in rows]
    shuffled = _shuffled(pool)
    first, second, _ = parted(len(pool))
    return [shuffled[:first], shuffled[first : first + second], shuffled[first + second :]]


def _imdb(data: Path) -> list[Pool]:
    """Positive and negative reviews in the parts that the data set comes in."""
    pools = []
    for part in ("train", "val", "test"):
        rows = _rows(data, f"imdb-{part}")
        # Line breaks of the web page that the reviews were taken from.
        pools.append(
            _shuffled([(text.replace("<br />", "\n"), int(label)) for text, label in rows])
        )
    return pools


def _yelp(data: Path) -> list[Pool]:
    """Sentences of one label, ten by ten: what can be had of Yelp is single sentences.

    A document of ours is ten sentences of different people who agree, not a review; ``dev`` is
    parted into public and validation documents, ``test`` is private.
    """
    dev, private = (_in_tens(_rows(data, f"yelp-{part}")) for part in ("dev", "test"))
    public = len(dev) * 5 // 6
    return [dev[:public], dev[public:], private]


def _in_tens(rows: list[tuple[str, str]]) -> Pool:
    pool = []
    for label in sorted({label for _, label in rows}):
        own = _shuffled([(text, int(own)) for text, own in rows if own == label])
        for start in range(0, len(own) - TEN + 1, TEN):
            # Each on a line of its own: that is where the splitter ends a sentence.
            text = "\n\n".join(text for text, _ in own[start : start + TEN])
            pool.append((text, int(label)))
    return _shuffled(pool)


def _shuffled(pool: Pool) -> Pool:
    return [pool[i] for i in np.random.default_rng(0).permutation(len(pool))]


def _rows(data: Path, name: str) -> list[tuple[str, str]]:
    rows = labelled_rows(data, name)
    return list(zip(rows.texts, rows.labels or (), strict=True))
