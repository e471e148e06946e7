"""Compute the certificate tables that ship with discreet: every pair of words is checked.

Run it after the starter space changed; takes a few minutes on two cores.

    python scripts/build_certificates.py [starter] [encoder]
"""

import sys
import time
from pathlib import Path

from discreet.mechanisms.certificate import _path, compute_table
from discreet.mechanisms.word.santext_plus import sensitive_targets
from discreet.spaces import load_space

SHIPPED = Path(__file__).parent.parent / "src" / "discreet" / "data" / "certificates"
DEFAULT_SHARE = 0.9


def main(names: list[str]) -> None:
    """Write one table for SanText and one for SanText+ at its default share, per space."""
    SHIPPED.mkdir(parents=True, exist_ok=True)
    for name in names:
        space = load_space(name)
        for targets in (None, sensitive_targets(space, space.least_frequent(DEFAULT_SHARE))):
            start = time.perf_counter()
            table = compute_table(space, targets)
            path = SHIPPED / _path(space, targets).name
            path.write_text(table.to_json() + "\n")
            print(f"{name}: {path.name}, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:] or ["starter", "encoder"])
