"""The rows of a part released to a writer, and what a receipt says of all parts together.

One file is released from its first row to its last (:func:`discreet.release.text.sanitize_file`);
the parts of a folder are released by many, and their tallies add up.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arrays import Generator, Ids
from discreet.errors import InputError
from discreet.receipt import Receipt
from discreet.release.text import TextSanitizer, about_sanitizer, surrogate_columns
from discreet.release.whole import Wholes, counted_in
from discreet.statement import PrivacyStatement
from discreet.text.columns import Columns
from discreet.text.readers import Batch, DocumentReader


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
) -> Tally:
    """Release the texts of a reader, batch after batch.

    Args:
        reader: where the rows come from.
        columns: what becomes of each column.
        made: what releases texts.
        write: takes each batch as it may be seen.
        rng: where the noise comes from.
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
        tally.wholes.add(draws)
        values.update(surrogate_columns(columns.own, len(batch.texts), rng))
        write(parted.joined(values))
        tally.documents += len(batch.texts)
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
    words = tally.words
    said = {
        **about,
        **about_sanitizer(made, tally.identifiers),
        "counts": {
            "documents": tally.documents,
            "words": words.total(),
            **({"words_of_field": dict(words)} if len(words) > 1 else {}),
        },
    }
    whole = tally.wholes.told(statement, made.mechanism, delta, counted_in(made.about))
    return Receipt(statement, said).with_section("whole", whole)
