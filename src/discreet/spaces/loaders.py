"""One way to every space: by name, or by the path of vectors, of a model or of a saved space."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Progress
from discreet.errors import DiscreetError, InputError, InvalidValue, NotFound, OutputError
from discreet.files import SealedFiles, cache_directory, file_sha256
from discreet.spaces.encoder_space import (
    describe_model,
    encoder_space,
    find_encoder,
    missing_encoder,
    model_space,
)
from discreet.spaces.saved_files import describe_saved, read_saved, save_space
from discreet.spaces.space import UNKNOWN_NAMES, EmbeddingSpace, unknown_vector
from discreet.spaces.word_vector_files import VectorFile, open_vectors

__all__ = ["KnownSpace", "known_spaces", "load_space", "save_space"]

_DATA = Path(__file__).parent.parent / "data"
_SHIPPED = {name: _DATA / f"{name}.safetensors" for name in ("starter", "english")}
_CACHE_FORMAT = "discreet vectors 2"


def load_space(
    name_or_path: str | os.PathLike[str],
    *,
    max_words: int | None = None,
    cache: bool = True,
    progress: Progress | None = None,
) -> EmbeddingSpace:
    """The space of that name or in that file. Nothing is downloaded.

    Args:
        name_or_path: ``"starter"`` or ``"english"``, which ship with discreet; ``"encoder"`` (the
            token matrix of all-MiniLM-L6-v2, if it is on this machine); ``"encoder:DIRECTORY"`` or
            the directory of any BERT-style model; a ``.safetensors`` file that :func:`save_space`
            wrote; or a file of word2vec, GloVe or fastText vectors, text or binary, plain, gzip or
            bzip2. A ``Path`` is never a name.
        max_words: take only the first so many words (files list the frequent ones first) and the
            token for unknown words.
        cache: keep vectors read from a file in the cache, to map them into memory the next time.
        progress: called with the bytes read and in all while a file of vectors is read.

    >>> load_space("starter")
    EmbeddingSpace('starter', 20,000 words x 80)
    """
    if max_words is not None:
        max_words = check.whole(max_words, "max_words of load_space", at_least=2)
    if isinstance(name_or_path, str):
        if name_or_path in _SHIPPED:
            space = read_saved(_SHIPPED[name_or_path], max_words)
            return replace(space, source=(name_or_path, max_words))
        if name_or_path == "encoder":
            _whole_vocabulary(max_words)
            return replace(encoder_space(), source=(name_or_path, None))
        name_or_path = name_or_path.removeprefix("encoder:")
    path = Path(name_or_path).expanduser()
    # Wherever it is loaded again, the working directory may be another one.
    source = (str(path.absolute()), max_words)
    return replace(_from_path(path, max_words, cache, progress), source=source)


def _from_path(
    path: Path, max_words: int | None, cache: bool, progress: Progress | None
) -> EmbeddingSpace:
    if path.is_dir():
        _whole_vocabulary(max_words)
        return model_space(path)
    if not path.is_file():
        raise NotFound(
            f"no space of that name and no such file: {path}; use starter, english, encoder or the "
            "path of a file of vectors, of a model's directory or of a saved space"
        )
    if path.suffix == ".safetensors":
        return read_saved(path, max_words)
    return _vectors(path, max_words, cache, progress)


@dataclass(frozen=True)
class KnownSpace:
    """A space that can be loaded, or why it cannot."""

    name: str
    """What to give to :func:`load_space`; of a cached space the name of the file it came from."""
    kind: str
    """``shipped``, ``encoder`` or ``cached``."""
    words: int | None
    dimension: int | None
    location: Path | None
    """Where it is; None if it was not found."""
    note: str
    """Where that is in words, or what to do about it."""

    def to_dict(self) -> dict[str, Any]:
        """What it is, ready for JSON."""
        return {name: getattr(self, name) for name in ("name", "kind", "words", "dimension")}

    @property
    def size(self) -> str:
        """In words."""
        return "not found" if self.words is None else f"{self.words:,} words x {self.dimension}"


def known_spaces() -> list[KnownSpace]:
    """The spaces that have names, and those in the cache; nothing large is read."""
    known = [
        KnownSpace(name, "shipped", *describe_saved(path), path, "part of discreet")
        for name, path in _SHIPPED.items()
    ]
    encoder = find_encoder()
    size: tuple[int | None, int | None] = (None, None)
    note = missing_encoder(encoder)
    if encoder.directory is not None:
        try:
            size, note = describe_model(encoder.directory), encoder.place
        except DiscreetError as error:
            note = str(error)
    known.append(KnownSpace("encoder", "encoder", *size, encoder.directory, note))
    for path in sorted(_cached_directory().glob("*.words")):
        try:
            with path.open("rb") as file:
                about = _about(file.readline())
            name, note = str(about["name"]), str(about["provenance"])
            shape = int(about["words"]), int(about["dimension"])
            known.append(KnownSpace(name, "cached", *shape, path.with_suffix(".npy"), note))
        except (OSError, ValueError, KeyError, TypeError):
            continue  # damaged: rebuilt when its file is loaded again
    return known


def _whole_vocabulary(max_words: int | None) -> None:
    if max_words is not None:
        raise InvalidValue(
            "max_words of load_space is for lists of words; the vocabulary of an encoder is taken "
            "whole, because words are spelt with its pieces"
        )


def _vectors(
    path: Path, max_words: int | None, cache: bool, progress: Progress | None
) -> EmbeddingSpace:
    try:
        digest = file_sha256(path)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}; check its permissions"
        ) from error
    if not cache:
        with open_vectors(path, max_words, progress) as file:
            collected = _Collected(file, path, digest, max_words)
            blocks = list(collected.blocks())
        vectors = np.concatenate(blocks)
        vectors.flags.writeable = False
        return _space(collected.about(), collected.words, vectors)
    name = f"{digest}-{max_words or 'all'}"
    entry = SealedFiles(_cached_directory() / name, (".npy", ".words"))
    kept = _mapped(entry)
    if kept is not None:
        return kept
    try:
        return _read_into(entry, path, digest, max_words, progress)
    except OSError as error:
        raise OutputError(
            f"the vectors of {path} cannot be kept in {entry.base.parent} "
            f"({error.strerror or error}); set DISCREET_CACHE to a directory that can be "
            "written, or pass cache=False"
        ) from error


class _Collected:
    """The words of a file of vectors, while its blocks pass; last comes one for unknown words."""

    def __init__(self, file: VectorFile, path: Path, digest: str, max_words: int | None) -> None:
        self.file, self.path, self.digest, self.max_words = file, path, digest, max_words
        self.words: list[str] = []
        self.added = ""

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """The vectors; the block added for unknown words is what ``with_unknown`` would add."""
        total = np.zeros(self.file.dimension)
        lengths: list[NDArray[np.float64]] = []
        known = False
        for words, vectors in self.file.blocks:
            self.words += words
            known = known or any(mark in words for mark in UNKNOWN_NAMES)
            exact = vectors.astype(np.float64)
            total += exact.sum(axis=0)
            lengths.append(np.linalg.norm(exact, axis=1))
            yield vectors
        if len(self.words) < 2:
            raise InputError(f"{self.path}: holds {len(self.words)} vectors; at least 2 are needed")
        if not known:
            self.added = UNKNOWN_NAMES[1]
            place = unknown_vector(total, np.concatenate(lengths))
            yield place.astype(np.float32)[np.newaxis]
            self.words.append(self.added)

    def about(self) -> dict[str, Any]:
        """What is known of the space besides words and vectors."""
        count = len(self.words) - bool(self.added)
        parts = [f"{self.path.name} ({self.file.kind}), SHA-256 {self.digest}"]
        if self.max_words is not None:
            parts.append(f"the first {count} words")
        parts.append("frequencies are ranks: such files list frequent words first")
        if self.added:
            parts.append(f"{self.added} added in the mean direction, as the rarest")
        return {
            "format": _CACHE_FORMAT,
            "name": _short_name(self.path),
            "provenance": "; ".join(parts),
            "words": len(self.words),
            "dimension": self.file.dimension,
        }


def _space(about: dict[str, Any], words: list[str], vectors: NDArray[Any]) -> EmbeddingSpace:
    ranks = np.arange(len(words), 0, -1, dtype=np.float64)
    unknown = next((index for index, word in enumerate(words) if word in UNKNOWN_NAMES), None)
    if unknown is not None:
        ranks[unknown] = 0.0  # a word nobody knows is treated as the most sensitive kind
    return EmbeddingSpace.from_arrays(
        words, vectors, about["provenance"], name=about["name"], frequencies=ranks
    )


def _cached_directory() -> Path:
    return cache_directory() / "spaces"


def _read_into(
    entry: SealedFiles, path: Path, digest: str, max_words: int | None, progress: Progress | None
) -> EmbeddingSpace:
    """Read a file of vectors block by block into the cache; no more than a block is in memory."""
    with (
        open_vectors(path, max_words, progress) as file,
        entry.written() as (vectors_path, words_path),
    ):
        collected = _Collected(file, path, digest, max_words)
        with vectors_path.open("wb") as target:
            _write_header(target, 0, file.dimension)
            for block in collected.blocks():
                target.write(np.ascontiguousarray(block, dtype="<f4").data)
            target.seek(0)
            _write_header(target, len(collected.words), file.dimension)
        about = collected.about()
        lines = (json.dumps(part, ensure_ascii=False) for part in (about, collected.words))
        words_path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return _space(about, collected.words, np.load(entry.paths[0], mmap_mode="r"))


def _mapped(entry: SealedFiles) -> EmbeddingSpace | None:
    """The cached space, its vectors mapped; None if it is not there or not what was written."""
    if not entry.intact:
        return None
    vectors_path, words_path = entry.paths
    try:
        with words_path.open("rb") as file:
            about, words = _about(file.readline()), json.loads(file.readline())
        return _space(about, words, np.load(vectors_path, mmap_mode="r"))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # of another version


def _about(line: bytes) -> dict[str, Any]:
    about: dict[str, Any] = json.loads(line)
    if about["format"] != _CACHE_FORMAT:
        raise ValueError("another format")
    return about


def _write_header(target: BinaryIO, rows: int, columns: int) -> None:
    """The start of a .npy file; NumPy makes it equally long for any number of rows."""
    header = {"descr": "<f4", "fortran_order": False, "shape": (rows, columns)}
    np.lib.format.write_array_header_1_0(target, header)


def _short_name(path: Path) -> str:
    while path.suffix in (".gz", ".bz2", ".txt", ".vec", ".bin", ".tsv"):
        path = path.with_suffix("")
    return path.name
