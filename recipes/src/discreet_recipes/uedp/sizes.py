"""What the recipe uedp can be told, and its three named settings."""

from dataclasses import dataclass, replace
from typing import Annotated

from discreet.settings import Setting
from discreet_recipes.recipe import Options

CATEGORIES = ("all", "person", "org", "loc", "misc", "gpe", "pii")


@dataclass(frozen=True, kw_only=True)
class UeDPOptions(Options):
    """Options of the recipe uedp."""

    space: Annotated[str, Setting("Public words and first vectors of the network.", short="-s")]
    model: Annotated[
        str,
        Setting("The network: an AWD-LSTM that begins with public text.", choices=("awd-lstm",)),
    ]
    words: Annotated[int, Setting("Words of the vocabulary.", at_least=2)]
    vocabularies: Annotated[
        tuple[int, ...], Setting("Other numbers of words, to compare.", at_least=2)
    ]
    steps: Annotated[int, Setting("Steps of every run.", at_least=1)]
    public_steps: Annotated[
        tuple[int, ...],
        Setting("Steps on public text before: other news, then the data set's kind.", at_least=1),
    ]
    epsilons: Annotated[
        tuple[float, ...],
        Setting(
            "Joint epsilons of certified training, epsilons of a user for user-level. At the "
            "first, categories, rates and vocabularies are compared.",
            above=0,
        ),
    ]
    published_noises: Annotated[
        tuple[float, ...], Setting("Noise of the published algorithms, in their unit.", above=0)
    ]
    sentence_rates: Annotated[
        tuple[float, ...], Setting("Rates of sentences without an entity.", at_least=0, at_most=1)
    ]
    categories: Annotated[
        tuple[str, ...],
        Setting("Kinds of entities, of those that a data set has.", choices=CATEGORIES),
    ]
    seeds: Annotated[
        int,
        Setting(
            "Runs of those that are compared, certified at the first epsilon and de-identified; "
            "all others have one.",
            at_least=1,
        ),
    ]
    ag_news: Annotated[int, Setting("Texts of AG News to train on; 0 leaves it out.", at_least=0)]
    ag_news_test: Annotated[int, Setting("And to test on.", at_least=0)]
    canaries: Annotated[int, Setting("Runs of the attack.", at_least=1)]


QUICK = UeDPOptions(
    space="starter",
    model="awd-lstm",
    words=3000,
    vocabularies=(1000,),
    steps=5,
    public_steps=(50, 50),
    epsilons=(8.0, 2.0),
    published_noises=(2.0,),
    sentence_rates=(0.0,),
    categories=("all", "person"),
    seeds=3,
    ag_news=0,
    ag_news_test=0,
    canaries=60,
)
STANDARD = replace(
    QUICK,
    words=8000,
    vocabularies=(2000,),
    steps=10,
    public_steps=(100, 80),
    epsilons=(8.0, 4.0, 2.0),
    published_noises=(0.5, 2.0),
    sentence_rates=(0.0, 0.4, 0.8),
    categories=CATEGORIES,
    ag_news=4000,
    ag_news_test=1000,
)
PAPER = replace(
    STANDARD,
    words=20_000,
    vocabularies=(2000, 8000),
    steps=500,
    epsilons=(8.0, 4.0, 2.0, 1.0),
    published_noises=(2.0, 2.5),
    sentence_rates=(0.0, 0.2, 0.4, 0.6, 0.8),
    ag_news=10_001,
    ag_news_test=7600,
)


def files(options: UeDPOptions) -> list[str]:
    """What it reads."""
    news = ["agnews-test"] if options.ag_news else []
    return [*(f"conll2003-{part}" for part in ("train", "valid", "test")), "agnews-dev", *news]
