"""What the releases of vectors from files share: columns kept beside them, batch after batch."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from discreet.arrays import Progress
from discreet.errors import InvalidValue
from discreet.protocols import Release
from discreet.release.vectors import RESERVED, VectorSet
from discreet.text.fields import Field, field_of
from discreet.text.readers import Batch, DocumentReader


def check_kept(keep: Sequence[str], *, protected: Sequence[str | None]) -> None:
    """Refuse to keep what is protected, or what has the name of another part of the output."""
    for name in keep:
        if name in protected:
            raise InvalidValue(
                f"--keep {name} would write out the very text that is to be protected; leave it out"
            )
        if name in RESERVED:
            raise InvalidValue(
                f"--keep {name} has the name of another column of the output; rename it first"
            )


def kept_columns(reader: DocumentReader, keep: Sequence[str]) -> Mapping[str, Field]:
    """How to take each kept column out of a batch."""
    return {name: field_of(reader, name) for name in keep}


def released_batches(
    reader: DocumentReader,
    kept: Mapping[str, Field],
    released: Callable[[Batch, Progress], Release[VectorSet]],
    progress: Progress | None,
    batches: Iterable[Batch] | None = None,
) -> Release[VectorSet]:
    """Release batch after batch, each with its kept columns, as one release.

    Args:
        reader: where the batches come from.
        kept: columns that are written as they are.
        released: the release of one batch; it is handed a function to call with (done, total).
        progress: called with the bytes read and in all (0: unknown).
        batches: of the reader, where they were taken from it before.
    """
    parts = []
    before = 0
    for batch in reader if batches is None else batches:
        now = reader.bytes_read

        def show(done: int, total: int, before: int = before, now: int = now) -> None:
            if progress is not None:
                progress(before + (now - before) * done // total, reader.total_bytes or 0)

        release = released(batch, show)
        values = release.values
        columns = {name: field(batch) for name, field in kept.items()}
        if values.rows is not None:
            places = (values.rows - batch.first_row).tolist()
            columns = {name: [column[i] for i in places] for name, column in columns.items()}
        parts.append(replace(release, values=replace(values, kept={**columns, **values.kept})))
        show(1, 1)
        before = now
    statement = parts[0].statement
    if kept:
        statement = statement.with_public(f"what is kept as it is: {', '.join(kept)}")
    values = VectorSet.joined([part.values for part in parts])
    return Release(values, statement, sum(part.units for part in parts))
