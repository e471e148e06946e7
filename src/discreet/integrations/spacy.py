"""A component for spaCy: after ``nlp.add_pipe("discreet", ...)`` a document has ``doc._.discreet``.

The released text stands beside the document, which keeps its raw text: hand on ``doc._.discreet``,
never the ``Doc`` itself or what was stored of it.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from discreet.errors import needs_extra
from discreet.release.choice import chosen_sanitizer
from discreet.release.text import Sanitizer
from discreet.statement import PrivacyStatement

with needs_extra("the component of spaCy", "spacy"):
    from spacy.language import Language
    from spacy.tokens import Doc

NAME = "discreet"


class SanitizingComponent:
    """Puts the released text of each document at ``doc._.discreet``."""

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._sanitizer = sanitizer
        if not Doc.has_extension(NAME):
            Doc.set_extension(NAME, default=None)

    @property
    def statement(self) -> PrivacyStatement:
        """What holds for each word of a released text."""
        return self._sanitizer.statement

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], batch_size: int = 1000) -> Iterator[Doc]:
        """The same for many, a batch at a time."""
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            release = self._sanitizer.sanitize([doc.text for doc in batch])
            for doc, text in zip(batch, release.values, strict=True):
                doc._.set(NAME, text)
                yield doc


@Language.factory(NAME, assigns=[f"doc._.{NAME}"])  # type: ignore[untyped-decorator]
def make_component(
    nlp: Language,  # noqa: ARG001 - what spaCy hands to every factory
    name: str,  # noqa: ARG001
    epsilon: float | None = None,
    mechanism: str | None = None,
    space: str | None = None,
    readable: bool = False,
    layout: str = "tokens",
    identifiers: str | None = None,
    repeat: str = "each",
    public: str | None = None,
    polish: bool = False,
    settings: dict[str, Any] | None = None,
    accept_weak: bool = False,
) -> SanitizingComponent:
    """Made by spaCy from a pipeline's configuration; see :class:`discreet.Sanitizer`."""
    return SanitizingComponent(
        chosen_sanitizer(
            epsilon=epsilon,
            mechanism=mechanism,
            space=space,
            readable=readable,
            layout=layout,
            identifiers=identifiers,
            repeat=repeat,
            public=public,
            polish=polish,
            accept_weak=accept_weak,
            **(settings or {}),
        )
    )
