"""Maps trained through noise keep what their task needs, and say where they come from."""

import json
import math
from functools import cache

import numpy as np
import pytest

from discreet.encoders.maps import PublicMap
from discreet.errors import InvalidValue
from discreet.mechanisms.sentence import Purkayastha, unit_rows
from discreet.training.vectors import _bottleneck
from discreet.training.vectors.maps import MapTrainer
from discreet.training.vectors.settings import MapTrainingSettings

pytest.importorskip("torch")


def train_map(vectors, labels=None, *, settings, **more):
    return MapTrainer(vectors, labels, **more).train(settings)


ENCODER = "e" * 64


def _public(rows: int = 600, classes: int = 2, dimension: int = 24, seed: int = 0):
    """Unit vectors whose class shows in a few of many directions."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, rows)
    centres = np.random.default_rng(9).standard_normal((classes, dimension))
    vectors = 0.9 * centres[codes] + rng.standard_normal((rows, dimension))
    return unit_rows(vectors).astype(np.float32), [f"c{code}" for code in codes]


def _trainer(labels=True):
    vectors, names = _public()
    return MapTrainer(vectors, names if labels else None, encoder=ENCODER, source="mine")


_shared = cache(_trainer)


def _trained(epsilon=3.0, dimensions=(2,), labels=True, trainer=_shared, **more):
    settings = MapTrainingSettings(epsilon, dimensions=dimensions, epochs=8, **more)
    return trainer(labels).train(settings)


def _separation(found: PublicMap, epsilon: float) -> float:
    """Accuracy of the better of the two sides of a line, on fresh rows under fresh noise."""
    vectors, names = _public(2000, seed=5)
    mechanism = Purkayastha(found.dimension, epsilon)
    noisy = mechanism.release(unit_rows(found.apply(vectors)), np.random.default_rng(1))
    truth = np.array(names) == "c1"
    axis = noisy[truth].mean(axis=0) - noisy[~truth].mean(axis=0)
    return float(((noisy @ axis > 0) == truth).mean())


def bayes_flip(epsilon: float) -> float:
    """How often the nearer of two opposite points of the circle is the wrong one after the noise.

    In two dimensions the angle is exponential, cut at pi, so a point crosses the right angle with
    probability ``1 / (1 + exp(pi epsilon / 2))``. No map to the circle and no decision from it does
    better for two classes that are equally likely.
    """
    return 1.0 / (1.0 + math.exp(math.pi * epsilon / 2))


def test_a_trained_map_nearly_reaches_the_bound_and_a_random_one_does_not():
    found = _trained()
    bound = 1 - bayes_flip(3.0)
    assert found.dimension == 2
    assert bound - 0.05 < _separation(found, 3.0) < bound + 0.02
    assert _separation(PublicMap.random(24, 2), 3.0) < bound - 0.1


def test_the_bound_is_the_mass_beyond_the_right_angle():
    draws = Purkayastha(2, 2.0).release([[1.0, 0.0]] * 200_000, np.random.default_rng(0))
    assert (draws[:, 0] < 0).mean() == pytest.approx(bayes_flip(2.0), abs=0.003)


@pytest.mark.usefixtures("shortly")
def test_validation_prefers_few_dimensions_for_two_classes_and_more_for_many():
    assert _trained(2.0, (2, 16)).dimension == 2
    vectors, names = _public(900, classes=8)
    settings = MapTrainingSettings(12.0, dimensions=(2, 8), epochs=8)
    many = train_map(vectors, names, settings=settings, encoder=ENCODER, source="mine")
    assert many.dimension == 8


@pytest.fixture
def shortly(monkeypatch):
    """Training that gets somewhere, though not as far as it could: one start of fewer steps."""
    monkeypatch.setattr(_bottleneck, "_FEWEST_STEPS", 80)
    monkeypatch.setattr(_bottleneck, "_STARTS", 1)


@pytest.fixture
def briefly(monkeypatch):
    """Training that need not lead anywhere."""
    monkeypatch.setattr(_bottleneck, "_FEWEST_STEPS", 5)


@pytest.mark.usefixtures("briefly")
def test_it_says_where_it_comes_from(tmp_path):
    found = _trained(dimensions=(2, 4), hidden=0)
    assert len(found.weights) == 1
    found.save(tmp_path / "m.safetensors")
    about = PublicMap.load(tmp_path / "m.safetensors").about
    assert about == json.loads(json.dumps(found.about))
    assert (about["public text"], about["rows"], about["classes"]) == ("mine", 600, ["c0", "c1"])
    assert about["settings"]["epsilon"] == 3.0
    assert about["settings"]["seed"] == 0
    assert [row["dimension"] for row in about["validation"]] == [2, 4]
    assert PublicMap.load(tmp_path / "m.safetensors").encoder == ENCODER


@pytest.mark.usefixtures("briefly")
def test_the_same_seed_gives_the_same_map():
    first = _trained(seed=1).fingerprint
    assert first == _trained(seed=1, trainer=_trainer).fingerprint
    assert first != _trained(seed=2).fingerprint


@pytest.mark.usefixtures("shortly")
@pytest.mark.parametrize("mechanism", ["purkayastha", "planar-laplace"])
def test_without_labels_it_keeps_more_of_the_vectors_than_chance(mechanism):
    found = _trained(20.0, (4,), labels=False, mechanism=mechanism, hidden=0)
    (row,) = found.about["validation"]
    assert row["mean cosine"] > 0.2  # 0 is what a constant gets, and what chance gets
    assert "reconstruction" in found.about["objective"]


@pytest.mark.usefixtures("shortly")
def test_further_rows_help_when_labels_are_few_and_are_left_alone_when_they_mislead():
    vectors, names = _public(60, seed=3)
    more, more_names = _public(2000, seed=4)
    settings = MapTrainingSettings(6.0, dimensions=(2,), epochs=8)
    common = {"settings": settings, "encoder": ENCODER, "source": "mine", "more": more}
    alone = train_map(vectors, names, settings=settings, encoder=ENCODER, source="mine")
    helped = train_map(vectors, names, more_labels=more_names, **common)
    assert helped.about["weight"] > 0
    assert _separation(helped, 6.0) > _separation(alone, 6.0)
    swapped = [{"c0": "c1", "c1": "c0"}[name] for name in more_names]
    misled = train_map(vectors, names, more_labels=swapped, **common)
    assert misled.about["weight"] == 0.0


VECTORS, NAMES = _public(60)
BROKEN = VECTORS.copy()
BROKEN[6, 0] = np.nan


@pytest.mark.parametrize(
    ("vectors", "labels", "options", "message"),
    [
        (VECTORS, ["same"] * 60, {}, "at least 2 classes"),
        (VECTORS, NAMES[:-1], {}, "60 public texts need as many labels; got 59"),
        (VECTORS, ["rare", *NAMES[1:]], {}, "occurs too seldom"),
        (BROKEN, NAMES, {}, "must be finite; row 7 is not"),
        (VECTORS[:9], NAMES[:9], {}, "at least 50 public texts"),
        (VECTORS, NAMES, {"dimensions": (25,)}, "at most that of the encoder, 24; got 25"),
        (VECTORS, NAMES, {"dimensions": (1,)}, "at least 2"),
        (VECTORS, NAMES, {"dimensions": ()}, "at least one candidate"),
        (VECTORS, NAMES, {"epsilon": -1.0}, "epsilon of Purkayastha"),
        (
            VECTORS,
            NAMES,
            {"mechanism": "gaussian"},
            "planar-laplace, priv-unit, purkayastha",
        ),
        (VECTORS, NAMES, {"epochs": 0}, "epochs of MapTrainingSettings"),
        (VECTORS[0], NAMES, {}, "rows of numbers"),
    ],
)
def test_bad_input(vectors, labels, options, message):
    def attempt():
        settings = MapTrainingSettings(
            **{"epsilon": 2.0, "dimensions": (2,), "epochs": 1, **options}
        )
        train_map(vectors, labels, settings=settings, encoder=ENCODER, source="mine")

    with pytest.raises(InvalidValue, match=message):
        attempt()


@pytest.mark.parametrize(
    ("labels", "more", "more_labels", "message"),
    [
        (NAMES, VECTORS[:, :5], None, "more must have 24 columns"),
        (NAMES, VECTORS, ["other"] * 60, "60 of 60 are not, the first in row 1"),
        (NAMES, VECTORS, NAMES[:3], "60 further public texts need as many labels; got 3"),
        (None, VECTORS, NAMES, "need labels of the public text"),
    ],
)
def test_bad_further_rows(labels, more, more_labels, message):
    settings = MapTrainingSettings(2.0, dimensions=(2,), epochs=1)
    with pytest.raises(InvalidValue, match=message):
        train_map(
            VECTORS,
            labels,
            settings=settings,
            encoder=ENCODER,
            source="mine",
            more=more,
            more_labels=more_labels,
        )
