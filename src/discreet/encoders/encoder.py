"""Sentence encoders: a frozen public model that turns each text into one vector.

A vector is a function of its own text, to the last bit. In a batch it would not be: texts are
padded to the longest, and products of matrices add up in an order that depends on the shape and on
where a row stands. One sentence replaced would move the vectors of others by about 1e-7, and public
weights that are made for it turn that into any number of votes. So every text goes through the
model by itself, in a single thread: equal texts are equal calls, whatever comes before or after.

Vectors of protected text live in memory only. They reach the disk through a mechanism, or where the
caller names a folder for them (:func:`encoded_once`, meant for public text).
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Progress, row_blocks
from discreet.devices import AUTO, CPU, find_device, room_for
from discreet.encoders.bert import BertEncoder, bert_encoder
from discreet.encoders.library import (
    LibraryEncoder,
    library_encoder,
    refuse_no_tokenizer,
    refuse_unread,
)
from discreet.encoders.settings import DEFAULT as DEFAULT
from discreet.encoders.settings import POOLINGS as POOLINGS
from discreet.errors import InvalidValue, NotFound, needs_extra, read_as
from discreet.files import SealedFiles, file_sha256
from discreet.spaces.encoder_space import MODEL, find_encoder, missing_encoder

_CHUNK = 128
_SMALLER = "use --device cpu, or a smaller encoder"


@dataclass(frozen=True)
class Encoder:
    """A model with its settings; :func:`load_encoder` makes one.

    Attributes:
        name: What messages and provenance call it.
        fingerprint: SHA-256 of the model's files and of the settings; vectors of two encoders with
            one fingerprint are the same, up to the rounding of a processor and its libraries.
        dimension: Length of its vectors.
        provenance: Where it comes from, in words.
    """

    name: str
    fingerprint: str
    dimension: int
    provenance: str
    _model: "BertEncoder | LibraryEncoder" = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """What a receipt says of it, ready for JSON."""
        said = ("name", "fingerprint", "dimension", "provenance")
        return {name: getattr(self, name) for name in said}

    def encode(
        self, texts: Sequence[str], *, progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """``(len(texts), dimension)`` vectors, as the model gives them (not normalised by us).

        On one machine, with one version of the libraries, a text has one vector, bit for bit.

        Args:
            texts: None of them empty or blank: such a text has no meaning to encode.
            progress: Called with (done, total).

        Raises:
            InvalidValue: A text is blank, or its vector is not finite. Its number is named.
        """
        for number, text in enumerate(texts, 1):
            if not isinstance(text, str) or not text.strip():
                raise InvalidValue(
                    f"text {number} of {len(texts)} is empty; an encoder needs at least one word"
                )
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        with room_for("the longest of the texts", _SMALLER):
            for part in row_blocks(len(texts), numbers=_CHUNK, progress=progress):
                out[part] = self._model.encode(texts[part])
        bad = ~np.isfinite(out).all(axis=1)
        if bad.any():
            raise InvalidValue(
                f"the encoder {self.name} gives no finite vector for text {int(bad.argmax()) + 1}; "
                "drop the text, or use another encoder"
            )
        return out


def load_encoder(
    model: str = DEFAULT,
    *,
    pooling: str | None = None,
    max_tokens: int | None = None,
    device: str = AUTO,
) -> Encoder:
    """A sentence-transformers or transformers model, by directory or by hub name.

    A hub name is looked up in the local cache; nothing is fetched. The default model is also taken
    from the package that holds it, if that is installed and its weights are the published ones.

    Args:
        model: A directory, a hub name, or ``all-MiniLM-L6-v2``.
        pooling: ``mean`` or ``cls`` of the last layer; by default what the model was made with,
            and ``mean`` if it does not say.
        max_tokens: Texts are cut after so many tokens; by default the model's own limit.
        device: ``cpu``, ``cuda``, ``mps``, or ``auto`` for a GPU if there is one. On the processor
            a plain BERT is run here, everywhere else by PyTorch.
    """
    where = find_device(device)
    if pooling is not None:
        check.one_of(pooling, POOLINGS, "pooling of an encoder")
    if max_tokens is not None:
        max_tokens = check.whole(max_tokens, "max_tokens of an encoder", at_least=1)
    directory, provenance = locate_model(model)
    refuse_no_tokenizer(directory)
    built: BertEncoder | LibraryEncoder | None = None
    reading = read_as(
        f"{directory} holds no encoder that sentence-transformers can read; give a directory with "
        "config.json, the weights and the tokeniser"
    )
    with reading, room_for(f"the encoder {directory.name}", _SMALLER):
        if where == CPU:
            built = bert_encoder(directory, pooling)
        if built is None:
            with quiet_transformers():
                built = library_encoder(directory, pooling, where)
        refuse_unread(directory, lambda words: built.encode(words).tolist())
    if max_tokens is not None:
        built.max_seq_length = max_tokens
    settings = {"pooling": pooling, "max_tokens": built.max_seq_length}
    return Encoder(
        name=DEFAULT if model in (DEFAULT, MODEL) else Path(model).name,
        fingerprint=model_files_sha256(directory, settings),
        dimension=built.dimension,
        provenance=f"{provenance}; {pooling or 'its own'} pooling, "
        f"at most {built.max_seq_length} tokens{'' if where == CPU else f', on {where}'}",
        _model=built,
    )


def encoded_once(
    encoder: Encoder, texts: Sequence[str], folder: Path, *, progress: Progress | None = None
) -> NDArray[np.float32]:
    """Vectors of PUBLIC texts, kept in a folder and read from there the next time.

    The file is named by a hash of the encoder and of the texts. Never give it protected text: both
    the vectors and the name tell something of it.
    """
    digest = hashlib.sha256(encoder.fingerprint.encode())
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    kept = SealedFiles(folder / digest.hexdigest(), (".npy",))
    if not kept.intact:
        vectors = encoder.encode(texts, progress=progress)
        with kept.written() as (path,), path.open("wb") as file:
            np.save(file, vectors)
        return vectors
    known: NDArray[np.float32] = np.load(kept.paths[0], allow_pickle=False)
    return known


def locate_model(model: str) -> tuple[Path, str]:
    """The directory of a model, by path or hub name, and where that is in words."""
    directory = Path(model)
    if directory.is_dir():
        return directory, f"model in {directory.resolve().name}"
    if model in (DEFAULT, MODEL):
        place = find_encoder()
        if place.directory is None:
            raise NotFound(missing_encoder(place))
        return place.directory, f"{MODEL} from {place.place}"
    if directory.exists() or directory.is_absolute() or model.startswith((".", "~")):
        raise NotFound(f"{model} is not a directory with a model; check the path")
    with needs_extra("an encoder by its hub name", "encoder"):
        from huggingface_hub import snapshot_download
    try:
        # Nothing is fetched here: what is not in the cache is a decision for the user.
        return Path(snapshot_download(model, local_files_only=True)), f"{model} from the hub cache"
    except (OSError, ValueError) as error:
        raise NotFound(
            f"there is no directory {model} and no model of that name in the local Hugging Face "
            f"cache; check the path, or fetch it once with: hf download {model}"
        ) from error


def model_files_sha256(directory: Path, settings: Mapping[str, object]) -> str:
    """Of all that a model gives depends on: weights, vocabulary, configuration, settings."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    endings = {".safetensors", ".bin", ".json", ".txt", ".model"}
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.suffix in endings:
            digest.update(path.relative_to(directory).as_posix().encode() + b"\0")
            digest.update(file_sha256(path).encode())
    return digest.hexdigest()


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Without the library's own bars and reports on standard error; ours are enough."""
    try:
        from transformers.utils import logging as library
    except ImportError:  # said where the library is needed
        yield
        return
    logging: Any = library
    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()
