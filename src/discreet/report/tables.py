"""Rows of figures with what they mean, and figures for people."""

from dataclasses import dataclass

Cell = str | float | int | None


@dataclass(frozen=True)
class Table:
    """Rows of figures with what they mean."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


def shown(value: Cell) -> str:
    """A cell for people: a few digits are enough.

    >>> shown(0.123456), shown(12345.6), shown(20000), shown(None), shown("a")
    ('0.123', '12,346', '20,000', '', 'a')
    """
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, float) and abs(value) < 1000:
        return f"{value:.3g}"
    return f"{value:,.0f}"
