"""Sentences side by side, as a transformers model reads them: with marks around, and filled up."""

from collections.abc import Sequence
from typing import Any

import torch

from discreet.models.factors import SentenceBatch

Marks = tuple[tuple[int, ...], tuple[int, ...]]
"""What a tokenizer puts before and after every sentence: public, and always the same."""


def marks_of(tokenizer: Any) -> Marks:
    """What a tokenizer puts around a text, seen around one that is made up."""
    bare, whole = (tokenizer("a", add_special_tokens=put)["input_ids"] for put in (False, True))
    for first in range(len(whole) - len(bare) + 1):
        if bare and whole[first : first + len(bare)] == bare:
            return tuple(whole[:first]), tuple(whole[first + len(bare) :])
    return (), ()


def padded(
    batch: SentenceBatch,
    there: torch.Tensor,
    filling: int,
    before: Sequence[int] = (),
    after: Sequence[int] = (),
) -> torch.Tensor:
    """The tokens of each sentence in a row.

    Args:
        batch: the sentences.
        there: ``(sentences, longest)``: for the size alone.
        filling: stands where there is nothing else.
        before: marks before each sentence,
        after: and after it.
    """
    ids = torch.full_like(there, filling, dtype=torch.long)
    for place, mark in enumerate(before):
        ids[:, place] = mark
    within = torch.arange(ids.shape[1], device=ids.device)[None, :] - len(before)
    ids[(within >= 0) & (within < batch.lengths[:, None])] = batch.tokens
    for beyond, mark in enumerate(after):
        ids[within == batch.lengths[:, None] + beyond] = mark
    return ids


def some_of(batch: SentenceBatch, places: torch.Tensor) -> SentenceBatch:
    """Some sentences of a batch."""
    starts = torch.cumsum(batch.lengths, 0) - batch.lengths
    lengths = batch.lengths[places]
    offsets = torch.repeat_interleave(
        starts[places] - (torch.cumsum(lengths, 0) - lengths), lengths
    )
    tokens = batch.tokens[offsets + torch.arange(len(offsets), device=offsets.device)]
    return SentenceBatch(tokens, lengths, None if batch.labels is None else batch.labels[places])
