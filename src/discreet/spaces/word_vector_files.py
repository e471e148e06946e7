"""Vectors in the formats of word2vec, GloVe and fastText: text and binary, plain, gzip or bzip2.

Text has a word and its numbers on each line, with or without a first line ``count dimension``.
Some files hold words with spaces in them (GloVe 840B has ``. . .``), so the *last* fields of a line
are the numbers and all before them is the word. How many there are is said by the first line, or,
where there is none, is the number of fields at the end of the first entry that read as numbers (its
first field is always part of the word). Words are told apart byte by byte, not by Unicode's idea of
a space, which differs from what wrote the file.

Every fault names the file and the line (in binary files: the entry).
"""

import bz2
import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn, cast

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from discreet.arrays import Progress
from discreet.errors import InputError

Block = tuple[list[str], NDArray[np.float32]]

_BLOCK = 1 << 24
_LONGEST_LINE = 1 << 22
_LONGEST_WORD = 1 << 12
_NUMBER = re.compile(
    rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(nan|inf|infinity)", re.IGNORECASE
)
_DECIMAL = re.compile(rb"[-+]?(\d+\.\d*|\.\d+|\d+[eE])([eE]?[-+]?\d+)?")
_HEADER = re.compile(rb"\s*(\d{1,18})[ \t]+(\d{1,18})\s*")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_FASTTEXT_MODEL = (793712314).to_bytes(4, "little")
_FETCH = "fetch the file again"


@dataclass(frozen=True)
class VectorFile:
    """An open file of vectors, understood as far as its first entry."""

    kind: str
    dimension: int
    blocks: Iterator[Block]
    """Words and their vectors, in the order of the file; finite, and no word twice."""


@contextmanager
def open_vectors(
    path: Path, max_words: int | None = None, progress: Progress | None = None
) -> Iterator[VectorFile]:
    """Open a file of vectors; its blocks are read, and faults raised, as they are asked for.

    What it is is told by its content, not by its name; at most ``max_words`` entries are read, from
    the start. ``progress`` counts the bytes of the file.
    """
    with path.open("rb") as raw, _decompressed(raw) as stream:
        source = _Source(path, raw, stream, max_words, progress)
        with source.faults():
            opened = source.open()
        yield VectorFile(opened.kind, opened.dimension, source.checked(opened.blocks))


@contextmanager
def _decompressed(raw: BinaryIO) -> Iterator[BinaryIO]:
    magic = raw.read(10)
    raw.seek(0)
    if magic[:2] == b"\x1f\x8b":
        with gzip.GzipFile(fileobj=raw) as unpacked:
            yield cast(BinaryIO, unpacked)
    elif magic[:3] == b"BZh" and magic[4:] == b"1AY&SY":
        with bz2.BZ2File(raw) as unpacked:
            yield cast(BinaryIO, unpacked)
    else:
        yield raw


class _Source:
    """The state of one reading."""

    def __init__(
        self,
        path: Path,
        raw: BinaryIO,
        stream: BinaryIO,
        max_words: int | None,
        progress: Progress | None,
    ) -> None:
        self.path, self.raw, self.stream = path, raw, stream
        self.max_words, self.progress = max_words, progress
        self.size = path.stat().st_size
        self.promised: int | None = None
        self.place, self.first_place = "line", 1
        self.dimension = 0

    def fail(self, what: str, remedy: str) -> NoReturn:
        raise InputError(f"{self.path}: {what}; {remedy}")

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Turn what a damaged archive raises into our error."""
        try:
            yield
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"{self.path}: damaged or cut short ({error}); {_FETCH}") from error
        except OSError as error:
            if error.errno is not None:  # the disk, not the content
                raise
            raise InputError(f"{self.path}: damaged archive ({error}); {_FETCH}") from error

    def open(self) -> VectorFile:
        """Read the first line and decide what the file is."""
        first = self.stream.readline(_LONGEST_LINE).removeprefix(codecs.BOM_UTF8)
        if not first.strip():
            self.fail("empty, or its first line is", "give a file of word vectors")
        if first[:4] == _FASTTEXT_MODEL:
            self.fail("a fastText model, not vectors", "use the .vec file published beside it")
        header = _HEADER.fullmatch(first)
        if header:
            self.promised, self.dimension = int(header[1]), int(header[2])
            if not 1 <= self.dimension <= 100_000 or self.promised < 1:
                self.fail("line 1 promises no usable vectors", "it must be: COUNT DIMENSION")
            start = self.stream.read(4096)
            if not start.strip():
                self.fail("nothing after the first line", _FETCH)
            if _CONTROL.search(start):
                self.place = "entry"
                blocks = self.binary(start, self.promised)
                return VectorFile("word2vec binary", self.dimension, blocks)
            self.first_place = 2
            return VectorFile("text with a first line", self.dimension, self.text(start))
        if _CONTROL.search(first):
            self.fail(
                "neither text nor word2vec binary",
                "give vectors in the format of word2vec, GloVe or fastText",
            )
        if len(first) == _LONGEST_LINE:
            self.fail("line 1 does not end", "give a file with one word and its numbers per line")
        fields = _fields(first.replace(b"\t", b" "))
        while self.dimension < len(fields) - 1 and _NUMBER.fullmatch(fields[-1 - self.dimension]):
            self.dimension += 1
        if not self.dimension:
            self.fail(
                "line 1 is not a word and its numbers", "each line must be: WORD NUMBER NUMBER ..."
            )
        return VectorFile("text without a first line", self.dimension, self.text(first))

    def checked(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """The same blocks, once the words are new and the numbers finite; then the count."""
        seen: dict[str, int] = {}
        done = 0
        with self.faults():
            for words, vectors in blocks:
                for index, word in enumerate(words, start=done + self.first_place):
                    other = seen.setdefault(word, index)
                    if other != index:
                        self.fail(
                            f"{self.place} {index} repeats the word of {self.place} {other}",
                            "remove one of them",
                        )
                finite = np.isfinite(vectors).all(axis=1)
                if not finite.all():
                    index = done + self.first_place + int(np.argmin(finite))
                    self.fail(
                        f"{self.place} {index} has a number that is not finite in float32",
                        "remove it, or fetch the file again",
                    )
                done += len(words)
                if self.progress:
                    self.progress(min(self.raw.tell(), self.size), self.size)
                yield words, vectors
        if self.promised is not None and done < min(self.promised, self.max_words or self.promised):
            self.fail(
                f"its first line promises {self.promised} vectors but it holds {done}",
                f"{_FETCH}, or correct the first line",
            )
        if self.progress:
            self.progress(self.size, self.size)

    def text(self, start: bytes) -> Iterator[Block]:
        """Blocks of a text file, ``start`` having been read already."""
        done, rest = 0, start
        while self.max_words is None or done < self.max_words:
            data = self.stream.read(_BLOCK)
            lines = (rest + data).replace(b"\t", b" ").split(b"\n")
            rest = lines.pop() if data else b""
            while lines and not lines[-1].strip():  # at the end of the file they are none
                blank = lines.pop()
                rest = blank + b"\n" + rest if data else b""
            if len(rest) > _LONGEST_LINE:
                self.fail(
                    f"line {done + len(lines) + self.first_place} does not end",
                    "give a file with one word and its numbers per line",
                )
            if self.max_words is not None:
                del lines[self.max_words - done :]
            if lines:
                self.too_many(done + len(lines))
                yield self.parsed(lines, done + self.first_place)
                done += len(lines)
            if not data:
                return

    def too_many(self, count: int) -> None:
        """Refuse more entries than the first line promises."""
        if self.promised is not None and count > self.promised:
            self.fail(
                f"{self.place} {self.promised + self.first_place} is one more than the "
                f"{self.promised} vectors its first line promises",
                "correct the first line",
            )

    def parsed(self, lines: list[bytes], number: int) -> Block:
        """Words and vectors of some lines, the first of which has this number."""
        words: list[str] = []
        numbers: list[bytes] = []
        dimension = self.dimension
        for index, line in enumerate(lines, start=number):
            line = line.strip(b" \r")
            if line.count(b" ") == dimension:
                word, _, tail = line.partition(b" ")
            else:
                word, tail = self.uneven(line, index)
            try:
                words.append(word.decode())
            except UnicodeDecodeError:
                self.fail(f"line {index} is not UTF-8", "convert the file to UTF-8")
            numbers.append(tail)
        return words, self.matrix(numbers, number)

    def matrix(self, rows: list[bytes], number: int) -> NDArray[np.float32]:
        """The numbers of some lines."""
        names = [str(column) for column in range(self.dimension)]
        vectors = np.empty((len(rows), self.dimension), dtype=np.float32)
        try:
            table = pa.csv.read_csv(
                io.BytesIO(b"\n".join(rows)),
                read_options=pa.csv.ReadOptions(column_names=names, block_size=_LONGEST_LINE),
                parse_options=pa.csv.ParseOptions(delimiter=" ", quote_char=False),
                convert_options=pa.csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.float32()), null_values=[]
                ),
            )
            for column, values in enumerate(table.columns):
                # Its own method would first import pandas, wherever that is installed.
                vectors[:, column] = np.from_dlpack(values.combine_chunks())
        except pa.ArrowInvalid:  # a fault, or a spelling such as +1 that only Python reads
            for row, line in enumerate(rows):
                vectors[row] = self.slowly(line, number + row)
        return vectors

    def slowly(self, line: bytes, number: int) -> NDArray[np.float32]:
        """The numbers of one line, or which of them is none."""
        values = line.split(b" ")
        for column, value in enumerate(values, start=1):
            if not _NUMBER.fullmatch(value):
                self.fail(
                    f"line {number}: number {column} of {self.dimension} is not a number",
                    "correct or remove the line",
                )
        with np.errstate(over="ignore"):  # infinite in float32: reported with the others
            return np.array([float(value) for value in values]).astype(np.float32)

    def uneven(self, line: bytes, number: int) -> tuple[bytes, bytes]:
        """Word and numbers of a line that does not have exactly one space before each number."""
        fields = _fields(line)
        count = len(fields) - 1
        if count < self.dimension:
            self.fail(
                f"line {number} has {max(count, 0)} numbers where {self.dimension} are expected",
                "correct or remove the line",
            )
        before = fields[: -self.dimension]
        # A word may end in "10", but one that ends in "0.25" is a number too many. Where
        # nothing but the first entry says how many there are, any number is one too many.
        looks = _NUMBER if self.promised is None else _DECIMAL
        if len(before) > 1 and looks.fullmatch(before[-1]):
            self.fail(
                f"line {number} has more than {self.dimension} numbers",
                "correct the line, or say the dimension in a first line: COUNT DIMENSION",
            )
        return b" ".join(before), b" ".join(fields[-self.dimension :])

    def binary(self, start: bytes, promised: int) -> Iterator[Block]:
        """Blocks of a word2vec binary file; ``start`` is what was read after its first line."""
        total = promised if self.max_words is None else min(promised, self.max_words)
        length = 4 * self.dimension
        done, rest = 0, start
        while done < total:
            data = self.stream.read(_BLOCK)
            buffer = rest + data
            words: list[str] = []
            offsets: list[int] = []
            position = 0
            while done + len(words) < total:
                while buffer[position : position + 1] == b"\n":  # some end an entry with one
                    position += 1
                space = buffer.find(b" ", position, position + _LONGEST_WORD)
                entry = done + len(words) + 1
                if space < 0 and len(buffer) - position >= _LONGEST_WORD:
                    self.fail(f"entry {entry} has no end of the word", _FETCH)
                if space < 0 or space + 1 + length > len(buffer):
                    break
                try:
                    words.append(buffer[position:space].decode())
                except UnicodeDecodeError:
                    self.fail(f"entry {entry} is not UTF-8", f"{_FETCH}, or convert it to text")
                if not words[-1]:
                    self.fail(f"entry {entry} has no word", _FETCH)
                offsets.append(space + 1)
                position = space + 1 + length
            if words:
                raw = np.frombuffer(buffer, dtype=np.uint8)
                vectors = np.empty((len(words), self.dimension), dtype="<f4")
                bytes_of = vectors.view(np.uint8)
                for row, offset in enumerate(offsets):
                    bytes_of[row] = raw[offset : offset + length]
                yield words, vectors.astype(np.float32, copy=False)
            done += len(words)
            rest = buffer[position:]
            if not data and done < total:
                self.fail(f"cut short in entry {done + 1} of the {promised} it promises", _FETCH)
        if self.max_words is None and (rest.strip(b"\n") or self.stream.read(64).strip(b"\n")):
            self.fail(f"more bytes after the {total} entries it promises", _FETCH)


def _fields(line: bytes) -> list[bytes]:
    return [field for field in line.strip(b" \r\n").split(b" ") if field]
