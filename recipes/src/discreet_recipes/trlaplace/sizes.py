"""What the recipe trlaplace can be told, and its three named settings."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from discreet.settings import Setting
from discreet_recipes.data_files import Rows, files_of, rows_of
from discreet_recipes.needs import require_libraries
from discreet_recipes.options import (
    PACKAGED,
    Model,
    Names,
    Numbers,
    Options,
    Vocabulary,
    count,
    positive,
    words_of,
)
from discreet_recipes.trlaplace.setting import TrLaplaceSetting

PAPER_EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 10.0, 20.0)
METRIC = ("cmp", "mahalanobis", "random-projection")
TASKS = ("sst2", "agnews", "yelp")
BAG_OF_WORDS, NETWORK = CLASSIFIERS = ("bag-of-words", "network")


@dataclass(frozen=True, kw_only=True)
class TrLaplaceOptions(Options):
    """Options of the recipe trlaplace; a mechanism is name:epsilon or name:epsilon:published."""

    never_none: ClassVar[Names] = ("space", "tasks", "epsilons")
    later: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"auto_batch": 0, "classifier": BAG_OF_WORDS, "sst2_test": 0, "agnews_train": 0}
    )
    space: Annotated[
        Names,
        words_of(
            "Public vocabularies, as for sanitize; random: random vectors for the words of the "
            "first. Utility is measured in the first."
        ),
    ]
    vocabulary: Vocabulary
    encoder: Annotated[str, Model("Model of BERTScore.")]
    tasks: Annotated[Names, Setting("Data sets.", choices=TASKS)]
    epsilons: Annotated[Numbers, positive("Epsilons of the privacy test.")]
    high_epsilons: Annotated[Numbers, positive("And more of them, where words begin to survive.")]
    metric: Annotated[
        Names,
        Setting("Noise on vectors in a metric notion, beside.", choices=METRIC),
    ]
    metric_epsilons: Annotated[Numbers, positive("Epsilons of these, per distance.")]
    santext_epsilons: Annotated[Numbers, positive("Epsilons of SanText, per distance.")]
    utility: Annotated[Names, Setting("Mechanisms of the utility test, the published box first.")]
    news_utility: Annotated[Names, Setting("Those of AG News, whose texts are long.")]
    public: Annotated[int, count("Public texts of each set, at most.", 10)]
    train: Annotated[int, count("Texts to train a classifier on; of AG News and Yelp at most.", 10)]
    test: Annotated[int, count("Texts to test on, at most.", 10)]
    sst2_test: Annotated[
        int,
        count(
            "Texts of SST-2 to test on, drawn with those to train on from sst2-train and sst2-test "
            "together; 0: those of sst2-test, as --test has it.",
            0,
        ),
    ]
    agnews_train: Annotated[
        int,
        count(
            "Texts of AG News to train on, drawn from agnews-train; 0: half of agnews-dev at most, "
            "half as many as --train.",
            0,
        ),
    ]
    classifier: Annotated[
        str,
        Setting(
            "What is trained on them: a bag of words, or the paper's kind, a network over the "
            "vectors of the first space.",
            choices=CLASSIFIERS,
        ),
    ]
    compared: Annotated[int, count("Test texts for ROUGE, BLEU and BERTScore.")]
    epochs: Annotated[int, count("Epochs of the rewriter.")]
    words: Annotated[int, count("Words of the privacy test.")]
    runs: Annotated[int, count("Draws for each of them.")]
    seeds: Annotated[int, count("Repetitions of the utility test.")]
    auto_epsilons: Annotated[Numbers, positive("Epsilons of the paper's auto-encoder.")]
    auto_texts: Annotated[int, count("Texts that the auto-encoder is trained on.", 10)]
    auto_epochs: Annotated[int, count("Epochs of the auto-encoder.")]
    auto_batch: Annotated[
        int, count("Texts in a step of it; 0 for a twentieth of them, 1,024 at most.", 0)
    ]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("utility", "news_utility"):
            for text in getattr(self, name):
                TrLaplaceSetting.of(text, "--" + name.replace("_", "-"))


QUICK = TrLaplaceOptions(
    space=("starter",),
    vocabulary=0,
    encoder=PACKAGED,
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
    **TrLaplaceOptions.later,
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
    # 80 % of SST-2 and the other 20 %, 16,000 and 4,000 articles of AG News.
    train=54_576,
    sst2_test=13_645,
    agnews_train=16_000,
    test=4000,
    classifier=NETWORK,
    seeds=5,
    auto_epochs=100,
    auto_batch=1024,
)


def rows(options: TrLaplaceOptions) -> list[Rows]:
    """How many rows of these it must find; other files give what they have."""
    out = []
    if "sst2" in options.tasks and options.sst2_test:
        both = options.train + options.sst2_test
        out.append(Rows(("sst2-train", "sst2-test"), "sst2_test", both))
    elif "sst2" in options.tasks:
        out += rows_of("sst2-train", train=options.train)
    if "agnews" in options.tasks and options.agnews_train:
        out += rows_of("agnews-train", agnews_train=options.agnews_train)
    return out


def apart(options: TrLaplaceOptions) -> list[tuple[str, str]]:
    """What plays public text, and what is protected."""
    sst2 = [("sst2-dev", "sst2-train")] if "sst2" in options.tasks else []
    news = "agnews" in options.tasks and options.agnews_train
    return [*sst2, *([("agnews-dev", "agnews-train")] if news else ())]


def files(options: TrLaplaceOptions) -> list[str]:
    """What it reads."""
    news = "agnews" in options.tasks and options.agnews_train
    return [*files_of(*options.tasks), *(["agnews-train"] if news else ())]


def needs(_options: TrLaplaceOptions) -> None:
    """What measures how much a text resembles another."""
    require_libraries(dict.fromkeys(("rouge_score", "sacrebleu", "bert_score"), "eval"))
