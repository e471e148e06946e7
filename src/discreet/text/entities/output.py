"""Lines written whole or not at all: to a file, to standard output, or nowhere."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from discreet.errors import OutputError
from discreet.files import check_place, written_whole
from discreet.staging import PRIVATE
from discreet.text.formats import STANDARD_STREAM, format_of_name
from discreet.text.writers import spool, to_standard_output


@contextmanager
def lines_to(target: str | None, source: str, *, force: bool) -> Iterator[Callable[[str], None]]:
    """A function that writes a line; what was written appears when the block ends without error.

    It is protected text: whoever may read the input, only the user may read what is written.

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
        with spool() as waiting:
            yield lambda line: _put(waiting, line)
            to_standard_output(waiting)
        return
    path = Path(target)
    check_place(path, source, force=force)
    with written_whole(path, mode=PRIVATE) as temporary, temporary.open("wb") as file:
        if compressed:
            # Neither the time nor the name of the temporary file belongs in the output.
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                yield lambda line: _put(cast(IO[bytes], packed), line)
        else:
            yield lambda line: _put(file, line)


def _put(file: IO[bytes], line: str) -> None:
    file.write(line.encode("utf-8", "surrogatepass") + b"\n")
