"""Documents cut into sentences: the unit that document mechanisms protect.

The cutting is done by sentencex, a rule-based splitter that Wikimedia keeps: it respects the breaks
between paragraphs, knows abbreviations, and needs no model. Where it cuts defines what *one
sentence* is, and the number of sentences of each document is public: both belong to the statement
of every release that is made from here.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Ids, offsets_of
from discreet.errors import InvalidValue, MissingExtra

AT_LEAST = 2
"""Documents with fewer sentences are refused or left out, never released."""
MAX_SENTENCES = 256
MAX_CHARACTERS = 1000

_WORD = re.compile(r"\w")
_SURROGATES = re.compile("[\ud800-\udfff]")


def split_sentences(
    texts: Sequence[str],
    *,
    language: str = "en",
    max_sentences: int = MAX_SENTENCES,
    max_characters: int = MAX_CHARACTERS,
) -> tuple[list[str], Ids]:
    """The sentences of all documents, end to end, and where each document starts.

    Sentences of document i are ``sentences[offsets[i]:offsets[i + 1]]``. White space inside a
    sentence becomes one space. What has no letter and no digit (a rule, a row of stars) is no
    sentence and does not count.

    Args:
        texts: The documents.
        language: Code of their language ("en", "de", "hi", ...), for abbreviations and marks.
        max_sentences: Of a longer document only the first so many are kept.
        max_characters: Of a longer sentence only the first so many are kept, which is about what
            an encoder reads of it. It stays one sentence: were it cut into several, replacing it
            would change several units at once.

    >>> sentences, offsets = split_sentences(["Dr. Lee came. It rained!", "***", "No end"])
    >>> sentences
    ['Dr. Lee came.', 'It rained!', 'No end']
    >>> offsets.tolist()
    [0, 2, 2, 3]
    """
    max_sentences = check.whole(max_sentences, "max_sentences", at_least=1)
    max_characters = check.whole(max_characters, "max_characters", at_least=1)
    try:
        from sentencex import segment
    except ImportError as error:
        raise MissingExtra("cutting documents into sentences", "encoder") from error
    sentences: list[str] = []
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    for number, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise InvalidValue(f"document {number} of {len(texts)} is not text")
        pieces = (
            " ".join(piece.split())[:max_characters]
            for piece in segment(language, _SURROGATES.sub("\ufffd", text))
        )
        sentences += [piece for piece in pieces if _WORD.search(piece)][:max_sentences]
        offsets[number] = len(sentences)
    return sentences, offsets


def long_enough(offsets: Ids, at_least: int = AT_LEAST) -> NDArray[np.bool_]:
    """For each document, whether it has at least so many sentences.

    >>> long_enough(np.array([0, 3, 4])).tolist()
    [True, False]
    """
    at_least = check.whole(at_least, "the least number of sentences", at_least=1)
    return np.asarray(np.diff(offsets) >= at_least)


def refuse_short(offsets: Ids, at_least: int = AT_LEAST, *, first_row: int = 1) -> None:
    """Raise for the first document with too few sentences; its row is named, never its text.

    A document of one sentence has nothing to hide that sentence among.

    >>> refuse_short(np.array([0, 3, 4]))
    Traceback (most recent call last):
    discreet.errors.InvalidValue: the document in row 2 has 1 sentence; at least 2 are needed
    """
    enough = long_enough(offsets, at_least)
    if not enough.all():
        short = int(enough.argmin())
        count = int(offsets[short + 1] - offsets[short])
        raise InvalidValue(
            f"the document in row {first_row + short} has "
            f"{count or 'no'} sentence{'' if count == 1 else 's'}; at least {at_least} are needed"
        )


def kept_documents(
    sentences: Sequence[str], offsets: Ids, keep: NDArray[np.bool_]
) -> tuple[list[str], Ids]:
    """The sentences and offsets of the documents marked True.

    >>> kept_documents(["a", "b", "c"], np.array([0, 2, 3]), np.array([False, True]))
    (['c'], array([0, 1]))
    """
    counts = np.diff(offsets)
    left = [sentences[i] for i in np.flatnonzero(np.repeat(keep, counts)).tolist()]
    return left, offsets_of(counts[keep])
