"""The mapping of surrogates to what they replaced, kept on request, and putting it back.

A mapping is as sensitive as the text. It lives in memory or in a file that only its owner can read;
receipts, messages and releases have nothing of it.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from discreet.errors import InputError, OutputError
from discreet.files import check_place
from discreet.settings import fields_as_keywords
from discreet.staging import PRIVATE
from discreet.text.identifiers.secret_files import read_secret, write_secret
from discreet.text.readers import ReadingSettings, open_documents
from discreet.text.writers import DocumentWriter

_FORMAT = "discreet mapping 1"
_WORD = re.compile(r"\w+")


class Restored(NamedTuple):
    """A text with its values, and how many surrogates were put back or had to be left."""

    text: str
    replaced: int
    ambiguous: int


class SurrogateMapping:
    """Which surrogate stands for which value, document by document.

    >>> mapping = SurrogateMapping()
    >>> mapping.add(1, [(0, "Sven Okafor", "Jane Roe")])
    >>> mapping
    SurrogateMapping(1 document, 1 entry)
    >>> restore("Dear Sven Okafor,", mapping)
    'Dear Jane Roe,'
    """

    def __init__(self) -> None:
        self.documents = 0
        self._entries: dict[tuple[int, str, str], None] = {}
        self._tables: dict[int | None, dict[str, list[tuple[int, str, str | None]]]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:  # its content is protected text
        entries = "1 entry" if len(self) == 1 else f"{len(self)} entries"
        return f"SurrogateMapping({self.documents} document{'s'[: self.documents != 1]}, {entries})"

    def add(self, documents: int, entries: Iterable[tuple[int, str, str]]) -> None:
        """Add a batch.

        Args:
            documents: how many documents it has.
            entries: for each identifier the number of its document in the batch, the surrogate and
                the value.
        """
        self._entries.update(
            ((self.documents + document, surrogate, value), None)
            for document, surrogate, value in entries
        )
        self.documents += documents
        self._tables.clear()

    def restored(self, text: str, document: int | None = None) -> Restored:
        """A text with values in the place of surrogates.

        Args:
            text: such as the answer of a model that saw the released text.
            document: the number of the document, from 0, that it answers; without it the surrogates
                of all documents are looked for, and one that stands for different values is left.
        """
        table, parts, end = self._table(document), list[str](), 0
        counts = {True: 0, False: 0}
        for word in _WORD.finditer(text):
            for offset, surrogate, value in table.get(word.group(), ()):
                start = word.start() - offset
                if start >= end and _stands(text, start, surrogate):
                    counts[value is not None] += 1
                    parts += [text[end:start], surrogate if value is None else value]
                    end = start + len(surrogate)
                    break
        return Restored("".join([*parts, text[end:]]), counts[True], counts[False])

    def _table(self, document: int | None) -> dict[str, list[tuple[int, str, str | None]]]:
        """Each surrogate under its first word: where that word is in it, itself, and its value.

        None stands for more than one value.
        """
        if document not in self._tables:
            values: dict[str, str | None] = {}
            for number, surrogate, value in self._entries:
                if document in (None, number):
                    values[surrogate] = value if values.get(surrogate, value) == value else None
            table: dict[str, list[tuple[int, str, str | None]]] = {}
            for surrogate in sorted(values, key=len, reverse=True):
                first = _WORD.search(surrogate)
                if first is not None:
                    entry = (first.start(), surrogate, values[surrogate])
                    table.setdefault(first.group(), []).append(entry)
            self._tables = {document: table}
        return self._tables[document]

    def write(self, path: Path) -> None:
        """Write a new file that only its owner can read."""
        values = {"format": _FORMAT, "documents": self.documents, "entries": [*self._entries]}
        write_secret(path, json.dumps(values, ensure_ascii=True).encode())

    @classmethod
    def read(cls, path: Path) -> "SurrogateMapping":
        """Read what :meth:`write` wrote."""
        content = read_secret(path, "mapping")
        try:
            values: Any = json.loads(content)
            if values["format"] != _FORMAT:
                raise ValueError
            mapping, entries = cls(), [(int(d), str(s), str(v)) for d, s, v in values["entries"]]
            mapping.add(int(values["documents"]), entries)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError(f"{path} is not a mapping that discreet wrote") from None
        return mapping


def _stands(text: str, start: int, surrogate: str) -> bool:
    """Whether a surrogate is there, and is not a part of something longer."""
    end = start + len(surrogate)
    if start < 0 or not text.startswith(surrogate, start):
        return False
    around = text[max(0, start - 1) : start], text[end : end + 1]
    edges = surrogate[:1], surrogate[-1:]
    return not any(a.isalnum() and b.isalnum() for a, b in zip(around, edges, strict=True))


def restore(text: str, mapping: SurrogateMapping) -> str:
    """A text with the values that its surrogates stand for.

    The result holds protected text again. A surrogate that stands for different values is left.
    """
    return mapping.restored(text).text


@contextmanager
def kept_mapping(
    path: Path, *others: str | Path
) -> Iterator[tuple[SurrogateMapping, Callable[[], None]]]:
    """A mapping and a function that writes it; what it wrote is removed if the block fails.

    Args:
        path: where it will be written; a file that is there is refused.
        others: the files of the release, which must be different ones.
    """
    if path.is_file():
        raise OutputError(f"{path} exists already, and is not replaced; name another")
    check_place(path, force=False)
    if os.path.realpath(path) in map(os.path.realpath, others):
        raise OutputError(f"{path} is another file of this release; keep the mapping apart")
    mapping, written = SurrogateMapping(), list[Path]()

    def save() -> None:
        mapping.write(path)
        written.append(path)

    try:
        yield mapping, save
    except BaseException:
        for own in written:
            own.unlink(missing_ok=True)
        raise


@fields_as_keywords
def restore_file(
    source: str | Path,
    output: str | Path,
    mapping: SurrogateMapping,
    *,
    by_row: bool = False,
    text_field: str = "text",
    reading: ReadingSettings,
    force: bool = False,
) -> dict[str, int]:
    """Put values back into the texts of a file, and count.

    Args:
        source: txt, csv, tsv, jsonl (each also .gz) or parquet; ``-`` is standard input.
        output: of the same format, or txt; ``-`` is standard output.
        mapping: what was kept.
        by_row: row n of the file belongs to document n of the release.
        text_field: column or field that holds the text.
        reading: how the input is read; or its fields as keywords.
        force: replace an output that exists.
    """
    counts = {"documents": 0, "replaced": 0, "ambiguous": 0}
    with (
        open_documents(source, reading=reading, text_field=text_field) as reader,
        # What it holds is as protected as the mapping, which nobody else can read.
        DocumentWriter(output, reader, force=force, mode=PRIVATE) as writer,
    ):
        for batch in reader:
            if by_row and batch.first_row - 1 + len(batch.texts) > mapping.documents:
                raise InputError(
                    f"{reader.name} has more rows than the {mapping.documents:,} documents of the "
                    "mapping; leave out --by-row, or check the files"
                )
            rows = range(batch.first_row - 1, batch.first_row - 1 + len(batch.texts))
            done = [
                mapping.restored(text, row if by_row else None)
                for row, text in zip(rows, batch.texts, strict=True)
            ]
            writer.write(batch.with_texts([each.text for each in done]))
            counts["documents"] += len(done)
            counts["replaced"] += sum(each.replaced for each in done)
            counts["ambiguous"] += sum(each.ambiguous for each in done)
        writer.finish()
    return counts
