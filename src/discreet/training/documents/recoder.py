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

from discreet.arrays import Floats32, Generator, Ids, Progress, ragged_places
from discreet.devices import find_device, moved
from discreet.encoders.layers import Layers, affine_network, layers_of
from discreet.errors import InvalidValue
from discreet.training.documents.settings import StoreSettings
from discreet.training.loop import ShuffledRows, constant, seeded_weights, train_on_rows

LAYERS = 4
_BATCHES = (8, 64)
_HELD_OUT = 0.1
_LEAST_SHARE = 0.1
_LEARNING_RATE = 1e-3


@dataclass(frozen=True)
class Recoder:
    """What the training left.

    Attributes:
        layers: (weight, bias) pairs with tanh between them, ready for a ``PublicMap``.
        accuracy: How often L named the class of a held-out document.
        epochs: After how many epochs that was best.
    """

    layers: Layers
    accuracy: float
    epochs: int


def train_recoder(
    vectors: Floats32,
    offsets: Ids,
    classes: Ids,
    settings: StoreSettings,
    progress: Progress | None = None,
) -> Recoder:
    """Train H and L on PUBLIC documents.

    Args:
        vectors: Sentence vectors of all documents, end to end.
        offsets: Document i is rows ``offsets[i]`` to ``offsets[i + 1]``.
        classes: Class of each document, counted from 0.
        settings: Its seed is of the weights, the order and the shares; all public.
        progress: Called with (done, total) steps.
    """
    where = find_device(settings.device)
    size, documents = vectors.shape[1], len(classes)
    if documents < 10:
        raise InvalidValue(f"a recoder needs at least 10 public documents; got {documents}")
    rng = np.random.default_rng(settings.seed)
    shuffled = rng.permutation(documents)
    cut = max(1, round(_HELD_OUT * documents))
    held_out, training = shuffled[:cut], shuffled[cut:]
    # Few documents go in small batches, so that an epoch is enough steps to learn something.
    batch = int(np.clip(len(training) // 24, *_BATCHES))
    with seeded_weights(settings.seed, "training a recoder"):
        recoder = affine_network([size] * (LAYERS + 1)).to(where)
        reader = affine_network([size, int(classes.max()) + 1]).to(where)
    import torch
    from torch.nn.functional import cross_entropy

    # Unit vectors have small entries; this gives each a variance of about 1.
    scale = float(np.sqrt(size / np.mean(np.einsum("ij,ij->i", vectors, vectors))))
    sentences, target = moved(vectors, where), moved(classes, where)

    def compared(some: Ids, chance: Generator | None) -> tuple[torch.Tensor, torch.Tensor]:
        """What L says of some documents, and its loss."""
        rows, owner = _share(offsets, some, chance)
        recoded = recoder(sentences[moved(rows, where)] * scale)
        owners = moved(owner, where)
        sums = recoded.new_zeros(len(some), size).index_add(0, owners, recoded)
        said = reader(sums / torch.bincount(owners, minlength=len(some))[:, None])
        return said, cross_entropy(said, target[moved(some, where)])

    def layers() -> Layers:
        (weight, bias), *others = layers_of(recoder)
        return ((weight * scale, bias), *others)

    best, kept = np.inf, Recoder(layers(), 0.0, 0)
    batches = ShuffledRows(training, batch, rng)

    def judge(steps: int) -> None:
        nonlocal best, kept
        if steps % batches.length:
            return
        with torch.no_grad():
            said, loss = compared(held_out, None)
        if float(loss) < best:
            right = said.argmax(dim=1) == target[moved(held_out, where)]
            accuracy = float(right.float().mean())
            best, kept = float(loss), Recoder(layers(), accuracy, steps // batches.length)

    train_on_rows(
        [recoder, reader],
        lambda some: compared(some, rng)[1],
        rows=batches,
        epochs=settings.epochs,
        schedule=constant(_LEARNING_RATE),
        after=judge,
        progress=progress,
    )
    return kept


def _share(offsets: Ids, documents: Ids, rng: Generator | None) -> tuple[Ids, Ids]:
    """Rows of a random share of each document's sentences (at least one), and whose they are."""
    counts = np.diff(offsets)[documents]
    rows, owner = ragged_places(offsets[documents], counts)
    if rng is None:
        return rows, owner
    taken = rng.uniform(_LEAST_SHARE, 1.0, len(documents))[owner] > rng.random(len(owner))
    taken[np.cumsum(counts) - counts + rng.integers(0, counts)] = True
    return rows[taken], owner[taken]
