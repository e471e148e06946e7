"""Runs inside a peer's own environment: JSON lines in, JSON lines out. Imports nothing of ours.

The first line says which peer, and how many seconds it may compute. When it is ready, how long that
took is written. Each further line is a mechanism, an epsilon and the words of a text, and is
answered by the words of its release and the seconds that it took. Whatever a peer prints goes to
standard error.
"""

import contextlib
import functools
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

Release = Callable[[str, float, list[str]], list[str]]
_WORD = re.compile(r"\w+|[^\w\s]")


def _mldp() -> Release:
    from mldp_text import get_mechanism  # type: ignore[import-not-found]
    from mldp_text.utils import (  # type: ignore[import-not-found]
        EMBED,
        validate_and_load_embeddings,
    )

    vectors = validate_and_load_embeddings(EMBED)  # its own, which each mechanism would read anew

    @functools.cache
    def engine(mechanism: str, epsilon: float) -> Any:
        return get_mechanism(mechanism, epsilon=epsilon, embedding_matrix=vectors)

    return lambda mechanism, epsilon, words: [
        str(engine(mechanism, epsilon).replace_word(word)) for word in words
    ]


def _diffractor() -> Release:
    from diffractor.core import Diffractor, DiffractorConfig  # type: ignore[import-not-found]

    # Its own default seed is fixed and public; a fresh one is what its users should have given.
    seed = int.from_bytes(os.urandom(4), "little")
    # Of its five lists of words those that are here: it would fetch the others.
    lists = sorted(path.stem for path in (Path.home() / ".cache" / "diffractor").glob("*.txt"))
    engine = Diffractor(DiffractorConfig(verbose=False, seed=seed), model_names=lists)
    return lambda _, epsilon, words: _WORD.findall(engine.rewrite([" ".join(words)], epsilon)[0])


def _dpmlm() -> Release:
    from dpmlm.core import DPMLM  # type: ignore[import-not-found]

    engine = DPMLM()
    return lambda _, epsilon, words: _WORD.findall(
        engine.dpmlm_rewrite(" ".join(words), epsilon)[0]
    )


MAKERS = {"mldp-text": _mldp, "dp-diffractor": _diffractor, "dpmlm": _dpmlm}


def main() -> None:
    """Answer until there is nothing more to read."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(**values: object) -> None:
        answers.write(json.dumps(values) + "\n")
        answers.flush()

    start, told = perf_counter(), json.loads(sys.stdin.readline())
    with contextlib.suppress(ImportError):  # where there is none, only patience ends
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (told["seconds"], resource.RLIM_INFINITY))
    release = MAKERS[told["peer"]]()
    answer(ready=perf_counter() - start)
    for line in sys.stdin:
        asked, start = json.loads(line), perf_counter()
        words = release(asked["mechanism"], asked["epsilon"], asked["words"])
        answer(words=words, seconds=perf_counter() - start)


if __name__ == "__main__":
    main()
