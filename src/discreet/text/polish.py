"""Agreement that can be mended in a released text from that text alone.

Nothing but what was released is looked at, so this costs no privacy.
"""

import re
from functools import cache
from importlib import resources

from discreet.text.function_words import FUNCTION_WORDS

# No article comes before such a word: "group a is", "Hepatitis A and B".
_NO_NOUN = "(?:is|are|was|were|has|had|and|or|of|in|on|at|to|for|by|with|from|as|if|but)(?![\\w-])"
_ARTICLE = re.compile(rf"(?<![\w'’-])([Aa])(n?)( +)(?=(?!{_NO_NOUN})([A-Za-z]+))")
# Where a sentence does not begin although there is a point: after a title or an initial.
_TITLE_BEFORE = re.compile(r"\b(?:Mrs?|Ms|Dr|Prof|St|[JS]r|[A-Z])\.$")
_ENOUGH_BEFORE = 16
# Spelt letter by letter if no vowel is among them (HTML), and perhaps if one is (MRI, NASA).
_SPELT = re.compile(r"[A-Z]|[A-Z]{2,4}s?")
_NAMED_WITH_VOWEL, _SPOKEN_EITHER_WAY = "AEFHILMNORSX", re.compile("[FHLMNRSX].*[AEIOUY]")
# Written with a vowel and spoken without, and the other way round.
_CONSONANTS = re.compile(r"(?:uni(?!n|m)|use|usu|uti|eu|one\b|once|ubiq|u\b)", re.IGNORECASE)
_VOWELS = re.compile(r"(?:hour|honest|honou?r|heir)", re.IGNORECASE)
_SPACE_BEFORE = re.compile(r" +([.,!?;:%)\]’])(?=\s|$)")
_SPACE_AFTER = re.compile(r"([(\[]) +")
_CONTRACTION = re.compile(r" +(n't|'(?:s|re|ve|ll|d|m))\b")
_I = re.compile(r"\bi\b(?!\.)")
# Small letters, or a capital and small ones; not within an address or a contraction.
_PERHAPS_A_NAME = re.compile(
    r"(?<![\w.@/'’])[A-Z]?[a-z]+(?![\w@/]|\.\w|['’](?!s(?![\w'’]))\w| n't)"
)
_COUNTRY = re.compile(r"\b[ue]\.(?:s|k|n|u)\.")
_MONEY = re.compile(r"([$£€¥]) +(?=\d)")
# An abbreviation brings its own point, where there was one already.
_TWO_POINTS = re.compile(
    r"\b((?:mrs?|ms|dr|prof|st|[js]r|etc|vs|inc|co|corp|ltd|no|[a-z]\.[a-z])\.)\.(?!\.)",
    re.IGNORECASE,
)
# "Corp. said" may have become "Company. said". Who begins sentences small means a point by it.
_POINT_WITHIN = re.compile(r"\b(?!Corp\b|Prof\b)([A-Z][a-z]{3,})\.( +)(?=[a-z])")
_BEGUN_SMALL = re.compile(r"\b[a-z]{2,}[.!?] +[a-z]")
# Two different words may come out as one.
_TWICE = re.compile(r"\b([A-Za-z]{3,})(?: +\1\b)+", re.IGNORECASE)
_LETTERS = re.compile(r"[A-Za-z]+")
_LONG_AND_LOUD = re.compile(r"[A-Z]{5,}")
_SENTENCE = re.compile(r"(^\W*|[.!?]\W+)([a-z])")


def mended(text: str) -> str:
    """The text with articles, capitals, points and sums as a person would write them.

    That is ``a`` or ``an`` as the word after it asks for, unless a capital within a sentence, or
    letters that may be spelt or spoken, leave it open; ``I``, and names and abbreviations of a
    public list as that spells them, no capitals but the first in another long word that stands
    where an abbreviation stood, and a word once where it follows itself.

    >>> mended("An doctor and a honest uncle saw john on a nbc show on monday, as i did.")
    'A doctor and an honest uncle saw John on an NBC show on Monday, as I did.'
    >>> mended("The SCIENCE paid Mr.. Smith $ 20, and Box Company. took it.")
    'The Science paid Mr. Smith $20, and Box Company took it.'
    """

    def article(match: re.Match[str]) -> str:
        word = match[4]
        if match[1] == "A" and not _begins_sentence(match.string, match.start()):
            return match[0]  # a letter or a name: "Hepatitis A", "Mr. An Do"
        if _SPELT.fullmatch(word):
            if match[1] == "A" or _SPOKEN_EITHER_WAY.match(word):
                return match[0]
            return f"a{'n' * (word[0] in _NAMED_WITH_VOWEL)}{match[3]}"
        vowel = word[0] in "aeiouAEIOU" and not _CONSONANTS.match(word)
        n = "n" if vowel or _VOWELS.match(word) else ""
        return f"{match[1]}{n}{match[3]}"

    text = _MONEY.sub(r"\1", _I.sub("I", text))
    text = _COUNTRY.sub(lambda match: match[0].upper(), text)
    if ".." in text:
        text = _TWO_POINTS.sub(r"\1", text)
    text = _TWICE.sub(_once, text)
    if not _BEGUN_SMALL.search(text):
        text = _POINT_WITHIN.sub(r"\1\2", text)
    spelt = _spellings()
    text = _PERHAPS_A_NAME.sub(lambda match: spelt.get(match[0], match[0]), _not_shouted(text))
    return _ARTICLE.sub(article, text)


@cache
def _spellings() -> dict[str, str]:
    """Words that have capitals wherever they stand, small or with one, as they are written.

    A public list; see the notice beside it for where it comes from.
    """
    place = resources.files("discreet") / "data" / "capitals.txt"
    listed = place.read_text("utf-8").split()
    return {form: word for word in listed for form in (word.lower(), word.capitalize())}


def _begins_sentence(text: str, place: int) -> bool:
    before = text[max(0, place - _ENOUGH_BEFORE) : place].rstrip(" \t\n\"'“‘([”’)]")
    return not before or (before[-1] in ".!?" and not _TITLE_BEFORE.search(before))


def _once(match: re.Match[str]) -> str:
    """A word instead of itself several times; function words are as they were written."""
    return match[0] if match[1].lower() in FUNCTION_WORDS else match[1]


def _not_shouted(text: str) -> str:
    """A long word in capitals among others that are not, with one capital: no abbreviation."""
    if not _LONG_AND_LOUD.search(text):
        return text
    words = _LETTERS.findall(text)
    loud = [len(word) > 1 and word.isupper() for word in words]
    beside = zip([False, *loud[:-1]], [*loud[1:], False], strict=True)
    alone = [len(words) > 1 and not (before or after) for before, after in beside]
    calm = (
        word.capitalize()
        if is_alone and _LONG_AND_LOUD.fullmatch(word) and word.lower() not in FUNCTION_WORDS
        else word
        for word, is_alone in zip(words, alone, strict=True)
    )
    return _LETTERS.sub(lambda _: next(calm), text)


def as_sentences(text: str, *, capitals: bool = True) -> str:
    """Released tokens as a person would write them: spaces at marks, capitals at the beginning.

    >>> as_sentences("we do n't know . the doctor ( a friend ) said so !")
    "We don't know. The doctor (a friend) said so!"
    """
    text = _CONTRACTION.sub(r"\1", _SPACE_AFTER.sub(r"\1", _SPACE_BEFORE.sub(r"\1", text)))
    return text if not capitals else _SENTENCE.sub(lambda match: match[1] + match[2].upper(), text)
