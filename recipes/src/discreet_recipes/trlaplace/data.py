"""What the recipe trlaplace runs: on which texts, in which spaces, and which mechanisms."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet import mechanism
from discreet.errors import InvalidValue
from discreet.protocols import WordMechanism
from discreet.spaces import load_space
from discreet.spaces.space import EmbeddingSpace
from discreet.text.labelled import Labelled
from discreet_recipes.data_files import labelled_rows
from discreet_recipes.trlaplace.setting import CERTIFIED, PUBLISHED, UP_TO, TrLaplaceSetting
from discreet_recipes.trlaplace.sizes import TrLaplaceOptions

DELTA = 1e-5
"""Of the mechanisms that we calibrate; the paper's own delta is 4^-d."""
_PROJECTED = 16
_LOG_SMALLEST = math.log(1e-300)


def settings_of_privacy(options: TrLaplaceOptions) -> list[TrLaplaceSetting]:
    """What the privacy test compares: notions of their own, each at its own epsilons."""
    canonical = (
        ("laplace", "certified"),
        *(("gaussian", c) for c in ("published", "certified")),
        *(("truncated-laplace", c) for c in ("published", "certified")),
    )
    every = (*options.epsilons, *options.high_epsilons)
    # Dummy dimensions lift the range of the published box, and the paper goes to 20.
    most = {(name, PUBLISHED): min(largest, 20.0) for name, largest in UP_TO.items()}
    rows = [
        TrLaplaceSetting(name, epsilon, calibration)
        for name, calibration in canonical
        for epsilon in every
        if epsilon <= most.get((name, calibration), math.inf)
    ]
    rows += [TrLaplaceSetting(name, e) for name in options.metric for e in options.metric_epsilons]
    return [*rows, *(TrLaplaceSetting("santext", e) for e in options.santext_epsilons)]


def settings_of_auto_encoder(options: TrLaplaceOptions) -> list[TrLaplaceSetting | None]:
    """Without noise, then the paper's three mechanisms; its Gaussian as printed where it holds."""
    rows: list[TrLaplaceSetting | None] = [None]
    for epsilon in options.auto_epsilons:
        rule = PUBLISHED if epsilon <= UP_TO["gaussian"] else CERTIFIED
        rows += [
            TrLaplaceSetting("gaussian", epsilon, rule),
            TrLaplaceSetting("laplace", epsilon),
            TrLaplaceSetting("truncated-laplace", epsilon, "published"),
        ]
    return rows


def build(setting: TrLaplaceSetting, space: EmbeddingSpace) -> WordMechanism:
    """The mechanism; noise of the clipped kind is clipped at the median length of a vector.

    As published, delta is 4^-d, and 4^-(d + dummies) with the paper's dummy dimensions: 500 in all
    at epsilon 10, 1,700 at 20, where delta is no number that a computer knows.
    """
    name = setting.mechanism
    settings: dict[str, Any] = {}
    if name in ("laplace", "gaussian", "truncated-laplace"):
        settings["clip"] = float(np.median(np.linalg.norm(space.vectors, axis=1)))
    if name in ("gaussian", "truncated-laplace"):
        settings["delta"] = DELTA
    if name == "random-projection":
        settings["dimension"] = min(_PROJECTED, space.dimension)
    if setting.calibration == "published":
        dummies = dummy_dimensions(setting.epsilon, space.dimension)
        log_delta = -math.log(4.0) * (space.dimension + dummies)
        settings |= {
            "calibration": "published",
            "delta": math.exp(max(log_delta, _LOG_SMALLEST)),
        }
        if name == "truncated-laplace":
            settings["dummy_dimensions"] = dummies
            if log_delta < _LOG_SMALLEST:
                settings["log_delta"] = log_delta
    built: WordMechanism = mechanism(name, space=space, epsilon=setting.epsilon, **settings)
    return built


def dummy_dimensions(epsilon: float, dimension: int) -> int:
    """The paper's device for a large epsilon: with delta = 4^-d its range ends at sqrt(d) / 2.

    Its two figures are a hundred above the least:

    >>> dummy_dimensions(5, 300), 300 + dummy_dimensions(10, 300), 300 + dummy_dimensions(20, 300)
    (0, 500, 1700)
    """
    if epsilon < math.sqrt(dimension) / 2:
        return 0
    return math.ceil(4 * epsilon**2) + 100 - dimension


def read_spaces(options: TrLaplaceOptions) -> dict[str, EmbeddingSpace]:
    """The spaces by the name that tables give them; one of them may be random."""
    out: dict[str, EmbeddingSpace] = {}
    for name in options.space:
        if name == "random":
            if not out:
                raise InvalidValue("random of --space needs a space before it, for its words")
            out[name] = random_space(next(iter(out.values())))
        else:
            space = load_space(name, max_words=options.vocabulary or None)
            out[space.name] = space
    return out


def random_space(space: EmbeddingSpace) -> EmbeddingSpace:
    """The same words with random vectors, about as long: the paper's third embedding."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal(space.vectors.shape)
    length = float(np.median(np.linalg.norm(space.vectors, axis=1)))
    vectors *= length / math.sqrt(space.dimension)
    return EmbeddingSpace.from_arrays(
        space.words,
        vectors.astype(np.float32),
        f"random vectors for the words of: {space.provenance}",
        name="random",
        unknown=None if space.unknown is None else space.words[space.unknown],
        frequencies=space.frequencies,
        subwords=space.subwords,
    )


@dataclass(frozen=True)
class Task:
    """Texts of one data set: public ones, and ones that are protected."""

    name: str
    public: list[str]
    train: Labelled
    test: Labelled


def read_tasks(data: Path, size: TrLaplaceOptions) -> list[Task]:
    """The tasks that are asked for, each with public text of its own kind."""
    readers = {"sst2": _sst2, "agnews": _agnews, "yelp": _yelp}
    return [readers[name](data, size) for name in size.tasks]


def _sst2(data: Path, size: TrLaplaceOptions) -> Task:
    """GLUE's validation set is the test, or all of GLUE is parted at random, as in the paper."""
    public = labelled_rows(data, "sst2-dev", size.public).texts
    train, test = (labelled_rows(data, f"sst2-{part}") for part in ("train", "test"))
    if not size.sst2_test:
        return Task("sst2", public, _first(train, size.train), _first(test, size.test))
    drawn = _drawn(_joined(train, test), size.train + size.sst2_test)
    parted = range(size.train), range(size.train, len(drawn))
    return Task("sst2", public, *(drawn.part(rows) for rows in parted))


def _agnews(data: Path, size: TrLaplaceOptions) -> Task:
    """Half of ``dev`` is public; fewer than of phrases, for news are four times as long."""
    news = labelled_rows(data, "agnews-dev")
    half = len(news) // 2
    train = news.part(range(half, min(len(news), half + size.train // 2)))
    if size.agnews_train:
        train = _drawn(labelled_rows(data, "agnews-train"), size.agnews_train)
    public = news.texts[: min(half, size.public // 3)]
    return Task("agnews", public, train, labelled_rows(data, "agnews-test", size.test))


def _yelp(data: Path, size: TrLaplaceOptions) -> Task:
    """A part of ``dev`` is public: the paper's texts are of Yelp, whole reviews.

    The files have one label after the other, so rows are taken in a random order.
    """
    rows, tested = (_drawn(labelled_rows(data, f"yelp-{part}")) for part in ("dev", "test"))
    public = min(size.public, len(rows) // 2)
    return Task(
        "yelp",
        rows.texts[len(rows) - public :],
        _first(rows, min(size.train, len(rows) - public)),
        _first(tested, size.test),
    )


def _first(rows: Labelled, most: int) -> Labelled:
    return rows.part(range(min(most, len(rows))))


def _drawn(rows: Labelled, most: int | None = None) -> Labelled:
    """So many of them in a random order, or all."""
    return rows.part(np.random.default_rng(0).permutation(len(rows))[:most])


def _joined(one: Labelled, other: Labelled) -> Labelled:
    return Labelled(
        one.texts + other.texts, None, [*(one.labels or ()), *(other.labels or ())], one.fields
    )
