"""The rows of a file released to a writer, and what a receipt says of them.

One file is released by one process from its first row to its last; the parts of a folder are
released by many, and their tallies add up.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np

from discreet.arrays import Generator, Ids, Progress
from discreet.errors import InputError
from discreet.mechanisms.registry import described
from discreet.protocols import Release, WordMechanism
from discreet.receipt import Receipt
from discreet.release.strength import best_guess, mean_keep
from discreet.release.whole import MOST_OF_A_PERSON, Wholes
from discreet.statement import PrivacyStatement
from discreet.text.columns import Columns
from discreet.text.fields import Field
from discreet.text.identifiers import Surrogates
from discreet.text.identifiers.surrogates import WORDS
from discreet.text.readers import Batch, DocumentReader


class TextSanitizer(Protocol):
    """Turns texts into texts that may be released, by way of a word mechanism."""

    mechanism: WordMechanism
    about: Mapping[str, Any]
    """What a receipt says of it beside the mechanism, ready for JSON."""

    def sanitize(self, texts: Sequence[str], rng: Generator | None = None) -> Release[list[str]]:
        """One text for each."""
        ...


@dataclass
class Tally:
    """What was released, counted; nothing of the texts."""

    documents: int = 0
    words: Counter[str] = field(default_factory=Counter)
    """By the column that they stood in."""
    identifiers: Counter[str] = field(default_factory=Counter)
    wholes: Wholes = field(default_factory=Wholes)
    statement: PrivacyStatement | None = None
    """What holds for each word; of a seeded release it says so."""

    def add(self, other: "Tally") -> None:
        """Count what another part released."""
        self.documents += other.documents
        self.words.update(other.words)
        self.identifiers.update(other.identifiers)
        self.wholes.document = max(self.wholes.document, other.wholes.document)
        self.statement = other.statement

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; whose a text is is left out."""
        return {
            "documents": self.documents,
            "words": dict(self.words),
            "identifiers": dict(self.identifiers),
            "longest": self.wholes.document,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], statement: PrivacyStatement) -> "Tally":
        """The inverse of :meth:`to_dict`, with the statement that holds."""
        words, identifiers = Counter(values["words"]), Counter(values["identifiers"])
        wholes = Wholes(document=int(values["longest"]))
        return cls(int(values["documents"]), words, identifiers, wholes, statement)


def release_rows(
    reader: DocumentReader,
    columns: Columns,
    made: TextSanitizer,
    write: Callable[[Batch], None],
    rng: Generator,
    persons: Field | None = None,
    progress: Progress | None = None,
) -> Tally:
    """Release the texts of a reader, batch after batch.

    Args:
        reader: where the rows come from.
        columns: what becomes of each column.
        made: what releases texts.
        write: takes each batch as it may be seen.
        rng: where the noise comes from.
        persons: says whose each text of a batch is.
        progress: called with the bytes read and in all (0: unknown).
    """
    tally = Tally()
    for batch in reader:
        parted, values = columns.part(batch), dict[str, list[str]]()
        draws: Ids | None = np.zeros(len(batch.texts), dtype=np.int64)
        for name, texts in parted.texts.items():
            release = made.sanitize(texts, rng)
            values[name] = release.values
            tally.words[name] += release.units
            draws = None if draws is None or release.draws is None else draws + release.draws
            tally.identifiers.update(release.identifiers)
            tally.statement = release.statement
        tally.wholes.add(draws, None if persons is None else persons(batch))
        values.update(_surrogates(columns.surrogates, len(batch.texts), rng))
        write(parted.joined(values))
        tally.documents += len(batch.texts)
        if progress is not None:
            progress(reader.bytes_read, reader.total_bytes or 0)
    return tally


def receipt_of_rows(
    made: TextSanitizer,
    tally: Tally,
    public: Sequence[str],
    about: Mapping[str, Any],
    delta: float,
) -> Receipt:
    """The receipt of all that was counted.

    Args:
        made: what released it.
        tally: of all rows.
        public: what is shown of the input beside the texts.
        about: how it was read, by heading; these come first.
        delta: what may be given away for a smaller epsilon of whole texts.
    """
    if tally.statement is None:
        raise InputError("nothing was released; check the input")
    statement = tally.statement.with_public(*public)
    if tally.wholes.person is not None:
        statement = statement.with_public(MOST_OF_A_PERSON)
    words = tally.words
    said = {
        **about,
        **_about(made, tally.identifiers),
        "counts": {
            "documents": tally.documents,
            "words": words.total(),
            **({"words_of_field": dict(words)} if len(words) > 1 else {}),
        },
    }
    counted = "words" + ", repetitions not counted" * (made.about.get("repeat") == "once")
    whole = tally.wholes.told(statement, made.mechanism, delta, counted)
    return Receipt(statement, said).with_section("whole", whole)


def _about(made: TextSanitizer, identifiers: Mapping[str, int]) -> dict[str, Any]:
    """What a receipt says of a sanitizer, and of the identifiers that it replaced."""
    certificate = getattr(made.mechanism, "certificate", None)
    own = dict(made.about)
    if identifiers:
        own["identifiers"] = own["identifiers"] | {"types": dict(sorted(identifiers.items()))}
    return {
        "mechanism": described(made.mechanism),
        "certificate": None if certificate is None else asdict(certificate),
        "space": made.mechanism.space.to_dict(),
        **own,
        "keep": mean_keep(made.mechanism),
        "best_guess": best_guess(made.mechanism),
    }


def _surrogates(kinds: Mapping[str, str], rows: int, rng: Generator) -> dict[str, list[str]]:
    """A surrogate for every row of each column that has them; no value comes in here."""
    made = Surrogates().made
    return {
        name: made(kind, rng.integers(0, 2**64, (rows, WORDS), np.uint64))
        for name, kind in kinds.items()
    }
