"""A file of texts in, the released texts and a receipt out: what sanitize and rewrite share."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from discreet.arrays import Generator
from discreet.cli import _options as options
from discreet.cli._terminal import progress_bar
from discreet.mechanisms.registry import parameters_of
from discreet.statement import RECEIPT_SUFFIX, PrivacyStatement

if TYPE_CHECKING:
    from discreet.protocols import Release, WordMechanism
    from discreet.text.readers import DocumentReader
    from discreet.text.writers import DocumentWriter


@dataclass(frozen=True)
class Files:
    """What the command line says about input and output."""

    source: str
    output: str
    text_field: str
    format: str | None
    max_document_mb: float
    force: bool


class TextSanitizer(Protocol):
    """Turns texts into texts that may be released."""

    def sanitize(
        self, texts: Sequence[str], rng: "Generator | None" = None
    ) -> "Release[list[str]]":
        """One text for each."""
        ...


@dataclass(frozen=True)
class Way:
    """How texts are released, and what else the receipt says of it."""

    mechanism: "WordMechanism"
    sanitizer: TextSanitizer
    about: dict[str, Any]


@dataclass(frozen=True)
class Released:
    """What was written."""

    mechanism: str
    space: str
    statement: PrivacyStatement
    documents: int
    words: int
    keep: float | None
    """The mean probability that a word stays, where it is known."""
    written: tuple[str, ...]
    """A line that names the files, unless the output is standard output."""


def release_texts(files: Files, made: Callable[[], Way], doing: str, seed: int | None) -> Released:
    """Read, release and write, block by block; output and receipt appear whole or not at all.

    Args:
        files: Input and output.
        made: Makes the mechanism. It is called after the files were opened: a mistake in a name
            must not show only after a space was certified.
        doing: The word beside the progress bar.
        seed: Of the noise; None is secure.
    """
    from discreet.text.readers import open_documents
    from discreet.text.writers import open_output

    documents = words = 0
    companions = [] if files.output == "-" else [Path(files.output + RECEIPT_SUFFIX)]
    with (
        open_documents(
            files.source,
            format=files.format,
            text_field=files.text_field,
            max_document_bytes=options.document_bytes(files.max_document_mb),
        ) as reader,
        open_output(files.output, reader, force=files.force, companions=companions) as writer,
    ):
        from discreet.evaluation.explanation import mean_keep
        from discreet.randomness import generator

        rng = generator(seed)
        way = made()
        with progress_bar(doing) as show:
            for batch in reader:
                release = way.sanitizer.sanitize(batch.texts, rng)
                writer.write(batch.with_texts(release.values))
                documents += len(release.values)
                words += release.units
                show(reader.bytes_read, reader.total_bytes or 0)
        statement = release.statement
        if _carries_more(reader, writer):
            statement = statement.with_public("every other column or field, written as it is")
        keep = mean_keep(way.mechanism)
        values = _receipt(way, statement, reader) | {
            "keep": keep,
            "counts": {"documents": documents, "words": words},
        }
        text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
        writer.finish(dict.fromkeys(companions, text.encode()))
    written = [f"Written: {files.output} and its receipt {each}" for each in companions]
    name, space = way.mechanism.name, way.mechanism.space.name
    return Released(name, space, statement, documents, words, keep, tuple(written))


def _carries_more(reader: "DocumentReader", writer: "DocumentWriter") -> bool:
    """True if anything but the text goes from the input to the output."""
    if writer.format == "txt":
        return False
    names = reader.header if reader.schema is None else reader.schema.names
    return names is None or len(names) > 1


def _receipt(way: Way, statement: PrivacyStatement, reader: "DocumentReader") -> dict[str, Any]:
    """What was done, for a program or a privacy officer; nothing of the text."""
    from dataclasses import asdict

    from discreet import __version__

    mechanism, space = way.mechanism, way.mechanism.space
    certificate = getattr(mechanism, "certificate", None)
    return {
        "discreet": __version__,
        "statement": statement.to_dict(),
        "in_words": statement.lines(),
        "mechanism": {"name": mechanism.name, **parameters_of(mechanism)},
        "certificate": None if certificate is None else asdict(certificate),
        "space": {
            "name": space.name,
            "words": len(space),
            "dimension": space.dimension,
            "fingerprint": space.fingerprint,
            "provenance": space.provenance,
        },
        "input": {"format": reader.format, "text_field": reader.text_field},
        **way.about,
    }
