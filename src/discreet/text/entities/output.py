"""Lines written whole or not at all: to a file, to standard output, or nowhere."""

import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from discreet.cache import written_whole
from discreet.errors import OutputError
from discreet.text.formats import STANDARD_STREAM, format_of_name

_SPOOL_BYTES = 32 * 2**20


@contextmanager
def lines_to(target: str | None, source: str, *, force: bool) -> Iterator[Callable[[str], None]]:
    """A function that writes a line; what was written appears when the block ends without error.

    Args:
        target: A path, ``-`` for standard output, or None to write nothing.
        source: The input, which is never replaced.
        force: Replace a file that exists.
    """
    if target is None:
        yield lambda _line: None
        return
    base, compressed = format_of_name(target)
    if base not in (None, "jsonl"):
        raise OutputError(f"{target} would be {base}, but rows are written as jsonl; rename it")
    if target == STANDARD_STREAM:
        with tempfile.SpooledTemporaryFile(_SPOOL_BYTES) as spool:
            yield lambda line: _put(cast(IO[bytes], spool), line)
            spool.seek(0)
            if sys.stdout is None:
                raise OutputError("standard output is closed; give a file, or open it")
            shutil.copyfileobj(cast(IO[bytes], spool), sys.stdout.buffer, 2**20)
            sys.stdout.buffer.flush()
        return
    path = Path(target)
    _check_place(path, source, force)
    with written_whole(path) as temporary, temporary.open("xb") as file:
        if compressed:
            # Neither the time nor the name of the temporary file belongs in the output.
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                yield lambda line: _put(cast(IO[bytes], packed), line)
        else:
            yield lambda line: _put(file, line)


def _put(file: IO[bytes], line: str) -> None:
    file.write(line.encode("utf-8", "surrogatepass") + b"\n")


def _check_place(path: Path, source: str, force: bool) -> None:
    """Refuse a place that is not ours to take, before any work is done."""
    if source != STANDARD_STREAM and os.path.realpath(path) == os.path.realpath(source):
        raise OutputError(f"{path} is the input itself; choose another name")
    if path.is_dir():
        raise OutputError(f"{path} is a directory; name a file in it")
    if path.exists() and not force:
        raise OutputError(
            f"{path} exists already; choose another name, or use --force to replace it"
        )
    if not path.parent.is_dir():
        raise OutputError(f"{path} is in a directory that does not exist; create it first")
