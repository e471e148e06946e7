"""Words that stand for all others: a short public alphabet that covers a space.

Exemplars are chosen one after the other, each the word that brings the words of the space nearest
to the exemplars there are so far (greedy facility location). A word counts as the root of its
frequency, a function word as a tenth of that: by frequency itself a short alphabet would be
function words, each standing for itself alone, easily guessed and of little use. Ten of them are
enough: those that come later are left out. The first K of the order are the alphabet of size K. All
of it depends on the space alone: words, vectors, public frequencies; never on a text.

Where some public words pass unchanged, only the others have to be covered, by others. Slurs are
covered like all words and come last in the order.
"""

import contextlib
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Floats32, Ids, Progress, row_blocks
from discreet.files import Memo, SealedFiles, cache_directory, unsealed_json
from discreet.parallel import in_threads
from discreet.spaces.index import write_arrays
from discreet.spaces.prior import rank_prior
from discreet.spaces.space import EmbeddingSpace
from discreet.text.function_words import on_the_list
from discreet.text.unsaid import are_unsaid

_FORMAT = "discreet exemplars 4"
Spared = NDArray[np.bool_] | None
"""Which words of a space pass unchanged, if any do."""
_CHOSEN = 4096
_CONSIDERED = 20_000
"""The most frequent words: they are covered, and exemplars are chosen among them."""
_SIZES = tuple(round(2 ** (quarter / 4)) for quarter in range(20, 57))
_LISTED = 32
"""Up to so many nearest exemplars are measured."""
# Measured on reviews and news: at epsilon 12 the best guess falls from 0.50 to 0.38 at one size of
# the alphabet, and at the same guess accuracy rises by a point or two.
_FUNCTION_WORD = 0.1
# Half of a text are function words: an alphabet with more of them gives away more and says no more.
# They are covered as if there were more, or words that are almost function words took their place.
_FUNCTION_WORDS = 10
_AT_ONCE = 16
_BLOCK_NUMBERS = 2**18
_WORTH_KEEPING = 2**22


@dataclass(frozen=True)
class Exemplars:
    """The order of exemplars, and how far from its nearest ones a word is on average."""

    order: Ids
    """All words of the space: the chosen, then others by frequency, and at the end what is better
    not said: words that pass unchanged, slurs, and the unknown token."""
    sizes: tuple[int, ...]
    """Sizes of alphabets that were measured."""
    near: tuple[tuple[float, ...], ...]
    """For each size: mean squared distance to the 1, 2, 3, ... nearest exemplars."""
    far: tuple[float, ...]
    """For each size: mean squared distance to all of them."""
    named: tuple[tuple[float, ...], ...]
    """For each size and 1, 2, 3, ... nearest exemplars: the sum over exemplars of the share of the
    most frequent word that has it among its nearest. Of words that come out as one of these, the
    best guess names as many, divided by how many nearest there are."""


def exemplars(
    space: EmbeddingSpace, progress: Progress | None = None, spared: Spared = None
) -> Exemplars:
    """The exemplars of a space: shipped, found before, or found now (and kept).

    Args:
        space: any space; without frequencies all words count alike.
        progress: called with (done, total) while they are chosen for the first time.
        spared: words that pass unchanged.
    """
    memo = memo_of(space, spared)
    values = _shipped(memo) or memo.read()
    # An alphabet that names a word twice would have another law than it says.
    if values is None or len(set(values["chosen"])) < len(values["chosen"]):
        values = measured(space, progress, spared)
        memo.write(values)
    chosen = np.array(values["chosen"], dtype=np.int64)
    return Exemplars(
        order=np.concatenate([chosen, _others(space, chosen, spared)]),
        sizes=tuple(values["sizes"]),
        near=tuple(map(tuple, values["near"])),
        far=tuple(values["far"]),
        named=tuple(map(tuple, values["named"])),
    )


def memo_of(space: EmbeddingSpace, spared: Spared = None) -> Memo:
    """Where the exemplars of a space are kept: they depend on its vectors and frequencies."""
    ranked = np.concatenate([replaced(space, spared), np.flatnonzero(are_unsaid(space.words))])
    digest = hashlib.sha256(ranked.astype("<i8").tobytes()).hexdigest()
    return Memo("exemplars", {"format": _FORMAT, "space": space.fingerprint, "ranked": digest})


def by_frequency(space: EmbeddingSpace) -> Ids:
    """All words, the most frequent first; the token for unknown words stands for none and is last.

    >>> space = EmbeddingSpace.from_arrays(["<unk>", "a", "b"], [[0.0], [1.0], [2.0]],
    ...                                    frequencies=[9, 1, 5])
    >>> by_frequency(space).tolist()
    [2, 1, 0]
    """
    order = np.argsort(-rank_prior(space), kind="stable")
    if space.unknown is None:
        return order
    return np.append(order[order != space.unknown], space.unknown)


def replaced(space: EmbeddingSpace, spared: Spared = None) -> Ids:
    """The words that do not pass unchanged, the most frequent first, without the unknown token."""
    words = by_frequency(space)[: len(space) - (space.unknown is not None)]
    return words if spared is None else words[~spared[words]]


def measured(
    space: EmbeddingSpace, progress: Progress | None = None, spared: Spared = None
) -> dict[str, Any]:
    """Choose exemplars and measure alphabets, ready for JSON."""
    words = replaced(space, spared)
    sayable = int((~are_unsaid(space.words))[words].sum())
    considered = words[:_CONSIDERED]
    named = [space.words[word] for word in considered]
    counts, listed = np.sqrt(rank_prior(space)[considered]), on_the_list(named)
    counts[listed] *= _FUNCTION_WORD
    shares, said = counts / counts.sum(), ~are_unsaid(named)
    rows = _covering(space.vectors[considered], shares, said, progress)
    chosen = considered[rows[~listed[rows] | (np.cumsum(listed[rows]) <= _FUNCTION_WORDS)]]
    sizes = [size for size in _SIZES if size < sayable]
    if sayable <= _CONSIDERED:  # all words are an alphabet too
        sizes.append(sayable)
    order = np.concatenate([chosen, _others(space, chosen, spared)])
    tables = [measured_alphabet(space, np.sort(order[:size]), spared) for size in sizes]
    return {
        "chosen": chosen.tolist(),
        "sizes": sizes,
        "near": [table.near for table in tables],
        "far": [table.far for table in tables],
        "named": [table.named for table in tables],
    }


def nearest_of(
    space: EmbeddingSpace, words: Ids, outputs: Ids, size: int
) -> tuple[NDArray[np.int32], Floats32]:
    """``(words, size)`` twice: places in ``outputs``, nearest first, and how far those words are.

    Outputs at equal distances come in the order of their places.

    >>> space = EmbeddingSpace.from_arrays("abcd", [[0.0], [1.0], [5.0], [7.0]])
    >>> nearest_of(space, np.array([0, 3]), np.array([2, 1]), 1)[0].tolist()
    [[1], [0]]
    """
    centre = space.vectors.mean(axis=0, dtype=np.float64)
    others = space.vectors[outputs] - centre
    columns, column_squares = -2.0 * others.T, np.einsum("ij,ij->i", others, others)
    places = np.empty((len(words), size), dtype=np.int32)
    distances = np.empty((len(words), size), dtype=np.float32)

    def fill(part: slice) -> None:
        rows = space.vectors[words[part]] - centre
        table = np.add.outer(np.einsum("ij,ij->i", rows, rows), column_squares)
        table += rows @ columns
        # Rounded to 32 bits, so that the last digits of a product do not decide what is a tie.
        squared = np.maximum(table, 0.0, out=np.empty(table.shape, np.float32), casting="same_kind")
        limit = np.partition(squared, size - 1, axis=1)[:, size - 1 : size]
        row, column = np.divmod(np.flatnonzero(squared <= limit), len(outputs))
        value = squared[row, column]
        order = np.lexsort((value, row))
        first = np.searchsorted(row, np.arange(len(rows)))
        kept = order[first[:, None] + np.arange(size)]
        places[part], distances[part] = column[kept], np.sqrt(value[kept])

    in_threads(fill, list(row_blocks(len(words), len(outputs), numbers=_BLOCK_NUMBERS)))
    return places, distances


def kept_nearest(
    space: EmbeddingSpace, outputs: Ids, size: int
) -> tuple[NDArray[np.int32], Floats32]:
    """As :func:`nearest_of` for all words of a space, kept in the cache if it took a while."""
    every = np.arange(len(space))
    if len(space) * len(outputs) < _WORTH_KEEPING:
        return nearest_of(space, every, outputs, size)
    name = f"{space.fingerprint} {size} {hashlib.sha256(outputs.tobytes()).hexdigest()}"
    base = cache_directory() / "nearest" / hashlib.sha256(name.encode()).hexdigest()
    files = SealedFiles(base, (".places.npy", ".distances.npy"))
    if files.intact:
        places, distances = (np.load(path) for path in files.paths)
        return places, distances
    nearest = nearest_of(space, every, outputs, size)
    # A cache that cannot be written costs time, not correctness.
    with contextlib.suppress(OSError):
        write_arrays(files, *nearest)
    return nearest


def _covering(
    vectors: NDArray[np.floating[Any]],
    weights: Floats,
    allowed: NDArray[np.bool_],
    progress: Progress | None,
) -> Ids:
    """The allowed rows to take, one by one, so that all are soon near to one that was taken.

    What a row would bring never grows as others are taken, so only those that looked best are
    looked at again (lazy greedy).
    """
    rows = (vectors - vectors.mean(axis=0, dtype=np.float64)).astype(np.float32)
    squares = np.einsum("ij,ij->i", rows, rows)
    shares = weights.astype(np.float32)
    # At first every row is as far as two rows usually are.
    left = np.full(len(rows), 2 * squares.mean(), dtype=np.float32)

    def brought(some: Ids) -> Floats32:
        table = rows @ (2.0 * rows[some].T)
        table += (left - squares)[:, None] - squares[some]
        return np.asarray(shares @ np.maximum(table, 0.0, out=table))

    count = min(_CHOSEN, int(allowed.sum()))
    hopes = np.concatenate(
        [brought(np.arange(part.start, part.stop)) for part in row_blocks(len(rows), len(rows))]
    )
    hopes[~allowed] = -np.inf
    taken = np.empty(count, dtype=np.int64)
    for number in range(count):
        current = np.isneginf(hopes)  # what was taken, or may not be, has nothing to bring
        while True:
            best = np.argpartition(-hopes, min(_AT_ONCE, len(hopes) - 1))[:_AT_ONCE]
            top = best[hopes[best].argmax()]
            if current[top]:
                break
            stale = best[~current[best]]
            hopes[stale] = brought(stale)
            current[stale] = True
        taken[number] = top
        hopes[top] = -np.inf
        np.minimum(left, squares + squares[top] - 2.0 * (rows @ rows[top]), out=left)
        if progress is not None:
            progress(number + 1, count)
    return taken


class AlphabetFigures(NamedTuple):
    """What is known of one alphabet; see :class:`Exemplars`."""

    near: tuple[float, ...]
    far: float
    named: tuple[float, ...]


def measured_alphabet(
    space: EmbeddingSpace, outputs: Ids, spared: Spared = None
) -> AlphabetFigures:
    """The figures of some outputs, over the frequent words of the space, as often as they occur.

    How far function words are from what comes out counts for as little as when outputs are chosen.
    """
    words = replaced(space, spared)[:_CONSIDERED]
    frequent = rank_prior(space)[words]
    frequent /= frequent.sum()
    shares = np.where(on_the_list([space.words[i] for i in words]), _FUNCTION_WORD, 1.0) * frequent
    shares /= shares.sum()
    listed = min(_LISTED, len(outputs))
    places, near = nearest_of(space, words, outputs, listed)
    sums = np.cumsum(shares @ near.astype(np.float64) ** 2) / np.arange(1, listed + 1)
    vectors = space.vectors - space.vectors.mean(axis=0, dtype=np.float64)
    squares = np.einsum("ij,ij->i", vectors, vectors)
    cross = (shares @ vectors[words]) @ vectors[outputs].mean(axis=0)
    far = shares @ squares[words] + squares[outputs].mean() - 2.0 * cross
    best, named = np.zeros(len(outputs)), []
    for column in places.T:
        np.maximum.at(best, column, frequent)
        named.append(best.sum())
    return AlphabetFigures(_short(sums), _short([far])[0], _short(named))


def _short(figures: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(f"{figure:.6g}") for figure in figures)


def _others(space: EmbeddingSpace, chosen: Ids, spared: Spared = None) -> Ids:
    words = by_frequency(space)
    words = words[~np.isin(words, chosen)]
    last = np.where(are_unsaid(space.words), 1, 0)
    if spared is not None:
        last[spared] = 2
    if space.unknown is not None:
        last[space.unknown] = 3
    return words[np.argsort(last[words], kind="stable")]


def _shipped(memo: Memo) -> Mapping[str, Any] | None:
    place = resources.files("discreet") / "data" / "exemplars" / memo.path.name
    if not place.is_file():
        return None
    values = unsealed_json(place.read_text("utf-8"))
    return values if {name: values.get(name) for name in memo.key} == memo.key else None
