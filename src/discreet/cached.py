"""What is kept from one run to the next, how large it is, and how it is thrown away.

All of it was computed from public data and is computed again when it is needed: throwing it away
costs time, nothing else. Nothing here depends on protected text.
"""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from discreet import check
from discreet.files import cache_directory

KINDS = {
    "spaces": "word vectors that were read from files",
    "certificates": "how sharp SanText may be in a space",
    "indices": "neighbour indices of spaces",
    "nearest": "nearest words of spaces",
    "exemplars": "words that near-words chooses from",
    "sensitivities": "largest distances of clipped vectors",
    "stretches": "how far random projections stretch",
    "encoded": "vectors of public words",
    "guides": "language models that were converted",
    "peers": "other packages that compare tries, each in an environment of its own",
}
"""The folders of the cache, and what is in each."""


@dataclass(frozen=True)
class Kept:
    """One folder of the cache."""

    kind: str
    what: str
    path: Path
    files: int
    bytes: int


def kept() -> list[Kept]:
    """What there is, folder by folder; empty ones are left out."""
    folders = []
    for kind, what in KINDS.items():
        path = cache_directory() / kind
        sizes = list(_sizes(path))
        if sizes:
            folders.append(Kept(kind, what, path, len(sizes), sum(sizes)))
    return folders


def throw_away(kind: str | None = None) -> list[Kept]:
    """Remove one folder of the cache, or all of them; what else is in the directory stays.

    Args:
        kind: One of :data:`KINDS`; all of them unless given.

    Returns:
        what was removed.
    """
    if kind is not None:
        check.one_of(kind, list(KINDS), "kind of what is kept")
    gone = [each for each in kept() if kind in (None, each.kind)]
    for each in gone:
        shutil.rmtree(each.path)
    return gone


def _sizes(folder: Path) -> Iterator[int]:
    # A link may lead anywhere: it is neither counted nor followed.
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # gone in the meantime
            if path.is_file() and not path.is_symlink():
                yield path.stat().st_size
