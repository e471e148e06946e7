"""A BERT of a few thousand weights with a vocabulary of its own, written as transformers does."""

from pathlib import Path
from typing import Any

import numpy as np

from discreet.spaces.encoder_space import model_space
from discreet.spaces.space import EmbeddingSpace

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["good", "bad", "tea", "cup", "the", "a", "is", "was", "very", "not", "warm", "cold"]
PIECES = [*MARKS, *WORDS, "##s", "##ly", "##er", "walk", "run"]


def write_bert(
    directory: Path,
    *,
    head: bool = True,
    pieces: list[str] | None = None,
    dropout: float = 0.1,
    layers: int = 1,
    **more: Any,
) -> Path:
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertModel

    from discreet.encoders.encoder import quiet_transformers

    pieces = PIECES if pieces is None else pieces
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=24,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        **more,
    )
    with torch.random.fork_rng(devices=[]), quiet_transformers():
        torch.manual_seed(0)
        network = BertForMaskedLM(config) if head else BertModel(config)
        network.save_pretrained(directory)
    (directory / "vocab.txt").write_text("".join(piece + "\n" for piece in pieces))
    return directory


def bert_space(directory: Path) -> EmbeddingSpace:
    return model_space(directory)


def sentences(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Sentences whose label is one of their words; every word but two can be told from others."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(count):
        label = int(rng.integers(2))
        noun, adjective = rng.choice(["tea", "cup"]), ["bad", "good"][label]
        texts.append(f"the {noun} is {adjective} a {noun} was {adjective}")
        labels.append(str(label))
    return texts, labels
