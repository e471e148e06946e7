"""csv and tsv: rows of strings under a header, with standard quoting."""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

from discreet.errors import InputError
from discreet.text.faults import no_documents, too_large
from discreet.text.lines import LineBlocks


class DelimitedRows:
    """The header and the rows of a csv or tsv file.

    A blank line among rows of several fields is passed over, as spreadsheets and pandas do. Where
    a row is one field it could be an empty text, and is an error unless it is at the end.
    """

    def __init__(self, blocks: LineBlocks, name: str, delimiter: str, limit: int) -> None:
        self._blocks = blocks
        self._name = name
        self._limit = limit
        lines = chain.from_iterable(io.StringIO(text, newline="\n") for _, text in blocks)
        self._rows = csv.reader(lines, delimiter=delimiter, strict=True)
        self._line = 1  # where the record that comes next starts
        self._blank = 0  # the first of the lines that may be empty texts, if they are not the end
        with self._record_errors():
            header = next(self._rows, None)
        if header is None:
            raise no_documents(name)
        if not header:
            raise InputError(f"line 1 of {name} is blank; begin with a line of column names")
        self.header = header
        self._line = self._rows.line_num + 1

    def pieces(self, index: int) -> Iterator[tuple[list[str], list[tuple[str, ...]]]]:
        """The texts, and the rows without them, about a block at a time."""
        more = True
        while more:
            with self._record_errors():
                texts, rows, more = self._piece(index)
            yield texts, rows

    def _piece(self, index: int) -> tuple[list[str], list[tuple[str, ...]], bool]:
        texts: list[str] = []
        rows: list[tuple[str, ...]] = []
        width = len(self.header)
        surely_short = self._limit // 4  # characters have at most four bytes
        consumed = self._blocks.consumed
        for row in self._rows:
            if len(row) != width or self._blank:
                self._check_width(row)
                continue
            text = row.pop(index)
            if len(text) > surely_short and len(text.encode("utf-8")) > self._limit:
                raise self._too_large()
            texts.append(text)
            rows.append(tuple(row))  # unlike lists, tuples of strings cost the collector nothing
            self._line = self._rows.line_num + 1
            if self._blocks.consumed > consumed:
                return texts, rows, True
        return texts, rows, False

    def _check_width(self, row: list[str]) -> None:
        """Pass over a blank line; refuse a row of another width, and what follows an open case."""
        if not row:
            if len(self.header) == 1:
                self._blank = self._blank or self._line
            self._line = self._rows.line_num + 1
            return
        if self._blank:
            raise InputError(
                f'line {self._blank} of {self._name} is blank; remove it, or write "" for an '
                "empty text"
            )
        raise InputError(
            f"the row at line {self._line} of {self._name} has {len(row)} fields where the header "
            f"has {len(self.header)}; quote fields that hold a delimiter or a line break"
        )

    def _too_large(self) -> InputError:
        return too_large(f"the row that starts at line {self._line} of {self._name}", self._limit)

    @contextmanager
    def _record_errors(self) -> Iterator[None]:
        """Parse within our limit, which the csv module keeps for the whole process."""
        before = csv.field_size_limit(self._limit)
        oversize = False
        try:
            yield
            return
        except csv.Error as error:
            oversize = "field limit" in str(error)
        finally:
            csv.field_size_limit(before)
        if oversize:
            raise self._too_large()
        raise InputError(
            f"the row that starts at line {self._line} of {self._name} is malformed; quote fields "
            "that hold line breaks, close every quoted field, and double the quotes inside it"
        )
