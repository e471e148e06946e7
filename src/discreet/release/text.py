"""Text in, text out: tokenise, release every word, write the released words back.

:class:`Sanitizer` takes texts, :func:`sanitize_file` takes a file and leaves a receipt beside it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from discreet import check
from discreet.arrays import Generator, Progress
from discreet.mechanisms.registry import described
from discreet.protocols import Release, WordMechanism
from discreet.randomness import secure_generator
from discreet.receipt import Receipt, receipt_path
from discreet.statement import PrivacyStatement
from discreet.text.formats import STANDARD_STREAM
from discreet.text.layout import Layout, PublicLayout, TokensLayout
from discreet.text.readers import MAX_DOCUMENT_BYTES, DocumentReader, open_documents
from discreet.text.tokens import Tokenizer, tokenizer_for
from discreet.text.writers import open_output

LAYOUTS: dict[str, Callable[[Tokenizer], Layout]] = {
    "tokens": TokensLayout,
    "public": PublicLayout,
}


class TextSanitizer(Protocol):
    """Turns texts into texts that may be released, by way of a word mechanism."""

    mechanism: WordMechanism
    about: Mapping[str, Any]
    """What a receipt says of it beside the mechanism, ready for JSON."""

    def sanitize(self, texts: Sequence[str], rng: Generator | None = None) -> Release[list[str]]:
        """One text for each."""
        ...


class Sanitizer:
    """Replaces every word of a text by what a word mechanism releases for it.

    Words that the space does not have become its unknown token *before* the mechanism; nothing of
    a text passes through unless the layout says that it is public.

    Args:
        mechanism: a word mechanism; its space decides how text is cut into words.
        layout: ``"tokens"`` writes the released words joined by spaces. ``"public"`` keeps white
            space, punctuation and capitals of the input, and its statement says so.

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> from discreet.mechanisms.word import SanText
    >>> space = EmbeddingSpace.from_arrays(["<unk>", "tea", "cup"], [[0.0], [1.0], [2.0]])
    >>> release = Sanitizer(SanText(space, epsilon=1.0)).sanitize(["tea please", "cup"])
    >>> len(release.values), release.units, release.statement.epsilon
    (2, 3, 1.0)
    """

    def __init__(self, mechanism: WordMechanism, *, layout: str = "tokens") -> None:
        check.one_of(layout, list(LAYOUTS), "layout of Sanitizer")
        space = mechanism.space
        self.mechanism = mechanism
        self.about: Mapping[str, Any] = {"layout": layout}
        self._layout: Layout = LAYOUTS[layout](
            tokenizer_for(space.words, space.unknown, space.subwords)
        )

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee for each word of a sanitised text."""
        return self.mechanism.statement.with_public(*self._layout.public)

    def sanitize(self, texts: Sequence[str], rng: Generator | None = None) -> Release[list[str]]:
        """Sanitise documents.

        Args:
            texts: the documents.
            rng: leave it out for a release. A seeded generator is for experiments, and the
                statement of the result says that it was used.
        """
        rng = secure_generator() if rng is None else rng
        batch = self._layout.split(texts)
        released = self.mechanism.release(batch.ids, rng)
        written = self._layout.join(texts, batch.offsets, released)
        return Release.of(written, self.statement, batch.tokens, rng)

    def stream(
        self, batches: Iterable[Sequence[str]], rng: Generator | None = None
    ) -> Iterator[Release[list[str]]]:
        """Sanitise batch after batch, so that a corpus larger than memory passes through."""
        rng = secure_generator() if rng is None else rng
        return (self.sanitize(batch, rng) for batch in batches)


def sanitize_file(
    source: str | Path,
    output: str | Path,
    sanitizer: TextSanitizer | Callable[[], TextSanitizer],
    *,
    text_field: str = "text",
    format: str | None = None,
    max_document_bytes: int = MAX_DOCUMENT_BYTES,
    force: bool = False,
    rng: Generator | None = None,
    progress: Progress | None = None,
) -> Receipt:
    """Sanitise the texts of a file, block by block, and write a receipt beside the output.

    All other columns or fields are written as they are, and the statement says so. Output and
    receipt appear whole or not at all.

    Args:
        source: txt, csv, tsv, jsonl (each also .gz) or parquet; ``-`` is standard input.
        output: of the same format, or txt for the texts alone; ``-`` is standard output, which has
            no receipt beside it.
        sanitizer: such as :class:`Sanitizer`, or a function that makes one. It is called once the
            files were opened: a mistake in a name shows before a space is certified.
        text_field: column or field that holds the text.
        format: of the input, if its name does not tell it.
        max_document_bytes: longer documents are refused.
        force: replace an output that exists.
        rng: leave it out for a release.
        progress: called with the bytes read and in all (0: unknown).

    Returns:
        the receipt, with the statement that holds for each word and the counts.
    """
    documents = words = 0
    companions = [] if str(output) == STANDARD_STREAM else [receipt_path(output)]
    with (
        open_documents(
            source, format=format, text_field=text_field, max_document_bytes=max_document_bytes
        ) as reader,
        open_output(output, reader, force=force, companions=companions) as writer,
    ):
        made = sanitizer() if callable(sanitizer) else sanitizer
        rng = secure_generator() if rng is None else rng
        for batch in reader:
            release = made.sanitize(batch.texts, rng)
            writer.write(batch.with_texts(release.values))
            documents += len(release.values)
            words += release.units
            if progress is not None:
                progress(reader.bytes_read, reader.total_bytes or 0)
        statement = release.statement
        if _carries_more(reader, writer.format):
            statement = statement.with_public("every other column or field, written as it is")
        certificate = getattr(made.mechanism, "certificate", None)
        receipt = Receipt(
            statement,
            {
                "mechanism": described(made.mechanism),
                "certificate": None if certificate is None else asdict(certificate),
                "space": made.mechanism.space.to_dict(),
                "input": {"format": reader.format, "text_field": reader.text_field},
                **made.about,
                "keep": mean_keep(made.mechanism),
                "counts": {"documents": documents, "words": words},
            },
        )
        if (digest := writer.complete()) is not None:
            receipt = receipt.of_output(digest)
        writer.finish(dict.fromkeys(companions, receipt.to_json().encode()))
    return receipt


def mean_keep(mechanism: WordMechanism, count: int = 32) -> float | None:
    """Mean probability that a word stays, over a few words; None if the law cannot be said."""
    law = getattr(mechanism, "log_probabilities", None)
    if law is None:
        return None
    ids = mechanism.space.spread_words(count)
    return float(np.exp(law(ids)[np.arange(len(ids)), ids]).mean())


def _carries_more(reader: DocumentReader, written: str) -> bool:
    """True if anything but the text goes from the input to the output."""
    if written == "txt":
        return False
    names = reader.header if reader.schema is None else reader.schema.names
    return names is None or len(names) > 1
