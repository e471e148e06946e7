"""Public maps: from an encoder's vectors to the few dimensions that a mechanism releases.

A map must come from public data or from chance alone. The guarantee of what is released is in the
metric of the mapped, normalised vectors: two sentences that a map sends to one point are not told
apart at all, two that it sends to opposite points are protected least, by pi times epsilon.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Floats32
from discreet.encoders.layers import Layers, run_layers
from discreet.errors import InvalidValue, read_as
from discreet.tensors import load_tensors, save_tensors

KIND = "public map"


@dataclass(frozen=True)
class PublicMap:
    """Affine layers with tanh between them; one layer is a linear map.

    Attributes:
        weights: For each layer an (inputs, outputs) array.
        biases: For each layer an (outputs,) array.
        encoder: Fingerprint of the encoder it was made for; None fits any of its input size.
        about: Where it comes from, ready for JSON.

    >>> projection = PublicMap.random(384, 2, seed=1)
    >>> projection.apply(np.ones((5, 384), np.float32)).shape, projection.about["made"]
    ((5, 2), 'random projection')
    """

    weights: tuple[Floats32, ...] = field(repr=False)
    biases: tuple[Floats32, ...] = field(repr=False)
    encoder: str | None
    about: dict[str, Any]

    def __post_init__(self) -> None:
        if not self.weights or len(self.weights) != len(self.biases):
            raise InvalidValue("a public map needs a bias for each of its layers, and a layer")
        size = self.inputs
        for weight, bias in zip(self.weights, self.biases, strict=True):
            if weight.ndim != 2 or weight.shape[0] != size or bias.shape != weight.shape[1:]:
                raise InvalidValue("the layers of a public map do not fit each other")
            if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
                raise InvalidValue("a public map must be finite")
            size = weight.shape[1]
        if self.dimension < 2:
            raise InvalidValue("a public map must keep at least 2 dimensions")

    @property
    def inputs(self) -> int:
        """Size of the vectors it takes."""
        return int(self.weights[0].shape[0])

    @property
    def dimension(self) -> int:
        """Size of the vectors it gives."""
        return int(self.weights[-1].shape[1])

    @property
    def caveat(self) -> str | None:
        """What a release through it must say, where its making was not covered by a guarantee."""
        return self.about.get("caveat")

    @property
    def trained_for(self) -> tuple[str, float] | None:
        """The mechanism and the epsilon whose noise it was trained through, if it says so."""
        settings = self.about.get("settings")
        if not isinstance(settings, Mapping):
            return None
        name, epsilon = settings.get("mechanism"), settings.get("epsilon")
        if isinstance(name, str) and isinstance(epsilon, int | float):
            return name, float(epsilon)
        return None

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the map; the metric of a release carries it."""
        digest = hashlib.sha256()
        for array in (*self.weights, *self.biases):
            digest.update(repr(array.shape).encode())
            digest.update(np.ascontiguousarray(array, dtype="<f4").tobytes())
        return digest.hexdigest()

    def apply(self, vectors: NDArray[np.floating[Any]]) -> Floats32:
        """Mapped rows, not normalised yet: each depends on its own row alone, to the last bit."""
        if vectors.ndim != 2 or vectors.shape[1] != self.inputs:
            raise InvalidValue(
                f"vectors of a public map must have {self.inputs} dimensions; "
                f"got an array of shape {vectors.shape}"
            )
        return run_layers(tuple(zip(self.weights, self.biases, strict=True)), vectors)

    def require(self, encoder: str) -> None:
        """Refuse vectors of an encoder it was not made for."""
        if self.encoder is not None and self.encoder != encoder:
            raise InvalidValue(
                "this map was made for another encoder (or for other settings of it); train a map "
                "for this one, or use the encoder it was made for"
            )

    def arrays(self, prefix: str = "") -> dict[str, Floats32]:
        """Its layers by names that :meth:`of_arrays` understands, for a file."""
        named = {f"{prefix}weight.{i}": weight for i, weight in enumerate(self.weights)}
        return named | {f"{prefix}bias.{i}": bias for i, bias in enumerate(self.biases)}

    @classmethod
    def of_arrays(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        encoder: str | None,
        about: dict[str, Any],
        prefix: str = "",
    ) -> "PublicMap":
        """The map whose :meth:`arrays` are among these; a bias that is missing is a KeyError."""
        layers = range(sum(name.startswith(f"{prefix}weight.") for name in arrays))
        return cls(
            tuple(arrays[f"{prefix}weight.{i}"] for i in layers),
            tuple(arrays[f"{prefix}bias.{i}"] for i in layers),
            encoder,
            about,
        )

    def save(self, path: Path, *, force: bool = False) -> None:
        """Write it as safetensors with its provenance."""
        about = {"encoder": self.encoder, "about": self.about}
        save_tensors(path, KIND, self.arrays(), about, force=force)

    @classmethod
    def load(cls, path: Path) -> "PublicMap":
        """Read what :meth:`save` wrote."""
        arrays, about = load_tensors(path, KIND)
        with read_as(f"{path} lacks parts of a map; make it again"):
            if not isinstance(about["about"], dict):
                raise TypeError
            return cls.of_arrays(arrays, about["encoder"], about["about"])

    @classmethod
    def random(cls, inputs: int, dimension: int, *, seed: int = 0) -> "PublicMap":
        """A random projection: independent of any data. The seed is public."""
        require_dimension(dimension, inputs)
        rng = np.random.default_rng(seed)
        weight = rng.standard_normal((inputs, dimension), dtype=np.float32)
        about = {"made": "random projection", "seed": seed}
        return cls((weight,), (np.zeros(dimension, np.float32),), None, about)

    @classmethod
    def pca(
        cls, vectors: NDArray[np.floating[Any]], dimension: int, *, encoder: str, source: str
    ) -> "PublicMap":
        """The leading principal directions of PUBLIC vectors, centred on their mean."""
        rows, inputs = vectors.shape
        require_dimension(dimension, inputs)
        if rows <= dimension:
            raise InvalidValue(
                f"{dimension} principal directions need more than {dimension} public texts; "
                f"got {rows}"
            )
        mean = vectors.mean(axis=0, dtype=np.float64)
        centred = vectors - mean
        _, basis = np.linalg.eigh(centred.T @ centred)
        weight = basis[:, ::-1][:, :dimension]
        about = {"made": "principal directions", "public text": source, "rows": rows}
        return cls(
            (weight.astype(np.float32),), ((-mean @ weight).astype(np.float32),), encoder, about
        )

    @classmethod
    def of_layers(
        cls, layers: Layers, *, encoder: str | None, about: dict[str, Any]
    ) -> "PublicMap":
        """A trained map from its (weight, bias) pairs."""
        return cls(tuple(w for w, _ in layers), tuple(b for _, b in layers), encoder, about)


def require_dimension(dimension: int, inputs: int) -> None:
    """Refuse a map to more dimensions than an encoder's vectors have, or to fewer than 2."""
    dimension = check.whole(dimension, "dimension of a public map", at_least=2)
    if dimension > inputs:
        raise InvalidValue(
            f"dimension of a public map must be at most that of the encoder, {inputs}; "
            f"got {dimension}"
        )
