"""Texts to measure on: those of a file, or as many made up with the frequencies of a language."""

from pathlib import Path

import numpy as np

from discreet.spaces import EmbeddingSpace
from discreet.text.readers import open_documents

# Those of the training set of SST-2 in WordPieces.
TOKENS, DISTINCT, DOCUMENTS = 685_586, 11_542, 60_614
# Zipf's law with Mandelbrot's shift, which flattens the most frequent words.
_SHIFT = 2.7
_FEWEST_LETTERS = 2


def texts_for(space: EmbeddingSpace, source: Path | None, tokens: int, distinct: int) -> list[str]:
    """The documents of a file, or made up ones; a made up word is always one token.

    Args:
        space: whose words are taken, the most frequent first.
        source: a file with a field "text", or None.
        tokens: how many words are made up.
        distinct: how many different ones.
    """
    if source is not None:
        with open_documents(source) as reader:
            return [text for batch in reader for text in batch.texts]
    rank = np.arange(len(space)) if space.frequencies is None else np.argsort(-space.frequencies)
    usable = [space.words[i] for i in rank if _plain(space.words[i])][:distinct]
    weights = 1 / (np.arange(len(usable)) + 1 + _SHIFT)
    rng = np.random.default_rng(0)
    drawn = rng.choice(len(usable), tokens, p=weights / weights.sum())
    cuts = np.sort(rng.choice(np.arange(1, tokens), tokens * DOCUMENTS // TOKENS, replace=False))
    return [" ".join(usable[i] for i in part) for part in np.split(drawn, cuts)]


def _plain(word: str) -> bool:
    return len(word) >= _FEWEST_LETTERS and word.isascii() and word.isalpha() and word.islower()
