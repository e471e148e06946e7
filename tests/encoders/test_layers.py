"""Affine layers: run as the network that they came from, and kept as arrays."""

import numpy as np
import pytest

from discreet.encoders.layers import (
    affine_network,
    layer_arrays,
    layers_from,
    layers_of,
    run_layers,
)


@pytest.mark.parametrize("sizes", [[3, 2], [3, 8, 4, 2]])
def test_layers_run_as_the_network_they_came_from(sizes):
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    rows = np.random.default_rng(2).standard_normal((6, 3)).astype(np.float32)
    trained = affine_network(sizes)
    with torch.no_grad():
        expected = trained(torch.from_numpy(rows)).numpy()
    assert np.allclose(run_layers(layers_of(trained), rows), expected, atol=1e-5)
    again = layers_from(layer_arrays(layers_of(trained), "part"), "part")
    assert np.array_equal(run_layers(again, rows), run_layers(layers_of(trained), rows))
