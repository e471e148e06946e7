"""What is to be done to each block of a table, and what was counted while it was done."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import Generator, Ids, Progress
from discreet.receipt import Receipt
from discreet.release._kinds import Kind, is_missing
from discreet.release._parts import TextSanitizer, surrogate_columns, with_surrogates
from discreet.release.rows import Tally, receipt_of_rows
from discreet.release.tables import release_column
from discreet.release.whole import MOST_OF_A_PERSON
from discreet.statement import PrivacyStatement
from discreet.text.fates import KEEP, Fates
from discreet.text.faults import column_index
from discreet.text.fields import person_in

MISSING = "which texts are missing"


@dataclass(frozen=True)
class Block:
    """What came of a table, or of a part of it."""

    columns: Mapping[str, Any] = field(repr=False)
    """Released texts and surrogates, as Arrow arrays."""
    words: Mapping[str, int]
    identifiers: Mapping[str, int]
    draws: Ids = field(repr=False)


@dataclass(frozen=True)
class Plan:
    """How tables are released: by which sanitizer, and what becomes of each column."""

    sanitizer: TextSanitizer
    fates: Fates
    person_field: str | None
    delta: float

    def block(self, kind: Kind, rng: Generator, progress: Progress | None = None) -> Block:
        """Release the texts of a table."""
        columns, words = dict[str, Any](), dict[str, int]()
        identifiers: Counter[str] = Counter()
        draws: Ids = np.zeros(0, dtype=np.int64)
        for place, name in enumerate(self.fates.texts):
            texts = pa.table({name: kind.texts(name)})

            def shown(done: int, rows: int, before: int = place) -> None:
                if progress is not None:
                    progress(before * rows + done, rows * len(self.fates.texts))

            release = release_column(texts, name, self.sanitizer.sanitize, rng, progress=shown)
            columns[name], words[name] = release.values.column(0), release.units
            identifiers.update(release.identifiers)
            if release.draws is not None:
                draws = release.draws if not place else draws + release.draws
        columns.update(
            (name, pa.array(made, pa.string()))
            for name, made in surrogate_columns(self.fates, len(draws), rng).items()
        )
        return Block(columns, words, identifiers, draws)

    def persons(self, kind: Kind) -> list[str] | None:
        """Whose each text is, if that is known."""
        if self.person_field is None:
            return None
        where = f"(counted from 0) of {kind.what}"
        values = (None if is_missing(value) else value for value in kind.values(self.person_field))
        return [
            person_in(value, f"row {row} {where}", self.person_field)
            for row, value in enumerate(values)
        ]

    def statement(
        self, names: Sequence[str], rng: Generator, *, more: bool = False
    ) -> PrivacyStatement:
        """What holds for each word of a table with these columns, and perhaps with more."""
        kept = [shown for shown, fate in self.fates.told(names).items() if fate == KEEP]
        public = [f"the columns that are written as they are: {', '.join(kept)}"] if kept else []
        if more and self.fates.others == KEEP:
            public = ["every other column, written as it is"]
        if self.person_field is not None:
            public.append(MOST_OF_A_PERSON)
        statement = self.sanitizer.sanitize([], rng).statement.with_public(MISSING, *public)
        return with_surrogates(statement, self.sanitizer, self.fates.surrogates)

    def receipt(
        self, statement: PrivacyStatement, tally: Tally, names: Sequence[str], kind: str
    ) -> Receipt:
        """What is to be kept beside the release; it holds nothing of the texts."""
        fields = list(self.fates.texts)
        told: dict[str, Any] = {
            "format": kind,
            "text_field": fields[0] if len(fields) == 1 else fields,
        }
        if self.person_field is not None:
            told["person_field"] = self.person_field
        about = {"input": told, "columns": self.fates.told(names)}
        return receipt_of_rows(
            self.sanitizer, replace(tally, statement=statement), (), about, self.delta
        )


def refuse_names(kind: Kind, fates: Fates, person_field: str | None) -> None:
    """Refuse names that the table does not have, and columns of which nothing was said."""
    for name in [*fates.named, *([] if person_field is None else [person_field])]:
        column_index(kind.names, name, kind.what, sure=True)
    fates.refuse_undecided(kind.names, kind.what, python=True)
