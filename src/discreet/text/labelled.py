"""Texts with their labels, and a second text where the task is about pairs, read from one file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import Ids
from discreet.errors import InputError, InvalidValue
from discreet.text.fields import labels_of, strings_of
from discreet.text.readers import open_documents


@dataclass(frozen=True)
class Labelled:
    """Examples of a task, row by row.

    Attributes:
        texts: The texts.
        seconds: The second text of each pair; None if the task has none.
        labels: The labels as they are written; None if none were asked for.
        fields: The columns or fields that the texts came from; none in txt.
    """

    texts: list[str] = field(repr=False)
    seconds: list[str] | None = field(repr=False)
    labels: list[str] | None = field(repr=False)
    fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, column in (("second texts", self.seconds), ("labels", self.labels)):
            if column is not None and len(column) != len(self.texts):
                raise InvalidValue(
                    f"{len(self.texts)} texts need as many {name}; got {len(column)}"
                )

    def __len__(self) -> int:
        return len(self.texts)

    def numbers(self) -> list[float]:
        """The labels as finite numbers, for regression."""
        out = []
        for row, label in enumerate(self.labels or [], 1):
            try:
                number = float(label)
            except ValueError:
                number = float("nan")
            if not -1e300 < number < 1e300:
                raise InvalidValue(
                    f"the label of row {row} is not a number; for classes leave out --regression"
                )
            out.append(number)
        return out

    def part(self, rows: Any) -> "Labelled":
        """Some of the rows, by number."""
        return Labelled(
            [self.texts[row] for row in rows],
            None if self.seconds is None else [self.seconds[row] for row in rows],
            None if self.labels is None else [self.labels[row] for row in rows],
            self.fields,
        )


def codes_of(
    labels: Sequence[str], classes: Sequence[str], what: str = "labels", *, first_row: int = 1
) -> Ids:
    """The number of each label among the possible ones, in their order."""
    places = {name: code for code, name in enumerate(classes)}
    codes = np.array([places.get(label, -1) for label in labels], dtype=np.int64)
    wrong = np.flatnonzero(codes < 0)
    if wrong.size:
        raise InvalidValue(
            f"{what} must be among the {len(classes)} possible ones; {wrong.size} of "
            f"{len(codes)} are not, the first in row {first_row + int(wrong[0])}"
        )
    return codes


def read_labelled(
    source: str | Path,
    *,
    text_field: str = "text",
    second_field: str | None = None,
    label_field: str | None = "label",
    format: str | None = None,
) -> Labelled:
    """Read a file of examples.

    Args:
        source: csv, tsv, jsonl (each also .gz) or parquet; txt and ``-`` if there are no labels.
        text_field: Column or field of the text.
        second_field: Of the second text of a pair.
        label_field: Of the label; None reads texts alone.
        format: If the name does not tell it.

    Raises:
        InputError: A field is missing somewhere; the row is named, its content is not.
    """
    texts: list[str] = []
    seconds: list[str] = []
    labels: list[str] = []
    with open_documents(source, format=format, text_field=text_field) as reader:
        second = strings_of(reader, second_field, "the second text") if second_field else None
        label = labels_of(reader, label_field) if label_field else None
        for batch in reader:
            texts += batch.texts
            seconds += second(batch) if second else []
            own = label(batch) if label else []
            if "" in own:
                raise InputError(
                    f"row {batch.first_row + own.index('')} of {reader.name} has an empty "
                    f"{label_field}; complete it, or drop the row"
                )
            labels += own
        fields = tuple(name for name in (reader.text_field, second_field) if name)
    return Labelled(texts, seconds if second else None, labels if label else None, fields)
