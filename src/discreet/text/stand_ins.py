"""What may stand in for a word that a vocabulary does not have: everyday nouns, or names.

Public lists, of our own choosing, best first. A word outside the vocabulary is one word to a
mechanism, whatever it was: what comes out for it says nothing of it, and should at least be of the
kind that is missing most often.
"""

_NOUNS = """
thing place group part piece line kind form side point system type model material work word
"""
_NAMES = """
smith williams davis scott miller bennett roberts harrison murray kelly boston texas london canada
europe africa
"""
NOUNS = tuple(_NOUNS.split())
NAMES = tuple(_NAMES.split())
"""For words that begin with a capital, where that is public."""
