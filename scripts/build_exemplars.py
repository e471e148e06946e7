"""Choose the exemplars that ship with discreet: words that stand for all others of a space.

Run it after the starter space changed; takes about a minute on two cores.

    python scripts/build_exemplars.py [starter]
"""

import sys
import time
from pathlib import Path

from discreet.files import sealed_json
from discreet.spaces import load_space
from discreet.spaces.exemplars import measured, memo_of

SHIPPED = Path(__file__).parent.parent / "src" / "discreet" / "data" / "exemplars"


def main(names: list[str]) -> None:
    """Write one file per space."""
    SHIPPED.mkdir(parents=True, exist_ok=True)
    for name in names:
        space = load_space(name)
        start = time.perf_counter()
        memo = memo_of(space)
        path = SHIPPED / memo.path.name
        path.write_text(sealed_json({**memo.key, **measured(space)}) + "\n")
        print(f"{name}: {path.name}, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:] or ["starter"])
