"""What the recipe sentdp can be told, and its three named settings."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count as counted
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from discreet.settings import Setting
from discreet_recipes.data_files import Rows, files_of, rows_of
from discreet_recipes.options import (
    PACKAGED,
    Names,
    Numbers,
    Options,
    SentenceEncoder,
    Trials,
    Triple,
    count,
    positive,
    words_of,
)

ROWS = {"20news": "news", "imdb": "reviews", "yelp": "yelp"}
"""The option that says how many documents of a data set there are."""
DATA_SETS = tuple(ROWS)
CLASSIFIERS = ("logistic", "mlp")
TEN = 10
"""Sentences in a document of Yelp."""


@dataclass(frozen=True, kw_only=True)
class SentDPOptions(Options):
    """Options of the recipe sentdp."""

    later: ClassVar[Mapping[str, Any]] = MappingProxyType({"classifier_epochs": 60})
    space: Annotated[str, words_of("Public words of the word-level baseline.")]
    encoder: SentenceEncoder
    classifier: Annotated[
        str,
        Setting("Logistic regression, or the paper's network of four layers.", choices=CLASSIFIERS),
    ]
    classifier_epochs: Annotated[int, count("Epochs of the network, at most.")]
    most_sentences: Annotated[
        int, count("Sentences of a document that count, the first; 0 for all.", 0)
    ]
    data_sets: Annotated[Names, Setting("Data sets.", choices=DATA_SETS)]
    news: Annotated[
        Triple,
        count("Public, validation and private documents of 20 Newsgroups."),
    ]
    reviews: Annotated[Triple, count("The same of IMDb.")]
    yelp: Annotated[Triple, count("The same of Yelp, ten sentences each.")]
    epsilons: Annotated[Numbers, positive("Epsilons, for a sentence.")]
    candidates: Annotated[int, count("Candidates of DeepCandidate.", 2)]
    trials: Trials
    word_documents: Annotated[
        int, count("Documents of the word-level baseline, which encodes anew.")
    ]
    word_trials: Annotated[int, count("Repetitions of it.")]
    word_epsilons: Annotated[Numbers, positive("Epsilons of it, per unit of distance.")]


_EPSILONS = (1.0, 3.0, 6.0, 10.0, 15.0, 20.0, 25.0, 30.0)
QUICK = SentDPOptions(
    space="starter",
    encoder=PACKAGED,
    classifier="logistic",
    **SentDPOptions.later,
    most_sentences=30,
    data_sets=("20news", "imdb"),
    news=(700, 120, 250),
    reviews=(300, 80, 150),
    yelp=(300, 80, 150),
    epsilons=_EPSILONS,
    candidates=5000,
    trials=3,
    word_documents=40,
    word_trials=1,
    word_epsilons=(10.0, 30.0),
)
STANDARD = replace(
    QUICK,
    classifier="mlp",
    data_sets=DATA_SETS,
    news=(5000, 800, 1000),
    reviews=(3000, 600, 800),
    yelp=(5000, 600, 800),
    trials=5,
    word_documents=150,
    word_trials=2,
)
PAPER = replace(
    STANDARD,
    encoder="",
    classifier_epochs=20,
    most_sentences=0,
    news=(6743, 2247, 2249),
    reviews=(23_000, 2000, 4000),
    # Documents of ten sentences, as many as there are; the paper's Good Reads is not public.
    yelp=(5000, 1000, 12_000),
    word_documents=25_000,
    word_trials=5,
    word_epsilons=_EPSILONS,
)


def parted(documents: int) -> Triple:
    """How many of 20 Newsgroups are public, for validation and private: 60, 20 and 20 %."""
    first, second = documents * 6 // 10, documents * 8 // 10
    return first, second - first, documents - second


def _most_news(asked: Triple) -> int:
    """The fewest documents that have such parts.

    >>> _most_news((11308, 3769, 3770))
    18847
    """
    return next(
        documents
        for documents in counted(sum(asked))
        if all(own >= least for own, least in zip(parted(documents), asked, strict=True))
    )


def rows(options: SentDPOptions) -> list[Rows]:
    """How many rows of these it must find; some may be too short to count."""
    out = []
    if "20news" in options.data_sets:
        out.append(Rows(("20news-train", "20news-test"), "news", _most_news(options.news)))
    if "imdb" in options.data_sets:
        for part, asked in zip(("train", "val", "test"), options.reviews, strict=True):
            out += rows_of(f"imdb-{part}", reviews=asked)
    if "yelp" in options.data_sets:
        public, validation, private = options.yelp
        # Of the documents of dev five in six are public.
        most = max(math.ceil(public * 6 / 5), validation * 6)
        out += rows_of("yelp-dev", yelp=most * TEN) + rows_of("yelp-test", yelp=private * TEN)
    return out


def files(options: SentDPOptions) -> list[str]:
    """What it reads."""
    return files_of(*options.data_sets)
