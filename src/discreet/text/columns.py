"""The columns of a file, each treated as its fate says, on the way from a reader to a writer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING, Any, cast

from discreet.errors import InputError
from discreet.text.fates import DROP, KEEP, SANITISE, Fates
from discreet.text.faults import UNUSABLE, column_index, first_unusable, too_large
from discreet.text.jsonl import Member, members, string_at
from discreet.text.readers import Batch, DocumentReader, Shape

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.text.readers import Rows

Values = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Parted:
    """A batch with its texts taken out, and how to put others in.

    Attributes:
        texts: those of each column that is sanitised; of txt under the name "".
        joined: the batch again, from new values of these columns and of those with surrogates.
    """

    texts: dict[str, list[str]] = field(repr=False)
    joined: Callable[[Values], Batch] = field(repr=False)


class Columns:
    """The columns of a file that has one, or of which only the text is written.

    Attributes:
        shape: of the output.
        fates: of the columns, for the receipt.
        public: what is shown of the input beside the texts.
        own: what was said of the columns.
    """

    def __init__(self, reader: DocumentReader, fates: Fates) -> None:
        self.shape = reader.shape
        self.fates: dict[str, str] = {}
        self.public: tuple[str, ...] = ()
        self._reader, self.own = reader, fates
        self._first = reader.text_field or ""
        if self._first:
            self.fates = {self._first: SANITISE, "every other column": DROP}

    def part(self, batch: Batch) -> Parted:
        """Take the texts out of a batch."""
        return Parted({self._first: batch.texts}, self._with_texts(batch))

    def check_complete(self) -> None:
        """Refuse names that no row had, once all rows were read."""

    def _with_texts(self, batch: Batch) -> Callable[[Values], Batch]:
        return lambda values: batch.with_texts(list(values[self._first]))

    def _settle(self, names: Sequence[str]) -> None:
        """Check that names and fates belong together, and note them."""
        reader, fates = self._reader, self.own
        for name in fates.named:
            column_index(names, name, reader.name)
        fates.refuse_undecided(names, reader.name)
        self.fates = fates.told(names)
        kept = [shown for shown, fate in self.fates.items() if fate == KEEP]
        if kept:
            self.public = (f"the columns that are written as they are: {', '.join(kept)}",)

    def _texts(self, batch: Batch, read: Callable[[str], list[str]]) -> dict[str, list[str]]:
        """The texts of each column: the first, and what is read of the others."""
        return {
            name: batch.texts if name == self._first else self._checked(batch, name, read(name))
            for name in self.own.texts
        }

    def _checked(self, batch: Batch, name: str, texts: list[str]) -> list[str]:
        """Texts of another column than the first, which the reader has checked itself."""
        limit = self._reader.max_document_bytes
        bad = first_unusable(texts)
        if bad is not None:
            raise self._bad(batch, bad, UNUSABLE)
        for place, text in enumerate(texts):
            if len(text) > limit // 4 and len(text.encode("utf-8")) > limit:
                row = batch.first_row + place
                raise too_large(f"the {name} in row {row} of {self._reader.name}", limit)
        return texts

    def _bad(self, batch: Batch, place: int, problem: str) -> InputError:
        return InputError(f"row {batch.first_row + place} of {self._reader.name} {problem}")


class _DelimitedColumns(Columns):
    def __init__(self, reader: DocumentReader, fates: Fates) -> None:
        super().__init__(reader, fates)
        header = cast(list[str], reader.header)
        self._settle(header)
        written = [name for name in header if fates.of(name) != DROP]
        self.shape = replace(reader.shape, header=written, text_index=written.index(self._first))
        rest = [name for name in header if name != self._first]
        self._places = {name: i for i, name in enumerate(rest) if fates.of(name) != DROP}
        self._same = all(fates.of(name) == KEEP for name in rest)

    def part(self, batch: Batch) -> Parted:
        if self._same:
            return super().part(batch)
        rows = cast(list[tuple[str, ...]], batch.rows)
        columns = {name: [row[i] for row in rows] for name, i in self._places.items()}

        def joined(values: Values) -> Batch:
            out = [values.get(name, column) for name, column in columns.items()]
            rows: Rows = list(zip(*out, strict=True)) if out else [()] * len(batch.texts)
            return replace(self._with_texts(batch)(values), rows=rows)

        return Parted(self._texts(batch, columns.__getitem__), joined)


class _ParquetColumns(Columns):
    def __init__(self, reader: DocumentReader, fates: Fates) -> None:
        super().__init__(reader, fates)
        schema = cast("pa.Schema", reader.schema)
        self._settle(schema.names)
        rest = [name for name in schema.names if name != self._first]
        self._same = all(fates.of(name) == KEEP for name in rest)
        self._rest = [name for name in rest if fates.of(name) != DROP]
        if not self._same:
            self.shape = self._changed(schema)

    def _changed(self, schema: "pa.Schema") -> Shape:
        import pyarrow as pa

        from discreet.text.parquet import require_strings

        written = []
        for each in schema:
            fate = self.own.of(each.name)
            if each.name == self._first or fate == KEEP:
                written.append(each)
            elif fate != DROP:
                large = fate == SANITISE and pa.types.is_large_string(each.type)
                written.append(pa.field(each.name, pa.large_string() if large else pa.string()))
            if fate == SANITISE:
                require_strings(each, self._reader.name)
        hidden = [name for name in schema.names if self.own.of(name) != KEEP]
        names = [each.name for each in written]
        return Shape(
            schema=pa.schema(written),
            text_index=names.index(self._first),
            group_rows=self._reader.group_rows_beside(hidden),
        )

    def part(self, batch: Batch) -> Parted:
        if self._same:
            return super().part(batch)
        table = cast("pa.Table", batch.rows)

        def read(name: str) -> list[str]:
            texts = table.column(name).to_pylist()
            if None in texts:
                problem = f"has no {name}; fill it in, or drop the row"
                raise self._bad(batch, texts.index(None), problem)
            return cast(list[str], texts)

        def joined(values: Values) -> Batch:
            import pyarrow as pa

            rows = table.select(self._rest)
            schema = cast("pa.Schema", self.shape.schema)
            for place, name in enumerate(self._rest):
                if name in values:
                    field = schema.field(name)
                    column = pa.array(list(values[name]), field.type)
                    rows = rows.set_column(place, field, column)
            return replace(self._with_texts(batch)(values), rows=rows)

        return Parted(self._texts(batch, read), joined)


class _JsonColumns(Columns):
    """Fields of JSON lines, which may differ by row.

    If a field is dropped or replaced, every row is put together anew from its fields: otherwise
    the spaces of a row would tell whether it had the field that was dropped.
    """

    def __init__(self, reader: DocumentReader, fates: Fates) -> None:
        super().__init__(reader, fates)
        self._missing = set(fates.named)
        changed = fates.drop or fates.surrogates or fates.texts[1:]
        self._rebuilds = fates.others == DROP or bool(changed)
        self.fates = fates.told(fates.named)
        if fates.others is not None:
            self.fates["every other field"] = fates.others
        if fates.others == KEEP:
            self.public = ("every other field, written as it is",)
        elif fates.keep:
            self.public = (f"the fields that are written as they are: {', '.join(fates.keep)}",)
        if fates.surrogates:
            self.public += ("which rows have the fields that hold surrogates",)

    def part(self, batch: Batch) -> Parted:
        if self.own.keeps_all:
            return super().part(batch)
        lines = [f'{before}""{after}' for before, after in cast(Any, batch.rows)]
        parsed = [members(line) for line in lines]
        for row, fields in enumerate(parsed, batch.first_row):
            names = [each.name for each in fields]
            self._missing.difference_update(names)
            where = f"line {row} of {self._reader.name}"
            self.own.refuse_undecided(names, where, repeat=row == 1)
        if not self._rebuilds:
            return super().part(batch)

        def read(name: str) -> list[str]:
            texts = []
            for place, (line, fields) in enumerate(zip(lines, parsed, strict=True)):
                own = [each for each in fields if each.name == name]
                text = string_at(line, own[0].value) if own else None
                if text is None:
                    raise self._bad(batch, place, f"has no {name} that is a string; fill it in")
                if len(own) > 1:
                    raise self._bad(batch, place, f"has the field {name} twice; keep one of them")
                texts.append(text)
            return texts

        def joined(values: Values) -> Batch:
            rows: Rows = [
                self._rebuilt(line, fields, place, values)
                for place, (line, fields) in enumerate(zip(lines, parsed, strict=True))
            ]
            return replace(self._with_texts(batch)(values), rows=rows)

        return Parted(self._texts(batch, read), joined)

    def check_complete(self) -> None:
        for name in () if self.own.keeps_all else self.own.named:
            if name in self._missing:
                raise InputError(
                    f"no row of {self._reader.name} has a field {name}; check the spelling, and "
                    "give the option once for each field"
                )

    def _rebuilt(
        self, line: str, fields: list[Member], place: int, values: Values
    ) -> tuple[str, str]:
        """What stands before and after the first text."""
        before, after, passed = list[str](), list[str](), False
        head = ""
        for each in fields:
            key = line[each.start : each.value]
            if each.name == self._first:
                head, passed = key, True
            elif each.name in values:
                (after if passed else before).append(key + quoted(values[each.name][place]))
            elif self.own.of(each.name) == KEEP:
                (after if passed else before).append(line[each.start : each.end])
        return "{" + ", ".join([*before, head]), "".join(f", {each}" for each in after) + "}"


def columns_of(reader: DocumentReader, fates: Fates, written: str) -> Columns:
    """The columns of a reader, for an output of some format.

    Raises:
        InputError: A column has no fate, or there is none of a name. In jsonl that shows only when
            rows are read.
    """
    if reader.format == "txt" or written == "txt":
        _refuse_columns(reader, fates, written)
        return Columns(reader, fates)
    if reader.schema is not None:
        return _ParquetColumns(reader, fates)
    return (_JsonColumns if reader.header is None else _DelimitedColumns)(reader, fates)


def _refuse_columns(reader: DocumentReader, fates: Fates, written: str) -> None:
    """Txt has a place for one text and for nothing else."""
    more = [*fates.texts[1:], *fates.keep, *fates.surrogates]
    if written == "txt" and reader.format != "txt" and more:
        raise InputError(
            f"txt has no place for the column {more[0]}; write {reader.format}, or leave it out"
        )
    if reader.format == "txt" and (more or fates.drop):
        name = [*more, *fates.drop][0]
        raise InputError(
            f"{reader.name} is plain text and has no column {name}; use csv, tsv, jsonl or parquet"
        )
