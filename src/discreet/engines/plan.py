"""The files of a folder or a pattern, checked before anything is released, and cut into parts.

What is wrong with any of them (a column that is missing, other types than in the rest) shows here,
while nothing has been drawn. A part is some groups of rows of a Parquet file, or a whole file of
another format.
"""

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError
from discreet.parallel import in_threads
from discreet.text.faults import shown_name
from discreet.text.formats import BASES, format_of_name, input_format

if TYPE_CHECKING:
    import pyarrow as pa

PART_ROWS = 200_000
"""Groups of rows are gathered into a part until it has so many rows."""
_WILD = "*?["


@dataclass(frozen=True)
class Part:
    """What one task releases: rows that follow each other in one file."""

    number: int
    source: str
    size: int
    """Of the file, in bytes, and when it was last changed: a file that differs is another one."""
    changed: int
    row_groups: tuple[int, ...] | None = None
    """Of a Parquet file; None for the whole of another file."""

    @property
    def name(self) -> str:
        """Of the file it is written to: the same whenever it is tried again."""
        return f"part-{self.number:06d}.parquet"

    def require_unchanged(self) -> None:
        """Refuse a file that is not the one that was planned with."""
        try:
            status = os.stat(self.source)
        except OSError:
            raise InputError(
                f"{self.source} is gone, or cannot be reached from here; every worker must see "
                "the input under the same path"
            ) from None
        if (status.st_size, status.st_mtime_ns) != (self.size, self.changed):
            raise InputError(f"{self.source} was changed since the release began; begin again")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Part":
        """The inverse of :meth:`to_dict`."""
        groups = values["row_groups"]
        return cls(**values | {"row_groups": None if groups is None else tuple(groups)})


def is_several(source: str) -> bool:
    """Whether this names a folder, or files by a pattern."""
    path = Path(source)
    return path.is_dir() or (any(mark in source for mark in _WILD) and not path.exists())


def files_of(source: str, format: str | None = None) -> list[Path]:
    """The files that a folder, a pattern or a name stands for, in order.

    In a folder, whatever begins with a dot or an underscore is left out, as other engines do.
    """
    path = Path(source)
    if path.is_dir():
        paths = [each for each in sorted(path.rglob("*")) if each.is_file()]
        within = {each: each.relative_to(path).parts for each in paths}
        paths = [each for each in paths if not any(p[0] in "._" for p in within[each])]
        if any("=" in folder for each in paths for folder in within[each][:-1]):
            raise InputError(
                f"{path} has a column in the names of its folders (NAME=VALUE), which cannot be "
                f"given a fate; write it into the files, or release the folders one by one"
            )
    elif path.is_file():
        paths = [path]
    else:
        paths = [Path(each) for each in sorted(glob.glob(source, recursive=True))]
        paths = [each for each in paths if each.is_file()]
    if not paths:
        raise InputError(f"{source} names no files; check the path, and quote a pattern")
    for each in paths:
        if format is None and format_of_name(each.name)[0] is None:
            raise InputError(
                f"{each} is no {', '.join(BASES)}; use a pattern such as "
                f"'{path / '*.parquet' if path.is_dir() else '*.parquet'}', or say the --format"
            )
    return [each.absolute() for each in paths if each.stat().st_size]


def planned(
    source: str,
    schema_of: Callable[[Path], "pa.Schema"],
    *,
    format: str | None = None,
    part_rows: int = PART_ROWS,
) -> "tuple[list[Part], pa.Schema]":
    """The parts of an input, and the columns that all of them will have.

    Args:
        source: a folder, a pattern or a file.
        schema_of: opens a file, refuses what cannot be released, and says what would be written.
        format: of the files, if their names do not tell it.
        part_rows: how many rows of Parquet a part has at least, if its file has as many.
    """
    files = files_of(source, format)
    if not files:
        raise InputError(f"the files of {source} are all empty; check that these were meant")
    formats = {input_format(str(path), format)[0]: path for path in files}
    if len(formats) > 1:
        listed = ", ".join(sorted(formats))
        raise InputError(
            f"{source} holds files of different formats ({listed}); release them apart, each by a "
            "pattern such as '*.csv'"
        )
    schemas = in_threads(schema_of, files)
    for path, schema in zip(files, schemas, strict=True):
        _refuse_other(schemas[0], schema, files[0], path)
    is_parquet = set(formats) == {"parquet"}
    parts: list[Part] = []
    cuts = in_threads(lambda path: list(_groups(path, part_rows)), files) if is_parquet else None
    for place, path in enumerate(files):
        status = path.stat()
        for groups in [None] if cuts is None else cuts[place]:
            parts.append(
                Part(len(parts), str(path), status.st_size, status.st_mtime_ns, groups),
            )
    if not parts:
        raise InputError(f"{source} holds no documents; check that these files were meant")
    return parts, schemas[0]


def _groups(path: Path, part_rows: int) -> Iterator[tuple[int, ...]]:
    """Groups of rows that follow each other, gathered; a file without rows has none."""
    import pyarrow.parquet as pq

    about = pq.read_metadata(path)
    gathered: list[int] = []
    rows = 0
    for group in range(about.num_row_groups):
        count = about.row_group(group).num_rows
        if count:
            gathered.append(group)
            rows += count
        if rows >= part_rows:
            yield tuple(gathered)
            gathered, rows = [], 0
    if gathered:
        yield tuple(gathered)


def _refuse_other(first: "pa.Schema", other: "pa.Schema", one: Path, path: Path) -> None:
    if other.equals(first, check_metadata=False):
        return
    names: Sequence[str] = other.names
    if len(names) != len(first.names):
        what = f"{len(names)} columns to write where {one} has {len(first.names)}"
    else:
        place = next(i for i in range(len(names)) if not other.field(i).equals(first.field(i)))
        what = f"another name or type than {one} in {shown_name(names[place], place + 1)}"
    raise InputError(
        f"{path} has {what}; give all files the same columns, or release them apart by patterns"
    )
