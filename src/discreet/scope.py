"""What a statement is about, in a form that programs compare: the structured part of its scope."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet import check
from discreet.errors import IncompatibleStatements, InvalidValue

ONCE = ", equal ones as one"
"""What the cut says where a word is drawn once for all its places."""


@dataclass(frozen=True)
class Scope:
    """Which units are meant, of whose texts, and how large they may be.

    Two statements add up only if they are about the same units of the same texts. An empty part
    says nothing, and is the same as an empty part only.

    Args:
        cut: what cuts a text into units of this kind, such as the fingerprint of a vocabulary: a
            word of one vocabulary is not a word of another.
        most: for a whole, at most how many units of which kind and cut it has, such as
            ``(("word", "", 200),)``.
        datasets: names of the data sets whose texts these are. A keyed name does not tell the name.

    >>> long, short = (Scope(most=(("word", "", count),)) for count in (200, 50))
    >>> long.joined(short).in_words("document")
    'a whole document of at most 50 words, all of them replaced'
    >>> Scope(cut="a").joined(Scope(cut="b"))
    Traceback (most recent call last):
    ...
    discreet.errors.IncompatibleStatements: units that were cut in two ways cannot be added
    """

    cut: str = ""
    most: tuple[tuple[str, str, int], ...] = ()
    datasets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.cut, str):
            raise InvalidValue("cut of a scope must be a name")
        named = tuple(self.datasets)
        if isinstance(self.datasets, str) or not all(isinstance(each, str) for each in named):
            raise InvalidValue("datasets of a scope must be names")
        object.__setattr__(self, "datasets", tuple(sorted(set(named))))
        counts: dict[tuple[str, str], int] = {}
        for unit, cut, count in self.most:
            if not isinstance(unit, str) or not isinstance(cut, str):
                raise InvalidValue("most of a scope must name what is counted")
            count = check.whole(count, "most of a scope", at_least=0)
            counts[str(unit), cut] = min(count, counts.get((str(unit), cut), count))
        most = tuple((*what, count) for what, count in sorted(counts.items()))
        object.__setattr__(self, "most", most)

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return bool(self.cut or self.most or self.datasets)

    @property
    def is_whole(self) -> bool:
        """Whether it is about wholes, and says how large they are."""
        return bool(self.most)

    def of_whole(self, unit: str, count: int) -> "Scope":
        """For a whole of at most so many of these units."""
        return Scope(most=((unit, self.cut, count),), datasets=self.datasets)

    def in_words(self, whole: str) -> str:
        """What wholes these are.

        Args:
            whole: such as ``"document"``.
        """
        bounds = " and ".join(f"at most {count:,} {unit}s" for unit, _, count in self.most)
        return f"a whole {whole} of {bounds}, all of them replaced"

    def joined(self, other: "Scope") -> "Scope":
        """What the sum of two statements is about: wholes that are within both bounds.

        Raises:
            IncompatibleStatements: they are about different units, or about different texts.
        """
        if self.cut != other.cut:
            raise IncompatibleStatements("units that were cut in two ways cannot be added")
        if self.datasets != other.datasets:
            raise IncompatibleStatements(
                "statements about two data sets cannot be added; if nobody is in both, take the "
                "larger one (in_parallel)"
            )
        return Scope(self.cut, (*self.most, *other.most), self.datasets)

    def beside(self, other: "Scope") -> "Scope":
        """What the larger of two statements is about, where nobody is in both.

        Raises:
            IncompatibleStatements: they are about the same texts, or about different units.
        """
        if self.cut != other.cut:
            raise IncompatibleStatements("units that were cut in two ways have no maximum")
        if set(self.datasets) & set(other.datasets):
            raise IncompatibleStatements(
                "statements about the same data set are added: the larger one is too small"
            )
        return Scope(self.cut, (*self.most, *other.most), (*self.datasets, *other.datasets))

    def covers(self, other: "Scope") -> bool:
        """Whether whatever the other is about, this is about too."""
        theirs = {(unit, cut): count for unit, cut, count in other.most}
        same = (self.cut, self.datasets) == (other.cut, other.datasets)
        return same and all(theirs.get((u, c), math.inf) <= count for u, c, count in self.most)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: what it says, and nothing else."""
        values = {"cut": self.cut, "most": list(map(list, self.most))}
        values["datasets"] = list(self.datasets)
        return {name: value for name, value in values.items() if value}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Scope":
        """The inverse of :meth:`to_dict`."""
        most = tuple((unit, cut, count) for unit, cut, count in values.get("most", ()))
        return cls(**{**values, "most": most})
