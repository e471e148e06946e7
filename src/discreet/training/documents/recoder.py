"""The recoder H: a small network that brings the sentences of like documents together.

It is trained with a linear model L so that L reads the class of a public document off the mean of
its recoded sentences. Documents of one class come close, those of another go apart, and a public
candidate of the right class lies deep among the sentences of a document.

Paper: "Sentence-level Privacy for Document Embeddings" (SentDP), its section on cluster-preserving
embeddings. Where we differ: every step looks at a random share of each document's sentences, so
that a few of them are enough; the number of epochs is chosen on held-out public documents by the
same loss.
"""

from dataclasses import dataclass

import numpy as np

from discreet import check
from discreet.arrays import Floats32, Ids, Progress
from discreet.errors import InvalidValue, MissingExtra

LAYERS = 4
_BATCHES = (8, 64)
_HELD_OUT = 0.1
_LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Recoder:
    """What the training left.

    Attributes:
        layers: (weight, bias) pairs with tanh between them, ready for a ``PublicMap``.
        accuracy: How often L named the class of a held-out document.
        epochs: After how many epochs that was best.
    """

    layers: list[tuple[Floats32, Floats32]]
    accuracy: float
    epochs: int


def train_recoder(
    vectors: Floats32,
    offsets: Ids,
    classes: Ids,
    *,
    dimension: int,
    epochs: int = 20,
    learning_rate: float = 1e-3,
    seed: int = 0,
    progress: Progress | None = None,
) -> Recoder:
    """Train H and L on PUBLIC documents.

    Args:
        vectors: Sentence vectors of all documents, end to end.
        offsets: Document i is rows ``offsets[i]`` to ``offsets[i + 1]``.
        classes: Class of each document, counted from 0.
        dimension: Length of a recoded vector.
        epochs: The most passes over the documents.
        learning_rate: Of Adam.
        seed: Of the weights, the order and the shares; all public.
        progress: Called with (done, total) epochs.
    """
    try:
        import torch
        from torch import nn
    except ImportError as error:
        raise MissingExtra("training a recoder", "train") from error
    epochs = check.whole(epochs, "epochs of a recoder", at_least=1)
    inputs, documents = vectors.shape[1], len(classes)
    if documents < 10:
        raise InvalidValue(f"a recoder needs at least 10 public documents; got {documents}")
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(documents)
    cut = max(1, round(_HELD_OUT * documents))
    held_out, training = shuffled[:cut], shuffled[cut:]
    # Few documents go in small batches, so that an epoch is enough steps to learn something.
    batch = int(np.clip(len(training) // 24, *_BATCHES))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        sizes = [inputs] * LAYERS + [dimension]
        linear = [nn.Linear(sizes[i], sizes[i + 1]) for i in range(LAYERS)]
        reader = nn.Linear(dimension, int(classes.max()) + 1)
    # Unit vectors have small entries; this gives each a variance of about 1.
    scale = float(np.sqrt(inputs / np.mean(np.einsum("ij,ij->i", vectors, vectors))))
    rows_of, target = torch.from_numpy(vectors), torch.from_numpy(classes)
    weights = [*reader.parameters(), *(p for layer in linear for p in layer.parameters())]
    optimizer = torch.optim.Adam(weights, lr=learning_rate)

    def logits(rows: Ids, owner: Ids, count: int) -> torch.Tensor:
        hidden = rows_of[torch.from_numpy(rows)] * scale
        for layer in linear[:-1]:
            hidden = torch.tanh(layer(hidden))
        recoded = linear[-1](hidden)
        owners = torch.from_numpy(owner)
        sums = torch.zeros(count, dimension).index_add(0, owners, recoded)
        means = sums / torch.bincount(owners, minlength=count)[:, None]
        result: torch.Tensor = reader(means)
        return result

    def state() -> list[tuple[Floats32, Floats32]]:
        pairs = [(m.weight.detach().T.numpy(), m.bias.detach().numpy()) for m in linear]
        return [
            (np.ascontiguousarray(w * (scale if i == 0 else 1.0)), b.copy())
            for i, (w, b) in enumerate(pairs)
        ]

    best, kept = np.inf, Recoder(state(), 0.0, 0)
    for epoch in range(epochs):
        order = rng.permutation(training)
        for start in range(0, len(order), batch):
            some = order[start : start + batch]
            rows, owner = _share(offsets, some, rng)
            loss = nn.functional.cross_entropy(
                logits(rows, owner, len(some)), target[torch.from_numpy(some)]
            )
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        with torch.no_grad():
            rows, owner = _share(offsets, held_out, None)
            predicted, truth = logits(rows, owner, cut), target[torch.from_numpy(held_out)]
            loss_now = float(nn.functional.cross_entropy(predicted, truth))
            if loss_now < best:
                right = float((predicted.argmax(dim=1) == truth).float().mean())
                best, kept = loss_now, Recoder(state(), right, epoch + 1)
        if progress is not None:
            progress(epoch + 1, epochs)
    return kept


def _share(offsets: Ids, documents: Ids, rng: np.random.Generator | None) -> tuple[Ids, Ids]:
    """Rows of a random share of each document's sentences (at least one), and whose they are."""
    starts, counts = offsets[documents], offsets[documents + 1] - offsets[documents]
    owner = np.repeat(np.arange(len(documents)), counts)
    first = np.cumsum(counts) - counts
    rows = np.arange(len(owner)) - np.repeat(first - starts, counts)
    if rng is None:
        return rows, owner
    chance = np.repeat(rng.uniform(_LEAST_SHARE, 1.0, len(documents)), counts)
    taken = rng.random(len(owner)) < chance
    taken[first + rng.integers(0, counts)] = True
    return rows[taken], owner[taken]
