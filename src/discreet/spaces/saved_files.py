"""Spaces in one file of our own: safetensors, with what is not a number as JSON in its header.

Nothing in the file can run code, and the same space always gives the same bytes.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from discreet.errors import InputError, OutputError, read_as
from discreet.files import check_ending, refuse_existing
from discreet.spaces.space import EmbeddingSpace
from discreet.tensors import read_described, write_described

FORMAT = "discreet space 1"


def save_space(space: EmbeddingSpace, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a space to one ``.safetensors`` file, which :func:`load_space` reads back exactly.

    Args:
        space: any space; words, vectors, frequencies and provenance are all kept.
        path: where to; the name must end in ``.safetensors``.
        force: replace a file that is there already.

    Returns:
        the path written.
    """
    target = Path(path)
    check_ending(target, (".safetensors",), "a space")
    refuse_existing(target, force=force)
    about = {
        "name": space.name,
        "provenance": space.provenance,
        "unknown": None if space.unknown is None else space.words[space.unknown],
        "subwords": space.subwords,
    }
    try:
        write_saved(target, space.words, space.vectors, space.frequencies, about)
    except OSError as error:
        raise OutputError(
            f"{target} cannot be written: {error.strerror or error}; check its directory"
        ) from error
    return target


def write_saved(
    target: Path,
    words: tuple[str, ...],
    vectors: NDArray[Any],
    frequencies: NDArray[Any] | None,
    about: Mapping[str, object],
) -> None:
    """Write the parts of a space; whole numbers count ``scale`` and ``frequency_scale``."""
    encoded = [word.encode() for word in words]
    tensors: dict[str, NDArray[Any]] = {
        "vectors": vectors,
        "words": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        "word_ends": np.cumsum([len(word) for word in encoded], dtype=np.uint32),
    }
    if frequencies is not None:
        tensors["frequencies"] = frequencies
    write_described(target, tensors, {"format": FORMAT, **about}, sort=True)


def read_saved(path: Path, max_words: int | None = None) -> EmbeddingSpace:
    """The space in a file that :func:`save_space` wrote; every fault names the file."""
    with read_as(f"{path} is damaged; save the space again, or fetch the file again"):
        about, tensors = read_described(path)
        if not about:
            raise InputError(
                f"{path} is a safetensors file but not a space; for the token vectors of a model "
                "give the directory that holds model.safetensors and vocab.txt"
            )
        if about.get("format") != FORMAT:
            raise InputError(
                f"{path} is in a newer or unknown format (not {FORMAT!r}); update discreet"
            )
        ends = tensors["word_ends"].astype(np.int64)
        blob = tensors["words"].tobytes()
        if len(ends) and (ends[-1] != len(blob) or (np.diff(ends, prepend=0) < 1).any()):
            raise ValueError("the list of words does not fit its index")
        starts = [0, *ends[:-1].tolist()]
        words = [blob[start:end].decode() for start, end in zip(starts, ends.tolist(), strict=True)]
        vectors = tensors["vectors"]
        if "scale" in about:
            vectors = vectors.astype(np.float32) * np.float32(about["scale"])
        frequencies = tensors.get("frequencies")
        if frequencies is not None:
            frequencies = frequencies * float(about.get("frequency_scale", 1.0))
        vectors.flags.writeable = False
        space = EmbeddingSpace.from_arrays(
            words,
            vectors,
            str(about["provenance"]),
            name=str(about["name"]),
            unknown=about["unknown"],
            frequencies=frequencies,
            subwords=bool(about["subwords"]),
        )
    return space if max_words is None else first_words(space, max_words)


def describe_saved(path: Path) -> tuple[int, int]:
    """Number of words and dimension, without reading the vectors."""
    with safe_open(path, framework="np") as file:
        rows, columns = file.get_slice("vectors").get_shape()
    return int(rows), int(columns)


def first_words(space: EmbeddingSpace, count: int) -> EmbeddingSpace:
    """The first ``count`` words, and the unknown token where it is not among them."""
    chosen = list(range(min(count, len(space))))
    if space.unknown is not None and space.unknown >= count:
        chosen.append(space.unknown)
    if len(chosen) == len(space):
        return space
    return EmbeddingSpace.from_arrays(
        [space.words[index] for index in chosen],
        space.vectors[chosen],
        f"{space.provenance}; the first {count} words",
        name=space.name,
        unknown=None if space.unknown is None else space.words[space.unknown],
        frequencies=None if space.frequencies is None else space.frequencies[chosen],
        subwords=space.subwords,
    )
