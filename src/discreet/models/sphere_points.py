"""Points spread over the sphere: where a map may put classes to keep them apart."""

import numpy as np
from numpy.typing import NDArray


def spread(points: int, dimension: int) -> NDArray[np.float32]:
    """Unit vectors that keep away from each other: as many as there are classes, always the same.

    >>> bool((spread(2, 3)[0] @ spread(2, 3)[1]) < -0.999)
    True
    """
    places = np.random.default_rng(points).standard_normal((points, dimension))
    for step in range(400):
        places /= np.linalg.norm(places, axis=1, keepdims=True)
        pushes = np.exp(3.0 * (places @ places.T - 1))
        np.fill_diagonal(pushes, 0.0)
        pushes /= pushes.sum(axis=1, keepdims=True)
        places = places - (0.5 if step < 200 else 0.05) * (pushes @ places)
    return np.asarray(places / np.linalg.norm(places, axis=1, keepdims=True), dtype=np.float32)
