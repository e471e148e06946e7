"""Numbers that a vocabulary does not have, read as the nearest that it has.

Only quantities: numbers with a point, or with commas between thousands. Plain digits may be a code,
a part of a telephone number or of an address; if the vocabulary does not have them, they are
unknown.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping

_GROUPED = re.compile("[0-9]{1,3}(?:,[0-9]{3})+")
_POINTED = re.compile(r"[0-9]+\.[0-9]+")
_PLAIN = re.compile("[0-9]+")

Known = list[tuple[float, int]]


class KnownNumbers:
    """The numbers of a vocabulary, by how they are written.

    A number with commas is read as one with commas. A number with a point is read as one with a
    point or as a whole one, if the vocabulary has any with a point.

    >>> known = KnownNumbers({"9": 0, "954": 1, "2.5": 2, "25,000": 3, "30,000": 4})
    >>> [known.nearest(form) for form in ("26,000", "954.3", "2.75", "7391", "tea")]
    [3, 1, 2, None, None]
    """

    def __init__(self, ids: Mapping[str, int]) -> None:
        self._grouped = _of_form(_GROUPED, ids)
        pointed = _of_form(_POINTED, ids)
        self._pointed = sorted(pointed + _of_form(_PLAIN, ids)) if pointed else []

    def nearest(self, form: str) -> int | None:
        """The id of the nearest number, the smaller of two; None if the form is no quantity."""
        if _GROUPED.fullmatch(form):
            return _nearest(float(form.replace(",", "")), self._grouped)
        return _nearest(float(form), self._pointed) if _POINTED.fullmatch(form) else None


def _of_form(form: re.Pattern[str], ids: Mapping[str, int]) -> Known:
    return sorted((float(w.replace(",", "")), i) for w, i in ids.items() if form.fullmatch(w))


def _nearest(value: float, among: Known) -> int | None:
    place = bisect_left(among, (value, 0))
    around = among[max(place - 1, 0) : place + 1]
    return min(around, key=lambda known: abs(known[0] - value))[1] if around else None
