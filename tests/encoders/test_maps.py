"""Public maps: what they compute, what they refuse, that they are kept whole."""

import numpy as np
import pytest

from discreet.encoders.maps import PublicMap
from discreet.errors import InputError, InvalidValue
from discreet.tensors import save_tensors

RNG = np.random.default_rng(3)
VECTORS = RNG.standard_normal((40, 6)) * np.array([5, 4, 1, 1, 1, 0.1]) + 2.0


def two_layers() -> PublicMap:
    weights = [
        RNG.standard_normal(shape).astype(np.float32) for shape in ((6, 4), (4,), (4, 3), (3,))
    ]
    first, second = (weights[0], weights[1]), (weights[2], weights[3])
    return PublicMap.of_layers([first, second], encoder="e" * 64, about={"made": "by hand"})


def test_layers_are_affine_with_tanh_between():
    made = two_layers()
    expected = []
    for row in VECTORS:
        hidden = [
            np.tanh(sum(row[i] * made.weights[0][i, j] for i in range(6)) + made.biases[0][j])
            for j in range(4)
        ]
        expected.append(
            [
                sum(hidden[i] * made.weights[1][i, j] for i in range(4)) + made.biases[1][j]
                for j in range(3)
            ]
        )
    assert (made.inputs, made.dimension) == (6, 3)
    np.testing.assert_allclose(made.apply(VECTORS), expected, rtol=1e-4, atol=1e-5)


def test_a_random_map_is_the_same_in_every_run_and_of_no_data():
    first, again, other = (PublicMap.random(6, 3, seed=seed) for seed in (0, 0, 1))
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert first.encoder is None
    first.require("any")
    np.testing.assert_array_equal(first.apply(VECTORS), again.apply(VECTORS))


def test_principal_directions_against_a_singular_value_decomposition():
    made = PublicMap.pca(VECTORS, 2, encoder="e", source="a test")
    centred = VECTORS - VECTORS.mean(axis=0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    got = made.apply(VECTORS)
    for column in range(2):  # a direction may be turned round
        expected = left[:, column] * values[column]
        sign = np.sign(got[:, column] @ expected)
        np.testing.assert_allclose(sign * got[:, column], expected, atol=1e-3)
    np.testing.assert_allclose(got.mean(axis=0), 0.0, atol=1e-4)
    # The mutant: without centring the mean, which is far from zero, would lead.
    assert np.abs(VECTORS.mean(axis=0)).max() > 1


def test_a_map_for_another_encoder_is_refused():
    made = two_layers()
    made.require("e" * 64)
    with pytest.raises(InvalidValue, match="another encoder"):
        made.require("f" * 64)


def test_what_is_saved_comes_back(tmp_path):
    for made in (two_layers(), PublicMap.random(6, 2)):
        path = tmp_path / f"{made.dimension}.safetensors"
        made.save(path)
        back = PublicMap.load(path)
        assert (back.fingerprint, back.encoder, back.about) == (
            made.fingerprint,
            made.encoder,
            made.about,
        )
        np.testing.assert_array_equal(back.apply(VECTORS), made.apply(VECTORS))


def test_the_fingerprint_sees_every_number():
    made = two_layers()
    changed = made.biases[1].copy()
    changed[2] = np.nextafter(changed[2], np.float32(9))
    other = PublicMap(made.weights, (made.biases[0], changed), made.encoder, made.about)
    assert other.fingerprint != made.fingerprint


W, B = np.ones((6, 3), np.float32), np.ones(3, np.float32)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PublicMap((), (), None, {}), "needs a bias"),
        (lambda: PublicMap((W,), (), None, {}), "needs a bias"),
        (lambda: PublicMap((W,), (B[:2],), None, {}), "do not fit"),
        (lambda: PublicMap((W, W), (B, B), None, {}), "do not fit"),
        (lambda: PublicMap((W * np.nan,), (B,), None, {}), "finite"),
        (lambda: PublicMap((W[:, :1],), (B[:1],), None, {}), "at least 2 dimensions"),
        (lambda: PublicMap.random(6, 7), "at most that of the encoder, 6; got 7"),
        (lambda: PublicMap.random(6, 1), "at least 2"),
        (lambda: PublicMap.pca(VECTORS, 7, encoder="e", source="s"), "at most"),
        (lambda: PublicMap.pca(VECTORS[:3], 3, encoder="e", source="s"), "more than 3 public"),
        (lambda: PublicMap.random(6, 2).apply(VECTORS[:, :5]), "must have 6 dimensions"),
        (lambda: PublicMap.random(6, 2).apply(VECTORS[0]), "must have 6 dimensions"),
    ],
)
def test_what_is_no_map(make, message):
    with pytest.raises(InvalidValue, match=message):
        make()


def test_a_file_without_a_layer(tmp_path):
    about = {"encoder": None, "about": {}}
    save_tensors(tmp_path / "x", "public map", {"weight.0": W, "weight.1": W}, about)
    with pytest.raises(InputError, match="lacks"):
        PublicMap.load(tmp_path / "x")
