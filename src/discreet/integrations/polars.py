"""``series.discreet.sanitize(...)`` and ``frame.discreet.sanitize(...)`` for polars.

Importing this module is what adds them. A lazy frame has none: it is worked out each time it is
looked at, and each time would be another release.
"""

from typing import Any

from discreet.errors import needs_extra
from discreet.release.frames import sanitize

with needs_extra("the accessor of polars", "polars"):
    import polars as pl


@pl.api.register_series_namespace("discreet")
@pl.api.register_dataframe_namespace("discreet")
class PolarsAccessor:
    """What a series or a data frame of polars has under ``.discreet``.

    >>> release = pl.Series(["The doctor saw me.", None]).discreet.sanitize(epsilon=8)
    >>> release.values.null_count(), release.units
    (1, 5)
    """

    def __init__(self, data: Any) -> None:
        self._data = data

    def sanitize(self, *given: Any, **options: Any) -> Any:
        """As :func:`discreet.sanitize`, of this series or frame."""
        return sanitize(self._data, *given, **options)
