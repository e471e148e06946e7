"""Agreement that can be mended in a released text from that text alone.

Nothing but what was released is looked at, so this costs no privacy.
"""

import re

_ARTICLE = re.compile(r"\b([Aa])(n?)( +)(?=([A-Za-z]+))")
# Written with a vowel and spoken without, and the other way round.
_CONSONANTS = re.compile(r"(?:uni(?!n|m)|use|usu|uti|eu|one\b|once|ubiq|u\b)", re.IGNORECASE)
_VOWELS = re.compile(r"(?:hour|honest|honou?r|heir)", re.IGNORECASE)
_SPACE_BEFORE = re.compile(r" +([.,!?;:%)\]’])(?=\s|$)")
_SPACE_AFTER = re.compile(r"([(\[]) +")
_CONTRACTION = re.compile(r" +(n't|'(?:s|re|ve|ll|d|m))\b")
_I = re.compile(r"\bi\b(?!\.)")
_SENTENCE = re.compile(r"(^\W*|[.!?]\W+)([a-z])")


def mended(text: str) -> str:
    """The text with ``a`` or ``an`` as the word after it asks for, and ``I`` as it is written.

    >>> mended("An doctor and a honest uncle saw a unit, as i did.")
    'A doctor and an honest uncle saw a unit, as I did.'
    """

    def article(match: re.Match[str]) -> str:
        word = match[4]
        vowel = word[0] in "aeiouAEIOU" and not _CONSONANTS.match(word)
        n = "n" if vowel or _VOWELS.match(word) else ""
        return f"{match[1]}{n}{match[3]}"

    return _ARTICLE.sub(article, _I.sub("I", text))


def as_sentences(text: str, *, capitals: bool = True) -> str:
    """Released tokens as a person would write them: spaces at marks, capitals at the beginning.

    >>> as_sentences("we do n't know . the doctor ( a friend ) said so !")
    "We don't know. The doctor (a friend) said so!"
    """
    text = _CONTRACTION.sub(r"\1", _SPACE_AFTER.sub(r"\1", _SPACE_BEFORE.sub(r"\1", text)))
    return text if not capitals else _SENTENCE.sub(lambda match: match[1] + match[2].upper(), text)
