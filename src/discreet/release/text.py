"""Text in, text out: tokenise, release every word, write the released words back.

:class:`Sanitizer` takes texts, :func:`sanitize_file` takes a file and leaves a receipt beside it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Generator, Ids, Progress
from discreet.errors import InvalidValue
from discreet.ledger.dataset import DatasetLedger
from discreet.protocols import (
    IntArray,
    Release,
    WordMechanism,
    release_texts,
)
from discreet.randomness import secure_generator
from discreet.receipt import Receipt, receipt_path
from discreet.release._once import distinct, draws_of, release_once, starts_among
from discreet.release._parts import (
    REPEATS,
    TextSanitizer,
    about_sanitizer,
    checked_repeat,
    chosen_identifiers,
    surrogate_columns,
)
from discreet.release.booked import BookedSanitizer, booked_release, counting, read_twice
from discreet.release.rows import looked_at, receipt_of_rows, release_rows
from discreet.release.strength import weakness
from discreet.release.whole import DELTA, MOST_OF_A_PERSON, checked_delta
from discreet.scope import ONCE, Scope
from discreet.statement import PrivacyStatement
from discreet.text import function_words, polish
from discreet.text.columns import columns_of
from discreet.text.fates import Fates
from discreet.text.fields import persons_of
from discreet.text.formats import STANDARD_STREAM, UTF_8
from discreet.text.identifiers import Identifiers
from discreet.text.layout import Layout, PublicLayout, TokensLayout
from discreet.text.readers import MAX_DOCUMENT_BYTES, Batch, open_documents
from discreet.text.tokens import Tokenizer, tokenizer_for
from discreet.text.writers import open_output, output_format

if TYPE_CHECKING:
    from discreet.release.recipe import Recipe
    from discreet.release.tables import Frame

__all__ = [
    "LAYOUTS",
    "READABLE",
    "REPEATS",
    "Sanitizer",
    "TextSanitizer",
    "about_sanitizer",
    "sanitize_file",
    "surrogate_columns",
]

LAYOUTS: dict[str, Callable[[Tokenizer], Layout]] = {
    "tokens": TokensLayout,
    "public": PublicLayout,
}
READABLE: Mapping[str, Any] = {"layout": "public", "public": function_words.NAME, "polish": True}
"""Settings of :class:`Sanitizer` for text that people read; a guide belongs to the mechanism."""
_ONCE_SCOPE = "equal words of a document are drawn once and count as one word"
_ONCE_PUBLIC = (
    "which places of each document hold the same word, those outside the vocabulary as one"
)


class Sanitizer:
    """Replaces every word of a text by what a word mechanism releases for it.

    Words that the space does not have become its unknown token *before* the mechanism; nothing of
    a text passes through unless the layout says that it is public.

    Args:
        mechanism: a word mechanism; its space decides how text is cut into words.
        layout: ``"tokens"`` writes the released words joined by spaces. ``"public"`` keeps white
            space, punctuation and capitals of the input, and its statement names them.
        identifiers: what finds identifiers, which are then replaced by surrogates of their type:
            ``"rules"``, ``"spacy"``, ``"presidio"`` or an :class:`Identifiers`. None treats all
            text as words.
        consistent: ``"none"``, ``"document"`` or ``"key:FILE"``: see :class:`Identifiers`.
        repeat: ``"each"`` draws every word. ``"once"`` draws a word once for all its places in a
            document: its loss is charged once, and which places are equal is public.
        public: ``"function-words"`` lets a public list of words that hold sentences together, and
            marks, pass unchanged; the statement says so.
        polish: mend articles (a, an) and, in the layout of tokens, spaces and capitals; from the
            released text alone.
        ledger: where each release is booked before it is drawn; it may refuse.

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> from discreet.mechanisms.word import SanText
    >>> space = EmbeddingSpace.from_arrays(["<unk>", "tea", "cup"], [[0.0], [1.0], [2.0]])
    >>> release = Sanitizer(SanText(space, epsilon=1.0)).sanitize(["tea please", "cup"])
    >>> len(release.values), release.units, release.statement.epsilon
    (2, 3, 1.0)
    """

    def __init__(
        self,
        mechanism: WordMechanism,
        *,
        layout: str = "tokens",
        identifiers: str | Identifiers | None = None,
        consistent: str = "none",
        repeat: str = "each",
        public: str | None = None,
        polish: bool = False,
        ledger: DatasetLedger | None = None,
    ) -> None:
        check.one_of(layout, list(LAYOUTS), "layout of Sanitizer")
        self._once = checked_repeat(repeat, mechanism) == "once"
        space = mechanism.space
        self.mechanism = mechanism
        self.ledger = ledger
        self._identifiers = chosen_identifiers(identifiers, consistent)
        self.about: Mapping[str, Any] = {"layout": layout, "repeat": repeat}
        if self._identifiers is not None:
            self.about = {**self.about, "identifiers": self._identifiers.about}
        self._layout: Layout = LAYOUTS[layout](
            tokenizer_for(space.words, space.unknown, space.subwords)
        )
        self._passed = None
        self.recipe: Recipe | None = None
        """How to make it again by name, once that is known."""
        self.given = mechanism
        """The mechanism that it was given, whatever words pass."""
        if public is not None:
            check.one_of(public, (function_words.NAME,), "public of Sanitizer")
            if space.subwords:  # "in" would pass as the first piece of a word that is not public
                raise InvalidValue(
                    f"function words cannot pass in {space.name}, a space of pieces of words; use "
                    "a space of whole words, such as english"
                )
            self._passed = function_words.on_the_list(space.words)
            if hasattr(mechanism, "sparing"):  # its outputs are chosen for the words that are left
                self.mechanism = mechanism.sparing(self._passed)
            self.about = {**self.about, "public": public}
        self.polish = polish

    @property
    def identifiers(self) -> Identifiers | None:
        """What replaces identifiers, if anything does."""
        return self._identifiers

    def __reduce_ex__(self, protocol: Any) -> Any:
        # What travels is how to make it: names and numbers. Only where vectors were given as
        # arrays, which no other process could load by a name, are they taken along.
        from discreet.release.recipe import recipe_of, sanitizer_from

        if self.ledger is not None:
            raise InvalidValue(
                "this Sanitizer books its releases, and a copy elsewhere would not; make it there"
            )
        if (recipe := recipe_of(self)) is not None:
            return sanitizer_from, (recipe.to_json(),)
        if self._identifiers is not None and self._identifiers.is_secret:
            raise InvalidValue(
                "this Sanitizer holds a key or a mapping, which must not be copied to another "
                "process; make it there"
            )
        return super().__reduce_ex__(protocol)

    @cached_property
    def statement(self) -> PrivacyStatement:
        """The guarantee for each word of a sanitised text."""
        statement = self.mechanism.statement.with_public(*self._layout.public)
        cut = self.mechanism.space.fingerprint
        if self._once:
            cut += ONCE
            scope = "; ".join(filter(None, (statement.scope, _ONCE_SCOPE)))
            statement = replace(statement, scope=scope).with_public(_ONCE_PUBLIC)
        statement = replace(statement, over=Scope(cut=cut))
        if self._passed is not None:
            statement = statement.with_public(function_words.PUBLIC).with_caveats(
                function_words.CAVEAT
            )
        if self._identifiers is None:
            return statement
        own = self._identifiers
        return statement.with_public(*own.public).with_caveats(*own.caveats)

    def sanitize(
        self,
        texts: Sequence[str],
        rng: Generator | None = None,
        *,
        persons: Sequence[str] | None = None,
    ) -> Release[list[str]]:
        """Sanitise documents.

        Args:
            texts: the documents.
            rng: leave it out for a release. A seeded generator is for experiments, and the
                statement of the result says that it was used.
            persons: for a ledger, whose each document is; without it they count for everybody.
        """
        rng = secure_generator() if rng is None else rng
        if self.ledger is not None:
            unbooked = object.__new__(type(self))
            vars(unbooked).update(vars(self) | {"ledger": None})
            return booked_release(
                BookedSanitizer(self.ledger, unbooked, DELTA), texts, persons, rng
            )
        if self._identifiers is None:
            written, words, draws = self._words(texts, np.arange(len(texts) + 1), rng)
            written = self._polished(written, whole=True)
            return Release.of(written, self.statement, words, rng, draws=draws)
        cut = self._identifiers.cut(texts, rng)
        segments, words, draws = self._words(cut.segments, cut.bounds, rng)
        # Surrogates are left as they were made, so that a mapping can find them again.
        segments = self._polished(segments, whole=False)
        written = cut.joined(segments, " " if isinstance(self._layout, TokensLayout) else "")
        release = Release.of(written, self.statement, words, rng, draws=draws)
        return replace(release, identifiers=cut.counts)

    def _words(
        self, segments: Sequence[str], bounds: Ids, rng: Generator
    ) -> tuple[list[str], int, Ids]:
        """Segments with every word released, how many words there are, and draws by document.

        Args:
            segments: of the documents, one document after the other.
            bounds: which segment each document begins with, and the end: a mechanism is told of
                documents, not of segments.
            rng: where the noise comes from.
        """
        batch, template = self._layout.divided(segments)
        starts = batch.offsets[bounds]
        passed = self._public_places(batch.ids)
        if self._once:
            released, draws = release_once(self.mechanism, batch.ids, rng, starts, passed)
        else:
            released = release_texts(
                self.mechanism, batch.ids, rng, starts, passed, template.capitals
            )
            draws = draws_of(starts, passed)
        count = batch.tokens - (0 if passed is None else int(passed.sum()))
        return self._layout.write(template, released), count, draws

    def draws(self, texts: Sequence[str]) -> Ids:
        """How many draws each document will take; nothing is drawn."""
        segments, bounds = texts, np.arange(len(texts) + 1)
        if self._identifiers is not None:
            segments, bounds = self._identifiers.segments(texts)
        batch, _ = self._layout.divided(segments)
        starts, passed = batch.offsets[bounds], self._public_places(batch.ids)
        if not self._once:
            return draws_of(starts, passed)
        drawn = np.ones(len(batch.ids), np.bool_) if passed is None else ~passed
        return distinct(batch.ids[drawn], starts_among(drawn, starts))[2]

    def _public_places(self, ids: IntArray) -> NDArray[np.bool_] | None:
        return None if self._passed is None else self._passed[ids]

    def _polished(self, texts: list[str], *, whole: bool) -> list[str]:
        """Agreement mended, from what is about to be released alone; a part begins no sentence."""
        if not self.polish:
            return texts
        if isinstance(self._layout, TokensLayout):
            texts = [polish.as_sentences(text, capitals=whole) for text in texts]
        return [polish.mended(text) for text in texts]

    def sanitize_batch(
        self, table: "Frame", text: str | Sequence[str] = "text", rng: Generator | None = None
    ) -> "Frame":
        """Sanitise the texts of an Arrow table or record batch; the rest of it stays as it is.

        What holds for each word is :attr:`statement`, the same for every batch.
        :func:`discreet.release.tables.release_column` gives it with the table, and the counts.

        Args:
            table: a ``pyarrow.Table`` or ``pyarrow.RecordBatch``; the same comes back.
            text: the column that holds the texts, or several. A null stays null.
            rng: leave it out for a release.

        >>> import pyarrow as pa
        >>> from discreet.spaces.space import EmbeddingSpace
        >>> from discreet.mechanisms.word import SanText
        >>> space = EmbeddingSpace.from_arrays(["<unk>", "tea", "cup"], [[0.0], [1.0], [2.0]])
        >>> table = pa.table({"id": [7, 8], "body": ["tea please", None]})
        >>> out = Sanitizer(SanText(space, epsilon=1.0)).sanitize_batch(table, text="body")
        >>> out.column("id").to_pylist(), out.column("body").is_null().to_pylist()
        ([7, 8], [False, True])
        """
        from discreet.release.tables import release_column

        return release_column(table, text, self.sanitize, rng).values

    def unknown_share(self, texts: Sequence[str]) -> float:
        """The share of words outside the vocabulary; function words that pass do not count.

        It is counted on protected text, so it is as protected: for who has the text, and for no
        receipt, log or release.
        """
        ids = self._layout.divided(texts)[0].ids
        ids = ids if self._passed is None else ids[~self._passed[ids]]
        return float((ids == self.mechanism.space.unknown).mean()) if len(ids) else 0.0

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
    text_field: str | Sequence[str] = "text",
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    surrogates: Mapping[str, str] | None = None,
    others: str | None = None,
    accept_weak: bool = False,
    person_field: str | None = None,
    whole_delta: float = DELTA,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str = UTF_8,
    max_document_bytes: int = MAX_DOCUMENT_BYTES,
    force: bool = False,
    operator: str | None = None,
    recipient: str | None = None,
    rng: Generator | None = None,
    progress: Progress | None = None,
    before_publishing: Callable[[], None] | None = None,
    tell_unknown: Callable[[float], None] | None = None,
    ledger: DatasetLedger | None = None,
) -> Receipt:
    """Sanitise the texts of a file, block by block, and write a receipt beside the output.

    Every other column or field is kept, dropped or replaced by surrogates, and one of which
    nothing is said is an error. Output and receipt appear whole or not at all.

    Args:
        source: txt, csv, tsv, jsonl (each also .gz) or parquet; ``-`` is standard input.
        output: of the same format, or txt for the texts alone; ``-`` is standard output, which has
            no receipt beside it.
        sanitizer: such as :class:`Sanitizer`, or a function that makes one. It is called once the
            files were opened: a mistake in a name shows before a space is certified.
        text_field: column or field that holds the text, or several, each of which is sanitised.
        keep: columns that are written as they are.
        drop: columns that are left out.
        surrogates: columns whose values are replaced by surrogates, each with a type such as
            ``"email"``: drawn for every row without looking at the value.
        others: ``"keep"`` or ``"drop"`` for every column that is not named.
        accept_weak: release even if :func:`discreet.release.strength.weakness` finds one.
        person_field: column or field that says whose a text is; with it the receipt states what
            holds for the person with most text, too.
        whole_delta: what may be given away for a smaller epsilon of whole texts; 0 for none.
        format: of the input, if its name does not tell it.
        delimiter: between the fields of csv, of input and output; a comma unless given.
        encoding: of the input; the output is UTF-8.
        max_document_bytes: longer documents are refused.
        force: replace an output that exists.
        operator: who releases it, for the receipt.
        recipient: whom it is released for, for the receipt.
        rng: leave it out for a release.
        progress: called with the bytes read and in all (0: unknown).
        before_publishing: called when all is released and nothing is in its place yet.
        tell_unknown: called before anything is released, with the share of the words at the
            beginning of the file that the vocabulary does not have. It was counted on protected
            text: it may be shown to whoever has the text, and goes nowhere else.
        ledger: where the release is booked: all is counted and reserved before anything is drawn,
            and committed before anything is in its place.

    Returns:
        the receipt, with the statement that holds for each word and the counts.
    """
    delta = checked_delta(whole_delta)
    fates = Fates(
        (text_field,) if isinstance(text_field, str) else tuple(text_field),
        *(tuple(keep), tuple(drop), surrogates or {}, others),
    )
    companions = [] if str(output) == STANDARD_STREAM else [receipt_path(output)]
    opened_again = partial(
        open_documents,
        source,
        format=format,
        delimiter=delimiter,
        encoding=encoding,
        text_field=fates.texts[0],
        max_document_bytes=max_document_bytes,
    )
    with opened_again() as reader, ExitStack() as stack:
        persons = None if person_field is None else persons_of(reader, person_field)
        columns = columns_of(reader, fates, output_format(str(output), reader)[0])
        opened = open_output(
            output, reader, shape=columns.shape, force=force, companions=companions
        )
        writer = stack.enter_context(opened)
        made = sanitizer() if callable(sanitizer) else sanitizer
        if not accept_weak and (weak := weakness(made.mechanism)) is not None:
            raise InvalidValue(f"{weak}; lower epsilon, or add --yes-weak if that is what you want")
        rng = secure_generator() if rng is None else rng
        batches, booked, unbooked = iter(reader), None, made
        if ledger is not None:
            made = booked = BookedSanitizer(ledger, counting(made), delta)
            counted_first, batches = read_twice(reader, source, opened_again)
            for batch in counted_first:
                owners = None if persons is None else persons(batch)
                booked.count(columns.part(batch).texts.values(), owners)
            stack.enter_context(booked.reserved(rng))
        if tell_unknown is not None and isinstance(unbooked, Sanitizer):
            batches = looked_at(batches, columns, unbooked.unknown_share, tell_unknown)

        def write(batch: Batch) -> None:
            writer.write(batch)
            if progress is not None:
                progress(reader.bytes_read, reader.total_bytes or 0)

        tally = release_rows(batches, columns, made, write, rng, persons)
        columns.check_complete()
        fields = reader.text_field if len(tally.words) == 1 else list(tally.words)
        told = {"format": reader.format, "text_field": fields}
        if person_field is not None:
            told["person_field"] = person_field
        public = columns.public if persons is None else (*columns.public, MOST_OF_A_PERSON)
        about = {"input": told, "columns": columns.fates}
        receipt = receipt_of_rows(made, tally, public, about, delta)
        receipt = receipt.between(operator, recipient)
        if before_publishing is not None:
            before_publishing()
        if booked is not None:
            booked.require_same(tally.wholes)
            receipt = booked.entered(receipt)
        if (digest := writer.complete()) is not None:
            receipt = receipt.of_output(digest)
        if booked is not None:
            booked.commit(receipt)
        writer.finish(dict.fromkeys(companions, receipt.to_json().encode()))
    return receipt
