"""What a linear model learns from the vectors of texts, each tested by what learnt from others."""

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Ids


def right_by_vectors(vectors: Floats, labels: Ids, folds: Ids) -> NDArray[np.bool_]:
    """Whether logistic regression that learnt from the other folds is right about each text.

    Args:
        vectors: Of the texts, a row each.
        labels: Of each, as numbers.
        folds: Which fold each is in. Where the others have one label only, nothing is right.
    """
    from sklearn.linear_model import LogisticRegression

    right = np.zeros(len(labels), np.bool_)
    for fold in np.unique(folds):
        known, hidden = folds != fold, folds == fold
        if len(np.unique(labels[known])) > 1:
            model = LogisticRegression(C=10.0, max_iter=300).fit(vectors[known], labels[known])
            right[hidden] = model.predict(vectors[hidden]) == labels[hidden]
    return right
