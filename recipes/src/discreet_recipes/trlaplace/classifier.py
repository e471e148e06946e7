"""The classifiers of the utility test, which read text that was released.

The paper's is a network over word vectors; its text says how it is trained and not how it is made:
here a text is the mean of its words' vectors, and two layers read it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from discreet.arrays import Ids
from discreet.devices import find_device, moved, own_chance
from discreet.spaces.space import EmbeddingSpace
from discreet.text.labelled import Labelled, codes_of
from discreet.text.tokens import TokenBatch, tokenizer_for
from discreet.training.scores import class_scores
from discreet.training.texts.bag_of_words import fit_bag_of_words
from discreet_recipes.trlaplace.sizes import NETWORK

_HIDDEN = 128
_DROPOUT = 0.2
_LEARNING_RATE = 1e-4
_BATCH = 256
_MOST_EPOCHS = 50
_PATIENCE = 3  # epochs without a better one, on a tenth that is held back
_HELD_BACK = 10

Predict = Callable[[Sequence[str]], Sequence[str]]


@dataclass(frozen=True)
class Judge:
    """Trains a classifier on released texts and tests it on others."""

    kind: str
    space: EmbeddingSpace = field(repr=False)

    def accuracy(
        self, train: Sequence[str], labels: Sequence[str], test: Sequence[str], truth: Sequence[str]
    ) -> float:
        """How many texts it tells the class of."""
        fit = self._network if self.kind == NETWORK else _bag_of_words
        return class_scores(list(truth), list(fit(train, labels)(test)))["accuracy"]

    def _network(self, train: Sequence[str], labels: Sequence[str]) -> Predict:
        space = self.space
        tokenizer = tokenizer_for(space.words, space.unknown, space.subwords)
        classes = sorted(set(labels))
        trained = MeanOfVectors.fitted(
            torch.from_numpy(np.array(space.vectors, dtype=np.float32)),
            _rows(tokenizer.encode(train)),
            codes_of(labels, classes),
        )
        return lambda texts: [classes[c] for c in trained.predict(_rows(tokenizer.encode(texts)))]


def _bag_of_words(train: Sequence[str], labels: Sequence[str]) -> Predict:
    model = fit_bag_of_words(Labelled(list(train), None, list(labels)))
    return lambda texts: [str(label) for label in model.predict(texts)]


class MeanOfVectors(nn.Module):
    """Scores of classes from the mean of the vectors of a text's words."""

    def __init__(self, vectors: torch.Tensor, classes: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(vectors), vectors.shape[1], _weight=vectors)
        self.layers = nn.Sequential(
            nn.Dropout(_DROPOUT),
            nn.Linear(vectors.shape[1], _HIDDEN),
            nn.ReLU(),
            nn.Dropout(_DROPOUT),
            nn.Linear(_HIDDEN, classes),
        )

    def forward(self, ids: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
        """From rows of ids, and where there are any, to rows of scores."""
        weights = there[:, :, None]
        total = (self.embedding(ids) * weights).sum(dim=1)
        return self.layers(total / weights.sum(dim=1).clamp(min=1))  # type: ignore[no-any-return]

    @classmethod
    def fitted(
        cls, vectors: torch.Tensor, texts: Sequence[Ids], labels: Ids, seed: int = 0
    ) -> "MeanOfVectors":
        """Trained until a part that is held back gets no better; the best of its epochs."""
        where = find_device()
        with own_chance(where):
            torch.manual_seed(seed)
            model = cls(vectors, int(labels.max()) + 1).to(where)
            order = np.random.default_rng(seed).permutation(len(texts))
            kept, learnt = np.split(order, [len(texts) // _HELD_BACK])
            optimizer = torch.optim.Adam(model.parameters(), _LEARNING_RATE)
            best, least, since = model.state_dict(), float("inf"), 0
            for epoch in range(_MOST_EPOCHS):
                model.train()
                shuffled = np.random.default_rng([seed, epoch]).permutation(learnt)
                for start in range(0, len(shuffled), _BATCH):
                    optimizer.zero_grad()
                    model._loss(texts, labels, shuffled[start : start + _BATCH]).backward()  # type: ignore[no-untyped-call]
                    optimizer.step()
                loss = model._held_back(texts, labels, kept)
                since = 0 if loss < least else since + 1
                if not since:
                    least = loss
                    best = {name: value.clone() for name, value in model.state_dict().items()}
                if since == _PATIENCE:
                    break
            model.load_state_dict(best)
        return model.eval()

    def predict(self, texts: Sequence[Ids]) -> list[int]:
        """The number of the likeliest class of each text."""
        out: list[int] = []
        with torch.inference_mode():
            for start in range(0, len(texts), _BATCH):
                rows = range(start, min(start + _BATCH, len(texts)))
                out += self(*self._padded(texts, rows)).argmax(dim=1).tolist()
        return out

    def _held_back(self, texts: Sequence[Ids], labels: Ids, rows: Ids) -> float:
        self.eval()
        with torch.inference_mode():
            parts = [rows[start : start + _BATCH] for start in range(0, len(rows), _BATCH)]
            losses = [float(self._loss(texts, labels, part)) * len(part) for part in parts]
        return sum(losses) / max(1, len(rows))

    def _loss(self, texts: Sequence[Ids], labels: Ids, rows: Ids) -> torch.Tensor:
        scores = self(*self._padded(texts, rows))
        return nn.functional.cross_entropy(scores, moved(labels[rows], scores.device))

    def _padded(self, texts: Sequence[Ids], rows: Sequence[int] | Ids) -> tuple[torch.Tensor, ...]:
        where = self.embedding.weight.device
        lengths = np.array([len(texts[row]) for row in rows])
        ids = np.zeros((len(lengths), max(1, int(lengths.max(initial=0)))), dtype=np.int64)
        there = np.arange(ids.shape[1]) < lengths[:, None]
        ids[there] = np.concatenate([texts[row] for row in rows])
        return moved(ids, where), moved(there.astype(np.float32), where)


def _rows(batch: TokenBatch) -> list[Ids]:
    return np.split(batch.ids.astype(np.int64), batch.offsets[1:-1])
