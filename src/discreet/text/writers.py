"""Documents written back where they came from, with only the text replaced.

An output appears whole or not at all: it grows in a temporary file beside its place and is renamed
once everything, the companion files included, has reached the disk. The companions come last, and
those of an older output go first: none of them ever lies beside an output it does not speak of.
"""

import csv
import errno
import gzip
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from json.encoder import encode_basestring as quoted
from pathlib import Path
from typing import IO, Literal, Protocol, Self, cast

from discreet.arrays import row_blocks
from discreet.check import fail
from discreet.errors import DiscreetError, InputError, OutputError
from discreet.files import check_place, publish
from discreet.staging import ANYONE, Digest, Staged
from discreet.text.faults import UNUSABLE, first_unusable
from discreet.text.formats import DELIMITERS, STANDARD_STREAM, format_of_name, suffix_of
from discreet.text.readers import Batch, DocumentReader, Shape

_SLICE = 65_536  # documents that are encoded at once
_SPOOL_BYTES = 32 * 2**20
# Written under such a name, a file would be taken for what it is not.
_OTHER_FORMATS = (
    *("xlsx", "xls", "ods", "docx", "doc", "odt", "rtf", "pdf", "html", "xml", "json", "ndjson"),
    *("arrow", "feather", "orc", "avro", "pkl", "db", "sqlite", "zip", "zst", "bz2", "xz"),
)


class _Sink(Protocol):
    def write(self, batch: Batch) -> None: ...

    def close(self) -> None: ...


class DocumentWriter:
    """Takes batches with new texts and, once finished, puts the output in its place.

    The format is what the target's suffix says, else the reader's. It is the reader's own, or txt,
    which keeps the texts only. Leaving the ``with`` block before :meth:`finish`, by an exception or
    otherwise, leaves nothing behind.

    Args:
        target: A path, or ``-`` for standard output.
        reader: Where the batches come from.
        shape: How the batches lie now, if columns were left out or changed.
        force: Whether to replace files that exist. The input itself is never replaced.
        companions: Files that will appear together with the output, such as its privacy statement;
            their contents are given to :meth:`finish`.
        mode: Who may read the output, within what the user's mask allows.

    Attributes:
        name: What messages call the target.
        path: The file, or ``None`` for standard output.
        format: ``txt``, ``csv``, ``tsv``, ``jsonl`` or ``parquet``.

    Raises:
        OutputError: The output cannot be written there, or not in that format.
    """

    def __init__(
        self,
        target: str | Path,
        reader: DocumentReader,
        *,
        shape: Shape | None = None,
        force: bool = False,
        companions: Sequence[str | Path] = (),
        mode: int = ANYONE,
    ) -> None:
        to_stream = str(target) == STANDARD_STREAM
        self.name = "standard output" if to_stream else str(target)
        self.path = None if to_stream else Path(target)
        self.format, self._compressed = output_format(str(target), reader)
        self.companions = tuple(Path(companion) for companion in companions)
        self._force, self._mode = force, mode
        self._staged: list[Staged] = []  # the output first
        self._finished = False
        places = [] if self.path is None else [self.path, *self.companions]
        for path in places:
            check_place(path, reader.path or STANDARD_STREAM, force=force)
        if len({os.path.realpath(path) for path in places}) < len(places):
            raise fail("companions", "other files than the output", list(map(str, companions)))
        self._file: IO[bytes] | None = None
        self._sink: _Sink | None = None
        try:
            with self._failures():
                self._file = self._stage(self.path).open() if self.path else spool()
                self._sink = _sink(self._file, self.format, self._compressed, shape or reader.shape)
        except BaseException:
            self.discard()
            raise

    def write(self, batch: Batch) -> None:
        """Add the documents of a batch."""
        if self._sink is None or self._finished:
            raise OutputError(f"{self.name} is closed; open it again to write more")
        for part in row_blocks(len(batch.texts), numbers=_SLICE):
            bad = first_unusable(batch.texts[part])
            if bad is not None:
                raise OutputError(f"document {batch.first_row + part.start + bad} {UNUSABLE}")
        with self._failures():
            self._sink.write(batch)

    def complete(self) -> Digest | None:
        """Write the end of the output, which is not in its place yet; its digest if it is a file.

        Nothing more can be added. Companions may speak of the digest.
        """
        if self._file is None or self._finished:
            raise OutputError(f"{self.name} is closed; open it again to write more")
        with self._failures():
            if self._sink is not None:
                sink, self._sink = self._sink, None
                sink.close()
            self._file.flush()
        return self._staged[0].digest if self._staged else None

    def finish(self, companion_files: Mapping[Path, bytes] | None = None) -> None:
        """Put the output and its companions in place, the companions last.

        For standard output the text is copied there now, and companions are not written.

        Args:
            companion_files: What goes into each of the files that were announced on opening.
        """
        contents = {Path(path): data for path, data in (companion_files or {}).items()}
        if set(contents) != set(self.companions):
            raise fail("companion_files", "those announced on opening", sorted(map(str, contents)))
        try:
            self.complete()
            with self._failures():
                if self._staged and self._file is not None:
                    self._file.close()  # Windows moves no file that is open
                    for path, data in contents.items():
                        with self._stage(path).open() as file:
                            file.write(data)
                    publish(self._staged[0], self._staged[1:], force=self._force)
                elif self._file is not None:
                    to_standard_output(self._file)
            self._finished = True
        finally:
            self.discard()

    def discard(self) -> None:
        """Remove whatever has not been put in place; nothing happens after :meth:`finish`."""
        if self._sink is not None:
            with suppress(Exception):  # what cannot be written any more need not be
                self._sink.close()
            self._sink = None
        if self._file is not None:
            with suppress(Exception):
                self._file.close()
        for staged in self._staged:
            staged.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.discard()

    def _stage(self, path: Path) -> Staged:
        """A new file beside the place of ``path``, behind a symbolic link if there is one."""
        self._staged.append(Staged(Path(os.path.realpath(path)), mode=self._mode))
        return self._staged[-1]

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Turn what the operating system refuses into one sentence."""
        try:
            yield
        except DiscreetError:
            raise
        except OSError as error:
            remedy = "check what it is connected to" if self.path is None else "check its directory"
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                remedy = "make room, or write elsewhere"
            reason = error.strerror or "input/output error"
            raise OutputError(f"{self.name} cannot be written ({reason}); {remedy}") from None


def output_format(name: str, reader: DocumentReader) -> tuple[str, bool]:
    """The format that an output of this name has, and whether it is compressed."""
    base, compressed = format_of_name(name)
    if suffix_of(name) in _OTHER_FORMATS:
        base = suffix_of(name)
    base = base or reader.format
    if base not in (reader.format, "txt"):
        alone = "" if reader.format == "txt" else ", or .txt for the texts alone"
        raise OutputError(
            f"{name} would be {base} but the input is {reader.format}; give the output the suffix "
            f".{reader.format}{alone}"
        )
    if base == "parquet" and compressed:
        raise OutputError(f"{name} would be Parquet inside gzip; drop .gz from its name")
    return base, compressed


def spool() -> IO[bytes]:
    """Where standard output waits, unnamed, until it is complete."""
    return cast(IO[bytes], tempfile.SpooledTemporaryFile(_SPOOL_BYTES))


def to_standard_output(waiting: IO[bytes]) -> None:
    """Copy what was waiting to where it goes."""
    waiting.seek(0)
    if sys.stdout is None:
        raise OutputError("standard output is closed; give a file, or open it")
    shutil.copyfileobj(waiting, sys.stdout.buffer, 2**20)
    sys.stdout.buffer.flush()


def _sink(file: IO[bytes], format: str, compressed: bool, shape: Shape) -> _Sink:
    if shape.schema is not None and shape.text_index is not None and format == "parquet":
        from discreet.text.parquet import ParquetSink

        return ParquetSink(file, shape.schema, shape.text_index, shape.group_rows)
    if shape.header is not None and shape.text_index is not None and format in DELIMITERS:
        render = partial(_render_delimited, delimiter=shape.delimiter, index=shape.text_index)
        header = _delimited([shape.header], shape.delimiter)
        return _TextSink(file, compressed, render, header)
    return _TextSink(file, compressed, _render_jsonl if format == "jsonl" else _render_txt)


class _TextSink:
    """Lines of text in UTF-8, compressed or not."""

    def __init__(
        self,
        file: IO[bytes],
        compressed: bool,
        render: Callable[[Batch], str],
        header: str = "",
    ) -> None:
        self._out = file
        if compressed:
            # Neither the time nor the name of the temporary file belongs in the output.
            self._out = cast(IO[bytes], gzip.GzipFile("", "wb", 6, file, mtime=0))
        self._compressed = compressed
        self._render = render
        self._out.write(header.encode("utf-8"))

    def write(self, batch: Batch) -> None:
        for part in row_blocks(len(batch.texts), numbers=_SLICE):
            rows = batch.rows[part] if isinstance(batch.rows, list) else None
            text = self._render(Batch(batch.first_row + part.start, batch.texts[part], rows))
            self._out.write(text.encode("utf-8"))

    def close(self) -> None:
        if self._compressed:  # this ends the gzip data and leaves the file itself open
            self._out.close()


def _render_txt(batch: Batch) -> str:
    text = "\n".join(batch.texts)
    if text.count("\n") >= len(batch.texts) or "\r" in text:
        for row, document in enumerate(batch.texts, batch.first_row):
            if "\n" in document or document.endswith("\r"):
                raise InputError(
                    f"document {row} holds a line break, which txt has no place for; write the "
                    "format of the input instead"
                )
    return text + "\n"


def _render_jsonl(batch: Batch) -> str:
    rows = cast(list[tuple[str, str]], batch.rows)
    lines = [
        before + quoted(text) + after
        for text, (before, after) in zip(batch.texts, rows, strict=True)
    ]
    return "\n".join(lines) + "\n"


def _render_delimited(batch: Batch, delimiter: str, index: int) -> str:
    rows = cast(list[tuple[str, ...]], batch.rows)
    joined = [
        (*row[:index], text, *row[index:]) for text, row in zip(batch.texts, rows, strict=True)
    ]
    return _delimited(joined, delimiter)


def _delimited(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    """Lines of csv or tsv with as few quotes as will do."""

    def written(rows: Sequence[Sequence[str]], quoting: Literal[0, 1]) -> str:
        out = io.StringIO(newline="")
        csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\n").writerows(rows)
        return out.getvalue()

    text = written(rows, csv.QUOTE_MINIMAL)
    if "\r" not in text:
        return text
    # Up to Python 3.12 minimal quoting leaves a carriage return bare, and no reader accepts it.
    return "".join(
        written([row], csv.QUOTE_ALL if "\r" in "".join(row) else csv.QUOTE_MINIMAL) for row in rows
    )
