"""A file of named arrays with a description of where they come from: safetensors, nothing else.

Every model and map that discreet trains is kept like this, so that reading one never runs code.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from discreet import __version__
from discreet.errors import InputError, read_as
from discreet.files import plain_json, refuse_existing, require_file, written_whole
from discreet.staging import ANYONE

Arrays = dict[str, NDArray[Any]]

_KEY = "discreet"


def save_tensors(
    path: Path,
    kind: str,
    arrays: Mapping[str, NDArray[Any]],
    about: Mapping[str, Any],
    *,
    force: bool = False,
    mode: int = ANYONE,
) -> None:
    """Write arrays and a JSON description into one file, whole or not at all.

    Args:
        path: Where to.
        kind: What the file is ("public map", ...); :func:`load_tensors` asks for it.
        arrays: Named arrays.
        about: Settings and provenance, ready for JSON; nothing of protected text.
        force: Replace a file that exists.
        mode: Who may read it.
    """
    refuse_existing(path, force=force)
    write_described(path, arrays, {"kind": kind, "version": __version__, **about}, mode=mode)


def load_tensors(path: Path, kind: str) -> tuple[Arrays, dict[str, Any]]:
    """The arrays and the description of a file that :func:`save_tensors` wrote as this kind."""
    what = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
    require_file(path, what)
    with read_as(f"{path} is not a file that discreet wrote; check the path"):
        about, arrays = read_described(path)
    if about.get("kind") != kind:
        # What it says it is may be anything.
        raise InputError(f"{path} is not {what} of discreet; give another file")
    return arrays, about


def arrays_under(arrays: Arrays, prefix: str) -> Arrays:
    """Those whose names begin like this, by the rest of their names."""
    return {n.removeprefix(prefix): array for n, array in arrays.items() if n.startswith(prefix)}


def kind_of(path: Path) -> str | None:
    """The kind a file was saved as, or None if discreet did not write it."""
    try:
        with safe_open(path, framework="np") as file:
            kind = _description(file).get("kind")
    except (SafetensorError, OSError, ValueError, TypeError):
        return None
    return kind if isinstance(kind, str) else None


def write_described(
    path: Path,
    arrays: Mapping[str, NDArray[Any]],
    about: Mapping[str, Any],
    *,
    sort: bool = False,
    mode: int = ANYONE,
) -> None:
    """Write arrays under one JSON description, whole or not at all.

    The header has one entry only: several come in any order, and the same content must always give
    the same bytes.
    """
    described = json.dumps(about, ensure_ascii=False, sort_keys=sort)
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with written_whole(path, mode=mode) as temporary:
        save_file(whole, temporary, metadata={_KEY: described})


def read_described(path: Path) -> tuple[dict[str, Any], Arrays]:
    """The description, empty if there is none, and the arrays of any safetensors file."""
    with safe_open(path, framework="np") as file:
        names = list(file.keys())
        return _description(file), {name: file.get_tensor(name) for name in names}


def _description(file: Any) -> dict[str, Any]:
    about = plain_json((file.metadata() or {}).get(_KEY, "{}"))
    return about if isinstance(about, dict) else {}
