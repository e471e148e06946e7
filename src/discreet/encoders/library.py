"""Encoders that are run by the library they were made with: any architecture, on any device."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.devices import CPU, array_of
from discreet.errors import InputError, needs_extra, read_as
from discreet.files import plain_json

_VOCABULARIES = ("tokenizer.json", "vocab*.txt", "vocab*.json", "*.model", "*.spm", "*.tiktoken")
# Tokenisers that read bytes or characters have none.
_WITHOUT = ("ByT5Tokenizer", "CanineTokenizer", "PerceiverTokenizer")
_ORDINARY = ("the", "a", "good", "is", "water", "people", "today")


class LibraryEncoder(ABC):
    """What turns texts into vectors, each of which depends on its own text alone."""

    dimension: int
    max_seq_length: int
    _device: str

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vector of each text, by a thread that works alone.

        On the processor texts are shared out among as many threads as PyTorch has, products are
        not: how those would be cut up is then no matter, and for single sentences this is faster.
        """
        import torch

        if self._device != CPU:
            return np.stack([self._vector(text) for text in texts])
        threads, one = torch.get_num_threads(), (1,)
        try:
            with ThreadPoolExecutor(
                threads, initializer=torch.set_num_threads, initargs=one
            ) as pool:
                # A tokeniser takes its settings with the first text; after that it is only read.
                first = pool.submit(self._vector, texts[0]).result()
                return np.stack([first, *pool.map(self._vector, texts[1:])])
        finally:
            torch.set_num_threads(threads)  # which threads that are started later would take over

    @abstractmethod
    def _vector(self, text: str) -> NDArray[np.float32]:
        """The vector of a text."""


def library_encoder(directory: Path, pooling: str | None, device: str) -> LibraryEncoder:
    """The model of a directory, on a device.

    Args:
        directory: As transformers or sentence-transformers write it.
        pooling: ``mean`` or ``cls``; None: as the directory says, else ``mean``.
        device: As :func:`discreet.devices.find_device` gives it.
    """
    with needs_extra("a sentence encoder", "encoder"):
        if pooling is None and (directory / "modules.json").is_file():
            return SentenceTransformerEncoder(directory, device)
        return PooledEncoder(directory, pooling or "mean", device)


def refuse_no_tokenizer(directory: Path) -> None:
    """Stop at a model that nobody can give text to, before its weights are read."""
    is_model = (directory / "config.json").is_file()
    if not is_model or any(any(directory.rglob(name)) for name in _VOCABULARIES):
        return
    if _kind(directory / "tokenizer_config.json") not in _WITHOUT:
        raise InputError(
            f"the model in {directory} has no tokeniser with a vocabulary (tokenizer.json, "
            "vocab.txt or the like); copy its files there from where the model came from"
        )


def _kind(settings: Path) -> object:
    """What a tokeniser says that it is."""
    if not settings.is_file():
        return None
    with read_as(f"{settings} cannot be read"):
        return dict(plain_json(settings.read_bytes())).get("tokenizer_class")


def refuse_unread(
    directory: Path, read: Callable[[Sequence[str]], Iterable[Sequence[float]]]
) -> None:
    """Stop at a model to which all words are the same one, unknown.

    Args:
        directory: Of the model.
        read: From words to what it makes of each by itself: numbers of tokens, or a vector.
    """
    # Of a vector that is no number nothing is said here: it is not equal to itself.
    if len(set(map(tuple, read(_ORDINARY)))) == 1:
        raise InputError(
            f"the tokeniser in {directory} does not know ordinary English words: its vocabulary is "
            "empty, or belongs to another model; copy its files there from where the model came "
            "from"
        )


class PooledEncoder(LibraryEncoder):
    """A transformers model whose last layer is averaged, or cut to its first position."""

    def __init__(self, directory: Path, pooling: str, device: str) -> None:
        import torch
        from transformers import AutoModel, AutoTokenizer

        self._tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
        model = AutoModel.from_pretrained(directory, local_files_only=True, dtype=torch.float32)
        self._model = model.eval().to(device)
        self._pooling, self._device = pooling, device
        config = self._model.config
        limits = (self._tokenizer.model_max_length, getattr(config, "max_position_embeddings", 512))
        self.max_seq_length = min(limits)
        self.dimension = int(config.hidden_size)

    def _vector(self, text: str) -> NDArray[np.float32]:
        import torch

        tokens = self._tokenizer(
            [text], truncation=True, max_length=self.max_seq_length, return_tensors="pt"
        ).to(self._device)
        with torch.inference_mode():
            states = self._model(**tokens).last_hidden_state[0]
            pooled = states.mean(dim=0) if self._pooling == "mean" else states[0]
        return array_of(pooled.float())


class SentenceTransformerEncoder(LibraryEncoder):
    """A model that says itself how its vectors are made."""

    def __init__(self, directory: Path, device: str) -> None:
        import torch
        from sentence_transformers import SentenceTransformer

        self._device = device
        self._model = SentenceTransformer(
            str(directory),
            device=device,
            local_files_only=True,
            model_kwargs={"dtype": torch.float32},
        )
        self.dimension = len(self.encode(["a"])[0])

    @property
    def max_seq_length(self) -> int:
        return int(self._model.max_seq_length or 512)

    @max_seq_length.setter
    def max_seq_length(self, tokens: int) -> None:
        self._model.max_seq_length = tokens

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._model.encode(
            [text], batch_size=1, show_progress_bar=False, convert_to_numpy=True
        )[0]
        return vector
