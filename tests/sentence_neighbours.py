"""Small documents with every replacement of one sentence, for exact checks."""

from itertools import product

import numpy as np

PLACES = np.array([[-2.0, 0.3], [0.0, 0.0], [0.4, -0.2], [0.5, 1.5], [3.0, -1.0]])
"""Where a sentence may lie: clustered, with outliers on both sides."""


def all_documents(sentences, dimension=2):
    """Every document of so many sentences over the places, end to end, with offsets."""
    places = np.resize(PLACES.T, (dimension, len(PLACES))).T
    chosen = np.array(list(product(range(len(places)), repeat=sentences)))
    offsets = np.arange(len(chosen) + 1) * sentences
    return places[chosen].reshape(-1, dimension), offsets, chosen


def largest_step(values, chosen):
    """Largest change of any value when one sentence of a document is replaced by any other."""
    size = len(PLACES)
    worst = 0.0
    for place in range(chosen.shape[1]):
        weight = size ** (chosen.shape[1] - 1 - place)
        digit = chosen[:, place]
        base = np.arange(len(chosen)) - digit * weight
        for other in range(size):
            worst = max(worst, float(np.abs(values - values[base + other * weight]).max()))
    return worst
