"""BERT-style models from a directory: a masked language model, with or without its head.

Any model that transformers reads, whose vocabulary is WordPiece. Encoders for sentences come
without the head that predicts words; it is then built here (a trained transform, then the token
matrix once more) and :attr:`MaskedModel.has_head` says that it still has to be trained. Nothing is
downloaded.
"""

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from discreet.devices import AUTO, find_device, own_chance, room_for
from discreet.encoders.encoder import locate_model, quiet_transformers
from discreet.errors import InputError, needs_extra, read_as
from discreet.files import check_folder, file_sha256
from discreet.spaces.encoder_space import model_space
from discreet.spaces.space import EmbeddingSpace
from discreet.staging import folder_written_whole
from discreet.text.tokens import WordPieceTokenizer

ABOUT = "discreet.json"
"""Beside the weights of a model that we trained: on what, how, and from which model."""

_DEPTHS = ("num_hidden_layers", "n_layers", "num_layers")
_TOKENIZER_FILES = ("vocab.txt", "tokenizer.json", "tokenizer_config.json")


class SpecialPieces(NamedTuple):
    """Ids of the pieces that are no words."""

    pad: int
    start: int
    end: int
    mask: int
    unknown: int


@dataclass(frozen=True)
class MaskedModel:
    """A masked language model; :func:`load_masked_model` makes one.

    Attributes:
        name: What messages and provenance call it.
        fingerprint: SHA-256 of its files.
        pieces: The vocabulary in the order of its ids.
        marks: Ids of the special pieces.
        longest: The most positions it can read, marks included.
        has_head: False if the head was not among the weights and starts at random.
        about: What :data:`ABOUT` says of a model that we trained; empty for any other.
        network: The PyTorch module.
    """

    name: str
    fingerprint: str
    pieces: tuple[str, ...] = field(repr=False)
    marks: SpecialPieces
    longest: int
    has_head: bool
    about: dict[str, Any] = field(repr=False)
    directory: Path = field(repr=False)
    network: Any = field(repr=False, compare=False)

    @property
    def tokenizer(self) -> WordPieceTokenizer:
        """Text to the model's pieces."""
        return WordPieceTokenizer(self.pieces, self.marks.unknown)

    def shares_pieces(self, space: EmbeddingSpace) -> bool:
        """True if the words of a space are this model's pieces, one to one."""
        return space.subwords and space.words == self.pieces

    def scores(self, inputs: Any, attention: Any, chosen: Any) -> Any:
        """Scores of all pieces at the chosen positions, ``(chosen, pieces)``.

        Args:
            inputs: ``(texts, positions)`` ids.
            attention: 1 where there is a piece, 0 where there is padding.
            chosen: True at the positions to predict, of the same shape.
        """
        head = getattr(self.network, "cls", None)
        if head is None:  # other relatives of BERT: their head, at every position
            return self.network(input_ids=inputs, attention_mask=attention).logits[chosen]
        states = self.network.base_model(input_ids=inputs, attention_mask=attention)
        return head(states.last_hidden_state[chosen])

    def head_parameters(self) -> list[Any]:
        """What belongs to the head alone (the token matrix is shared with the input)."""
        base = {id(parameter) for parameter in self.network.base_model.parameters()}
        return [p for p in self.network.parameters() if id(p) not in base]


def load_masked_model(model: str | Path, *, device: str = AUTO) -> MaskedModel:
    """A BERT-style model by directory, by hub name in the cache, or ``all-MiniLM-L6-v2``.

    Its weights are numbers of 32 bits, also where they were saved in fewer. Whatever reads it
    computes on its device, see :func:`discreet.devices.find_device`.
    """
    where = find_device(device)
    directory, place = locate_model(str(model))
    space = model_space(directory)  # refuses what is not a WordPiece model, in plain words
    marks = marks_of_pieces(space.words)
    with needs_extra("a masked language model", "train"):
        import torch
        from transformers import AutoModelForMaskedLM
    reading = read_as(
        f"{directory} holds no BERT-style model that transformers can read; give a directory with "
        "config.json, the weights and vocab.txt"
    )
    with reading, quiet_transformers(), own_chance():
        torch.manual_seed(0)  # a new head always starts alike
        network, info = AutoModelForMaskedLM.from_pretrained(
            directory, local_files_only=True, output_loading_info=True, dtype=torch.float32
        )
    missing = sorted(info["missing_keys"])
    base = {f"{network.base_model_prefix}.{name}" for name in network.base_model.state_dict()}
    lost = [name for name in missing if name in base]
    if lost or info["mismatched_keys"]:
        raise InputError(
            f"{directory} lacks {len(lost) or len(info['mismatched_keys'])} of the encoder's "
            "weights, or has them in another shape; its config.json and its weights do not belong "
            "together"
        )
    with room_for(f"the model {directory.name}", "use a smaller model, or --device cpu"):
        network = network.eval().to(where)
    return MaskedModel(
        name=place,
        fingerprint=model_fingerprint(directory),
        pieces=space.words,
        marks=marks,
        longest=int(getattr(network.config, "max_position_embeddings", 512)),
        has_head=not missing,
        about=_about(directory),
        directory=directory,
        network=network,
    )


def network_of(configuration: dict[str, Any], weights: int) -> Any:
    """A network of a saved configuration, in 32 bits, whose weights are still to be loaded.

    A configuration that asks for more layers than there are ``weights`` is a ValueError: anybody
    may have written it, and building what it asks for might never end.
    """
    import torch
    from transformers import AutoConfig, AutoModel

    if any(configuration.get(name, 0) > weights for name in _DEPTHS):
        raise ValueError("more layers than weights")
    rest = {name: value for name, value in configuration.items() if name != "model_type"}
    with quiet_transformers():
        config = AutoConfig.for_model(configuration["model_type"], **rest)
        return AutoModel.from_config(config, dtype=torch.float32)


def save_masked_model(
    model: MaskedModel, directory: Path, about: dict[str, Any], *, force: bool = False
) -> None:
    """Write a model as transformers reads it, with what it was trained on; whole or not at all.

    ``about``, ready for JSON, holds settings, receipts and provenance; nothing of protected text.
    """
    refuse_no_model(directory, force=force)
    with folder_written_whole(directory) as new:
        with quiet_transformers():
            model.network.save_pretrained(new)
        for name in _TOKENIZER_FILES:
            if (model.directory / name).is_file():
                shutil.copyfile(model.directory / name, new / name)
        (new / ABOUT).write_text(json.dumps(about, indent=1, ensure_ascii=False), "utf-8")


def refuse_no_model(directory: Path, *, force: bool) -> None:
    """Stop before long work if its model would have no place to go."""
    check_folder(directory, lambda it: (it / ABOUT).is_file(), "model of ours", force=force)


def marks_of_pieces(pieces: Sequence[str]) -> SpecialPieces:
    """The special pieces of a BERT vocabulary."""
    ids = {piece: number for number, piece in enumerate(pieces)}
    try:
        return SpecialPieces(
            *(ids[piece] for piece in ("[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"))
        )
    except KeyError as error:
        raise InputError(f"the vocabulary of the model has no piece {error}") from error


def model_fingerprint(directory: Path) -> str:
    """SHA-256 of the weights, the configuration and the vocabulary."""
    digest = hashlib.sha256()
    for name in ("config.json", "model.safetensors", "vocab.txt", "tokenizer.json"):
        if (directory / name).is_file():
            digest.update(f"{name}\0{file_sha256(directory / name)}".encode())
    return digest.hexdigest()


def _about(directory: Path) -> dict[str, Any]:
    path = directory / ABOUT
    if not path.is_file():
        return {}
    with read_as(f"{path} is damaged; train again"):
        about = json.loads(path.read_text("utf-8"))
    return about if isinstance(about, dict) else {}
