"""Choose the exemplars that ship with discreet: words that stand for all others of a space.

Run it after a space changed, or the lists of function words and of unsaid words; it takes a few
minutes. For every space: exemplars for all words, and for those that are left where function words
pass.

    python scripts/build_exemplars.py [starter english]
"""

import sys
import time
from pathlib import Path

from discreet.files import sealed_json
from discreet.spaces import load_space
from discreet.spaces.exemplars import measured, memo_of
from discreet.text.function_words import on_the_list

SHIPPED = Path(__file__).parent.parent / "src" / "discreet" / "data" / "exemplars"


def main(names: list[str]) -> None:
    """Write one file per space."""
    SHIPPED.mkdir(parents=True, exist_ok=True)
    for name in names:
        space = load_space(name)
        for spared in (None, on_the_list(space.words)):
            start = time.perf_counter()
            memo = memo_of(space, spared)
            path = SHIPPED / memo.path.name
            if path.exists():  # remove it to choose anew
                continue
            path.write_text(sealed_json({**memo.key, **measured(space, spared=spared)}) + "\n")
            what = "all words" if spared is None else "without function words"
            print(f"{name}, {what}: {path.name}, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["starter", "english"])
