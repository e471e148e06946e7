"""English words that hold sentences together and say nothing of their subject, and marks.

A public list, of our own choosing. A text whose function words pass unchanged can be read; which of
its words are on the list, and which ones they are, is then public, and a statement says so.

Some of them are also names or abbreviations: May, Will, Don, Dr. He, the WHO, M.S. What capitals or
a missing apostrophe make look like one does not pass: see ``passing``.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

NAME = "function-words"

_WORDS = """
a an the this that these those each every either neither some any no none all both half few more
most much many several such other another own same of in on at by for with from to into onto upon
over under above below between among through during before after about against within without
toward towards across behind beside besides beyond near off out up down around along per than as
like via and or but nor so yet if unless because although though while whereas since until when
whenever where wherever whether that which who whom whose what how why i me my mine myself you your
yours yourself he him his himself she her hers herself it its itself we us our ours ourselves they
them their theirs themselves one ones am is are was were be been being have has had having do does
did doing done will would shall should can could may might must ought not n't 's 're 've 'll 'd 'm
s t re ve ll d m don didn doesn isn wasn aren weren won wouldn couldn shouldn hasn haven hadn ain
don't doesn't didn't isn't aren't wasn't weren't can't couldn't won't wouldn't shouldn't hasn't
haven't hadn't mustn't needn't i'm you're we're they're it's that's what's who's where's when's
how's here's there's let's he's she's i've you've we've they've who've i'd you'd he'd she'd we'd
they'd it'd who'd i'll you'll he'll she'll we'll they'll it'll that'll who'll there'll what'll
cannot there here then now too very just only also even still again ever never always often already
quite rather almost really . , ! ? ; : - – — … ' " ’ ‘ “ ” ( ) [ ] / & % $ # * + = nobody somebody
anybody everybody someone anyone everyone something anything nothing everything
"""
FUNCTION_WORDS = frozenset(_WORDS.split())
PUBLIC = (
    f"which words are among {len(FUNCTION_WORDS)} English function words and marks, and which ones "
    "they are: these pass unchanged, unless they may be a name or an abbreviation, by their "
    "capitals or for want of an apostrophe"
)
CAVEAT = "the guarantee is between any two words that do not pass"


def on_the_list(words: Sequence[str]) -> NDArray[np.bool_]:
    """Which words of a vocabulary are function words or marks."""
    return are_among(FUNCTION_WORDS, words)


def are_among(listed: frozenset[str], words: Sequence[str]) -> NDArray[np.bool_]:
    """Which words of a vocabulary are on a list of small letters."""
    return _are_among(listed, tuple(words)).copy()


@lru_cache(maxsize=16)
def _are_among(listed: frozenset[str], words: tuple[str, ...]) -> NDArray[np.bool_]:
    """Asked several times for the vocabulary of a space, it looks once."""
    return np.fromiter(map(listed.__contains__, _lowered(words)), np.bool_, len(words))


@lru_cache(maxsize=4)
def _lowered(words: tuple[str, ...]) -> tuple[str, ...]:
    """In small letters, for all the lists that a vocabulary is compared with."""
    return tuple(word.lower() for word in words)
