"""The kinds of tables that texts come in: how each is read, and made anew from what was released.

None of the libraries is imported unless a table of theirs is at hand.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from discreet.errors import InputError, InvalidValue
from discreet.text.fates import DROP, KEEP, Fates
from discreet.text.faults import UNUSABLE, first_unusable
from discreet.text.kept import only_rows

TEXT = "text"
"""What the texts are called that come without a name."""


class Kind:
    """A table, or a column alone, of some library."""

    what: str
    """For messages: such as "this DataFrame"."""
    names: list[str]
    """Of all columns; of a column alone its own, and those of its row labels."""
    alone: str | None = None
    """The name of a column alone."""

    def __init__(self, data: Any) -> None:
        self._data, self.what = data, f"this {type(data).__name__}"

    def values(self, name: str) -> list[Any]:
        """What a column holds."""
        raise NotImplementedError

    def texts(self, name: str) -> Any:
        """A column of texts as an Arrow array, with nulls where there is none."""
        return text_array(self.values(name), name, self.what)

    def rebuilt(self, fates: Fates, columns: Mapping[str, Any]) -> Any:
        """The same kind of table; what is kept holds the values of its rows and no others.

        Args:
            fates: what becomes of each column.
            columns: of those that are replaced, as Arrow arrays.
        """
        raise NotImplementedError

    def _new(self, fates: Fates, columns: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Columns that are replaced, as lists."""
        new = {name: columns[name].to_pylist() for name in fates.surrogates}
        return new | {name: _put_back(columns[name], self.values(name)) for name in fates.texts}


def text_array(values: Sequence[Any], name: str, what: str) -> Any:
    """Strings as an Arrow array; None and NaN are null, and anything else is an error."""
    texts = [value if isinstance(value, str) else None for value in values]
    for row, value in enumerate(values):
        if texts[row] is None and not is_missing(value):
            raise InputError(
                f"row {row} (counted from 0) of {what} has a {name} that is not a string but of "
                f"type "
                f"{type(value).__name__}; make it a string, or None where there is no text"
            )
    if first_unusable([text for text in texts if text is not None]) is not None:
        row = next(i for i, text in enumerate(texts) if text and first_unusable([text]) == 0)
        raise InputError(f"row {row} (counted from 0) of {what} {UNUSABLE}")
    return pa.array(texts, pa.large_string())


def is_missing(value: object) -> bool:
    """None, NaN, and what pandas has for them."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _put_back(column: Any, values: Sequence[Any]) -> list[Any]:
    """Released texts; where there was none, whatever stood for that."""
    new = column.to_pylist()
    return [old if text is None else text for text, old in zip(new, values, strict=True)]


class _List(Kind):
    """A list or tuple of texts, or a NumPy array of them."""

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        if getattr(data, "ndim", 1) != 1:
            raise InvalidValue(f"texts must be in one dimension; got {data.ndim}")
        self.names, self.alone = [TEXT], TEXT

    def values(self, name: str) -> list[Any]:  # noqa: ARG002 - it has but one
        return list(self._data)

    def rebuilt(self, fates: Fates, columns: Mapping[str, Any]) -> Any:  # noqa: ARG002
        new = _put_back(columns[TEXT], self._data)
        if isinstance(self._data, list | tuple):
            return tuple(new) if isinstance(self._data, tuple) else new
        import numpy as np

        out = np.empty(len(new), dtype=object)
        out[:] = new
        return out


class _Rows(Kind):
    """A list of dictionaries, each a row."""

    def __init__(self, data: Sequence[Mapping[str, Any]]) -> None:
        self.what, self._data = "this list", data
        names: dict[str, None] = {}
        for place, row in enumerate(data):
            if not isinstance(row, Mapping):
                raise InputError(
                    f"row {place} (counted from 0) is not a dictionary, and the others are"
                )
            names.update(dict.fromkeys(row))
        self.names = _plain_names(list(names), self.what)

    def values(self, name: str) -> list[Any]:
        return [row.get(name) for row in self._data]

    def rebuilt(self, fates: Fates, columns: Mapping[str, Any]) -> Any:
        new = self._new(fates, columns)
        return [
            {
                name: new[name][place] if name in new else value
                for name, value in row.items()
                if fates.of(name) != DROP
            }
            for place, row in enumerate(self._data)
        ]


class _Columns(Kind):
    """A dictionary of lists, each a column."""

    def __init__(self, data: Mapping[str, Sequence[Any]]) -> None:
        self.what, self._data = "this dictionary", data
        self.names = _plain_names(list(data), self.what)
        for column in data.values():
            if isinstance(column, str | bytes | Mapping) or not hasattr(column, "__len__"):
                raise InputError(
                    "the columns of a dictionary are lists, and one of them is of type "
                    f"{type(column).__name__}; if this is a row, put it in a list: [{{...}}]"
                )
        if len({len(column) for column in data.values()}) > 1:
            raise InputError("the columns of this dictionary differ in length")

    def values(self, name: str) -> list[Any]:
        return list(self._data[name])

    def rebuilt(self, fates: Fates, columns: Mapping[str, Any]) -> Any:
        new = self._new(fates, columns)
        kept = (name for name in self.names if fates.of(name) != DROP)
        return {name: new[name] if name in new else self._kept(name) for name in kept}

    def _kept(self, name: str) -> Any:
        column = self._data[name]
        plain = isinstance(column, list | tuple) or type(column).__name__ == "ndarray"
        return column if plain else self.values(name)


class _Arrow(Kind):
    """A table, record batch or array of Arrow."""

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        single = not isinstance(data, pa.Table | pa.RecordBatch)
        self.alone = TEXT if single else None
        self.names = [TEXT] if single else list(data.schema.names)

    def values(self, name: str) -> list[Any]:
        return list(self._column(name).to_pylist())

    def texts(self, name: str) -> Any:
        column = self._column(name)
        return column.cast(pa.string()) if pa.types.is_null(column.type) else column

    def rebuilt(self, fates: Fates, columns: Mapping[str, Any]) -> Any:
        if self.alone is not None:
            chunked = isinstance(self._data, pa.ChunkedArray)
            return columns[TEXT] if chunked else _one_array(columns[TEXT])
        kept = {
            name: columns[name] if name in columns else only_rows(self._column(name))
            for name in self.names
            if fates.of(name) != DROP
        }
        if isinstance(self._data, pa.Table):
            return pa.table(kept)
        return pa.RecordBatch.from_pydict({k: _one_array(column) for k, column in kept.items()})

    def _column(self, name: str) -> Any:
        return self._data if self.alone is not None else self._data.column(self.names.index(name))


def _one_array(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


class _Pandas(Kind):
    """A data frame or series of pandas; row labels other than 0, 1, 2, ... count as columns."""

    def __init__(self, data: Any) -> None:
        import pandas as pd

        super().__init__(data)
        self._pd = pd
        single = isinstance(data, pd.Series)
        own = [TEXT if data.name is None else data.name] if single else list(data.columns)
        self._own = _plain_names(own, self.what)
        self.alone = self._own[0] if single else None
        self._levels: list[str] = []
        if not data.index.equals(pd.RangeIndex(len(data))) or data.index.name is not None:
            several = data.index.nlevels > 1
            names = [
                (f"level_{i}" if several else "index") if name is None else name
                for i, name in enumerate(data.index.names)
            ]
            self._levels = _plain_names(names, f"the index of {self.what}")
        self.names = [*self._own, *self._levels]

    def values(self, name: str) -> list[Any]:
        if name in self._levels:
            level = self._data.index.get_level_values(self._levels.index(name))
            return list(level)
        return list(self._column(name))

    def texts(self, name: str) -> Any:
        if name in self._levels:
            raise InputError(
                f"{name} is the index of {self.what} and is kept or dropped; reset_index() makes "
                "a column of it"
            )
        return super().texts(name)

    def rebuilt(self, fates: Fates, columns: Mapping[str, Any]) -> Any:
        pd = self._pd
        for name in self._levels:
            if fates.of(name) not in (KEEP, DROP):
                self.texts(name)
        index = self._kept_index([fates.of(name) == KEEP for name in self._levels])
        made = {
            name: self._series(name, columns[name], index)
            if name in columns
            else self._only_rows(self._column(name)).set_axis(index)
            for name in self._own
            if fates.of(name) != DROP
        }
        if self.alone is not None:
            return made[self.alone].rename(self._data.name)
        return pd.DataFrame(made, index=index, columns=list(made))  # attrs stay behind

    def _kept_index(self, kept: Sequence[bool]) -> Any:
        """The row labels that are kept, made anew: an index remembers labels that no row has."""
        pd, index = self._pd, self._data.index
        levels = [
            self._only_rows(index.get_level_values(i)) for i, is_kept in enumerate(kept) if is_kept
        ]
        if not levels:
            return pd.RangeIndex(len(self._data))
        return levels[0] if len(levels) == 1 else pd.MultiIndex.from_arrays(levels)

    def _only_rows(self, column: Any) -> Any:
        """A series or an index, with no more in it than its rows have."""
        pd, kind = self._pd, column.dtype
        if isinstance(kind, pd.CategoricalDtype):
            return getattr(column, "cat", column).remove_unused_categories()
        if isinstance(kind, pd.ArrowDtype):
            values = only_rows(pa.chunked_array(column.array.__arrow_array__()))
            return type(column)(pd.arrays.ArrowExtensionArray(values), name=column.name)
        if isinstance(kind, pd.StringDtype):  # the rows may be part of a longer array
            return type(column)(column.to_numpy(object), dtype=kind, name=column.name)
        arrays = pd.arrays
        masked = (arrays.IntegerArray, arrays.FloatingArray, arrays.BooleanArray)
        if isinstance(column.array, masked):  # a number stays where it was when it is made missing
            nothing = kind.numpy_dtype.type(0)
            return column.fillna(nothing).where(column.notna())
        return column

    def _column(self, name: str) -> Any:
        return self._data if self.alone is not None else self._data[name]

    def _series(self, name: str, column: Any, index: Any) -> Any:
        pd, old = self._pd, self._column(name)
        if old.dtype == object:
            values = _put_back(column, self.values(name))
            return pd.Series(values, index=index, dtype=object)
        # A category knows its values, which are the protected ones.
        kind = old.dtype if pd.api.types.is_string_dtype(old.dtype) else None
        if isinstance(old.dtype, pd.CategoricalDtype):
            kind = None
        return pd.Series(column.to_pylist(), index=index, dtype=kind)


_NOT_IN_ARROW = ("Int128", "UInt128")


class _Polars(Kind):
    """A data frame or series of polars."""

    def __init__(self, data: Any) -> None:
        import polars as pl

        super().__init__(data)
        self._pl = pl
        if isinstance(data, pl.LazyFrame):
            raise InvalidValue(
                "a LazyFrame is computed anew each time it is used, and would be released each "
                "time; sanitise lazy_frame.collect()"
            )
        self.alone = (data.name or TEXT) if isinstance(data, pl.Series) else None
        self.names = list(data.columns) if self.alone is None else [self.alone]

    def values(self, name: str) -> list[Any]:
        return list(self._column(name).to_list())

    def texts(self, name: str) -> Any:
        column, pl = self._column(name), self._pl
        if column.dtype == pl.Object:
            return super().texts(name)
        if column.dtype in (pl.Categorical, pl.Enum, pl.Null):
            column = column.cast(pl.String)
        return column.to_arrow()

    def rebuilt(self, fates: Fates, columns: Mapping[str, Any]) -> Any:
        pl = self._pl
        new = {
            name: pl.Series(name, column.to_pylist(), pl.String) for name, column in columns.items()
        }
        if self.alone is not None:
            return new[self.alone].rename(self._data.name)
        kept = [name for name in self.names if fates.of(name) != DROP]
        return pl.DataFrame([new[name] if name in new else self._kept(name) for name in kept])

    def _kept(self, name: str) -> Any:
        column, pl = self._column(name), self._pl
        kind = column.dtype
        if isinstance(kind, pl.Enum):
            used = set(column.unique())
            return column.cast(pl.Enum([each for each in kind.categories if each in used]))
        if isinstance(kind, pl.Categorical):
            return column.cast(pl.String).cast(kind)
        if kind == pl.Object or str(kind) in _NOT_IN_ARROW:
            return pl.Series(name, column.to_list(), kind)
        # Strings of rows that were filtered out are still in memory, and would be written.
        kept = pl.Series(name, only_rows(column.to_arrow()))
        return kept if kind.is_nested() else kept.cast(kind)

    def _column(self, name: str) -> Any:
        return self._data if self.alone is not None else self._data.get_column(name)


_LIBRARIES: dict[tuple[str, str], Callable[[Any], Kind]] = {
    ("pandas", "DataFrame"): _Pandas,
    ("pandas", "Series"): _Pandas,
    ("polars", "DataFrame"): _Polars,
    ("polars", "Series"): _Polars,
    ("polars", "LazyFrame"): _Polars,
    ("numpy", "ndarray"): _List,
}


def library_kinds(data: object) -> set[tuple[str, str]]:
    """The library and the name of each class that this is of, without an import.

    >>> import numpy as np
    >>> ("numpy", "ndarray") in library_kinds(np.zeros(1))
    True
    """
    return {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(data).__mro__}


def kind_of(data: Any) -> Kind:
    """What reads this table and makes it anew."""
    if isinstance(data, pa.Table | pa.RecordBatch | pa.Array | pa.ChunkedArray):
        return _Arrow(data)
    for known in library_kinds(data) & set(_LIBRARIES):
        return _LIBRARIES[known](data)
    if isinstance(data, Mapping):
        return _Columns(data)
    if isinstance(data, list | tuple):
        rows = next((each for each in data if not is_missing(each)), None)
        return _Rows(data) if isinstance(rows, Mapping) else _List(data)
    raise InvalidValue(
        "data must be a text, a list or an iterator of texts, a table of pandas, polars, Arrow or "
        f"Hugging Face datasets, or rows as dictionaries; got one of type {type(data).__name__}"
    )


def _plain_names(names: Sequence[Any], what: str) -> list[str]:
    for place, name in enumerate(names, 1):
        if not isinstance(name, str):
            raise InputError(
                f"the name of column {place} of {what} must be a string; got one of type "
                f"{type(name).__name__}: rename it"
            )
    return list(names)
