"""Logistic regression where there are more features than texts, as there are of words.

Along the axes that the texts span nothing is lost: a text has as many coordinates there as there
are texts. A descent that knows how long the axes are takes few steps.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from discreet.arrays import Floats, Ids

_SHORTEST = 1e-15


def wide_logistic(features: csr_array, labels: Ids, classes: int, penalty: float) -> Floats:
    """The ``(features, classes)`` weights whose penalised loss is the smallest.

    Args:
        features: A row for each text.
        labels: Of each text, as a number from 0.
        classes: How many there are.
        penalty: Times half the sum of squared weights is added to the sum of losses.

    >>> weights = wide_logistic(csr_array(np.eye(4)), np.array([0, 0, 1, 1]), 2, 0.01)
    >>> weights.argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """
    squares, axes = np.linalg.eigh((features @ features.T).toarray())
    lengths = np.sqrt(np.maximum(squares, 0.0))
    lengths = np.maximum(lengths, _SHORTEST * lengths.max())
    places, truth = axes * lengths, np.eye(classes)[labels]

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(truth.shape)
        said = places @ weights
        logs = said - said.max(axis=1, keepdims=True)
        logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
        value = -float((truth * logs).sum()) + penalty / 2 * float((weights**2).sum())
        return value, (places.T @ (np.exp(logs) - truth) + penalty * weights).ravel()

    solution = minimize(loss, np.zeros(truth.size), jac=True, method="L-BFGS-B").x
    return np.asarray(features.T @ ((axes / lengths) @ solution.reshape(truth.shape)))
