"""Arrow tables in, Arrow tables out: a column of texts is released, the others stay as they are.

This is what data frames, engines and other libraries call. A table may be as long as memory allows:
it is released in slices, so that only a slice of it exists as Python strings at a time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.arrays import Generator, row_blocks
from discreet.errors import InputError, InvalidValue
from discreet.protocols import Release
from discreet.randomness import secure_generator
from discreet.release.vectors import VectorSet
from discreet.text.fates import shown_name
from discreet.text.faults import UNUSABLE, column_index, first_unusable

if TYPE_CHECKING:
    from discreet.release.documents import DocumentEmbedder
    from discreet.release.sentences import SentenceEmbedder

ROWS = 100_000
"""So many rows are released at once: fewer cost more for each, more cost memory."""
VECTOR, SECOND, LABEL = "vector", "vector2", "label"

Frame = TypeVar("Frame", pa.Table, pa.RecordBatch)
_WHAT = "the table"


def release_column(
    table: Frame,
    text: str | Sequence[str],
    sanitize: Callable[[Sequence[str], Generator], Release[list[str]]],
    rng: Generator | None = None,
) -> Release[Frame]:
    """A table whose texts are released, and what holds for them.

    Args:
        table: a table or a record batch.
        text: the column of texts, or several; nulls stay null, and which texts are null is public.
        sanitize: releases texts, such as :meth:`discreet.Sanitizer.sanitize`.
        rng: leave it out for a release.
    """
    names = [text] if isinstance(text, str) else list(text)
    if not names or len(set(names)) < len(names):
        raise InvalidValue("name at least one column of texts, and each once")
    rng = secure_generator() if rng is None else rng
    places = [_text_index(table, name) for name in names]
    release = sanitize([], rng)  # says what holds, also of a table without rows
    units, draws = 0, np.zeros(len(table), dtype=np.int64)
    identifiers: dict[str, int] = {}
    out = table
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
            for kind, count in release.identifiers.items():
                identifiers[kind] = identifiers.get(kind, 0) + count
        out = _with_column(out, place, pieces)
    return Release(out, release.statement, units, identifiers, draws)


def release_vectors(
    table: Frame,
    text: str,
    embed: Callable[[Sequence[str], dict[str, list[Any]], int], Release[VectorSet]],
    *,
    hidden: Sequence[str] = (),
    first_row: int = 1,
) -> Release[Frame]:
    """A table with the column ``vector`` in place of its texts, and what holds for the vectors.

    Args:
        table: a table or a record batch.
        text: the column of texts, which is left out; a null has no vector.
        embed: releases the vectors of texts, given with what the hidden columns hold beside them
            and the number of their first row.
        hidden: other columns that are protected and left out: a second text, a label.
        first_row: the number of the first row, for messages.
    """
    hidden_places = {name: column_index(table.schema.names, name, _WHAT) for name in hidden}
    place = _text_index(table, text)
    taken = [text, *hidden]
    kept = [name for name in table.schema.names if name not in taken]
    for name in kept:
        if name in (VECTOR, SECOND, LABEL):
            raise InputError(f"the table has a column {name} already; rename it first")
    parts: list[tuple[Release[VectorSet], Any]] = []
    for start, texts, known in _texts(table.column(place), text):
        beside = {
            name: [value for value, is_ in zip(values, known.tolist(), strict=True) if is_]
            for name, index in hidden_places.items()
            for values in [table.column(index).slice(start, len(known)).to_pylist()]
        }
        parts.append((embed(texts, beside, first_row + start), known))
    return _joined_vectors(table.select(kept), parts, first_row)


def release_sentences(
    embedder: "SentenceEmbedder",
    table: Frame,
    text: str = "text",
    *,
    label: str | None = None,
    second: str | None = None,
    rng: Generator | None = None,
    first_row: int = 1,
) -> Release[Frame]:
    """As :meth:`discreet.SentenceEmbedder.embed_batch`, with what holds and the sentences."""
    rng = secure_generator() if rng is None else rng

    def embed(
        texts: Sequence[str], beside: Mapping[str, list[Any]], first: int
    ) -> Release[VectorSet]:
        labels = None if label is None else [str(value) for value in beside[label]]
        pairs = None if second is None else beside[second]
        return embedder.release(texts, labels, rng, second=pairs, first_row=first)

    hidden = [name for name in (label, second) if name is not None]
    return release_vectors(table, text, embed, hidden=hidden, first_row=first_row)


def release_documents(
    embedder: "DocumentEmbedder",
    table: Frame,
    text: str = "text",
    *,
    rng: Generator | None = None,
    first_row: int = 1,
) -> Release[Frame]:
    """As :meth:`discreet.DocumentEmbedder.embed_batch`, with what holds and the sentences."""
    rng = secure_generator() if rng is None else rng

    def embed(texts: Sequence[str], _: Mapping[str, Any], first: int) -> Release[VectorSet]:
        return embedder.release(texts, rng, first_row=first)

    return release_vectors(table, text, embed, first_row=first_row)


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
        for name, column in _columns_of(values).items():
            columns.setdefault(name, []).append(pc.take(column, taken))
        start += len(known)
    for name, pieces in columns.items():
        out = _appended(out, name, pieces)
    return Release(out, first.statement, sum(release.units for release, _ in parts))


def _columns_of(values: VectorSet) -> dict[str, Any]:
    columns: dict[str, Any] = {VECTOR: _lists(values.vectors)}
    if values.second is not None:
        columns[SECOND] = _lists(values.second)
    if values.labels is not None:
        columns[LABEL] = pa.array(values.labels, pa.string())
    return columns | {name: pa.array(column) for name, column in values.kept.items()}


def _lists(vectors: Any) -> Any:
    return pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])


def _text_index(table: Any, name: str) -> int:
    if not isinstance(table, pa.Table | pa.RecordBatch):
        raise InvalidValue(
            f"a table of Arrow is needed, pyarrow.Table or pyarrow.RecordBatch; got {type(table)}"
        )
    place = column_index(table.schema.names, name, _WHAT)
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
        yield part.start, texts, known


def _with_nulls(texts: list[str], known: Any, kind: Any) -> Any:
    """Texts as an array of a type, with nulls where there was none."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    array = pa.array(texts, plain)
    if not known.all():
        places = np.cumsum(known) - 1
        array = array.take(pa.array(places, mask=~known))
    if not pa.types.is_dictionary(kind):
        return array
    coded = array.dictionary_encode()
    # As many different texts may come out as there are rows.
    index = kind.index_type if kind.index_type.bit_width >= 32 else pa.int32()
    return pa.DictionaryArray.from_arrays(
        coded.indices.cast(index), coded.dictionary, ordered=kind.ordered
    )


def _with_column(table: Any, place: int, pieces: Sequence[Any]) -> Any:
    field = table.schema.field(place).with_type(pieces[0].type)
    return table.set_column(place, field, _one(table, pieces))


def _appended(table: Any, name: str, pieces: Sequence[Any]) -> Any:
    return table.append_column(pa.field(name, pieces[0].type), _one(table, pieces))


def _one(table: Any, pieces: Sequence[Any]) -> Any:
    """A record batch has a single array for each column, a table may have several."""
    if isinstance(table, pa.Table):
        return pa.chunked_array(pieces)
    if len(pieces) == 1:
        return pieces[0]
    whole = pa.chunked_array(pieces)
    return whole.unify_dictionaries().combine_chunks()
