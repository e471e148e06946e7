"""``series.discreet.sanitize(...)`` and ``frame.discreet.sanitize(...)`` for pandas.

Importing this module is what adds them.
"""

from typing import Any

from discreet.errors import needs_extra
from discreet.release.frames import sanitize

with needs_extra("the accessor of pandas", "pandas"):
    import pandas as pd


@pd.api.extensions.register_series_accessor("discreet")
@pd.api.extensions.register_dataframe_accessor("discreet")
class PandasAccessor:
    """What a series or a data frame of pandas has under ``.discreet``.

    >>> release = pd.Series(["The doctor saw me.", None]).discreet.sanitize(epsilon=8)
    >>> release.values.isna().tolist(), release.units
    ([False, True], 5)
    """

    def __init__(self, data: Any) -> None:
        self._data = data

    def sanitize(self, *given: Any, **options: Any) -> Any:
        """As :func:`discreet.sanitize`, of this series or frame."""
        return sanitize(self._data, *given, **options)
