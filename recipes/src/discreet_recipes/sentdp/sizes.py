"""What the recipe sentdp can be told, and its three named settings."""

from dataclasses import dataclass, replace
from typing import Annotated

from discreet.settings import Setting
from discreet_recipes.data_files import files_of
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


@dataclass(frozen=True, kw_only=True)
class SentDPOptions(Options):
    """Options of the recipe sentdp."""

    space: Annotated[str, words_of("Public words of the word-level baseline.")]
    encoder: SentenceEncoder
    classifier: Annotated[
        str,
        Setting("Logistic regression, or the paper's network of four layers.", choices=CLASSIFIERS),
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
    news=(6743, 2247, 2249),
    reviews=(20_000, 2000, 4000),  # the paper trains on 23,000
    # Documents of ten sentences, as many as there are; the paper's Good Reads is not public.
    yelp=(5000, 1000, 12_000),
    word_documents=25_000,
    word_trials=5,
    word_epsilons=_EPSILONS,
)


def files(options: SentDPOptions) -> list[str]:
    """What it reads."""
    return files_of(*options.data_sets)
