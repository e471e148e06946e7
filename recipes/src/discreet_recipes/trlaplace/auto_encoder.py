"""The paper's auto-encoder: words that were released go in, the original words are to come out.

One layer of a bidirectional LSTM with dropout over vectors that begin as the space's, as its
appendix has it; the text does not say how it decodes, here a linear layer does for each word.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from discreet.arrays import Ids
from discreet.devices import find_device, own_chance
from discreet.protocols import WordMechanism
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import TokenBatch

_HIDDEN = 256
_DROPOUT = 0.5
_LEARNING_RATE = 0.01
_BETAS = (0.5, 0.999)
# The paper has batches of 1,024 texts; a small run would have a handful of steps with these.
_MOST_BATCH, _LEAST_STEPS = 1024, 20
_IGNORED = -100


class AutoEncoder(nn.Module):
    """Scores of the words that it may write, for each word that it reads."""

    def __init__(self, vectors: torch.Tensor, written: int) -> None:
        super().__init__()
        words, dimension = vectors.shape
        self.embedding = nn.Embedding(words, dimension, _weight=vectors)
        self.dropout = nn.Dropout(_DROPOUT)
        self.encoder = nn.LSTM(vectors.shape[1], _HIDDEN, batch_first=True, bidirectional=True)
        self.decoder = nn.Linear(2 * _HIDDEN, written)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """From rows of ids to rows of scores."""
        hidden, _ = self.encoder(self.dropout(self.embedding(ids)))
        return self.decoder(self.dropout(hidden))  # type: ignore[no-any-return]


class TextAutoEncoder:
    """An auto-encoder of a space, trained on PUBLIC text through a mechanism, or without any.

    Args:
        space: Of the words.
        public: Public text as ids. It may write the words of this text.
        mechanism: None is the paper's column of epsilon = infinity.
        epochs: Each with fresh noise.
        batch: Texts in a step; 0 for a twentieth of them, 1,024 at most, as in the paper.
        seed: Of weights, order and noise.
    """

    def __init__(
        self,
        space: EmbeddingSpace,
        public: TokenBatch,
        mechanism: WordMechanism | None,
        *,
        epochs: int,
        batch: int = 0,
        seed: int = 0,
    ) -> None:
        self._mechanism = mechanism
        self.written: Ids = np.unique(public.ids).astype(np.int64)
        self._place = np.full(len(space), _IGNORED)
        self._place[self.written] = np.arange(len(self.written))
        vectors = torch.from_numpy(np.array(space.vectors, dtype=np.float32))
        self._where = find_device()
        rng = np.random.default_rng([seed, 1])
        self._noise_seconds = 0.0
        with own_chance(self._where):
            torch.manual_seed(seed)
            self._model = AutoEncoder(vectors, len(self.written)).to(self._where)
            started, computed = time.perf_counter(), time.process_time()
            self._train(public, epochs, batch, rng)
        self.seconds = {
            "epoch_seconds": (time.perf_counter() - started) / epochs,
            "processor_seconds": (time.process_time() - computed) / epochs,
            "noise_seconds": self._noise_seconds / epochs,
        }
        """How long an epoch took, by the clock and of the processor, and the noise of it. What else
        the machine does changes the first."""

    def _train(self, public: TokenBatch, epochs: int, batch: int, rng: np.random.Generator) -> None:
        texts = [row for row in _rows(public) if len(row)]
        batch = batch or max(1, min(_MOST_BATCH, len(texts) // _LEAST_STEPS))
        optimizer = torch.optim.Adam(self._model.parameters(), _LEARNING_RATE, _BETAS)
        self._model.train()
        for _ in range(epochs):
            order = rng.permutation(len(texts))
            for start in range(0, len(order), batch):
                some = [texts[i] for i in order[start : start + batch]]
                optimizer.zero_grad()
                total, count = self._loss(some, self._released(some, rng))
                (total / max(1, count)).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        self._model.eval()

    def measured(self, texts: TokenBatch, rng: np.random.Generator) -> dict[str, Any]:
        """What it makes of other texts: the words, and the cross-entropy of the originals."""
        rows = _rows(texts)
        total, count, out = 0.0, 0, np.empty(len(texts.ids), dtype=np.int64)
        with torch.inference_mode():
            for start in range(0, len(rows), _MOST_BATCH // 8):
                some = rows[start : start + _MOST_BATCH // 8]
                released = self._released(some, rng)
                loss, words = self._loss(some, released)
                total, count = total + float(loss), count + words
                best = self._model(self._padded(released)).argmax(dim=-1).cpu().numpy()
                at = int(texts.offsets[start])
                written = [
                    self.written[row[: len(own)]] for row, own in zip(best, some, strict=True)
                ]
                joined = np.concatenate(written) if written else np.empty(0, np.int64)
                out[at : at + len(joined)] = joined
        batch = TokenBatch(out.astype(texts.ids.dtype), texts.offsets)
        return {"loss": total / max(1, count), "texts": batch}

    def _released(self, texts: Sequence[Ids], rng: np.random.Generator) -> list[Ids]:
        if self._mechanism is None:
            return list(texts)
        started = time.process_time()
        joined = self._mechanism.release(np.concatenate(texts), rng).astype(np.int64)
        self._noise_seconds += time.process_time() - started
        return np.split(joined, np.cumsum([len(text) for text in texts])[:-1])

    def _loss(self, texts: Sequence[Ids], released: Sequence[Ids]) -> tuple[torch.Tensor, int]:
        scores = self._model(self._padded(released))
        targets = self._padded([self._place[text] for text in texts], _IGNORED)
        loss = nn.functional.cross_entropy(
            scores.flatten(0, 1), targets.flatten(), ignore_index=_IGNORED, reduction="sum"
        )
        return loss, int((targets != _IGNORED).sum())

    def _padded(self, rows: Sequence[Ids], with_id: int = 0) -> torch.Tensor:
        tensors = [torch.from_numpy(row) for row in rows]
        padded = nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=with_id)
        return padded.to(self._where)


def _rows(batch: TokenBatch) -> list[Ids]:
    return np.split(batch.ids.astype(np.int64), batch.offsets[1:-1])
