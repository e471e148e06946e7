"""What the recipe trlaplace runs: how much, on which texts, and which mechanisms."""

from dataclasses import dataclass
from pathlib import Path

from discreet.text.labelled import Labelled
from discreet_recipes.data_files import labelled_rows

PAPER_EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 10.0, 20.0)


@dataclass(frozen=True)
class Size:
    """How much is run."""

    public: int
    train: int
    test: int
    epochs: int
    compared: int
    """Test texts for ROUGE, BLEU and BERTScore."""
    words: int
    runs: int
    seeds: int


QUICK = Size(public=2500, train=2500, test=600, epochs=2, compared=200, words=150, runs=40, seeds=1)
FULL = Size(
    public=6735, train=12_000, test=4000, epochs=6, compared=872, words=500, runs=200, seeds=3
)


@dataclass(frozen=True)
class Setting:
    """One mechanism at one epsilon."""

    mechanism: str
    epsilon: float
    calibration: str = "certified"

    @property
    def key(self) -> str:
        """For file names and tables."""
        published = "-published" if self.calibration == "published" else ""
        return f"{self.mechanism}{published}-{self.epsilon:g}"


PRIVACY = tuple(
    Setting(name, epsilon, calibration)
    for name, calibration in (
        ("laplace", "certified"),
        ("gaussian", "certified"),
        ("truncated-laplace", "published"),
        ("truncated-laplace", "certified"),
    )
    for epsilon in (*PAPER_EPSILONS, 50.0, 100.0, 200.0)
    if not (calibration == "published" and epsilon > 20)
) + tuple(
    Setting(n, e) for n, es in (("cmp", (10, 20, 30, 40)), ("santext", (4, 6, 8, 10))) for e in es
)
QUICK_UTILITY = (
    Setting("truncated-laplace", 1.0, "published"),
    Setting("gaussian", 20.0),
    Setting("gaussian", 100.0),
    Setting("laplace", 100.0),
    Setting("truncated-laplace", 100.0),
    Setting("cmp", 40.0),
    Setting("santext", 8.0),
)
QUICK_NEWS = tuple(QUICK_UTILITY[i] for i in (0, 2, 6))
"""News are long: few settings for them in a quick run, the published box first."""
FULL_UTILITY = (
    *(Setting("truncated-laplace", e, "published") for e in (0.1, 1.0, 10.0)),
    *(Setting("gaussian", e) for e in (1.0, 20.0, 50.0, 100.0)),
    *(Setting("laplace", e) for e in (1.0, 50.0, 100.0)),
    *(Setting("truncated-laplace", e) for e in (1.0, 50.0, 100.0)),
    *(Setting("cmp", e) for e in (20.0, 30.0, 40.0)),
    *(Setting("santext", e) for e in (6.0, 7.0, 8.0)),
)


@dataclass(frozen=True)
class Task:
    """Texts of one data set: public ones, and ones that are protected."""

    name: str
    public: list[str]
    train: Labelled
    test: Labelled


def read_tasks(data: Path, size: Size) -> list[Task]:
    """SST-2 with GLUE's validation set as test; AG News with half of ``dev`` public."""
    news = labelled_rows(data, "agnews-dev")
    half = len(news) // 2
    return [
        Task(
            "sst2",
            labelled_rows(data, "sst2-dev", size.public).texts,
            labelled_rows(data, "sst2-train", size.train),
            labelled_rows(data, "sst2-test", size.test),
        ),
        Task(
            "agnews",
            # News are four times as long as phrases of reviews: fewer of them for the same work.
            news.texts[: min(half, size.public // 3)],
            news.part(range(half, min(len(news), half + size.train // 2))),
            labelled_rows(data, "agnews-test", size.test),
        ),
    ]
