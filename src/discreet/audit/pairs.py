"""Which inputs an audit looks at: near, far, special and random ones."""

from collections.abc import Iterable

import numpy as np

from discreet.arrays import Generator, Ids, Rows, row_blocks, row_norms
from discreet.audit.subject import Subject
from discreet.parallel import in_threads

Pair = tuple[int, int]

_NEAR_SAMPLE = 256
_FAR_STARTS = 16
_FAR_SWEEPS = 3
_FAR_ROWS = 512
_FAR_NUMBERS = 2**29
_BLOCK_NUMBERS = 2**22


def special_pairs(subject: Subject, rng: Generator) -> list[Pair]:
    """A few pairs worth a long look, most promising first.

    The certificate's worst pair, those that the mechanism names as telling, nearest neighbours, the
    farthest pair, the unknown token with its neighbour, and pairs at random.
    """
    pairs = [*certified_pair(subject), *getattr(subject.mechanism, "telling_pairs", ())]
    if subject.vectors is not None:
        near, far = near_pairs(subject.vectors, rng), far_pairs(subject.vectors, rng)
        unknown = getattr(getattr(subject.mechanism, "space", None), "unknown", None)
        pairs += [*near[:2], far[0]]
        if unknown is not None:
            pairs.append((int(unknown), nearest_other(subject.vectors, [int(unknown)])[0]))
        pairs += [*near[2:3], *far[1:]]
    return distinct([*pairs, *random_pairs(subject.count, 3, rng)])


def many_pairs(subject: Subject, special: list[Pair], count: int, rng: Generator) -> Ids:
    """``(n, 2)``: special pairs, near pairs and random pairs."""
    pairs = list(special)
    if subject.vectors is not None:
        pairs += near_pairs(subject.vectors, rng)[: count // 3]
    pairs += random_pairs(subject.count, max(0, count - len(pairs)), rng)
    return np.array(distinct(pairs), dtype=np.int64)


def certified_pair(subject: Subject) -> list[Pair]:
    """The pair that the mechanism's certificate calls the worst, if it names one."""
    pair = getattr(getattr(subject.mechanism, "certificate", None), "worst_pair", None)
    return [] if pair is None else [(int(pair[0]), int(pair[1]))]


def random_pairs(count: int, wanted: int, rng: Generator) -> list[Pair]:
    """Pairs of different inputs at random."""
    first = rng.integers(0, count, wanted)
    second = (first + rng.integers(1, count, wanted)) % count
    return list(zip(first.tolist(), second.tolist(), strict=True))


def near_pairs(vectors: Rows, rng: Generator) -> list[Pair]:
    """Sampled inputs with their nearest neighbours, the closest first."""
    sample = rng.choice(len(vectors), min(len(vectors), _NEAR_SAMPLE), replace=False)
    others = nearest_other(vectors, sample.tolist())
    gaps = row_norms(vectors[sample].astype(np.float64) - vectors[others])
    # A pair at the same point must be released alike; it is a pair worth a look as well.
    return [(int(sample[i]), others[i]) for i in np.argsort(gaps)]


def nearest_other(vectors: Rows, ids: list[int]) -> list[int]:
    """For each input the nearest other one, good enough to choose pairs with."""
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    out = np.empty(len(ids), dtype=np.int64)

    def search(part: slice) -> None:
        rows = np.array(ids[part])
        table = squares[None, :] - 2.0 * (vectors[rows] @ vectors.T)
        table[np.arange(len(rows)), rows] = np.inf
        out[part] = table.argmin(axis=1)

    in_threads(search, list(row_blocks(len(ids), len(vectors), numbers=_BLOCK_NUMBERS)))
    return [int(i) for i in out]


def far_pairs(vectors: Rows, rng: Generator) -> list[Pair]:
    """Two pairs about as far apart as any, by the l2 and by the l1 norm."""
    count = len(vectors)
    rows = rng.permutation(count)[: max(_FAR_ROWS, 2 * _FAR_NUMBERS // count)]
    return [_far_l2(vectors, rows), _far_l1(vectors, rng)]


def _far_l2(vectors: Rows, rows: Ids) -> Pair:
    """The farthest pair of some rows with all (all rows, unless there are very many)."""
    single = (vectors - vectors.mean(axis=0)).astype(np.float32)
    squares = np.einsum("ij,ij->i", single, single)

    def search(block: slice) -> tuple[float, int, int]:
        part = rows[block]
        table = single[part] @ (-2 * single.T)
        table += squares
        there = table.argmax(axis=1)
        lengths = table[np.arange(len(part)), there] + squares[part]
        top = int(lengths.argmax())
        return float(lengths[top]), int(part[top]), int(there[top])

    blocks = list(row_blocks(len(rows), len(vectors), numbers=_BLOCK_NUMBERS))
    _, first, second = max(in_threads(search, blocks))
    return first, second


def _far_l1(vectors: Rows, rng: Generator) -> Pair:
    """From some starts to the farthest point from each, and back, a few times."""
    outermost = np.argsort(np.abs(vectors - vectors.mean(axis=0)).sum(axis=1))[-_FAR_STARTS:]
    starts = [*outermost.tolist(), *rng.integers(0, len(vectors), _FAR_STARTS).tolist()]

    def climb(start: int) -> tuple[float, int, int]:
        best, here = (0.0, start, start), start
        for _ in range(_FAR_SWEEPS):
            lengths = np.abs(vectors - vectors[here]).sum(axis=1)
            there = int(lengths.argmax())
            best, here = max(best, (float(lengths[there]), here, there)), there
        return best

    _, first, second = max(in_threads(climb, starts))
    return first, second


def distinct(pairs: Iterable[Pair]) -> list[Pair]:
    """Each unordered pair once, in order, without pairs of an input with itself."""
    seen: dict[Pair, Pair] = {}
    for x, y in pairs:
        if x != y:
            seen.setdefault((min(x, y), max(x, y)), (int(x), int(y)))
    return list(seen.values())


def inputs_of(pairs: Iterable[Pair], limit: int) -> Ids:
    """The different inputs of some pairs, in order."""
    return np.array(list(dict.fromkeys(x for pair in pairs for x in pair))[:limit], dtype=np.int64)
