"""Labels in stages: the estimate of a prior from releases."""

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.mechanisms.label import (
    PriorResponse,
    RandomizedResponse,
    multi_stage,
    pooled_prior,
    refine_prior,
)
from discreet.mechanisms.label._stages import _nearest_probabilities

SEED = 20260307


def exact_releases(prior, law, count=1_000_000):
    """As many of each released label as expected."""
    wanted = np.rint(prior @ law * count).astype(int)
    return np.repeat(np.arange(len(prior)), wanted)


def test_expected_releases_give_the_prior_back():
    prior = np.array([0.5, 0.3, 0.15, 0.05])
    law = RandomizedResponse(4, 0.7).transition
    found = refine_prior(exact_releases(prior, law), law)
    assert np.allclose(found, prior, atol=1e-5)
    # Frequencies of releases as they stand are far off: the correction does something.
    assert np.abs(prior @ law - prior).max() > 0.1


def test_pooling_uses_parts_that_do_not_tell_all_labels_apart():
    prior = np.array([0.5, 0.3, 0.15, 0.05])
    plain = RandomizedResponse(4, 0.7).transition
    pruned = PriorResponse(prior, 0.7).transition
    parts = [(exact_releases(prior, law), law) for law in (plain, pruned)]
    assert np.allclose(pooled_prior(parts), prior, atol=1e-4)
    with pytest.raises(InvalidValue, match="tell all labels apart"):
        refine_prior(*parts[1])


def test_the_estimate_is_unbiased_before_it_is_projected():
    prior = np.array([0.45, 0.35, 0.2])
    mechanism = RandomizedResponse(3, 1.0)
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(400):
        labels = rng.choice(3, 2_000, p=prior)
        found.append(refine_prior(mechanism.release(labels, rng), mechanism.transition))
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - prior) < 6.5 * error).all(), f"seed {SEED}"


@pytest.mark.parametrize("seed", range(20))
def test_projection_is_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(0.2, 0.5, 5)
    found = _nearest_probabilities(values)
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    others = rng.dirichlet(np.full(5, 0.5), 5_000)
    assert np.linalg.norm(values - found) <= np.linalg.norm(values - others, axis=1).min() + 1e-12


def test_stages_improve_the_labels_at_the_same_epsilon():
    prior = np.array([0.55, 0.35, *np.full(18, 0.1 / 18)])
    rng = np.random.default_rng(SEED)
    parts = [rng.choice(20, 20_000, p=prior) for _ in range(3)]
    stages = multi_stage(parts, 20, 1.5, rng)
    right = [float((s.released == part).mean()) for s, part in zip(stages, parts, strict=True)]
    assert len(stages[0].mechanism.kept) == 20
    assert set(stages[1].mechanism.kept.tolist()) == {0, 1}
    assert right[1] > right[0] + 0.3
    assert all(s.mechanism.statement.epsilon == 1.5 for s in stages)


def test_a_later_prior_depends_on_earlier_releases_only():
    rng = np.random.default_rng(SEED)
    first = rng.integers(0, 4, 3_000)
    runs = [
        multi_stage([first, np.full(100, label)], 4, 1.0, np.random.default_rng(1))
        for label in (0, 3)
    ]
    assert (runs[0][1].mechanism.prior == runs[1][1].mechanism.prior).all()


@pytest.mark.parametrize(
    ("released", "transition"),
    [
        ([], [[0.8, 0.2], [0.2, 0.8]]),
        ([2], [[0.8, 0.2], [0.2, 0.8]]),
        ([0], [[0.8, 0.3], [0.2, 0.8]]),
        ([0], [[1.2, -0.2], [0.2, 0.8]]),
        ([0], [[0.5, 0.5]]),
        ([0], [["zanzibar"]]),
        ([0], [[0.5, 0.5], [0.5, 0.5]]),
    ],
)
def test_bad_parts_are_refused(released, transition):
    with pytest.raises(InvalidValue):
        refine_prior(released, transition)


def test_no_parts_and_unlike_parts_are_refused():
    with pytest.raises(InvalidValue):
        pooled_prior([])
    with pytest.raises(InvalidValue, match="same labels"):
        pooled_prior([([0], np.eye(2)), ([0], np.eye(3))])
