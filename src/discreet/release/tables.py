"""Arrow tables in, Arrow tables out: a column of texts is released, the others keep their values.

This is what data frames, engines and other libraries call. A table may be as long as memory allows:
it is released in slices, so that only a slice of it exists as Python strings at a time.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.arrays import Generator, Progress, offsets_of, ragged_blocks, row_blocks
from discreet.errors import InputError, InvalidValue
from discreet.protocols import Release
from discreet.randomness import secure_generator
from discreet.release.vectors import VectorSet, arrow_columns
from discreet.text.chunk_table import coded
from discreet.text.faults import UNUSABLE, column_index, first_unusable, shown_name
from discreet.text.kept import Frame, bare_field, bare_table

if TYPE_CHECKING:
    from discreet.release.documents import DocumentEmbedder
    from discreet.release.sentences import SentenceEmbedder

ROWS = 100_000
"""So many rows are released at once: fewer cost more for each, more cost memory."""
_CHARACTERS = 2**24  # and not more of them than hold about so many characters

_WHAT = "the table"


def release_column(
    table: Frame,
    text: str | Sequence[str],
    sanitize: Callable[[Sequence[str], Generator], Release[list[str]]],
    rng: Generator | None = None,
    *,
    progress: Progress | None = None,
) -> Release[Frame]:
    """A table whose texts are released, and what holds for them.

    Args:
        table: a table or a record batch.
        text: the column of texts, or several; nulls stay null, and which texts are null is public.
        sanitize: releases texts, such as :meth:`discreet.Sanitizer.sanitize`.
        rng: leave it out for a release.
        progress: called with the rows done of a column and in all.
    """
    names = [text] if isinstance(text, str) else list(text)
    if not names or len(set(names)) < len(names):
        raise InvalidValue("name at least one column of texts, and each once")
    rng = secure_generator() if rng is None else rng
    places = [_text_index(table, name) for name in names]
    release = sanitize([], rng)  # says what holds, also of a table without rows
    units, draws = 0, np.zeros(len(table), dtype=np.int64)
    identifiers: Counter[str] = Counter()
    out = bare_table(table, but=places)
    for name, place in zip(names, places, strict=True):
        pieces = []
        for start, texts, known in _texts(table.column(place), name):
            release = sanitize(texts, rng)
            if len(release.values) != len(texts):
                raise InvalidValue(f"{len(texts)} texts became {len(release.values)}")
            pieces.append(_with_nulls(release.values, known, table.schema.field(place).type))
            units += release.units
            if release.draws is not None:
                draws[start : start + len(known)][known] += release.draws
            identifiers.update(release.identifiers)
            if progress is not None:
                progress(start + len(known), len(table))
        field = bare_field(table.schema.field(place)).with_type(pieces[0].type)
        out = out.set_column(place, field, _one(table, pieces))
    return Release(out, release.statement, units, dict(identifiers), draws)


def release_vectors(
    embedder: "SentenceEmbedder | DocumentEmbedder",
    table: Frame,
    text: str = "text",
    *,
    label: str | None = None,
    second: str | None = None,
    rng: Generator | None = None,
    first_row: int = 1,
) -> Release[Frame]:
    """A table with the column ``vector`` in place of its texts, and what holds for the vectors.

    Args:
        embedder: what releases vectors; as its ``embed_batch``, with the statement and the units.
        table: a table or a record batch.
        text: the column of texts, which is left out; a null has no vector.
        label: of sentences, the column of their labels, which is protected and left out, too.
        second: of sentences, the column of the second ones, left out as well.
        rng: leave it out for a release.
        first_row: the number of the first row, for messages.
    """
    rng = secure_generator() if rng is None else rng
    hidden = {"labels": label, "second": second}
    places = {
        part: column_index(table.schema.names, name, _WHAT, sure=True)
        for part, name in hidden.items()
        if name is not None
    }
    place = _text_index(table, text)
    kept = [name for name in table.schema.names if name not in (text, label, second)]
    for name in kept:
        if name in ("vector", "vector2", "label"):
            raise InputError(f"the table has a column {name} already; rename it first")
    parts: list[tuple[Release[VectorSet], Any]] = []
    for start, texts, known in _texts(table.column(place), text):
        beside: dict[str, Any] = {
            part: list(compress(table.column(index).slice(start, len(known)).to_pylist(), known))
            for part, index in places.items()
        }
        if label is not None:
            beside["labels"] = list(map(str, beside["labels"]))
        release = embedder.release(texts, rng=rng, first_row=first_row + start, **beside)
        parts.append((release, known))
    return _joined_vectors(table.select(kept), parts, first_row)


def _joined_vectors(
    out: Frame, parts: Sequence[tuple[Release[VectorSet], Any]], first_row: int
) -> Release[Frame]:
    first = parts[0][0]
    columns: dict[str, list[Any]] = {}
    start = 0
    for release, known in parts:
        values = release.values
        rows = np.flatnonzero(known)
        if values.rows is not None:  # some of the texts have no vector
            rows = rows[values.rows - first_row - start]
        places = np.full(len(known), -1, dtype=np.int64)
        places[rows] = np.arange(len(values))
        taken: Any = pa.array(places, mask=places < 0)
        own = arrow_columns(values) | {name: pa.array(kept) for name, kept in values.kept.items()}
        for name, column in own.items():
            columns.setdefault(name, []).append(pc.take(column, taken))
        start += len(known)
    for name, pieces in columns.items():
        out = out.append_column(pa.field(name, pieces[0].type), _one(out, pieces))
    return Release(bare_table(out), first.statement, sum(release.units for release, _ in parts))


def _text_index(table: Any, name: str) -> int:
    if not isinstance(table, pa.Table | pa.RecordBatch):
        raise InvalidValue(
            f"a table of Arrow is needed, pyarrow.Table or pyarrow.RecordBatch; got {type(table)}"
        )
    place = column_index(table.schema.names, name, _WHAT, sure=True)
    kind = table.schema.field(place).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if str(kind) not in ("string", "large_string", "string_view"):
        raise InputError(
            f"{shown_name(name, place + 1)} of the table is not of a string type; cast it to "
            "string, or name another column"
        )
    return place


def _texts(column: Any, name: str) -> Iterator[tuple[int, list[str], Any]]:
    """For each slice of a column where it starts, its texts, and which rows have one."""
    for part in row_blocks(len(column), numbers=ROWS) if len(column) else [slice(0, 0)]:
        piece = column.slice(part.start, part.stop - part.start)
        if pa.types.is_dictionary(piece.type):
            piece = piece.cast(piece.type.value_type)
        known = piece.is_valid().to_numpy(zero_copy_only=False) if len(piece) else np.ones(0, bool)
        try:
            texts = piece.drop_null().to_pylist()
        except (pa.ArrowException, ValueError):  # its message would hold the text
            texts = None
        bad = None if texts is None else first_unusable(texts)
        if texts is None or bad is not None:
            where = "" if bad is None else f"row {part.start + np.flatnonzero(known)[bad] + 1} of "
            raise InputError(f"{where}the column {name} {UNUSABLE}")
        sizes, before = np.zeros(len(known), np.int64), offsets_of(known)
        sizes[known] = [len(text) for text in texts]
        for first, last in list(ragged_blocks(offsets_of(sizes), _CHARACTERS)) or [(0, 0)]:
            yield part.start + first, texts[before[first] : before[last]], known[first:last]


def _with_nulls(texts: list[str], known: Any, kind: Any) -> Any:
    """Texts as an array of a type, with nulls where there was none."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    array = pa.array(texts, plain)
    if not known.all():
        places = np.cumsum(known) - 1
        array = array.take(pa.array(places, mask=~known))
    return coded(array, kind)


def _one(table: Any, pieces: Sequence[Any]) -> Any:
    """A record batch has a single array for each column, a table may have several."""
    if isinstance(table, pa.Table):
        return pa.chunked_array(pieces)
    if len(pieces) == 1:
        return pieces[0]
    whole = pa.chunked_array(pieces)
    return whole.unify_dictionaries().combine_chunks()
