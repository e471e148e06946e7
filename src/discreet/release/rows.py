"""Rows released to a writer, and what a receipt says of all of them together.

One file is released from its first row to its last (:mod:`discreet.release.text_files`); the parts
of a folder are released by many, and their tallies add up.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arrays import Generator, Ids
from discreet.errors import InputError
from discreet.receipt import Receipt
from discreet.release._parts import (
    TextSanitizer,
    about_sanitizer,
    surrogate_columns,
    with_surrogates,
)
from discreet.release.whole import Wholes, counted_in
from discreet.statement import PrivacyStatement
from discreet.text.columns import Columns
from discreet.text.fates import SURROGATE
from discreet.text.readers import Batch

Noise = Callable[[int, Sequence[Sequence[str]]], Generator]
"""Gives the generator of a batch, by the number of its first row and its texts, field by field."""
MOST_UNKNOWN = 0.3
"""Text with more words outside the vocabulary is hardly worth releasing in that space.

Forty English texts rarely have a fifth outside the shipped ones; of 40 Spanish sentences of
Tatoeba's, 0.39 to 0.54 are.
"""


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

    def count(
        self,
        words: Mapping[str, int],
        identifiers: Mapping[str, int],
        draws: Ids | None,
        persons: Sequence[str] | None = None,
    ) -> None:
        """Count a block of documents, each of which took so many draws."""
        self.documents += 0 if draws is None else len(draws)
        self.words.update(words)
        self.identifiers.update(identifiers)
        self.wholes.add(draws, persons)

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
    batches: Iterable[Batch],
    columns: Columns,
    made: TextSanitizer,
    write: Callable[[Batch], None],
    rng: Generator | Noise,
    persons: Callable[[Batch], Sequence[str]] | None = None,
    tell: Callable[..., None] | None = None,
) -> Tally:
    """Release texts, batch after batch.

    Args:
        batches: the rows.
        columns: what becomes of each column.
        made: what releases texts.
        write: takes each batch as it may be seen.
        rng: where the noise comes from, or what says so of each batch.
        persons: says whose the texts of a batch are, where that is counted.
        tell: called for each batch with its texts and their draws, field by field.
    """
    tally = Tally()
    for batch in batches:
        parted, values = columns.part(batch), dict[str, list[str]]()
        draws: Ids | None = np.zeros(len(batch.texts), dtype=np.int64)
        words, identifiers = Counter[str](), Counter[str]()
        drawn, told = rng, list[tuple[Sequence[str], Ids | None]]()
        if not isinstance(drawn, np.random.Generator):
            drawn = drawn(batch.first_row, list(parted.texts.values()))
        for name, texts in parted.texts.items():
            release = made.sanitize(texts, drawn)
            values[name] = release.values
            words[name] += release.units
            draws = None if draws is None or release.draws is None else draws + release.draws
            identifiers.update(release.identifiers)
            tally.statement = release.statement
            told.append((texts, release.draws))
        tally.count(words, identifiers, draws, None if persons is None else persons(batch))
        if tell is not None:
            tell(*told)
        values.update(surrogate_columns(columns.own, len(batch.texts), drawn))
        write(parted.joined(values))
    return tally


def looked_at(
    batches: Iterator[Batch],
    columns: Columns,
    unknown_share: Callable[[Sequence[str]], float],
    tell_unknown: Callable[[float], None],
) -> Iterator[Batch]:
    """The same batches, once it is told how many words of the first are unknown.

    Args:
        batches: the rows.
        columns: what becomes of each column.
        unknown_share: of the words of texts, the share that the vocabulary does not have.
        tell_unknown: told that share, before anything is released.
    """
    for first in batches:
        texts = [text for column in columns.part(first).texts.values() for text in column]
        tell_unknown(unknown_share(texts))
        yield first
        break
    yield from batches


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
    replaced = [name for name, fate in about["columns"].items() if fate.startswith(SURROGATE)]
    statement = with_surrogates(tally.statement.with_public(*public), made, replaced)
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
