"""Fitting soft votes: the gradient, what is learned, what is refused."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from discreet.errors import InvalidValue
from discreet.training.documents.soft_votes import _objective, fit_soft_votes

SEED = 20260506


def topics(documents, seed):
    """Documents of 5 sentences, of which only two tell the class and three are about nothing."""
    rng = np.random.default_rng(seed)
    classes = np.arange(documents) % 3
    vectors = rng.normal(scale=0.3, size=(documents, 5, 6))
    vectors[:, :2, :3] += 2 * np.eye(3)[classes][:, None, :]
    vectors[:, 2:, 3] += 3.0
    return vectors.reshape(-1, 6), np.arange(documents + 1) * 5, classes


def test_the_gradient_is_that_of_the_loss():
    vectors, offsets, classes = topics(12, 0)
    objective = _objective(vectors.astype(np.float32), offsets, classes, 3, 1.5, 1e-3)
    point = np.random.default_rng(SEED).normal(scale=0.3, size=21)
    error = check_grad(lambda x: objective(x)[0], lambda x: objective(x)[1], point, epsilon=1e-3)
    assert error < 2e-3 * max(1.0, float(np.linalg.norm(objective(point)[1])))


def test_few_sentences_that_tell_the_class_are_enough():
    mechanism = fit_soft_votes(*topics(150, 1), epsilon=4.0)
    vectors, offsets, classes = topics(90, 2)
    law = np.exp(mechanism.log_probabilities(vectors, offsets))
    assert law[np.arange(90), classes].mean() > 0.9
    # Sentences about nothing speak for nobody in particular.
    silent = mechanism.votes(vectors.reshape(90, 5, 6)[:, 2:].reshape(-1, 6), np.arange(91) * 3)
    spread = (silent.max(axis=1) - silent.min(axis=1)) / mechanism.unit
    assert spread.mean() < 0.3


def test_the_same_seed_gives_the_same_votes():
    first, second = (fit_soft_votes(*topics(30, 3), epsilon=2.0, steps=5) for _ in range(2))
    assert (first.weights == second.weights).all()


@pytest.mark.parametrize(
    ("classes", "epsilon"),
    [([0, 0, 0], 1.0), ([0, 2, 2], 1.0), ([0, 1], 1.0), ([0.0, 1.0, 0.0], 1.0), ([0, 1, 1], 0.0)],
)
def test_bad_input_is_refused(classes, epsilon):
    with pytest.raises(InvalidValue, match="soft votes must"):
        fit_soft_votes(np.zeros((6, 2)), [0, 2, 4, 6], np.array(classes), epsilon)
