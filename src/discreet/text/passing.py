"""Which function words of a text pass: not those that may be a name or an abbreviation there."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Ids
from discreet.text.function_words import are_among, on_the_list
from discreet.text.layout import TITLE, UPPER, Template
from discreet.text.tokens import TokenBatch

_APOSTROPHES = "'’"
_ENDS = "s t re ve ll d m"
"""Of contractions, behind an apostrophe; elsewhere letters."""
_BEGINNINGS = "don didn doesn isn wasn aren weren won wouldn couldn shouldn hasn haven hadn ain"
"""Of contractions, before an apostrophe; elsewhere some of them are names."""
_NAMES = "will may per own down shall"
"""Names, if they begin with a capital."""
_NAMES_WITHIN = (
    "he so an do you to my her us it who most few over both half like here such can all one a any "
    "near ever"
)
"""Names or letters, if they begin with a capital within a sentence."""
_BEGIN_SENTENCES = '.!?:…"“‘([\n\r•*–—'
_HYPHEN = "-"
"""Between words that it does not touch it is a dash: a sentence may begin behind it."""
_LOUD = "the and not but you she for"
_LONG_ENOUGH = 4  # letters: shorter words in capitals are abbreviations, but for those above


class Passing:
    """Which words of texts pass unchanged.

    Decided by the list and by what is public of a place: the capitals of its word, if the layout
    makes them public, and the marks beside it. So of two texts that differ in words that do not
    pass, and are alike in what is public, the same places pass.

    Args:
        words: the vocabulary.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.listed = on_the_list(words)
        self._apostrophes = are_among(frozenset(_APOSTROPHES), words)
        self._ends, self._beginnings, self._names, self._within, loud = (
            are_among(frozenset(some.split()), words)
            for some in (_ENDS, _BEGINNINGS, _NAMES, _NAMES_WITHIN, _LOUD)
        )
        short = np.fromiter((len(word) < _LONG_ENOUGH for word in words), np.bool_, len(words))
        self._not_loud = self._names | short & ~loud

    def places(self, batch: TokenBatch, template: Template, starts: Ids) -> NDArray[np.bool_]:
        """For each token, whether it passes; documents begin at ``starts``."""
        ids = batch.ids
        passed = self.listed[ids]
        patterns = template.patterns
        if patterns is None:
            beside = self._apostrophes[ids]
            before, after = np.append(False, beside[:-1]), np.append(beside[1:], False)
        else:
            before, after = template.beside(_APOSTROPHES)
            begun = template.since(_BEGIN_SENTENCES, apart=_HYPHEN)
            begun[starts[starts < len(ids)]] = True
            passed &= ~(self._names[ids] & (patterns == TITLE))
            passed &= ~(self._within[ids] & (patterns == TITLE) & ~begun)
            passed &= ~(self._not_loud[ids] & (patterns == UPPER))
        passed &= before | ~self._ends[ids]
        passed &= after | ~self._beginnings[ids]
        return np.asarray(passed)
