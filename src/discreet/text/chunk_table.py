"""Text in chunks, each worked out once; and documents put together from strings.

Both are what makes millions of tokens a second possible: no Python statement runs per token.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import count, islice
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrays import Ids, offsets_of, ragged_blocks
from discreet.errors import InvalidValue

Ints = NDArray[np.int32]

SLICE = 1 << 22
"""Characters, or tokens, that are worked on at a time."""
MAX_CHUNKS = 1_000_000
MAX_CHARACTERS = 1 << 26


class ChunkTable:
    """A row of numbers for every distinct chunk of text, worked out once and then looked up.

    Args:
        rows: for a list of chunks, their rows end to end and the length of each. It must treat a
            chunk alike wherever it stands: a text's row is that of its chunks, end to end.
    """

    def __init__(self, rows: Callable[[Sequence[str]], tuple[Ints, Ids]]) -> None:
        self._rows = rows
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._slots: defaultdict[str, int] = defaultdict(count().__next__)
        self._flat = np.empty(0, np.int32)
        self._starts = np.empty(0, np.int64)
        self._lengths = np.empty(0, np.int64)
        self._characters = 0

    def forget(self) -> None:
        """Keep nothing of the texts that were seen."""
        with self._lock:
            self._clear()

    def gather(self, texts: Sequence[str]) -> tuple[Ints, Ids]:
        """The rows of the chunks of each text, end to end, and where each text's begin."""
        if isinstance(texts, str):
            raise InvalidValue("texts must be a list of texts; got a single text")
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        values, counts = [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
        for first, last in ragged_blocks(offsets_of(sizes), SLICE):
            with self._lock:
                rows, lengths = self._gather(texts[first:last])
            values.append(rows)
            counts.append(lengths)
        return np.concatenate(values), np.cumsum(np.concatenate(counts))

    def _gather(self, texts: Sequence[str]) -> tuple[Ints, Ids]:
        if len(self._slots) > MAX_CHUNKS or self._characters > MAX_CHARACTERS:
            self._clear()  # a corpus may be larger than memory
        try:
            chunks = " ".join(texts).split(" ")
            slots = np.fromiter(map(self._slots.__getitem__, chunks), np.int64, len(chunks))
            self._learn()
        except BaseException:
            self._clear()  # slots without rows would answer wrongly for ever after
            raise
        lengths = self._lengths[slots]
        ends = np.cumsum(lengths)
        # Position in the flat rows: start of the chunk's row, plus how far into the row we are.
        where = np.repeat(self._starts[slots] - (ends - lengths), lengths)
        where += np.arange(len(where))
        chunk_counts = np.fromiter((text.count(" ") for text in texts), np.int64, len(texts)) + 1
        text_ends = ends[np.cumsum(chunk_counts) - 1]
        return self._flat[where], np.diff(text_ends, prepend=0)

    def _learn(self) -> None:
        missing = len(self._slots) - len(self._lengths)
        if not missing:
            return
        chunks = list(islice(reversed(self._slots), missing))[::-1]
        values, lengths = self._rows(chunks)
        starts = len(self._flat) + np.cumsum(lengths) - lengths
        self._flat = np.concatenate([self._flat, values])
        self._starts = np.concatenate([self._starts, starts])
        self._lengths = np.concatenate([self._lengths, lengths])
        self._characters += sum(map(len, chunks))


def string_array(strings: Sequence[str]) -> Any:
    """Strings end to end in an Arrow array.

    ``pyarrow.array`` would do, but it first imports pandas wherever that is installed, which takes
    longer than everything else that a short text needs.
    """
    encoded = [string.encode() for string in strings]
    ends = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=ends[1:])
    data = pa.py_buffer(b"".join(encoded))
    return pa.LargeStringArray.from_buffers(len(encoded), pa.py_buffer(ends.data), data)


def coded(strings: Any, kind: Any) -> Any:
    """An array of strings as one of a type, which may be that of a dictionary."""
    if not pa.types.is_dictionary(kind):
        return strings
    parts = strings.dictionary_encode()
    # As many different texts may come out as there are rows.
    index = kind.index_type if kind.index_type.bit_width >= 32 else pa.int32()
    return pa.DictionaryArray.from_arrays(
        parts.indices.cast(index), parts.dictionary, ordered=kind.ordered
    )


def concatenate(strings: Any, codes: NDArray[np.integer], offsets: Ids) -> list[str]:
    """For each document the strings its codes stand for, with nothing between them.

    Arrow stores the chosen strings end to end, so a document is a range of that buffer.
    """
    documents: list[str] = []
    for first, last in ragged_blocks(offsets, SLICE):
        bounds = offsets[first : last + 1]
        some = np.ascontiguousarray(codes[bounds[0] : bounds[-1]], np.int64)
        places = pa.Array.from_buffers(pa.int64(), len(some), [None, pa.py_buffer(some.data)])
        chosen = strings.take(places)
        if not len(chosen):
            documents += [""] * (last - first)
            continue
        _, ends, data = chosen.buffers()
        marks = np.frombuffer(ends, np.int64)[bounds - bounds[0]]
        whole = pa.LargeStringArray.from_buffers(last - first, pa.py_buffer(marks), data)
        documents += cast("list[str]", whole.to_pylist())
    return documents
