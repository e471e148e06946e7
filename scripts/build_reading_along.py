"""Measure what reading along names of public texts, with the settings that ship.

    python scripts/build_reading_along.py TEXT...    writes src/discreet/data/reading_along.json

TEXT is JSON by line (plain or gzip) with ``text``; it must be public, and not what figures are
reported on. Of each file attackers know one half, and name words of the other half. Run it after
exemplars, guided settings, the guide or the space changed.
"""

import argparse
from pathlib import Path

import numpy as np
from build_guided import texts_of

from discreet import Sanitizer, load_space
from discreet.attacks.word_attack import WordAttack
from discreet.evaluation.reading_along import FILE, setting_of
from discreet.files import sealed_json
from discreet.mechanisms.word import NearWords
from discreet.text.function_words import NAME, on_the_list
from discreet.text.tokens import tokenizer_for

WRITTEN = Path(__file__).parent.parent / "src" / "discreet" / "data" / FILE
EPSILONS = (6.0, 8.0, 10.0, 12.0)
WORDS = 40_000
ATTACKED = 4_000


def main() -> None:
    """Write the shares of every setting, on average over the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--space", default="english")
    parser.add_argument("files", type=Path, nargs="+")
    given = parser.parse_args()
    space = load_space(given.space)
    tokenizer, listed = tokenizer_for(space.words, space.unknown, space.subwords), None
    samples = []
    for file in given.files:
        batch = tokenizer.encode([text[:600] for text in texts_of(file, 10_000)])
        samples.append(batch.first(int(np.searchsorted(batch.offsets, WORDS))))
    settings = {}
    for public, guide in ((None, None), (NAME, None), (NAME, "ngram")):
        listed = None if public is None else on_the_list(space.words)
        attacks = [WordAttack.within(space, sample, ATTACKED, listed=listed) for sample in samples]
        for epsilon in EPSILONS:
            mechanism = Sanitizer(NearWords(space, epsilon, guide=guide), public=public).mechanism
            shares = [each.shares(mechanism, np.random.default_rng(0)) for each in attacks]
            named = [
                round(float(np.mean([share[who] for share in shares])), 3)
                for who in ("exact", "contextual")
            ]
            about = f"epsilon {epsilon:g}, {public or 'all words replaced'}, guide {guide}"
            settings[setting_of(mechanism)] = {"named": named, "what": about}
            print(about, mechanism.outputs, mechanism.near, named, shares, flush=True)
    WRITTEN.write_text(sealed_json({"settings": settings}) + "\n")


if __name__ == "__main__":
    main()
