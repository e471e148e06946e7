"""The evidence itself: it keeps its false-alarm rate, and it sees what there is to see."""

import numpy as np
import pytest

from relational.evidence import Claim, contradictions, text_events, vector_events

N = 2000


def coins(shares, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.random((N, 1)) < share for share in shares]


@pytest.mark.parametrize(
    ("shares", "loss", "delta", "caught"),
    [
        ((0.5, 0.5), 0.0, 0.0, False),
        ((0.0, 0.0), 0.0, 0.0, False),
        ((0.5, 0.25), np.log(2), 0.0, False),
        ((0.5, 0.15), np.log(2), 0.0, True),
        ((0.05, 0.0), 5.0, 0.0, False),
        ((0.08, 0.0), 0.0, 0.0, True),
        ((0.3, 0.0), 0.0, 0.3, False),
        ((0.5, 0.0), 0.0, 0.3, True),
        ((0.6, 0.4), 0.0, 0.0, True),
    ],
)
def test_a_coin_is_caught_if_it_is_certainly_too_bent(shares, loss, delta, caught):
    found = contradictions(coins(shares), [Claim(0, 1, loss, delta)], np.asarray)
    assert bool(found) is caught


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (b"tea", b"Tea"),
        (b"tea", b"tea "),
        (b"[UNK] tea", b"[unk] tea"),
        (b"a b", b"b a"),
        (b"a  b", b"a b "),
        (b"x" * 200, b"x" * 198 + b"yx"),
        (b"", b"\n"),
    ],
)
def test_every_difference_of_two_rows_is_seen(first, second):
    assert contradictions([[first] * N, [second] * N], [Claim(0, 1, 0.5)], text_events)


@pytest.mark.parametrize("bit", [0, 1, 12, 22, 23, 30, 31])
def test_every_bit_of_a_number_is_seen(bit):
    rows = np.random.default_rng(0).normal(size=(2, N, 3)).astype(np.float32)
    assert not contradictions(rows, [Claim(0, 1)], vector_events)
    bits = rows.view(np.uint32)
    bits[0, :, 1] |= np.uint32(1 << bit)
    bits[1, :, 1] &= ~np.uint32(1 << bit)
    rows[~np.isfinite(rows)] = 1.0
    assert contradictions(rows, [Claim(0, 1)], vector_events)
