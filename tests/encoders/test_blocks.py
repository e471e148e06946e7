"""Blocks of rows: places of one kind treat equal rows alike, and a row keeps its kind."""

import numpy as np
import pytest
from scipy.special import ndtr

from discreet.encoders import bert
from discreet.encoders.bert import BertEncoder, gaussian_share
from discreet.encoders.blocks import SIZE, BlockPlaces, block_places
from discreet.encoders.encoder import load_encoder
from discreet.parallel import in_single_threads
from sentence_neighbours import PLACES
from tiny_bert import write_bert

SHAPES = frozenset({(48, 96), (96, 48)})


def other_order(rows, matrix, where, columns=slice(None)):
    """A product that some places add up from the other end."""
    out = rows @ matrix
    out = np.repeat(out[:1], len(out), axis=0)
    back = rows[:, ::-1].astype(np.float32) @ matrix[::-1]
    out[where, columns] = np.repeat(back[:1], len(out), axis=0)[where, columns]
    return out


@pytest.mark.parametrize("columns", [slice(None), slice(7, 8)], ids=["all columns", "one column"])
def test_places_that_add_up_in_another_order_are_another_kind(columns):
    odd = np.arange(SIZE) % 2 == 1
    found = block_places(SHAPES, lambda rows, matrix: other_order(rows, matrix, odd, columns))
    assert len(set(found.kinds[odd])) == len(set(found.kinds[~odd])) == 1
    assert set(found.kinds) == {0, 1}


def test_without_two_places_alike_rows_stay_with_their_text():
    def product(rows, matrix):
        return (rows @ matrix) * (1 + np.arange(len(rows), dtype=np.float32)[:, None])

    assert block_places(SHAPES, product) is None


def test_places_of_one_kind_are_alike_for_other_numbers_too():
    (found,) = in_single_threads(block_places, [SHAPES])
    if found is None:  # a library whose places all differ; nothing is shared there
        return

    def alike(seed):
        rng = np.random.default_rng(seed)
        row, matrix = rng.standard_normal((1, 48)), rng.standard_normal((48, 96))
        out = np.repeat(row.astype(np.float32), SIZE, axis=0) @ matrix.astype(np.float32)
        return all(len(np.unique(out[found.kinds == k], axis=0)) == 1 for k in set(found.kinds))

    assert all(in_single_threads(alike, range(1, 30)))


@pytest.mark.parametrize("kinds", [[0] * 6, [0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 1, 2], [1, 0]])
def test_a_row_of_a_text_always_has_a_place_of_its_kind(kinds):
    places = BlockPlaces(np.array(kinds))
    longest = places.of_texts(np.array([40]))
    rng = np.random.default_rng(0)
    for _ in range(20):
        lengths = rng.integers(1, 40, rng.integers(1, 30))
        found = places.of_texts(lengths)
        assert len(set(found)) == len(found) == lengths.sum()
        of_kind = places.kinds[found % len(kinds)]
        for length, start in zip(lengths, np.cumsum(lengths) - lengths, strict=True):
            own = places.kinds[longest[:length] % len(kinds)]
            assert of_kind[start : start + length].tolist() == own.tolist()
        # Blocks fill up: hardly anything is computed for nothing.
        blocks = found.max() // len(kinds) + 1
        assert blocks * len(kinds) <= lengths.sum() + len(kinds) * (len(lengths) + 1)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return str(write_bert(tmp_path_factory.mktemp("blocks") / "tiny", head=False))


def depends_on_company(encoder):
    assert isinstance(encoder._model, BertEncoder)
    rng = np.random.default_rng(1)
    words = ["good", "bad", "tea", "cup", "the", "walks", "very"]
    texts = [" ".join(rng.choice(words, rng.integers(1, 20))) for _ in range(60)]
    own = np.concatenate([encoder.encode([text]) for text in texts])
    orders = [rng.permutation(len(texts)) for _ in range(3)]
    return any(
        encoder.encode([texts[place] for place in order]).tobytes() != own[order].tobytes()
        for order in orders
    )


def by_place(affine, rows):
    """A library that rounds at odd places as it does nowhere else; exact but for that."""
    exact = rows.astype(np.float64) @ affine.weight.astype(np.float64)
    out = np.round(exact, 4).astype(np.float32) + affine.bias
    out[1::2] += np.float32(1e-6)
    return out


@pytest.mark.parametrize("known", [True, False], ids=["by blocks", "text by text"])
def test_vectors_do_not_depend_on_their_company(tiny, monkeypatch, known):
    if not known:
        monkeypatch.setattr(bert, "block_places", lambda _shapes: None)
    assert not depends_on_company(load_encoder(tiny, device="cpu"))


@pytest.mark.parametrize("kinds", [np.arange(SIZE) % 2, np.zeros(SIZE, np.int64)], ids=["", "none"])
def test_a_row_that_changes_its_kind_is_noticed(tiny, monkeypatch, kinds):
    """The mutant believes that all places are alike, in a library where they are not."""
    monkeypatch.setattr(bert._Affine, "__call__", by_place)
    monkeypatch.setattr(bert, "block_places", lambda _shapes: BlockPlaces(kinds))
    assert depends_on_company(load_encoder(tiny, device="cpu")) == (not kinds.any())


def test_the_share_of_a_normal_law():
    x = np.concatenate([np.linspace(-9, 9, 100_001), PLACES.ravel()]).astype(np.float32)
    np.testing.assert_allclose(gaussian_share(x), ndtr(x.astype(np.float64)), atol=4e-7)
    assert gaussian_share(np.float32([-np.inf, np.inf])).round(6).tolist() == [0.0, 1.0]
    # The same wherever it stands.
    assert gaussian_share(x)[13:29].tobytes() == gaussian_share(x[13:29]).tobytes()
