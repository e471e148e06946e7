"""Text in, text out: tokenise, release every word, write the released words back."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from discreet import check
from discreet.protocols import Release, WordMechanism
from discreet.randomness import secure_generator
from discreet.statement import PrivacyStatement
from discreet.text.layout import Layout, PublicLayout, TokensLayout
from discreet.text.tokens import Tokenizer, tokenizer_for

LAYOUTS: dict[str, Callable[[Tokenizer], Layout]] = {
    "tokens": TokensLayout,
    "public": PublicLayout,
}


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
        self._layout: Layout = LAYOUTS[layout](
            tokenizer_for(space.words, space.unknown, space.subwords)
        )

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee for each word of a sanitised text."""
        return self.mechanism.statement.with_public(*self._layout.public)

    def sanitize(
        self, texts: Sequence[str], rng: np.random.Generator | None = None
    ) -> Release[list[str]]:
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
        self, batches: Iterable[Sequence[str]], rng: np.random.Generator | None = None
    ) -> Iterator[Release[list[str]]]:
        """Sanitise batch after batch, so that a corpus larger than memory passes through."""
        rng = secure_generator() if rng is None else rng
        return (self.sanitize(batch, rng) for batch in batches)
