"""What the recipe trlaplace can be told, and its three named settings."""

from dataclasses import dataclass, replace
from typing import Annotated

from discreet.settings import Setting
from discreet_recipes.recipe import Options

PAPER_EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 10.0, 20.0)
METRIC = ("cmp", "mahalanobis", "random-projection")
TASKS = ("sst2", "agnews", "yelp")


@dataclass(frozen=True, kw_only=True)
class TrLaplaceOptions(Options):
    """Options of the recipe trlaplace; a mechanism is name:epsilon or name:epsilon:published."""

    space: Annotated[
        tuple[str, ...],
        Setting(
            "Public vocabularies, as for sanitize; random: random vectors for the words of the "
            "first. Utility is measured in the first.",
            short="-s",
        ),
    ]
    vocabulary: Annotated[int, Setting("Most words of a vocabulary; 0 for all.", at_least=0)]
    encoder: Annotated[str, Setting("Model of BERTScore.")]
    tasks: Annotated[tuple[str, ...], Setting("Data sets.", choices=TASKS)]
    epsilons: Annotated[tuple[float, ...], Setting("Epsilons of the privacy test.", above=0)]
    high_epsilons: Annotated[
        tuple[float, ...], Setting("And more of them, where words begin to survive.", above=0)
    ]
    metric: Annotated[
        tuple[str, ...],
        Setting("Noise on vectors in a metric notion, beside.", choices=METRIC),
    ]
    metric_epsilons: Annotated[
        tuple[float, ...], Setting("Epsilons of these, per distance.", above=0)
    ]
    santext_epsilons: Annotated[
        tuple[float, ...], Setting("Epsilons of SanText, per distance.", above=0)
    ]
    utility: Annotated[
        tuple[str, ...], Setting("Mechanisms of the utility test, the published box first.")
    ]
    news_utility: Annotated[tuple[str, ...], Setting("Those of AG News, whose texts are long.")]
    public: Annotated[int, Setting("Public texts of each set.", at_least=10)]
    train: Annotated[int, Setting("Texts to train a classifier on.", at_least=10)]
    test: Annotated[int, Setting("Texts to test on.", at_least=10)]
    compared: Annotated[int, Setting("Test texts for ROUGE, BLEU and BERTScore.", at_least=1)]
    epochs: Annotated[int, Setting("Epochs of the rewriter.", at_least=1)]
    words: Annotated[int, Setting("Words of the privacy test.", at_least=1)]
    runs: Annotated[int, Setting("Draws for each of them.", at_least=1)]
    seeds: Annotated[int, Setting("Repetitions of the utility test.", at_least=1)]
    auto_epsilons: Annotated[
        tuple[float, ...], Setting("Epsilons of the paper's auto-encoder.", above=0)
    ]
    auto_texts: Annotated[int, Setting("Texts that the auto-encoder is trained on.", at_least=10)]
    auto_epochs: Annotated[int, Setting("Epochs of the auto-encoder.", at_least=1)]


QUICK = TrLaplaceOptions(
    space=("starter",),
    vocabulary=0,
    encoder="all-MiniLM-L6-v2",
    tasks=("sst2", "agnews"),
    epsilons=PAPER_EPSILONS,
    high_epsilons=(50.0, 100.0, 200.0),
    metric=("cmp",),
    metric_epsilons=(10.0, 20.0, 30.0, 40.0),
    santext_epsilons=(4.0, 6.0, 8.0, 10.0),
    utility=(
        "truncated-laplace:1:published",
        "gaussian:20",
        "gaussian:100",
        "laplace:100",
        "truncated-laplace:100",
        "cmp:40",
        "santext:8",
    ),
    news_utility=("truncated-laplace:1:published", "gaussian:100", "santext:8"),
    public=2500,
    train=2500,
    test=600,
    compared=200,
    epochs=2,
    words=150,
    runs=40,
    seeds=1,
    auto_epsilons=(0.05,),
    auto_texts=1500,
    auto_epochs=2,
)
_UTILITY = (
    *(f"truncated-laplace:{e}:published" for e in (0.1, 1, 10)),
    *(f"gaussian:{e}" for e in (1, 20, 50, 100)),
    *(f"laplace:{e}" for e in (1, 50, 100)),
    *(f"truncated-laplace:{e}" for e in (1, 50, 100)),
    *(f"cmp:{e}" for e in (20, 30, 40)),
    *(f"mahalanobis:{e}" for e in (20, 40)),
    *(f"random-projection:{e}" for e in (20, 40)),
    *(f"santext:{e}" for e in (6, 7, 8)),
)
STANDARD = replace(
    QUICK,
    space=("starter", "random"),
    metric=METRIC,
    tasks=TASKS,
    utility=(
        "truncated-laplace:1:published",
        "gaussian:1",
        "gaussian:20",
        "gaussian:100",
        "laplace:1",
        "laplace:100",
        "truncated-laplace:100",
        "cmp:40",
        "mahalanobis:40",
        "random-projection:40",
        "santext:8",
    ),
    news_utility=("truncated-laplace:1:published", "gaussian:100", "laplace:100", "santext:8"),
    public=4000,
    train=6000,
    test=2000,
    compared=500,
    epochs=3,
    words=300,
    runs=100,
    seeds=2,
    auto_epsilons=(0.05, 1.0, 20.0),
    auto_texts=2500,
    auto_epochs=4,
)
PAPER = replace(
    STANDARD,
    space=("",),
    vocabulary=10_000,
    utility=_UTILITY,
    news_utility=_UTILITY,
    public=20_000,
    compared=1821,
    words=1000,
    runs=1000,
    auto_epsilons=PAPER_EPSILONS,
    auto_texts=6920,
    # 80 % of SST-2, 16,000 and 4,000 articles of AG News.
    train=54_576,
    test=13_645,
    seeds=5,
    auto_epochs=100,
)


def files(options: TrLaplaceOptions) -> list[str]:
    """What it reads."""
    parts = {"sst2": ("train", "dev", "test"), "agnews": ("dev", "test"), "yelp": ("dev", "test")}
    return [f"{task}-{part}" for task in options.tasks for part in parts[task]]
