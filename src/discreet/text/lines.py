"""Files as blocks of complete lines, decoded in bulk.

Lines are looked at one by one only once something is wrong, to say where. Errors are raised outside
the handlers that caught their causes: a chained ``UnicodeDecodeError`` would carry the text along.
"""

import codecs
import gzip
import sys
import zlib
from collections.abc import Iterator
from os import fstat
from pathlib import Path
from stat import S_ISREG
from typing import IO, cast

from discreet.errors import InputError
from discreet.text.faults import too_large
from discreet.text.formats import STANDARD_STREAM, UTF_8

_BOM = b"\xef\xbb\xbf"
_REMEDY = "save the file as UTF-8, or name its --encoding, such as {} (if the command has it)"
_LISTED_BYTES = 4096
_READ_BYTES = 2**20  # decoding by the megabyte keeps one emoji from making 32 MB four times as wide


def display_name(source: str | Path) -> str:
    """What messages call a source."""
    return "standard input" if str(source) == STANDARD_STREAM else str(source)


def open_bytes(source: str | Path) -> tuple[IO[bytes], int | None]:
    """The bytes of a source and, for an ordinary file, how many there are."""
    if str(source) == STANDARD_STREAM:
        if sys.stdin is None:
            raise InputError("standard input is closed; give a file, or open it")
        return sys.stdin.buffer, None
    try:
        file = open(source, "rb")  # noqa: SIM115 - the reader closes it
    except FileNotFoundError:
        problem = "does not exist; check the path"
    except IsADirectoryError:
        problem = "is a directory; name a file in it"
    except PermissionError:
        problem = "may not be read by this user; change its permissions"
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a possible path"
        problem = f"cannot be opened ({reason}); check the path"
    else:
        status = fstat(file.fileno())
        return file, status.st_size if S_ISREG(status.st_mode) else None
    raise InputError(f"{source} {problem}")


class _Counted:
    """A file that knows how much was read from it, also where there is no position to ask for."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.count = 0

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(size)
        self.count += len(data)
        return data


class _Recoded:
    """A file in another encoding, read as UTF-8."""

    def __init__(self, file: IO[bytes], name: str, encoding: str) -> None:
        self._file, self._name, self._encoding = file, name, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ended = False

    def read(self, size: int = -1, /) -> bytes:
        text = ""
        while not text and not self._ended:
            data = self._file.read(size)
            self._ended = not data
            text = self._decoded(data)
        return text.encode(UTF_8)

    def _decoded(self, data: bytes) -> str:
        try:
            text = self._decoder.decode(data, final=not data)
            text.encode(UTF_8)
            return text
        except UnicodeError:  # it holds the text, so nothing is raised from it
            pass
        raise InputError(
            f"{self._name} is not valid {self._encoding}; say the encoding it was saved in"
        )


class LineBlocks:
    """The lines of a file as decoded blocks: iterate for ``(number of the first line, text)``.

    Each block ends with a line, split on ``\\n`` only. Memory is bounded by the block and by the
    longest line accepted, so an endless line is refused before it is read.
    """

    def __init__(
        self,
        file: IO[bytes],
        name: str,
        *,
        compressed: bool,
        block_bytes: int,
        max_line_bytes: int,
        encoding: str = UTF_8,
    ) -> None:
        self._name = name
        self._limit = max_line_bytes
        self._size = min(block_bytes, max_line_bytes, _READ_BYTES)
        self._raw = _Counted(file)
        raw = cast(IO[bytes], self._raw)
        self._stream = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if compressed else raw
        if encoding != UTF_8:
            self._stream = cast(IO[bytes], _Recoded(self._stream, name, encoding))
        self.consumed = 0  # bytes of text handed out, after decompression

    @property
    def bytes_read(self) -> int:
        """How far the file on disk has been read."""
        return self._raw.count

    def __iter__(self) -> Iterator[tuple[int, str]]:
        line = 1
        for block in self._complete_lines():
            if line == 1:
                block = block.removeprefix(_BOM)
            # A block is no larger than the longest line accepted, so only the line that was
            # carried over from the block before it, the first, can be too long.
            if len(block.split(b"\n", 1)[0].rstrip(b"\r")) > self._limit:
                raise self._too_long(line)
            yield line, self._decoded(block, line)
            line += block.count(b"\n")

    def _complete_lines(self) -> Iterator[bytes]:
        pieces: list[bytes] = []
        pending = 0
        lines = 0
        most = self._limit + len(_BOM) + 1  # a BOM and a carriage return are no part of the line
        while data := self._read():
            cut = data.rfind(b"\n") + 1
            if cut:
                block = b"".join((*pieces, data[:cut]))
                self.consumed += len(block)
                lines += block.count(b"\n")
                yield block
                pieces, pending = [], 0
            pieces.append(data[cut:])
            pending += len(data) - cut
            if pending > most:
                raise self._too_long(lines + 1)
        if pending:
            self.consumed += pending
            yield b"".join(pieces)

    def _read(self) -> bytes:
        try:
            return self._stream.read(self._size)
        except EOFError:
            problem = "ends in the middle of its gzip data; copy or compress it again"
        except (gzip.BadGzipFile, zlib.error):
            problem = "is not intact gzip data; compress it again, or drop .gz from its name"
        except OSError as error:
            problem = f"cannot be read ({error.strerror or 'input/output error'}); check the device"
        raise InputError(f"{self._name} {problem}")

    def _decoded(self, block: bytes, line: int) -> str:
        position = block.find(b"\0")
        problem = f"holds a NUL byte, so this is no UTF-8 text; {_REMEDY.format('utf-16')}"
        if position < 0:
            try:
                return block.decode("utf-8")
            except UnicodeDecodeError as error:
                position = error.start
            problem = f"is not valid UTF-8; {_REMEDY.format('cp1252')}"
        line += block.count(b"\n", 0, position)
        raise InputError(f"line {line} of {self._name} {problem}")

    def _too_long(self, line: int) -> InputError:
        return too_large(f"line {line} of {self._name}", self._limit)


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a list of short entries, each with its number."""
    file, _ = open_bytes(path)
    with file:
        blocks = LineBlocks(
            file, str(path), compressed=False, block_bytes=2**20, max_line_bytes=_LISTED_BYTES
        )
        for first, block in blocks:
            yield from enumerate(lines_of(block), first)


def lines_of(text: str) -> list[str]:
    """The lines of a block, without their endings."""
    lines = text.removesuffix("\n").split("\n")
    return [line.rstrip("\r") for line in lines] if "\r" in text else lines
