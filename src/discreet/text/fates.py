"""What becomes of each column of a file: sanitised, kept, dropped or replaced by surrogates.

A column that nobody spoke of has no fate, and nothing is written until it has one: whoever
sanitises a review must not hand out the customer beside it by saying nothing.
"""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from discreet.check import one_of
from discreet.errors import InputError, InvalidValue
from discreet.settings import Setting, Settings
from discreet.text.faults import NAME, shown_name
from discreet.text.identifiers.patterns import TYPES
from discreet.wording import counted

SANITISE, KEEP, DROP, SURROGATE = "sanitise", "keep", "drop", "surrogate"


@dataclass(frozen=True)
class Fates:
    """The fate of each column, by its name.

    Args:
        texts: the columns that are sanitised, one at least.
        keep: columns that are written as they are.
        drop: columns that are left out.
        surrogates: columns whose values are replaced, each with the type of its surrogates.
        others: ``"keep"`` or ``"drop"`` for every column that is not named; None leaves it open.

    >>> fates = Fates(("review",), keep=("stars",), others="drop")
    >>> [fates.of(name) for name in ("review", "stars", "email")]
    ['sanitise', 'keep', 'drop']
    """

    texts: tuple[str, ...]
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    surrogates: Mapping[str, str] = field(default_factory=dict)
    others: str | None = None

    def __post_init__(self) -> None:
        for what in ("texts", "keep", "drop"):
            column_names(getattr(self, what), what)
        if not self.texts:
            raise InvalidValue("name at least one column or field that holds a text")
        for kind in self.surrogates.values():
            one_of(kind, TYPES, "the type of a surrogate")
        if self.others is not None:
            one_of(self.others, (KEEP, DROP), "others")
        for name, count in Counter(self.named).items():
            if count > 1:
                raise InvalidValue(
                    f"{name} is named {count} times; a column is sanitised, kept, dropped or "
                    "replaced by surrogates, and only one of these"
                )

    @property
    def named(self) -> list[str]:
        """Every column that was spoken of by its name."""
        return [*self.texts, *self.keep, *self.drop, *self.surrogates]

    @property
    def keeps_all(self) -> bool:
        """Whether all but the first text is written as it is, whatever it is."""
        return self.others == KEEP and len(self.named) == 1

    def of(self, name: str) -> str | None:
        """The fate of a column, if it has one."""
        for fate, names in (
            (SANITISE, self.texts),
            (KEEP, self.keep),
            (DROP, self.drop),
            (SURROGATE, self.surrogates),
        ):
            if name in names:
                return fate
        return self.others

    def told(self, names: Sequence[str]) -> dict[str, str]:
        """What a receipt says of columns in order; of those that are dropped, how many they are.

        >>> Fates(("review",), drop=("email", "joined")).told(["email", "review", "joined"])
        {'review': 'sanitise', '2 others': 'drop'}
        """
        fates = {name: str(self.of(name)) for name in names}
        fates |= {name: f"{SURROGATE} of type {kind}" for name, kind in self.surrogates.items()}
        told = {
            shown_name(name, i): fates[name]
            for i, name in enumerate(names, 1)
            if fates[name] != DROP
        }
        dropped = [name for name in names if fates[name] == DROP]
        return told | ({counted(len(dropped), "other"): DROP} if dropped else {})

    def refuse_undecided(
        self, names: Sequence[str], where: str, *, repeat: bool = True, python: bool = False
    ) -> None:
        """Refuse columns without a fate.

        The text column is among the names, so they are names and not the first row of data. Even
        so only what looks like a name is repeated.

        Args:
            names: of all columns, in order.
            where: what has them.
            repeat: False says positions only.
            python: what to write is said in Python, not as options of the command.
        """
        open_ = [place for place, name in enumerate(names, 1) if self.of(name) is None]
        if not open_:
            return
        shown = [shown_name(names[i - 1], i) if repeat else f"column {i}" for i in open_]
        typed = " ".join(f"--drop {shlex.quote(names[i - 1])}" for i in open_)
        known = repeat and all(NAME.fullmatch(names[i - 1]) for i in open_)
        if python:
            listed = [names[i - 1] for i in open_] if known else ["NAME"]
            raise InputError(
                f"nothing says what becomes of {', '.join(shown)} in {where}; add drop={listed} "
                "(or keep=[...] for what may be seen as it is), or others='drop' or others='keep' "
                "for all of them"
            )
        raise InputError(
            f"nothing says what becomes of {', '.join(shown)} in {where}, which has "
            f"{len(names)} columns; add {typed if known else '--drop NAME'} (or --keep NAME for "
            "what may be seen as it is), or --drop-others or --keep-others for all of them"
        )


@dataclass(frozen=True, kw_only=True)
class ColumnSettings(Settings):
    """What becomes of the columns or fields of a file; one of which nothing is said is an error.

    Attributes:
        text_field: Column or field that holds the text, or several, each of which is sanitised.
        keep: Columns that are written as they are.
        drop: Columns that are left out.
        surrogates: Columns whose values are replaced by surrogates, each with a type such as
            ``"email"``: drawn for every row without looking at the value.
        others: ``"keep"`` or ``"drop"`` for every column that is not named.
    """

    heading: ClassVar[str] = "Columns"

    text_field: str | Sequence[str] = Setting(
        "Column or field that holds a text; repeatable, and each is sanitised."
    ).default("text")
    keep: Sequence[str] = Setting("Write this column as it is; repeatable.").default(())
    drop: Sequence[str] = Setting("Leave this column out; repeatable.").default(())
    surrogates: Mapping[str, str] | None = Setting(
        "Columns that are replaced.", option=False
    ).default(None)
    others: str | None = Setting("Every other column.", option=False).default(None)

    @property
    def fates(self) -> Fates:
        """The same by column."""
        texts = (self.text_field,) if isinstance(self.text_field, str) else tuple(self.text_field)
        keep, drop = column_names(self.keep, KEEP), column_names(self.drop, DROP)
        return Fates(texts, keep, drop, self.surrogates or {}, self.others)


def column_names(names: Sequence[str], what: str) -> tuple[str, ...]:
    """Names of columns; a single string is refused, which would be taken for one-letter names."""
    if isinstance(names, str):
        raise InvalidValue(f"{what} must be a list of columns; got a single string")
    return tuple(names)
