"""What speaks against two releases having laws as close as their statement says.

Two inputs are released many times each, and the bytes that come out are looked at through a fixed
list of events: what an onlooker could see in a row without knowing how it was made. If an event is
certainly likelier under one input than the allowed loss permits, the statement is broken.

Every bound is Clopper-Pearson's, at a level divided by the number of bounds of a call, so that a
call cries wolf with probability at most :data:`goodness.LEVEL`, whatever the laws are.
"""

import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.audit.chance import at_least, at_most
from goodness import LEVEL

WIDTH = 96
"""Bytes of a row that are looked at one by one; the rest only by length and checksum."""
_MANY = np.arange(1, 9)
_MARKS = (b"[UNK]", b"[unk]", b"[Unk]", b"<unk>", b'"', b"  ")


def text_events(rows: Sequence[bytes]) -> np.ndarray:
    """A row of truths for each row of text; what stands in which column is always the same."""
    lengths = np.array([len(row) for row in rows])
    wide = np.frombuffer(b"".join(row[:WIDTH].ljust(WIDTH, b"\0") for row in rows), np.uint8)
    table = wide.reshape(len(rows), WIDTH)
    holds = np.zeros((len(rows), 256), dtype=bool)
    holds[np.arange(len(rows))[:, None], table] = True
    holds[:, 0] = False  # the filling
    capital, space = (table >= 65) & (table <= 90), table == 32
    last = np.array([row[-1] if row else 0 for row in rows])
    return np.concatenate(
        [
            holds,
            table[:, :1] == np.arange(256),
            last[:, None] == np.arange(256),
            lengths[:, None] >= np.arange(WIDTH),
            lengths[:, None] % 2 == [0],
            capital,
            space,
            capital.sum(axis=1)[:, None] >= _MANY,
            space.sum(axis=1)[:, None] >= _MANY,
            _marked(rows, lengths),
            _bits(np.array([zlib.crc32(row) for row in rows], np.uint32)[:, None])[:, :8],
        ],
        axis=1,
    )


def _marked(rows: Sequence[bytes], lengths: np.ndarray) -> np.ndarray:
    """Which rows hold which mark, found in all rows at once; no mark goes over the end of a row."""
    joined, ends = b"\n".join(rows), np.cumsum(lengths + 1)
    marked = np.zeros((len(rows), len(_MARKS)), dtype=bool)
    for column, mark in enumerate(_MARKS):
        places = [found.start() for found in re.finditer(re.escape(mark), joined)]
        marked[np.searchsorted(ends, places, "right"), column] = True
    return marked


def vector_events(rows: np.ndarray) -> np.ndarray:
    """For each vector of 32-bit numbers all its bits, in which order its entries are, and zeros."""
    bits = _bits(np.ascontiguousarray(rows, np.float32).view(np.uint32))
    below = bits.reshape(len(rows), rows.shape[1], 32)[:, :, :23]
    return np.concatenate(
        [
            bits,
            rows == 0,
            np.diff(rows, axis=1) > 0,
            np.logical_xor.reduce(below, axis=2),
            ~below[:, :, :8].any(axis=2),
            np.logical_xor.reduce(bits, axis=1)[:, None],
            (np.abs(rows).max(axis=1) > 1)[:, None],
        ],
        axis=1,
    )


def _bits(words: np.ndarray) -> np.ndarray:
    """Lowest first, of each number in turn."""
    shifted = words[:, :, None] >> np.arange(32, dtype=np.uint32)
    return (shifted & 1).astype(bool).reshape(len(words), -1)


@dataclass(frozen=True)
class Claim:
    """That the laws of two inputs, by number, are within a loss and a delta of each other."""

    first: int
    second: int
    loss: float = 0.0
    delta: float = 0.0


def contradictions(
    draws: Sequence[Sequence[bytes] | np.ndarray],
    claims: Sequence[Claim],
    events: Callable[..., np.ndarray],
) -> list[tuple[Claim, int]]:
    """The claims that the releases of each input contradict, and by which event (its number).

    False alarms: a claim that holds is listed with probability at most LEVEL, all claims together.
    """
    seen = [_counted(rows, events) for rows in draws]
    level = LEVEL / (4 * len(seen[0]) * len(claims))  # both ways, two bounds each
    found = []
    for claim in claims:
        for one, other in ((claim.first, claim.second), (claim.second, claim.first)):
            often, seldom = seen[one], seen[other]
            factor = np.exp(claim.loss)
            # Only what looks broken is worth a bound.
            share = often / len(draws[one]), seldom / len(draws[other])
            looks = np.flatnonzero(share[0] > factor * share[1] + claim.delta)
            low = at_least(often[looks], len(draws[one]), level)
            high = at_most(seldom[looks], len(draws[other]), level)
            broken = looks[low > factor * high + claim.delta]
            found += [(claim, int(event)) for event in broken[:1]]
    return found


def _counted(rows: Sequence[bytes] | np.ndarray, events: Callable[..., np.ndarray]) -> np.ndarray:
    """How often each event is seen; rows of text that are equal are looked at once."""
    if isinstance(rows, np.ndarray):
        return np.asarray(events(rows)).sum(axis=0)
    times = Counter(rows)
    # Of 32-bit numbers the product is fast, and exact below 2**24.
    counts = np.array(list(times.values()), np.float32) @ events(list(times)).astype(np.float32)
    return counts.astype(np.int64)
