"""Labels in stages: more of them are right, and no prior sees the label it is for."""

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.mechanisms.label import PriorPerExample
from discreet.mechanisms.sentence import unit_rows
from discreet.release.vectors import VectorSet
from discreet.training.vectors import label_stages
from discreet.training.vectors.label_stages import train_in_label_stages
from discreet.training.vectors.settings import TaskSettings

pytest.importorskip("torch")

CLASSES = tuple("abcdefgh")
QUICK = TaskSettings(epochs=12, hidden=32)


def _rows(count, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, len(CLASSES), count)
    places = np.random.default_rng(5).standard_normal((len(CLASSES), 8))
    return VectorSet(unit_rows(places[codes] + 0.6 * rng.standard_normal((count, 8)))), codes


def test_a_model_of_releases_is_a_better_prior():
    (vectors, codes), (others, truth) = _rows(3000, 1), _rows(1000, 2)
    right, kept = {}, {}
    for stages in (1, 3):
        found = train_in_label_stages(
            vectors,
            CLASSES,
            codes,
            epsilon=1.0,
            stages=stages,
            rng=np.random.default_rng(0),
            settings=QUICK,
        )
        assert found.statement.epsilon == 1.0
        kept[stages] = (found.released == codes).mean()
        right[stages] = (np.array(found.model.predict(others)) == np.array(CLASSES)[truth]).mean()
    # Among 8 labels plain response is right with e / (e + 7) = 0.28.
    assert kept[1] == pytest.approx(np.e / (np.e + 7), abs=0.05)
    assert kept[3] > kept[1] + 0.1
    assert right[3] > 0.5


def test_a_prior_never_depends_on_the_label_it_is_for(monkeypatch):
    vectors, codes = _rows(300, 1)
    seen = []

    class Watched(PriorPerExample):
        def __init__(self, priors, epsilon):
            seen.append(np.array(priors))
            super().__init__(priors, epsilon)

    monkeypatch.setattr(label_stages, "PriorPerExample", Watched)

    def priors(codes):
        seen.clear()
        rng = np.random.default_rng(0)
        settings = TaskSettings(epochs=1, hidden=8)
        train_in_label_stages(
            vectors, CLASSES, codes, epsilon=1.0, stages=2, rng=rng, settings=settings
        )
        return seen[1]

    other = codes.copy()
    last = np.array_split(np.random.default_rng(0).permutation(300), 2)[1]
    other[last] = (other[last] + 1) % len(CLASSES)
    np.testing.assert_array_equal(priors(codes), priors(other))


def test_bad_input():
    vectors, codes = _rows(20, 1)
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidValue, match="20 vectors need as many labels"):
        train_in_label_stages(vectors, CLASSES, codes[:5], epsilon=1, stages=2, rng=rng)
    with pytest.raises(InvalidValue, match="stages"):
        train_in_label_stages(vectors, CLASSES, codes, epsilon=1, stages=0, rng=rng)
