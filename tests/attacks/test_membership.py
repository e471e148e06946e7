"""Threshold attacks: they catch a model that learnt by heart, and find nothing where nothing is."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from discreet.attacks.membership import (
    SCORES,
    LabelledPredictions,
    best_threshold,
    confidence,
    learnt_by_heart,
    membership_attack,
    negative_entropy,
    negative_modified_entropy,
)
from discreet.errors import InvalidValue


def sure(
    rows: int, mean: float, rng: np.random.Generator, right: float = 1.0
) -> LabelledPredictions:
    """Two classes; the model gives the label it believes in about ``mean``."""
    labels = rng.integers(0, 2, rows)
    believed = np.where(rng.random(rows) < right, labels, 1 - labels)
    top = np.clip(rng.normal(mean, 0.05, rows), 0.5, 0.999)
    law = np.stack([1 - top, top], axis=1)
    law[believed == 0] = law[believed == 0][:, ::-1]
    return LabelledPredictions(law, labels)


def test_scores_against_their_formulas():
    law = np.array([[0.7, 0.2, 0.1], [0.2, 0.3, 0.5]])
    rows = LabelledPredictions(law, np.array([0, 1]))
    for i, y in enumerate((0, 1)):
        p = law[i]
        assert negative_entropy(rows)[i] == pytest.approx(sum(x * math.log(x) for x in p))
        modified = -(1 - p[y]) * math.log(p[y])
        modified -= sum(p[j] * math.log(1 - p[j]) for j in range(3) if j != y)
        assert negative_modified_entropy(rows)[i] == pytest.approx(-modified)
        assert confidence(rows)[i] == p[y]
    certain = LabelledPredictions([[1.0, 0.0], [0.0, 1.0]], [0, 0])
    for score in SCORES.values():
        assert np.isfinite(score(certain)).all()
    assert negative_modified_entropy(certain)[0] > negative_modified_entropy(certain)[1]
    assert negative_entropy(certain)[0] == negative_entropy(certain)[1]  # does not know the label


def test_the_threshold_against_trying_them_all():
    rng = np.random.default_rng(0)
    for _ in range(50):
        inside, outside = rng.integers(0, 8, 9) / 2.0, rng.integers(-3, 6, 7) / 2.0

        def balanced(t, inside=inside, outside=outside):
            return ((inside >= t).mean() + (outside < t).mean()) / 2

        tried = [balanced(t) for t in np.arange(-4, 6, 0.25)]
        assert balanced(best_threshold(inside, outside)) == pytest.approx(max(tried))


def test_what_was_learnt_by_heart_is_caught():
    rng = np.random.default_rng(1)
    outcomes = membership_attack(sure(600, 0.95, rng), sure(400, 0.7, rng))
    assert [o.attack for o in outcomes] == [f"membership by {name}" for name in SCORES]
    for outcome in outcomes:
        assert outcome.success.low > 0.9
        assert outcome.targets == 500
        assert outcome.unprotected is None


def test_only_scores_that_know_the_label_see_wrong_certainty():
    rng = np.random.default_rng(2)
    members, others = sure(800, 0.9, rng), sure(800, 0.9, rng, right=0.5)
    entropy, aware, confident = membership_attack(members, others)
    assert entropy.success.value < 0.56
    assert aware.success.low > 0.65
    assert confident.success.low > 0.65


def test_nothing_is_found_where_nothing_is():
    rng = np.random.default_rng(3)
    values = []
    for seed in range(30):
        outcomes = membership_attack(sure(200, 0.8, rng), sure(100, 0.8, rng), seed=seed)
        values += [outcome.success.value for outcome in outcomes]
        assert all(o.success.low <= 0.5 <= o.success.high for o in outcomes)
    # A threshold measured where it was set would be well above one half.
    assert abs(np.mean(values) - 0.5) < 0.02


def test_the_unprotected_model_is_attacked_in_the_same_way():
    rng = np.random.default_rng(4)
    bare = sure(300, 0.97, rng), sure(300, 0.7, rng)
    plain = sure(300, 0.8, rng), sure(300, 0.8, rng)
    for outcome in membership_attack(*plain, unprotected=bare):
        assert outcome.unprotected.low > 0.9 > outcome.success.high
    alone = membership_attack(*bare)
    both = membership_attack(*plain, unprotected=bare)
    assert [o.unprotected for o in both] == [o.success for o in alone]


@pytest.mark.parametrize(
    ("law", "labels", "message"),
    [
        ([[0.5, 0.6]], [0], "sum to 1"),
        ([[1.0]], [0], "at least 2 classes"),
        ([[1.5, -0.5]], [0], "sum to 1"),
        ([[np.nan, 0.5]], [0], "sum to 1"),
        ([0.5, 0.5], [0], "sum to 1"),
        ([[0.5, 0.5]], [0, 1], "for each row"),
        ([[0.5, 0.5]], [0.0], "class index"),
        ([[0.5, 0.5]], [2], "from 0 to 1"),
    ],
)
def test_predictions_that_are_none(law, labels, message):
    with pytest.raises(InvalidValue, match=message):
        LabelledPredictions(np.array(law), np.array(labels))


def test_too_few_rows():
    rng = np.random.default_rng(5)
    with pytest.raises(InvalidValue, match="at least 4 members and 4 others; got 3 and 9"):
        membership_attack(sure(3, 0.9, rng), sure(9, 0.9, rng))


def test_a_model_of_few_texts_has_them_by_heart():
    rng = np.random.default_rng(0)
    counts, labels = csr_array(rng.poisson(0.1, (60, 200)) * 1.0), rng.integers(0, 3, 60)
    said = learnt_by_heart(counts, labels, 3)(counts)
    assert np.allclose(said.sum(axis=1), 1)
    assert (said.argmax(axis=1) == labels).all()  # although there was nothing to learn
    assert said.max(axis=1).min() > 0.9


def test_an_attack_that_fails_without_protection_is_called_broken():
    rng = np.random.default_rng(3)
    alike = sure(400, 0.8, rng), sure(400, 0.8, rng)
    apart = sure(400, 0.95, rng), sure(400, 0.6, rng)
    for unprotected, broken in ((alike, True), (apart, False)):
        outcomes = membership_attack(*alike, unprotected=unprotected)
        assert all(("BROKEN" in "\n".join(each.lines())) == broken for each in outcomes)
