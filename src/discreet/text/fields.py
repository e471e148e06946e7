"""Another field of the documents than the text: a label, a second text, what is kept beside."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from discreet.errors import InputError
from discreet.text.faults import column_index, told_names
from discreet.text.readers import Batch, DocumentReader

if TYPE_CHECKING:
    import pyarrow as pa

Field = Callable[[Batch], list[Any]]


def field_of(reader: DocumentReader, name: str) -> Field:
    """A function that takes a field out of each batch of this reader.

    Values are strings from csv and tsv, what JSON says from jsonl, and Python's counterpart of the
    type from Parquet.

    Raises:
        InputError: There is no such field. In jsonl that shows only when a line is read.
    """
    if name == reader.text_field:
        raise InputError(f"{name} is the text itself; name another field")
    if reader.format == "txt":
        raise InputError(
            f"{reader.name} is plain text and has no field {name}; use csv, tsv, jsonl or parquet"
        )
    if reader.schema is not None:
        column_index(reader.schema.names, name, reader.name, sure=True)
        return lambda batch: cast("pa.Table", batch.rows).column(name).to_pylist()
    if reader.header is not None and reader.text_index is not None:
        index = column_index(reader.header, name, reader.name)
        index -= index > reader.text_index  # rows are without the text
        return lambda batch: [row[index] for row in cast(list[tuple[str, ...]], batch.rows)]
    return lambda batch: _json_values(reader.name, name, batch)


def strings_of(reader: DocumentReader, name: str, what: str) -> Field:
    """As :func:`field_of`, for values that must be strings; ``what`` is what they are used as."""
    field = field_of(reader, name)

    def strings(batch: Batch) -> list[str]:
        values = field(batch)
        for row, value in enumerate(values, batch.first_row):
            if not isinstance(value, str):
                raise InputError(
                    f"row {row} of {reader.name} has a {name} that is not a string; "
                    f"as {what} it must be one"
                )
        return values

    return strings


def labels_of(reader: DocumentReader, name: str) -> Field:
    """As :func:`field_of`, for labels: strings as they are, numbers and truth values as written."""
    return _read_by(_label, reader, name)


def persons_of(reader: DocumentReader, name: str) -> Field:
    """As :func:`labels_of`, for whose a document is: nobody is an error, and 1.0 is 1."""
    return _read_by(person_in, reader, name)


def _read_by(read: Callable[[Any, str, str], str], reader: DocumentReader, name: str) -> Field:
    """What is read out of each value, with its row and its column for a message."""
    field = field_of(reader, name)

    def values(batch: Batch) -> list[str]:
        return [
            read(value, f"row {row} of {reader.name}", name)
            for row, value in enumerate(field(batch), batch.first_row)
        ]

    return values


def person_in(value: object, place: str, name: str) -> str:
    """Whose a row is, by the value of its column; nobody is an error."""
    if value is None or value == "" or value != value:  # NaN stands for nothing in tables
        raise InputError(
            f"{place} has no {name}: whose text it is must be known to say what holds for a "
            "person; fill it in, or drop the row"
        )
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return _label(value, place, name)


def _label(value: object, place: str, name: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)  # 1 is "1" and true is "true", as the file spells them
    raise InputError(
        f"{place} has a {name} that is neither a string nor a number; correct it, or name another "
        "field"
    )


def _json_values(source: str, name: str, batch: Batch) -> list[Any]:
    values = []
    for row, fields in batch.objects(source):
        if name not in fields:
            told = told_names(list(fields), name, "field")
            raise InputError(f"row {row} of {source} has no field {name}; {told}")
        values.append(fields[name])
    return values
