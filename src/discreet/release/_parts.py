"""Parts of a sanitizer: what it must offer, what it may be given, what a receipt says of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np

from discreet import check
from discreet.arrays import Generator
from discreet.errors import InvalidValue
from discreet.mechanisms.registry import described
from discreet.protocols import ContextualMechanism, Release, WordMechanism
from discreet.release.strength import KnownMechanism, best_guess
from discreet.statement import PrivacyStatement
from discreet.text.fates import Fates
from discreet.text.identifiers import Identifiers, Surrogates
from discreet.text.identifiers.surrogates import WORDS

REPEATS = ("each", "once")
_ALSO_IN_TEXT = (
    "values of the columns with surrogates may stand in the texts as well, where identifiers were "
    "not looked for and are treated as words"
)


class TextSanitizer(KnownMechanism, Protocol):
    """Turns texts into texts that may be released, by way of a word mechanism."""

    about: Mapping[str, Any]
    """What a receipt says of it beside the mechanism, ready for JSON."""

    def sanitize(self, texts: Sequence[str], rng: Generator | None = None) -> Release[list[str]]:
        """One text for each."""
        ...


def about_sanitizer(made: TextSanitizer, identifiers: Mapping[str, int]) -> dict[str, Any]:
    """What a receipt says of a sanitizer, and of the identifiers that it replaced."""
    certificate = getattr(made.mechanism, "certificate", None)
    keep, draws = made.keep_rate
    own = dict(made.about)
    if identifiers:
        own["identifiers"] = own["identifiers"] | {"types": dict(sorted(identifiers.items()))}
    return {
        "mechanism": described(made.mechanism),
        "certificate": None if certificate is None else asdict(certificate),
        "space": made.mechanism.space.to_dict(),
        **own,
        "keep": keep,
        **({} if draws is None else {"keep_draws": draws}),
        "best_guess": best_guess(made.mechanism),
    }


def checked_repeat(repeat: str, mechanism: WordMechanism) -> str:
    """How often a word is drawn, if this mechanism allows it."""
    check.one_of(repeat, REPEATS, "repeat of Sanitizer")
    if repeat == "once" and isinstance(mechanism, ContextualMechanism) and mechanism.contextual:
        raise InvalidValue(
            f"repeat of Sanitizer must be each with this {mechanism.name}: what it draws for a "
            "word depends on the words released before; leave out repeat, or its guide, "
            "which readable brings unless guide is none"
        )
    return repeat


def chosen_identifiers(
    identifiers: str | Identifiers | None, consistent: str
) -> Identifiers | None:
    """What replaces identifiers, by name or as it is given."""
    if isinstance(identifiers, str):
        return Identifiers(identifiers, consistent=consistent)
    if consistent != "none":
        where = "identifiers" if identifiers is None else "the Identifiers themselves"
        raise InvalidValue(
            f"consistent of Sanitizer belongs to {where}; give it there, or leave it"
        )
    return identifiers


def with_surrogates(
    statement: PrivacyStatement, made: TextSanitizer, columns: Collection[str]
) -> PrivacyStatement:
    """The same statement, with a caveat if values of these columns may still stand in the text."""
    looked_for = made.about.get("identifiers") is not None
    if not columns or looked_for or _ALSO_IN_TEXT in statement.caveats:
        return statement
    return statement.with_caveats(_ALSO_IN_TEXT)


def surrogate_columns(fates: Fates, rows: int, rng: Generator) -> dict[str, list[str]]:
    """A surrogate for every row of each column that has them; no value comes in here."""
    made = Surrogates().made
    return {
        name: made(kind, rng.integers(0, 2**64, (rows, WORDS), np.uint64))
        for name, kind in fates.surrogates.items()
    }
