"""Text in, text out: tokenise, release every word, write the released words back."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Generator, Ids
from discreet.errors import InvalidValue
from discreet.ledger.dataset import DatasetLedger
from discreet.protocols import (
    Release,
    WordMechanism,
    release_texts,
)
from discreet.randomness import secure_generator
from discreet.release._once import distinct, draws_of, release_once, starts_among
from discreet.release._parts import (
    REPEATS,
    TextSanitizer,
    about_sanitizer,
    checked_repeat,
    chosen_identifiers,
)
from discreet.release.booked import BookedSanitizer, booked_release
from discreet.release.strength import KeepRate, keep_rate
from discreet.release.whole import DELTA
from discreet.scope import ONCE, Scope
from discreet.statement import PrivacyStatement
from discreet.text import function_words, polish
from discreet.text.identifiers import Identifiers
from discreet.text.layout import Layout, PublicLayout, Template, TokensLayout
from discreet.text.passing import Passing
from discreet.text.tokens import TokenBatch, Tokenizer, tokenizer_for

if TYPE_CHECKING:
    from discreet.release.recipe import Recipe
    from discreet.text.kept import Frame

__all__ = [
    "LAYOUTS",
    "READABLE",
    "REPEATS",
    "Sanitizer",
    "TextSanitizer",
    "about_sanitizer",
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
        polish: mend articles (a, an), the capitals of names and abbreviations by a public list
            and, in the layout of tokens, spaces and capitals of sentences; from the released text
            alone.
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
        self.identifiers = chosen_identifiers(identifiers, consistent)
        """What replaces identifiers, if anything does."""
        self.about: Mapping[str, Any] = {"layout": layout, "repeat": repeat}
        if self.identifiers is not None:
            self.about = {**self.about, "identifiers": self.identifiers.about}
        self._layout: Layout = LAYOUTS[layout](
            tokenizer_for(space.words, space.unknown, space.subwords)
        )
        self._passing: Passing | None = None
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
            self._passing = Passing(space.words)
            if hasattr(mechanism, "sparing"):  # its outputs are chosen for the words that are left
                self.mechanism = mechanism.sparing(self._passing.listed)
            self.about = {**self.about, "public": public}
        self.polish = polish

    @cached_property
    def keep_rate(self) -> KeepRate:
        """How often a word stays, and from how many draws that is known; None for the law."""
        return keep_rate(self.mechanism)

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
        if self.identifiers is not None and self.identifiers.is_secret:
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
        if self._passing is not None:
            statement = statement.with_public(function_words.PUBLIC).with_caveats(
                function_words.CAVEAT
            )
        if self.identifiers is None:
            return statement
        own = self.identifiers
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
        if self.identifiers is None:
            written, words, draws = self._words(texts, np.arange(len(texts) + 1), rng)
            written = self._polished(written, whole=True)
            return Release.of(written, self.statement, words, rng, draws=draws)
        cut = self.identifiers.cut(texts, rng)
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
        passed = self._public_places(batch, template, starts)
        if self._once:
            released, draws = release_once(
                self.mechanism, batch.ids, rng, starts, passed, template.capitals
            )
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
        if self.identifiers is not None:
            segments, bounds = self.identifiers.segments(texts)
        batch, template = self._layout.divided(segments)
        starts = batch.offsets[bounds]
        passed = self._public_places(batch, template, starts)
        if not self._once:
            return draws_of(starts, passed)
        drawn = np.ones(len(batch.ids), np.bool_) if passed is None else ~passed
        return distinct(batch.ids[drawn], starts_among(drawn, starts))[2]

    def _public_places(
        self, batch: TokenBatch, template: Template, starts: Ids
    ) -> NDArray[np.bool_] | None:
        return None if self._passing is None else self._passing.places(batch, template, starts)

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

    def forget(self) -> None:
        """Keep nothing in memory of the texts that were seen; the next ones take a little longer.

        What was seen once is looked up when it comes again. Where texts come from several people,
        the time that this saves would tell one of them what another sent.
        """
        self._layout.forget()

    def unknown_share(self, texts: Sequence[str]) -> float:
        """The share of words outside the vocabulary; function words that pass do not count.

        It is counted on protected text, so it is as protected: for who has the text, and for no
        receipt, log or release.
        """
        batch, template = self._layout.divided(texts)
        passed = self._public_places(batch, template, batch.offsets)
        ids = batch.ids if passed is None else batch.ids[~passed]
        return float((ids == self.mechanism.space.unknown).mean()) if len(ids) else 0.0

    def stream(
        self, batches: Iterable[Sequence[str]], rng: Generator | None = None
    ) -> Iterator[Release[list[str]]]:
        """Sanitise batch after batch, so that a corpus larger than memory passes through."""
        rng = secure_generator() if rng is None else rng
        return (self.sanitize(batch, rng) for batch in batches)
