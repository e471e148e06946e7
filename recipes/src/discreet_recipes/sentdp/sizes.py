"""What the recipe sentdp can be told, and its three named settings."""

from dataclasses import dataclass, replace
from typing import Annotated

from discreet.settings import Setting
from discreet_recipes.recipe import Options

DATA_SETS = ("20news", "imdb", "yelp")
CLASSIFIERS = ("logistic", "mlp")


@dataclass(frozen=True, kw_only=True)
class SentDPOptions(Options):
    """Options of the recipe sentdp."""

    space: Annotated[str, Setting("Public words of the word-level baseline.", short="-s")]
    encoder: Annotated[str, Setting("Model that makes vectors of sentences.")]
    classifier: Annotated[
        str,
        Setting("Logistic regression, or the paper's network of four layers.", choices=CLASSIFIERS),
    ]
    data_sets: Annotated[tuple[str, ...], Setting("Data sets.", choices=DATA_SETS)]
    news: Annotated[
        tuple[int, ...],
        Setting("Public, validation and private documents of 20 Newsgroups.", at_least=1),
    ]
    reviews: Annotated[tuple[int, ...], Setting("The same of IMDb, and of Yelp.", at_least=1)]
    epsilons: Annotated[tuple[float, ...], Setting("Epsilons, for a sentence.", above=0)]
    candidates: Annotated[int, Setting("Candidates of DeepCandidate.", at_least=2)]
    trials: Annotated[int, Setting("Repetitions over the noise.", at_least=1)]
    word_documents: Annotated[
        int, Setting("Documents of the word-level baseline, which encodes anew.", at_least=1)
    ]
    word_trials: Annotated[int, Setting("Repetitions of it.", at_least=1)]
    word_epsilons: Annotated[
        tuple[float, ...], Setting("Epsilons of it, per unit of distance.", above=0)
    ]


_EPSILONS = (1.0, 3.0, 6.0, 10.0, 15.0, 20.0, 25.0, 30.0)
QUICK = SentDPOptions(
    space="starter",
    encoder="all-MiniLM-L6-v2",
    classifier="logistic",
    data_sets=("20news", "imdb"),
    news=(700, 120, 250),
    reviews=(300, 80, 150),
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
    trials=5,
    word_documents=150,
    word_trials=2,
)
PAPER = replace(
    STANDARD,
    encoder="",
    news=(11_308, 3769, 3770),
    reviews=(20_000, 5000, 25_000),
    word_documents=25_000,
    word_trials=5,
    word_epsilons=_EPSILONS,
)


def files(options: SentDPOptions) -> list[str]:
    """What it reads."""
    parts = {
        "20news": ("train", "test"),
        "imdb": ("train", "val", "test"),
        "yelp": ("dev", "test"),
    }
    return [f"{name}-{part}" for name in options.data_sets for part in parts[name]]
