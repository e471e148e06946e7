"""A BERT encoder in NumPy, whose vectors depend on their own text alone.

A sentence encoder of this kind is a dozen lines of array arithmetic. Run here instead of through
PyTorch it starts in half a second, needs nothing but NumPy, and is faster: a text reads its own
words by itself, and all that is done word by word is done for many texts together, in a way that
leaves no trace of the others (see :mod:`discreet.encoders.blocks`). Nothing is padded. Models that
are made otherwise are left to their own library.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer
from tokenizers.implementations import (  # type: ignore[attr-defined]
    BertWordPieceTokenizer,
)

from discreet.arrays import Floats32, offsets_of, ragged_blocks, row_blocks
from discreet.encoders.blocks import SIZE, block_places
from discreet.errors import InputError, read_as
from discreet.parallel import in_single_threads

WEIGHTS = "model.safetensors"
# So many words go through the model together, in blocks; more would not be faster.
_WORDS = 10 * SIZE


@dataclass(frozen=True)
class _Affine:
    """``rows @ weight + bias``."""

    weight: Floats32
    bias: Floats32

    def __call__(self, rows: Floats32) -> Floats32:
        out: Floats32 = rows @ self.weight
        out += self.bias
        return out


@dataclass(frozen=True)
class _Norm:
    """Each row with mean 0 and variance 1, then scaled and shifted."""

    scale: Floats32
    shift: Floats32
    least: float

    def __call__(self, rows: Floats32) -> Floats32:
        rows = rows - rows.mean(axis=1, keepdims=True)
        variance = np.square(rows).mean(axis=1, keepdims=True)
        rows /= np.sqrt(variance + np.float32(self.least))
        rows *= self.scale
        rows += self.shift
        return rows


@dataclass(frozen=True)
class _Layer:
    """Attention, then two affine maps with the Gaussian error unit between them."""

    heads: int
    attention: _Affine
    mixed: _Affine
    first_norm: _Norm
    wide: _Affine
    narrow: _Affine
    second_norm: _Norm

    def read(self, asked: Floats32) -> Floats32:
        """What the words of one text read of each other, from what ``attention`` gives."""
        words = len(asked)
        query, key, value = asked.reshape(words, 3, self.heads, -1).transpose(1, 2, 0, 3)
        scores: Floats32 = query @ key.transpose(0, 2, 1)
        scores *= np.float32(query.shape[2] ** -0.5)
        scores -= scores.max(axis=2, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=2, keepdims=True)
        seen: Floats32 = scores @ value
        return seen.transpose(1, 0, 2).reshape(words, -1)

    def answered(self, seen: Floats32, rows: Floats32) -> Floats32:
        """What becomes of words, each by itself, after what they read."""
        rows = self.first_norm(self.mixed(seen) + rows)
        inner = self.wide(rows)
        inner *= gaussian_share(inner)
        return self.second_norm(self.narrow(inner) + rows)


# The error function on [-4, 4] as x P(x^2) / Q(x^2), which is right to 5e-7 and 1 beyond. These are
# the coefficients of the Eigen library.
_UPPER: Floats32 = np.array(
    (
        *(-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06),
        *(-5.69250639462346e-05, -7.34990630326855e-04, -2.95459980854025e-03),
        -1.60960333262415e-02,
    ),
    dtype=np.float32,
)
_LOWER: Floats32 = np.array(
    (
        *(-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03),
        *(-7.37332916720468e-03, -1.42647390514189e-02),
    ),
    dtype=np.float32,
)
_ROOT_HALF = np.float32(0.5**0.5)
_FURTHEST = np.float32(4)


def gaussian_share(numbers: Floats32) -> Floats32:
    """The share of a standard normal law below each number.

    Made of sums, products and quotients, which IEEE 754 rounds one number at a time: no result
    depends on where in an array it stands.

    >>> gaussian_share(np.array([-9, 0, 1], np.float32)).round(5).tolist()
    [0.0, 0.5, 0.8413400053977966]
    """
    x = numbers * _ROOT_HALF
    np.clip(x, -_FURTHEST, _FURTHEST, out=x)
    square = x * x
    upper, lower = (_polynomial(of, square) for of in (_UPPER, _LOWER))
    upper *= x
    upper /= lower
    upper *= np.float32(0.5)
    upper += np.float32(0.5)
    return upper


def _polynomial(coefficients: Floats32, x: Floats32) -> Floats32:
    value: Floats32 = x * coefficients[0]
    value += coefficients[1]
    for each in coefficients[2:]:
        value *= x
        value += each
    return value


class BertEncoder:
    """The model of a directory; :func:`bert_encoder` makes one."""

    def __init__(self, directory: Path, config: dict[str, Any], how: "_How") -> None:
        self.dimension = int(config["hidden_size"])
        self.max_seq_length = how.max_tokens
        self._how = how
        self._tokenizer = _tokenizer(directory)
        with safe_open(directory / WEIGHTS, framework="np") as file:
            names = set(file.keys())
            prefix = "bert." if "bert.embeddings.LayerNorm.weight" in names else ""

            def tensor(name: str) -> Floats32:
                return np.asarray(file.get_tensor(prefix + name), np.float32)

            def affine(*of: str) -> _Affine:
                weight = np.concatenate([tensor(f"{name}.weight") for name in of])
                bias = np.concatenate([tensor(f"{name}.bias") for name in of])
                return _Affine(np.ascontiguousarray(weight.T), bias)

            def norm(name: str) -> _Norm:
                least = float(config.get("layer_norm_eps", 1e-12))
                return _Norm(tensor(f"{name}.weight"), tensor(f"{name}.bias"), least)

            self._words = tensor("embeddings.word_embeddings.weight")
            self._places = tensor("embeddings.position_embeddings.weight")
            self._places = self._places + tensor("embeddings.token_type_embeddings.weight")[0]
            self._norm = norm("embeddings.LayerNorm")
            self._layers = [
                _Layer(
                    int(config["num_attention_heads"]),
                    affine(*(f"{at}.attention.self.{part}" for part in ("query", "key", "value"))),
                    affine(f"{at}.attention.output.dense"),
                    norm(f"{at}.attention.output.LayerNorm"),
                    affine(f"{at}.intermediate.dense"),
                    affine(f"{at}.output.dense"),
                    norm(f"{at}.output.LayerNorm"),
                )
                for at in (f"encoder.layer.{n}" for n in range(int(config["num_hidden_layers"])))
            ]
        shapes = {
            part.weight.shape
            for layer in self._layers
            for part in (layer.attention, layer.mixed, layer.wide, layer.narrow)
        }
        (self._places_in_blocks,) = in_single_threads(block_places, [frozenset(shapes)])
        self.encode(["a"])  # a model whose parts do not fit each other is noticed here

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vector of each text, which depends on that text alone."""
        self._tokenizer.enable_truncation(self.max_seq_length)
        read = [each.ids for each in self._tokenizer.encode_batch(list(texts))]
        offsets = offsets_of([len(ids) for ids in read])
        alone = self._places_in_blocks is None
        parts = [read[a:b] for a, b in ragged_blocks(offsets, _WORDS, 1 if alone else None)]
        return np.concatenate(in_single_threads(self._vectors, parts))

    def _vectors(self, texts: Sequence[Sequence[int]]) -> Floats32:
        """Of texts of about as many words as go through the model together."""
        lengths = np.array([len(ids) for ids in texts])
        offsets = offsets_of(lengths)
        embedded = np.concatenate([self._words[ids] + self._places[: len(ids)] for ids in texts])
        if self._places_in_blocks is None:  # a text alone, in a shape that is its own
            places = origin = np.arange(len(embedded))
            blocks = [slice(None)]
        else:
            places = self._places_in_blocks.of_texts(lengths)
            blocks = list(row_blocks(int(places.max()) // SIZE * SIZE + SIZE, numbers=SIZE))
            origin = np.zeros(blocks[-1].stop, dtype=np.int64)  # what is left over is any word
            origin[places] = np.arange(len(places))
        rows = self._norm(embedded[origin])
        for layer in self._layers:
            asked = np.concatenate([layer.attention(rows[block]) for block in blocks])[places]
            seen = np.concatenate([layer.read(asked[a:b]) for a, b in pairwise(offsets)])[origin]
            rows = np.concatenate([layer.answered(seen[block], rows[block]) for block in blocks])
        return np.stack([self._pooled(rows[places[a:b]]) for a, b in pairwise(offsets)])

    def _pooled(self, rows: Floats32) -> Floats32:
        vector: Floats32 = rows[0] if self._how.pooling == "cls" else rows.mean(axis=0)
        return vector / np.sqrt(np.square(vector).sum()) if self._how.unit else vector


@dataclass(frozen=True)
class _How:
    """A vector is made of the last layer."""

    pooling: str
    unit: bool
    max_tokens: int


def bert_encoder(directory: Path, pooling: str | None) -> BertEncoder | None:
    """An encoder of a directory that holds a plain BERT; None if it holds something else.

    Args:
        directory: As transformers or sentence-transformers write it.
        pooling: ``mean`` or ``cls``; None: as the directory says, else ``mean``.
    """
    config = _read(directory / "config.json")
    plain = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "position_embedding_type": "absolute",
        "is_decoder": False,
    }
    if any(config.get(name, value) != value for name, value in plain.items()):
        return None
    if "model_type" not in config or not (directory / WEIGHTS).is_file():
        return None
    if not any((directory / name).is_file() for name in ("tokenizer.json", "vocab.txt")):
        return None
    how = _how(directory, config, pooling)
    if how is None:
        return None
    try:
        return BertEncoder(directory, config, how)
    except (SafetensorError, IndexError, AttributeError, ZeroDivisionError) as error:
        raise InputError(
            f"the encoder in {directory} is damaged, or its files do not fit each other "
            f"({type(error).__name__})"
        ) from error


def _how(directory: Path, config: dict[str, Any], pooling: str | None) -> _How | None:
    positions = int(config.get("max_position_embeddings", 512))
    told = _read(directory / "tokenizer_config.json").get("model_max_length") or positions
    if pooling is not None or not (directory / "modules.json").is_file():
        return _How(pooling or "mean", False, min(int(told), positions))
    modules = json.loads((directory / "modules.json").read_text(encoding="utf-8"))
    kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return None
    pooled = _read(directory / modules[1]["path"] / "config.json")
    ways = [name for name, on in pooled.items() if name.startswith("pooling_mode_") and on is True]
    known = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
    settings = _read(directory / "sentence_bert_config.json")
    prompted = _read(directory / "config_sentence_transformers.json").get("default_prompt_name")
    if len(ways) != 1 or ways[0] not in known or settings.get("do_lower_case") or prompted:
        return None
    most = settings.get("max_seq_length") or min(int(told), positions)
    return _How(known[ways[0]], len(kinds) == 3, int(most))


def _tokenizer(directory: Path) -> Tokenizer:
    """As the directory describes it, without padding."""
    whole = directory / "tokenizer.json"
    with read_as(f"the tokeniser in {directory} cannot be read"):
        if whole.is_file():
            tokenizer = Tokenizer.from_file(str(whole))
        else:
            lower = _read(directory / "tokenizer_config.json").get("do_lower_case", True)
            tokenizer = BertWordPieceTokenizer.from_file(
                str(directory / "vocab.txt"), lowercase=bool(lower)
            )
    tokenizer.no_padding()
    return tokenizer


def _read(path: Path) -> dict[str, Any]:
    """A JSON object; empty if there is no such file."""
    if not path.is_file():
        return {}
    settings = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(settings, dict):
        raise InputError(f"{path} holds no settings; it must be a JSON object")
    return settings
