"""Files of released vectors: Parquet, npz or npy, with the receipt of the release beside them.

Reading one never runs code: nothing is pickled.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arrays import Floats32
from discreet.errors import InputError, InvalidValue, NotFound, OutputError, read_as
from discreet.files import check_ending, check_place, staged, withdraw
from discreet.receipt import Receipt, put_with_receipt, receipt_path

SUFFIXES = (".parquet", ".npz", ".npy")

RESERVED = ("vector", "vectors", "vector2", "vectors2", "label", "labels", "row", "rows")
"""Names that kept columns cannot have."""


@dataclass(frozen=True, eq=False, repr=False)
class VectorSet:
    """Rows of vectors and what belongs to each of them.

    Attributes:
        vectors: ``(n, d)``, finite, none of them zero, d at least 2.
        second: The vectors of the second sentences, where rows are pairs.
        labels: A label for each row.
        rows: The number of the document that each row came from.
        kept: Other columns, by name, that were carried along as they are.

    >>> VectorSet(np.eye(3, 2) + 1.0, labels=["good", "bad", "good"])
    VectorSet(3 x 2, labels)
    """

    vectors: Floats32
    second: Floats32 | None = None
    labels: list[str] | None = None
    rows: NDArray[np.int64] | None = None
    kept: Mapping[str, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", _checked(self.vectors, "vectors"))
        if self.second is not None:
            object.__setattr__(self, "second", _checked(self.second, "second vectors"))
            if self.second.shape != self.vectors.shape:
                raise InvalidValue(
                    f"second vectors must have the shape of the first, {self.vectors.shape}; "
                    f"got {self.second.shape}"
                )
        if self.rows is not None:
            rows = np.asarray(self.rows)
            if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
                raise InvalidValue("rows must be a flat array of whole numbers")
            object.__setattr__(self, "rows", rows.astype(np.int64, copy=False))
        for name, column in (("labels", self.labels), ("rows", self.rows), *self.kept.items()):
            if column is not None and len(column) != len(self):
                raise InvalidValue(
                    f"{name} must be one for each of the {len(self)} vectors; got {len(column)}"
                )
        for name in self.kept:
            if name in RESERVED:
                raise InvalidValue(
                    f"a kept column cannot be called {name}, which is the name of another part of "
                    "a file of vectors; rename it"
                )

    def __len__(self) -> int:
        return len(self.vectors)

    def __repr__(self) -> str:
        parts = "".join(f", {part}" for part in _beside(self))
        return f"VectorSet({len(self):,} x {self.dimension}{parts})"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self.vectors.shape[1])

    @classmethod
    def joined(cls, parts: Sequence["VectorSet"]) -> "VectorSet":
        """The rows of several sets of one make, one after the other."""
        first = parts[0]

        def column(name: str) -> Any:
            columns = [getattr(part, name) for part in parts]
            return None if columns[0] is None else np.concatenate(columns)

        labels = None if first.labels is None else [x for part in parts for x in part.labels or ()]
        kept = {name: [x for part in parts for x in part.kept[name]] for name in first.kept}
        return cls(column("vectors"), column("second"), labels, column("rows"), kept)

    def numbers(self, name: str) -> list[float]:
        """A kept column as numbers."""
        if name not in self.kept:
            known = ", ".join(self.kept) or "none"
            raise InputError(f"there is no kept column {name}; kept are: {known}")
        out = []
        for row, value in enumerate(self.kept[name], 1):
            try:
                out.append(float(value))
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"the {name} of row {row} is not a number; correct it, or name another column"
                ) from error
        return out


def check_output(
    path: Path, source: str | Path = "-", *, force: bool = False, beside: Sequence[str] = ()
) -> None:
    """Refuse a place that vectors cannot be written to, before any work is done.

    Args:
        path: Where they are to go.
        source: The input, which is never replaced.
        force: Files that exist may be replaced.
        beside: What else there will be than vectors, in words; npy has no place for it.
    """
    if check_ending(path, SUFFIXES, "vectors") == ".npy" and beside:
        raise OutputError(
            f"npy holds vectors alone and has no place for {beside[0]}; write .parquet or .npz"
        )
    for place in (path, receipt_path(path)):
        check_place(place, source, force=force)


@overload
def write_vectors(path: Path, vectors: VectorSet, *, force: bool = False) -> None: ...


@overload
def write_vectors(
    path: Path,
    vectors: VectorSet,
    receipt: Receipt,
    *,
    force: bool = False,
    before: Callable[[Receipt], None] | None = None,
) -> Receipt: ...


def write_vectors(
    path: Path,
    vectors: VectorSet,
    receipt: Receipt | None = None,
    *,
    force: bool = False,
    before: Callable[[Receipt], None] | None = None,
) -> Receipt | None:
    """Write vectors and the receipt of their release, both or neither; gives what it says now.

    Args:
        path: Ends in ``.parquet`` (columns ``vector``, ``vector2``, ``label``, ``row`` and those
            that are kept), ``.npz`` (arrays ``vectors``, ``vectors2``, ``labels``, ``rows`` and
            those that are kept) or ``.npy`` (the vectors and nothing else).
        vectors: What to write.
        receipt: Goes into ``PATH.privacy.json``.
        force: Replace files that exist.
        before: Called with the receipt as it will be, before anything takes its place.
    """
    check_output(path, force=force, beside=_beside(vectors))
    write = {".parquet": _write_parquet, ".npz": _write_npz, ".npy": _write_npy}
    with staged(path) as output:
        write[path.suffix.lower()](output.path, vectors)
        if receipt is not None:
            return put_with_receipt(output, receipt, force=force, before=before)
        withdraw(receipt_path(path))  # of other vectors
        output.put()
    return None


def read_vectors(path: Path) -> VectorSet:
    """The vectors of a file that :func:`write_vectors`, or another program, wrote.

    Of a folder that ``discreet embed`` wrote, those of all its parts, in their order.
    """
    read = {".parquet": _read_parquet, ".npz": _read_npz, ".npy": _read_npy}
    suffix = path.suffix.lower()
    if path.is_dir():
        suffix = ".parquet"
    elif not path.is_file():
        raise NotFound(f"there is no file or folder {path}; check the path")
    elif suffix not in SUFFIXES:
        raise InputError(f"{path} is no file of vectors; these end in .parquet, .npz or .npy")
    try:
        with read_as(f"{path} is not an intact file of vectors; write it again"):
            return read[suffix](path)
    except InvalidValue as error:
        raise InputError(f"{path} cannot be used: {error}") from error


def _parts(path: Path) -> list[Path]:
    """The file itself; of a folder its parts, which are whatever its receipt must be for."""
    if not path.is_dir():
        return [path]
    parts = sorted(each for each in path.iterdir() if each.name[0] not in "._")
    if not parts or any(each.suffix != ".parquet" for each in parts):
        raise InputError(
            f"{path} is a folder, and not one of vectors: 'discreet embed FOLDER' writes one, of "
            "Parquet files alone"
        )
    return parts


def _beside(data: VectorSet) -> list[str]:
    parts = {
        "labels": data.labels is not None,
        "second vectors": data.second is not None,
        "numbers of documents": data.rows is not None,
        "kept columns": bool(data.kept),
    }
    return [what for what, there in parts.items() if there]


def _checked(vectors: ArrayLike, name: str) -> Floats32:
    array = np.asarray(vectors)
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise InvalidValue(
            f"{name} must be rows of numbers; got {array.ndim} dimensions of {array.dtype}"
        )
    if array.shape[1] < 2:
        raise InvalidValue(f"{name} must have at least 2 columns; got {array.shape[1]}")
    floats = array.astype(np.float32, copy=False)
    largest = np.abs(floats).max(axis=1, initial=0.0)
    for bad, rule in ((~np.isfinite(largest), "finite"), (largest == 0, "other than zero")):
        if bad.any():
            raise InvalidValue(f"{name} must be {rule}; that of row {int(bad.argmax()) + 1} is not")
    return floats


# -- Parquet -------------------------------------------------------------------------------------


def arrow_columns(data: VectorSet) -> dict[str, Any]:
    """Vectors and labels as columns of Arrow, by their names."""
    import pyarrow as pa

    def lists(vectors: Floats32) -> Any:
        return pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])

    columns: dict[str, Any] = {"vector": lists(data.vectors)}
    if data.second is not None:
        columns["vector2"] = lists(data.second)
    if data.labels is not None:
        columns["label"] = pa.array(data.labels, pa.string())
    return columns


def _write_parquet(path: Path, data: VectorSet) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = arrow_columns(data)
    if data.rows is not None:
        columns["row"] = pa.array(data.rows)
    for name, values in data.kept.items():
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowException, OverflowError):  # its message holds a value
            continue
    if lost := data.kept.keys() - columns.keys():
        raise OutputError(
            f"the kept column {min(lost)} holds values of different types, which Parquet has no "
            "place for; keep another one"
        )
    pq.write_table(pa.table(columns), path)


def _read_parquet(path: Path) -> VectorSet:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with read_as(f"{path} is not an intact Parquet file; write it again"):
        # Each read by itself: from a folder, Arrow would also take what its name seems to say.
        tables = [pq.ParquetFile(part).read() for part in _parts(path)]
        table = pa.concat_tables(tables, promote_options="permissive")
    names = set(table.column_names)
    if "vector" not in names:
        raise InputError(f"{path} has no column vector; 'discreet embed' writes one")
    labels = rows = None
    if "label" in names:
        labels = _no_nulls(table.column("label").cast(pa.string()), path, "label").to_pylist()
    if "row" in names:
        rows = _no_nulls(table.column("row"), path, "row").to_numpy()
    others = names - {"vector", "vector2", "label", "row"}
    return VectorSet(
        _matrix(table.column("vector"), path, "vector"),
        _matrix(table.column("vector2"), path, "vector2") if "vector2" in names else None,
        labels,
        rows,
        {name: table.column(name).to_pylist() for name in table.column_names if name in others},
    )


def _matrix(column: Any, path: Path, name: str) -> NDArray[Any]:
    """A column of lists of numbers, all of one length, as an array."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not (lists or pa.types.is_fixed_size_list(kind)) or not (
        pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)
    ):
        raise InputError(
            f"the column {name} of {path} does not hold lists of numbers; write it as 'discreet "
            "embed' does"
        )
    lengths = set(pc.unique(pc.list_value_length(_no_nulls(column, path, name))).to_pylist())
    if len(lengths) > 1:
        raise InputError(
            f"the vectors in the column {name} of {path} differ in length; keep those of one length"
        )
    width = kind.list_size if not lists else next(iter(lengths), 0)
    chunks = (chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks)
    numbers: NDArray[Any] = np.concatenate([np.empty(0, np.float32), *chunks])
    return numbers.reshape(-1, max(width, 1))


def _no_nulls(column: Any, path: Path, name: str) -> Any:
    if column.null_count:
        raise InputError(
            f"the column {name} of {path} lacks {column.null_count} values; fill them in, or drop "
            "the rows"
        )
    return column


# -- NumPy ---------------------------------------------------------------------------------------


def _write_npz(path: Path, data: VectorSet) -> None:
    arrays: dict[str, NDArray[Any]] = {"vectors": data.vectors}
    if data.second is not None:
        arrays["vectors2"] = data.second
    if data.labels is not None:
        arrays["labels"] = np.array(data.labels, dtype=np.str_)
    if data.rows is not None:
        arrays["rows"] = data.rows
    for name, values in data.kept.items():
        try:
            array = np.array(values)
        except ValueError:
            array = np.array(None)
        if array.dtype.kind not in "biufU" or array.ndim != 1:
            raise OutputError(
                f"the kept column {name} is neither all numbers nor all strings, and npz holds "
                "nothing else; write .parquet"
            )
        arrays[name] = array
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def _read_npz(path: Path) -> VectorSet:
    arrays = _loaded(path)
    if not isinstance(arrays, dict):
        raise InputError(f"{path} is a single array; name it .npy")
    if "vectors" not in arrays:
        raise InputError(f"{path} has no array vectors; 'discreet embed' writes one")
    vectors, second = arrays.pop("vectors"), arrays.pop("vectors2", None)
    labels, rows = arrays.pop("labels", None), arrays.pop("rows", None)
    return VectorSet(
        vectors,
        second,
        None if labels is None else [str(label) for label in labels.reshape(-1).tolist()],
        rows,
        {name: array.tolist() for name, array in arrays.items() if array.ndim},
    )


def _write_npy(path: Path, data: VectorSet) -> None:
    with path.open("wb") as file:
        np.save(file, data.vectors, allow_pickle=False)


def _read_npy(path: Path) -> VectorSet:
    array = _loaded(path)
    if isinstance(array, dict):
        raise InputError(f"{path} holds several arrays; name it .npz")
    return VectorSet(array)


def _loaded(path: Path) -> NDArray[Any] | dict[str, NDArray[Any]]:
    kind = f"{path} is not an intact NumPy file of plain numbers; write it again"
    with read_as(kind), path.open("rb") as file:
        read = np.load(file, allow_pickle=False)
        return read if isinstance(read, np.ndarray) else {n: read[n] for n in read.files}
