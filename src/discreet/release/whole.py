"""What holds for a whole text, and for all texts of a person, beside what holds for a word.

A text is as many releases as its words took draws, and the losses of all of them add up. Counts are
all that is kept of the texts, and they are public already.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet import check
from discreet.arrays import Ids
from discreet.composition import UnitLoss
from discreet.errors import InvalidValue
from discreet.ledger.charge import Charge
from discreet.protocols import WordMechanism
from discreet.statement import Notion, PrivacyStatement, Unit, odds

DELTA = 1e-6
"""The chance that is given away for a smaller epsilon of a whole text, unless told."""
SAME_PERSON = "which documents are of the same person"
MOST_OF_A_PERSON = "how many words the person with most text has"

# A chance is not given away for less than this.
_WORTH_A_DELTA = 0.99
_LARGE = 10.0
_NOT_WHOLE = (
    "Such a number protects single words, not whole texts: whoever has a certain text in mind may "
    "well be able to tell from the output whether it was that one."
)


def checked_delta(delta: object) -> float:
    """A chance of at least 0 and below 1."""
    return check.in_range(delta, "whole_delta", at_least=0, below=1)


@dataclass
class Wholes:
    """Counts the draws of the longest document, and of each person.

    >>> import numpy as np
    >>> wholes = Wholes()
    >>> wholes.add(np.array([3, 5, 4]), ["ann", "bob", "ann"])
    >>> wholes.document, wholes.person
    (5, 7)
    """

    document: int = 0
    """Draws of the document that took most."""
    _persons: Counter[str] = field(default_factory=Counter, repr=False)

    @property
    def person(self) -> int | None:
        """Draws of the person with most text: all that is told of the persons; None without any."""
        return max(self._persons.values(), default=None)

    def add(self, draws: Ids | None, persons: Sequence[str] | None = None) -> None:
        """Count a batch of documents, and whose each of them is."""
        if draws is None:
            raise InvalidValue("this sanitizer does not say how many draws each document took")
        self.document = max(self.document, int(draws.max(initial=0)))
        if persons is not None:
            for person, count in zip(persons, draws.tolist(), strict=True):
                self._persons[person] += count

    def told(
        self, statement: PrivacyStatement, mechanism: WordMechanism, delta: float, counted: str
    ) -> dict[str, Any]:
        """What a receipt says of it.

        Args:
            statement: What holds for a word.
            mechanism: Which may know more of its loss (``unit_loss``).
            delta: What may be given away for a smaller epsilon.
            counted: What was counted, such as ``"words"``.
        """
        law: UnitLoss | None = getattr(mechanism, "unit_loss", None)
        wholes = [_Whole(Unit.DOCUMENT, self.document, counted)]
        if self.person is not None:
            wholes.append(_Whole(Unit.USER, self.person, counted))
        stated = [whole.statement(statement, delta, law) for whole in wholes]
        return {
            whole.name: {"words": whole.count, "statement": each and each.to_dict()}
            for whole, each in zip(wholes, stated, strict=True)
        } | {"in_words": _in_words(statement, wholes, stated)}

    def charged(
        self,
        lifted: Callable[[int, Unit], PrivacyStatement],
        *,
        dataset: str,
        command: str,
        mechanism: str,
        units: int,
    ) -> Charge:
        """What a ledger is charged: for the longest text, or for each person if these are known.

        Args:
            lifted: What holds for a whole of so many draws, as a statement of the given unit.
            dataset: Of the ledger.
            command: What an entry says released it.
            mechanism: Its name.
            units: Draws in all.
        """
        # Many persons have as much as others: each count is lifted once.
        own = {count: lifted(count, Unit.USER) for count in set(self._persons.values())}
        most = self.person
        return Charge(
            dataset=dataset,
            command=command,
            statement=lifted(self.document, Unit.DOCUMENT) if most is None else own[most],
            mechanism=mechanism,
            units=units,
            persons={person: own[count] for person, count in self._persons.items()},
        )


class Copies:
    """Adds up the draws of equal texts: whoever sees all copies of a text has seen it so often.

    White space and capitals make no other text. Of a text a hash is kept. Were two texts to have
    the same one, more would be charged.

    >>> copies = Copies()
    >>> copies.add((["tea cup", "tea", "tea"], [2, 1, 1]))
    >>> copies.add((["Tea "], [1]))
    >>> copies.most
    3
    """

    def __init__(self) -> None:
        self._rows: list[Ids] = []

    def add(self, *fields: tuple[Sequence[str], Sequence[int] | Ids]) -> None:
        """Count rows: for each field its texts, and how many draws each of these takes."""
        self._rows.append(
            np.array([[[*map(_print, texts)], draws] for texts, draws in fields], np.int64)
        )

    def add_prints(self, prints: Ids, draws: Ids) -> None:
        """The same for texts that were hashed elsewhere, all by one key: a row for each field."""
        self._rows.append(np.stack([prints, draws], axis=1))

    @property
    def most(self) -> int:
        """Draws of the row whose texts were drawn most, wherever they stand."""
        rows = np.concatenate(self._rows, axis=2) if self._rows else np.zeros((1, 2, 0), np.int64)
        prints, draws = rows[:, 0], rows[:, 1]
        _, which = np.unique(prints.ravel(), return_inverse=True)
        sums = np.zeros(which.size, np.int64)
        np.add.at(sums, which.ravel(), draws.ravel())
        own = sums[which].reshape(prints.shape)
        for place in range(1, len(own)):  # a text that stands twice in a row is counted already
            own[place, (prints[:place] == prints[place]).any(axis=0)] = 0
        return int(own.sum(axis=0).max(initial=0))


def same_text(text: str) -> str:
    """What copies of a text have in common."""
    return " ".join(text.casefold().split())


def _print(text: str) -> int:
    return hash(same_text(text))


def counted_in(about: Mapping[str, Any]) -> str:
    """What is counted of a text, in words."""
    return "words" + ", repetitions not counted" * (about.get("repeat") == "once")


def whole_of(
    statement: PrivacyStatement, mechanism: WordMechanism, delta: float, counted: str
) -> Callable[[int, Unit], PrivacyStatement]:
    """What a receipt says of a whole of so many words; nothing is promised where it says nothing.

    Args:
        statement: What holds for a word.
        mechanism: Which may know more of its loss.
        delta: What may be given away for a smaller epsilon.
        counted: What was counted.
    """
    law: UnitLoss | None = getattr(mechanism, "unit_loss", None)

    def lifted(count: int, unit: Unit) -> PrivacyStatement:
        whole = _Whole(unit, count, counted).statement(statement, delta, law)
        return whole or PrivacyStatement(
            notion=Notion.NONE, unit=unit, public=statement.public, caveats=statement.caveats
        )

    return lifted


@dataclass(frozen=True)
class _Whole:
    unit: Unit
    count: int
    counted: str

    @property
    def name(self) -> str:
        return "person" if self.unit is Unit.USER else "document"

    def statement(
        self, word: PrivacyStatement, delta: float, law: UnitLoss | None
    ) -> PrivacyStatement | None:
        """What holds for the whole, None if nothing does."""
        draws = max(1, self.count)
        if word.notion in _WITHOUT or self.count * word.delta >= 1:
            return None
        pure, less = (word.for_units(draws, d, unit=self.unit, law=law) for d in (0.0, delta))
        best = less if less.epsilon < _WORTH_A_DELTA * pure.epsilon else pure
        if not self.count:  # nothing is drawn
            best = replace(best, notion=Notion.PURE, epsilon=0.0, delta=0.0)
        what = "all documents of a person" if self.unit is Unit.USER else "a whole document"
        at_most = f"at most {self.count:,} drawn {self.counted}"
        best = replace(best, scope=f"{what}, {at_most}, all replaced")
        return best.with_public(SAME_PERSON) if self.unit is Unit.USER else best

    def line(self, stated: PrivacyStatement | None) -> str:
        if stated is None:
            return (
                f"Nothing is proven for {self.count:,} drawn {self.counted} as a whole: their "
                "deltas add up to 1 or more."
            )
        who = "The person with most text" if self.unit is Unit.USER else "The longest text"
        more = f", plus a probability of delta = {stated.delta:.3g}" if stated.delta else ""
        return (
            f"{who} ({self.count:,} drawn {self.counted}), all of it replaced: odds change by at "
            f"most {odds(stated.epsilon)} (epsilon = {stated.epsilon:.6g}){more}."
        )


_WITHOUT = {
    Notion.NONE: "There is no guarantee for a word, so there is none for a whole text.",
    Notion.UTILITY_OPTIMISED: "There is no guarantee for a whole text: some of its words may come "
    "out as they were.",
}


def _in_words(
    word: PrivacyStatement, wholes: Sequence[_Whole], stated: Sequence[PrivacyStatement | None]
) -> list[str]:
    if word.notion in _WITHOUT:
        return [_WITHOUT[word.notion]]
    lines = [whole.line(each) for whole, each in zip(wholes, stated, strict=True)]
    if any(each is not None and each.epsilon > _LARGE for each in stated):
        lines.append(_NOT_WHOLE)
    return lines
