"""Write the words that discreet never chooses to say: slurs and vulgar words, from a public list.

    python scripts/build_unsaid.py LIST    writes src/discreet/data/unsaid.txt

LIST is the file ``en`` of LDNOOBW/List-of-Dirty-Naughty-Obscene-and-Otherwise-Bad-Words (CC BY
4.0). Its words that a shipped space has are kept, and forms of them that end in -s, -ed, -ing, -er
and the like, unless they are words of their own.
"""

import sys
from pathlib import Path

from discreet.spaces import load_space

WRITTEN = Path(__file__).parent.parent / "src" / "discreet" / "data" / "unsaid.txt"
ENDINGS = ("s", "es", "ed", "er", "ers", "ing", "in", "y", "ty", "ted", "ting", "ish", "head")
ALIKE_BY_LETTERS = """
assed booby butted butter butters butting cocked cocker cocking cocky cumin cummings dicker dicky
sucker suckers sucked sucking spiced spicer spices spicing spicy spunky
"""
PLAIN_NAMES = """
anus bareback bondage cialis clitoris domination ejaculation escort eunuch fecal genitals grope
hardcore hooker incest intercourse lolita mong nipple nipples nude nudity paedophile pedophile penis
playboy pornography rape raping rapist rectum santorum scat semen sex sexual sexuality sexually
skeet snatch swastika swinger topless undressing vagina viagra voyeur vulva xx
"""


def main(listed: Path) -> None:
    """Write the words, one a line."""
    listed_words = {line.strip().lower() for line in listed.read_text("utf-8").splitlines()}
    roots = listed_words - set(PLAIN_NAMES.split())
    words = {word for name in ("starter", "english") for word in load_space(name).words}
    forms = {root + end for root in roots for end in ENDINGS} - set(ALIKE_BY_LETTERS.split())
    found = sorted(words & (roots | forms))
    WRITTEN.write_text("".join(f"{word}\n" for word in found), "utf-8")
    print(f"{len(found)} words; by their form alone: {', '.join(sorted(words & forms - roots))}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
