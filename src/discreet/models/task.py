"""A model for released vectors: a map back up (M2), then the layers of the task.

It is a function of releases alone, so using it costs no privacy. Prediction needs no PyTorch.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from discreet.arrays import Floats32, row_blocks
from discreet.encoders.layers import (
    Layers,
    check_layers,
    layer_arrays,
    layers_from,
    run_layers,
)
from discreet.errors import InvalidValue, read_as
from discreet.receipt import Receipt
from discreet.release.vectors import VectorSet
from discreet.tensors import load_tensors, save_tensors

KIND = "task model for released vectors"
_BLOCK = 65536


@dataclass(frozen=True)
class ReleasedAs:
    """How vectors were released: a model fits vectors released in the same way, and no others."""

    mechanism: str
    epsilon: float
    dimension: int
    encoder: str
    """Fingerprint."""
    map: str
    """Fingerprint."""

    @classmethod
    def of(cls, receipt: Receipt) -> "ReleasedAs":
        """Read off the receipt that ``discreet embed`` writes beside vectors."""
        with read_as("the receipt beside the vectors is not one of 'discreet embed' for sentences"):
            return cls(
                str(receipt.mechanism["name"]),
                float(receipt.mechanism["epsilon"]),
                int(receipt.mechanism["dimension"]),
                str(receipt.encoder["fingerprint"]),
                str(receipt.map["fingerprint"]),
            )

    def require(self, other: "ReleasedAs") -> None:
        """Refuse vectors that were released in another way."""
        for name, value in asdict(self).items():
            its = getattr(other, name)
            if its != value:
                shown = "" if name in ("encoder", "map") else f" ({its}, not {value})"
                raise InvalidValue(
                    f"these vectors were released with another {name} than the model was trained "
                    f"for{shown}; release them in the same way as its training vectors"
                )


@dataclass(frozen=True, eq=False)
class TaskModel:
    """Classes or scores from released vectors.

    A vector goes through ``restore`` (the paper's M2), then tanh, or back to a sphere; of a pair,
    both do, and the task layers get ``[u, v, |u - v|, u * v]``.

    Attributes:
        restore: One affine layer from the released dimension up.
        head: The task layers.
        labels: The classes, in the order of the probabilities; None if it predicts a score.
        pairs: Whether a row is a pair.
        released: What its vectors must be; None fits any of its dimension.
        about: How it was trained, ready for JSON.
        sphere: Whether restored vectors are scaled to one length in place of tanh.
    """

    restore: Layers = field(repr=False)
    head: Layers = field(repr=False)
    labels: tuple[str, ...] | None
    pairs: bool
    released: ReleasedAs | None
    about: dict[str, Any] = field(repr=False)
    sphere: bool = False

    @property
    def dimension(self) -> int:
        """Length of the vectors it takes."""
        return int(self.restore[0][0].shape[0])

    def probabilities(self, data: VectorSet) -> NDArray[np.float64]:
        """``(n, classes)``, each row summing to 1."""
        if self.labels is None:
            raise InvalidValue("this model predicts scores and has no probabilities; use predict")
        return np.asarray(softmax(self.scores(data).astype(np.float64), axis=1))

    def predict(self, data: VectorSet) -> list[str] | list[float]:
        """The likeliest class of each row, or its score."""
        if self.labels is None:
            return [float(value) for value in self.scores(data)[:, 0]]
        labels = self.labels
        return [labels[best] for best in self.scores(data).argmax(axis=1)]

    def save(self, path: Path, *, force: bool = False) -> None:
        """Write it as safetensors."""
        about = {
            "labels": self.labels,
            "pairs": self.pairs,
            "released": None if self.released is None else asdict(self.released),
            "about": self.about,
            "sphere": self.sphere,
        }
        arrays = layer_arrays(self.restore, "restore") | layer_arrays(self.head, "head")
        save_tensors(path, KIND, arrays, about, force=force)

    @classmethod
    def load(cls, path: Path) -> "TaskModel":
        """Read what :meth:`save` wrote."""
        arrays, about = load_tensors(path, KIND)
        with read_as(f"{path} lacks parts of a task model; train it again"):
            labels, released = about["labels"], about["released"]
            model = cls(
                layers_from(arrays, "restore"),
                layers_from(arrays, "head"),
                None if labels is None else tuple(labels),
                about["pairs"],
                None if released is None else ReleasedAs(**released),
                about["about"],
                bool(about.get("sphere", False)),
            )
            outputs = 1 if model.labels is None else len(model.labels)
            check_layers(model.restore, model.dimension)
            check_layers(model.head, model.restore[0][0].shape[1] * (4 if model.pairs else 1))
            if model.head[-1][1].shape != (outputs,):
                raise ValueError("as many outputs as classes")
            return model

    def scores(self, data: VectorSet) -> Floats32:
        """``(n, outputs)``: of each class the logarithm of its odds, or a score."""
        if (data.second is not None) != self.pairs:
            kinds = ("pairs of vectors", "single vectors")
            wanted, got = kinds if self.pairs else kinds[::-1]
            raise InvalidValue(f"the model is for {wanted}; these are {got}")
        if data.dimension != self.dimension:
            raise InvalidValue(
                f"the model takes vectors of {self.dimension} dimensions; "
                f"these have {data.dimension}"
            )
        sides = [data.vectors] + ([] if data.second is None else [data.second])
        parts = [np.empty((0, self.head[-1][1].shape[0]), np.float32)]
        for block in row_blocks(len(data), numbers=_BLOCK):
            restored = [self._restored(side[block]) for side in sides]
            parts.append(run_layers(self.head, features(restored)))
        return np.concatenate(parts)

    def _restored(self, rows: Floats32) -> Floats32:
        up = run_layers(self.restore, rows)
        return on_large_sphere(up) if self.sphere else np.tanh(up)


def on_large_sphere(rows: Any) -> Any:
    """Rows of length sqrt(size), so that a coordinate is of the order of 1; arrays or tensors.

    >>> on_large_sphere(np.array([[3.0, 0.0, 0.0, 4.0]])).round(2).tolist()
    [[1.2, 0.0, 0.0, 1.6]]
    """
    return rows / ((rows * rows).mean(-1)[..., None] ** 0.5 + 1e-12)


def features(sides: list[Any]) -> Any:
    """What the task layers see of one vector or of two; NumPy arrays or PyTorch tensors alike.

    >>> features([np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]])]).tolist()
    [[1.0, 2.0, 3.0, 1.0, 2.0, 1.0, 3.0, 2.0]]
    """
    if len(sides) == 1:
        return sides[0]
    first, second = sides
    parts = [first, second, abs(first - second), first * second]
    if isinstance(first, np.ndarray):
        return np.concatenate(parts, axis=1)
    import torch

    return torch.cat(parts, dim=1)
