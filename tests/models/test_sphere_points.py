"""Points that keep away from each other do so as well as the best known arrangements."""

import numpy as np
import pytest

from discreet.models.sphere_points import spread


@pytest.mark.parametrize(
    ("points", "dimension", "largest"),
    [
        (2, 2, -1.0),
        (2, 16, -1.0),
        (3, 2, -0.5),
        (5, 2, np.cos(2 * np.pi / 5)),
        (4, 3, -1 / 3),
        (6, 3, 0.0),
        (8, 4, 0.0),
    ],
)
def test_the_closest_pair_is_as_far_apart_as_can_be(points, dimension, largest):
    found = spread(points, dimension)
    cosines = found @ found.T - 2 * np.eye(points)
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-6)
    assert cosines.max() == pytest.approx(largest, abs=0.02)
    assert (spread(points, dimension) == found).all()
