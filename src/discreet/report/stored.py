"""Values read from JSON as the dataclasses they were written from, or not at all."""

import types
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def stored(kind: type[T], value: Any) -> T:
    """A dataclass from the object that ``asdict`` made of it; a TypeError if it is none.

    >>> from discreet.report.tables import Table
    >>> stored(Table, {"name": "t", "title": "T", "columns": ["a"], "rows": [[1.5], [None]]}).rows
    ((1.5,), (None,))
    """
    return cast(T, _as(kind, value))


def _as(kind: Any, value: Any) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(value, Mapping):
        hints = get_type_hints(kind)
        made = {name: _as(hints.get(name), part) for name, part in value.items()}
        return cast(Any, kind)(**made)
    if origin is tuple and isinstance(value, list):
        kinds = [parts[0]] * len(value) if parts[-1] is Ellipsis else parts
        return tuple(_as(one, part) for one, part in zip(kinds, value, strict=True))
    if origin in (Union, types.UnionType):
        for one in parts:
            try:
                return _as(one, value)
            except (TypeError, ValueError):
                continue
    elif isinstance(kind, type) and isinstance(value, int | float if kind is float else kind):
        return value
    raise TypeError("this is not what was stored")
