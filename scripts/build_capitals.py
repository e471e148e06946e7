"""Write the words that have capitals wherever they stand: names, and abbreviations.

    python scripts/build_capitals.py --sources DIR            writes the file that ships
    python scripts/build_capitals.py --sources DIR --check    compares that with a fresh one

DIR holds the packages that english_sources.py names. A word of a shipped space is listed as it is
spelt within sentences of public text (WikiText-2 and Tatoeba's English), if

- dictionaries (WordNet, lemminflect) or registers (census, GeoNames) have it with a capital, none
  has it small, and the text, where it has the word, mostly has a capital too (Zhou);
- they have it both ways, and the text has it often and nearly always with a capital (John);
- they do not have it, and the text has it several times and nearly always with a capital (Xbox).

So words that may be either (may, bill, bush) are not listed, nor are function words.
"""

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from english_sources import Sources
from english_words import CLOSED, closed_kinds

from discreet.spaces import load_space
from discreet.text.function_words import FUNCTION_WORDS

WRITTEN = Path(__file__).parent.parent / "src" / "discreet" / "data" / "capitals.txt"
# Behind another word or a comma, and no part of something longer.
WITHIN = re.compile(r"(?<=[a-z0-9,] )[A-Za-z]{2,}(?![\w'’-]|\.\w)")
MOSTLY, NEARLY_ALWAYS = 0.9, 0.97
OFTEN, SEVERAL = 15, 5
LARGE_CITY = 50_000
SHORT = 3  # a register of names alone is not enough for so few letters
OPEN = ("weekday", "month", "country-short", "title")
"""Kinds of words listed by hand that may have capitals."""
SMALL = """
abbey aka bourse canning cape ch co commons cos def delta destinies dev div dont eh exec foo fu
goers goings http ins kung mega mins nevermind ole pa pike raffles sans strand tang te tempest th
tho un wat ya
"""
"""Whatever the sources say: common words that stand in titles, parts of words, and talk."""


def main(sources: Sources) -> str:
    """The words as they are spelt, one a line."""
    dictionaries: dict[str, set[str]] = defaultdict(set)
    for form in (*sources.lemmas(), *(form for _, _, form, _ in sources.inflections())):
        dictionaries[form.lower()].add(form)
    names = {city for city, people in sources.cities().items() if people >= LARGE_CITY}
    names |= sources.countries()
    for register in ("female.first", "male.first", "all.last"):
        names |= set(sources.census(register))
    seen = counted(sources.sentences(every=1))
    found = (
        spelling(word, dictionaries.get(word, set()), word in names, seen.get(word, Counter()))
        for word in sorted(candidates())
    )
    return "".join(f"{form}\n" for form in found if form is not None)


def candidates() -> set[str]:
    """Words of the shipped spaces that may be listed."""
    closed = set(closed_kinds()) - {word for kind in OPEN for word in CLOSED[kind].split()}
    words = {word for name in ("starter", "english") for word in load_space(name).words}
    words = {word for word in words if re.fullmatch("[a-z]{2,}", word)}
    return words - closed - set(SMALL.split()) - FUNCTION_WORDS


def counted(texts: Iterable[str]) -> Mapping[str, Counter[str]]:
    """For every word, how often the texts have each spelling of it within a sentence."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for form in (form for text in texts for form in WITHIN.findall(text)):
        seen[form.lower()][form] += 1
    return seen


def spelling(word: str, listed: set[str], name: bool, seen: Counter[str]) -> str | None:
    """How a word is written, if it has capitals wherever it stands.

    Args:
        word: in small letters.
        listed: how dictionaries spell it.
        name: whether it is in a register of names.
        seen: how often a text has each spelling.
    """
    great = {form for form in listed if form != word} | ({word.capitalize()} if name else set())
    times = seen.total()
    share = 1 - seen[word] / times if times else 1.0
    if word in listed:
        usual = bool(great) and times >= OFTEN and share >= NEARLY_ALWAYS
    elif great:
        usual = share >= MOSTLY and (len(great) > name or times > 0 or len(word) > SHORT)
    else:
        usual = times >= SEVERAL and share >= NEARLY_ALWAYS
    if not usual:
        return None
    forms = great if great and times < SEVERAL else set(seen) - {word}
    return min(forms, key=lambda form: (-seen[form], form != word.capitalize(), form))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    words = main(Sources(arguments.sources))
    if arguments.check:
        sys.exit(None if words == WRITTEN.read_text("utf-8") else "the file that ships differs")
    WRITTEN.write_text(words, "utf-8")
    print(f"{len(words.split())} words, {len(words)} bytes")
