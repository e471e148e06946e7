"""The public side of document mechanisms: a folder of candidates, centroids and a recoder.

All of it comes from public documents, so a release may show any of it. A document mechanism picks
from what is here; nothing of a protected document is ever written here.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Floats32
from discreet.encoders.maps import PublicMap
from discreet.errors import InputError, InvalidValue, NotFound, read_as
from discreet.files import check_folder
from discreet.staging import folder_written_whole
from discreet.tensors import Arrays, kind_of, load_tensors, save_tensors

KIND = "candidate store"
_RECODER = "recoder."
_VOTER_PARTS = ("choices", "weights", "biases")
ARRAYS, TEXTS, ABOUT = "store.safetensors", "texts.jsonl", "about.json"


@dataclass(frozen=True)
class Voters:
    """Public linear scores by which a sentence says which of some public vectors it speaks for.

    Attributes:
        choices: (number, inputs) vectors to release one of.
        weights: (number, inputs) a direction for each.
        biases: (number,) added to its score.
    """

    choices: Floats32 = field(repr=False)
    weights: Floats32 = field(repr=False)
    biases: Floats32 = field(repr=False)

    def __post_init__(self) -> None:
        if self.choices.ndim != 2 or self.biases.ndim != 1 or not self.choices.size:
            raise InvalidValue("voters need at least one choice, each with a weight and a bias")
        if self.weights.shape != self.choices.shape or len(self.biases) != len(self.choices):
            raise InvalidValue("voters need a weight and a bias for each of their choices")
        if not all(np.isfinite(a).all() for a in (self.choices, self.weights, self.biases)):
            raise InvalidValue("voters of a candidate store must be finite")


@dataclass(frozen=True)
class CandidateStore:
    """What document mechanisms choose from; ``discreet train candidates`` makes one.

    DeepCandidate takes sentence vectors that went through :meth:`recoded`, as the candidates did:
    ``DeepCandidate(store.candidates, store.projections_for(10), epsilon=10)``. Votes and truncation
    take the encoder's own vectors: ``SentenceVotes(store.centroids_for(10), epsilon=10)``.

    Attributes:
        candidates: (candidates, m) mean recoded vectors of public documents.
        texts: The document of each candidate, to show it to people.
        clusters: For each candidate the class the recoder was trained to keep.
        projections: (most, m) unit rows; a mechanism takes the first p of them.
        centroids: By their number, centroids of public documents for votes, in the encoder's space.
        voters: By their number, spherical centroids and the learned scores that lead to them.
        box: Low and high bounds for truncation, in the encoder's space.
        recoder: From the encoder's vectors to m dimensions; None leaves them as they are.
        encoder: Fingerprint of the encoder it was made for.
        best_projections: By epsilon, the p that did best on public validation documents.
        best_centroids: By epsilon, the number of centroids that did best on them.
        best_voters: By epsilon, the number of voters that did best on them.
        about: Where it comes from, ready for JSON.
        soft_voters: By epsilon, class means and the weights that lead to them; only in a store
            made from public documents with labels.
    """

    candidates: Floats32 = field(repr=False)
    texts: tuple[str, ...] = field(repr=False)
    clusters: NDArray[np.int64] = field(repr=False)
    projections: Floats32 = field(repr=False)
    centroids: Mapping[int, Floats32] = field(repr=False)
    voters: Mapping[int, Voters] = field(repr=False)
    box: Floats32 = field(repr=False)
    recoder: PublicMap | None = field(repr=False)
    encoder: str
    best_projections: Mapping[float, int]
    best_centroids: Mapping[float, int]
    best_voters: Mapping[float, int]
    about: Mapping[str, Any]
    soft_voters: Mapping[float, Voters] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """What is said of it, ready for JSON."""
        return {
            "fingerprint": self.fingerprint,
            "candidates": len(self.candidates),
            "best_projections": dict(self.best_projections),
            "best_centroids": dict(self.best_centroids),
            "best_voters": dict(self.best_voters),
            "about": dict(self.about),
        }

    def __post_init__(self) -> None:
        if self.candidates.ndim != 2 or not len(self.candidates):
            raise InvalidValue("a candidate store needs at least one candidate; this has none")
        if not len(self.texts) == len(self.clusters) == len(self.candidates):
            raise InvalidValue("a candidate store needs a text and a cluster for each candidate")
        sized = [
            ("candidates", self.candidates, self.dimension),
            ("projections", self.projections, self.dimension),
            *(("centroids", rows, self.inputs) for rows in self.centroids.values()),
            *(
                ("choices", some.choices, self.inputs)
                for some in (*self.voters.values(), *self.soft_voters.values())
            ),
            ("box", self.box, self.inputs),
        ]
        for name, rows, size in sized:
            if rows.ndim != 2 or not len(rows) or rows.shape[1] != size:
                raise InvalidValue(f"{name} of a candidate store must be rows of {size} numbers")
            if not np.isfinite(rows).all():
                raise InvalidValue(f"{name} of a candidate store must be finite")
        counts = {number: len(rows) for number, rows in self.centroids.items()}
        asked = {number: len(some.choices) for number, some in self.voters.items()}
        if any(number != count for number, count in (*counts.items(), *asked.items())):
            raise InvalidValue("centroids and voters of a store must be named by their number")
        if len(self.box) != 2 or not (self.box[0] < self.box[1]).all():
            raise InvalidValue("box of a candidate store must be low bounds below high ones")
        if self.recoder is not None and self.recoder.dimension != self.dimension:
            raise InvalidValue("the recoder of a candidate store must lead to its candidates")
        for choices, known in (
            (self.best_projections, range(1, len(self.projections) + 1)),
            (self.best_centroids, self.centroids),
            (self.best_voters, self.voters),
        ):
            if not choices or any(number not in known for number in choices.values()):
                raise InvalidValue("a candidate store must say its choices, among what it has")

    @property
    def dimension(self) -> int:
        """Length of a candidate, m."""
        return int(self.candidates.shape[1])

    @property
    def inputs(self) -> int:
        """Length of the encoder's vectors."""
        return self.dimension if self.recoder is None else self.recoder.inputs

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of everything a release depends on."""
        digest = hashlib.sha256(self.encoder.encode())
        if self.recoder is not None:
            digest.update(self.recoder.fingerprint.encode())
        for _, array in sorted(self._arrays().items()):
            digest.update(repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def recoded(self, vectors: NDArray[np.floating[Any]]) -> Floats32:
        """Sentence vectors of the encoder as the candidates were made: row by row, by public maps.

        A row depends on its own sentence alone, so that one sentence still moves one row.
        """
        if vectors.ndim != 2 or vectors.shape[1] != self.inputs:
            raise InvalidValue(
                f"sentence vectors for this candidate store must have {self.inputs} columns; "
                f"got an array of shape {vectors.shape}"
            )
        if self.recoder is None:
            return vectors.astype(np.float32, copy=False)
        return self.recoder.apply(vectors)

    def projections_for(self, epsilon: float) -> Floats32:
        """As many projections as did best on public documents at the nearest epsilon tried."""
        return self.projections[: _nearest(self.best_projections, epsilon)]

    def centroids_for(self, epsilon: float) -> Floats32:
        """The centroids whose number did best on public documents at the nearest epsilon tried."""
        return self.centroids[_nearest(self.best_centroids, epsilon)]

    def voters_for(self, epsilon: float) -> Voters:
        """The voters whose number did best on public documents at the nearest epsilon tried."""
        return self.voters[_nearest(self.best_voters, epsilon)]

    def soft_voters_for(self, epsilon: float) -> Voters:
        """The weights that were fitted at the nearest epsilon, if it was made with labels."""
        if not self.soft_voters:
            raise InvalidValue(
                "this candidate store has no soft votes; make it again from public documents that "
                "have labels, with: discreet train candidates --label-field"
            )
        return self.soft_voters[_nearest({e: e for e in self.soft_voters}, epsilon)]

    def require(self, encoder: str) -> None:
        """Refuse vectors of an encoder it was not made for."""
        if self.encoder != encoder:
            raise InvalidValue(
                "this candidate store was made for another encoder (or for other settings of it); "
                "use that encoder, or make a store for this one with: discreet train candidates"
            )

    def save(self, folder: Path, *, force: bool = False) -> None:
        """Write the store as a folder, whole or not at all.

        Args:
            folder: Where to.
            force: Replace a store that is there; a folder that is no store is never replaced.
        """
        refuse_unusable(folder, force=force)
        with folder_written_whole(folder) as new:
            lines = "".join(json.dumps({"text": t}, ensure_ascii=False) + "\n" for t in self.texts)
            encoded = lines.encode("utf-8", "replace")
            (new / TEXTS).write_bytes(encoded)
            about = self._about(hashlib.sha256(encoded).hexdigest())
            layers = {} if self.recoder is None else self.recoder.arrays(_RECODER)
            save_tensors(new / ARRAYS, KIND, self._arrays() | layers, about)
            described = json.dumps(about, indent=2, ensure_ascii=False)
            (new / ABOUT).write_text(described + "\n", "utf-8")

    @classmethod
    def load(cls, folder: Path) -> "CandidateStore":
        """Read what :meth:`save` wrote; anything damaged or missing is an error."""
        if not folder.is_dir():
            raise NotFound(
                f"there is no candidate store {folder}; make one with: discreet train candidates"
            )
        if not (folder / ARRAYS).is_file():
            raise InputError(
                f"{folder} is not a candidate store: it has no file {ARRAYS}; make one with: "
                "discreet train candidates"
            )
        arrays, about = load_tensors(folder / ARRAYS, KIND)
        try:
            return cls._of_parts(folder, arrays, about)
        except InvalidValue as error:
            raise InputError(f"{folder} cannot be used: {error}; make the store again") from error

    @classmethod
    def _of_parts(cls, folder: Path, arrays: Arrays, about: dict[str, Any]) -> "CandidateStore":
        with read_as(f"{folder} is damaged or lacks a part; make the store again"):
            texts = _texts(folder / TEXTS, about["texts"])
            recoder = None
            if any(name.startswith(_RECODER) for name in arrays):
                made = {"made": "recoder"}
                recoder = PublicMap.of_arrays(arrays, about["encoder"], made, prefix=_RECODER)
            return cls(
                candidates=arrays["candidates"],
                texts=texts,
                clusters=arrays["clusters"],
                projections=arrays["projections"],
                centroids={
                    int(name.removeprefix("centroids.")): rows
                    for name, rows in arrays.items()
                    if name.startswith("centroids.")
                },
                voters={
                    int(number): Voters(
                        *(arrays[f"voters.{number}.{part}"] for part in _VOTER_PARTS)
                    )
                    for number in {n.split(".")[1] for n in arrays if n.startswith("voters.")}
                },
                box=arrays["box"],
                recoder=recoder,
                encoder=about["encoder"],
                best_projections=_choices(about["best_projections"]),
                best_centroids=_choices(about["best_centroids"]),
                best_voters=_choices(about["best_voters"]),
                about=about["about"],
                soft_voters={
                    epsilon: Voters(*(arrays[f"soft.{epsilon!r}.{part}"] for part in _VOTER_PARTS))
                    for epsilon in map(float, about.get("soft_voters", ()))
                },
            )

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {
            "candidates": self.candidates,
            "clusters": self.clusters,
            "projections": self.projections,
            "box": self.box,
        }
        arrays |= {f"centroids.{n}": rows for n, rows in self.centroids.items()}
        voters = {f"voters.{n}": some for n, some in self.voters.items()}
        voters |= {f"soft.{epsilon!r}": some for epsilon, some in self.soft_voters.items()}
        return arrays | {
            f"{name}.{part}": getattr(some, part)
            for name, some in voters.items()
            for part in _VOTER_PARTS
        }

    def _about(self, texts: str) -> dict[str, Any]:
        return {
            "encoder": self.encoder,
            "candidates": len(self.candidates),
            "dimension": self.dimension,
            "best_projections": {str(e): n for e, n in self.best_projections.items()},
            "best_centroids": {str(e): n for e, n in self.best_centroids.items()},
            "best_voters": {str(e): n for e, n in self.best_voters.items()},
            "soft_voters": list(self.soft_voters),
            "texts": texts,
            "about": dict(self.about),
        }


def refuse_unusable(folder: Path, *, force: bool) -> None:
    """Stop before long work if its store would have no place to go."""
    check_folder(folder, lambda it: kind_of(it / ARRAYS) == KIND, KIND, force=force)


def _nearest(choices: Mapping[float, Any], epsilon: float) -> Any:
    epsilon = check.positive(epsilon, "epsilon")
    return choices[min(choices, key=lambda tried: abs(math.log(tried / epsilon)))]


def _choices(values: Mapping[str, int]) -> dict[float, int]:
    try:
        return {check.positive(float(epsilon), "epsilon"): int(n) for epsilon, n in values.items()}
    except ValueError as error:
        raise InvalidValue("a candidate store must say its choices by epsilon") from error


def _texts(path: Path, digest: str) -> tuple[str, ...]:
    if not path.is_file():
        raise InvalidValue(f"its file {TEXTS} is missing")
    encoded = path.read_bytes()
    if hashlib.sha256(encoded).hexdigest() != digest:
        raise InvalidValue(f"its file {TEXTS} is not the one it was written with")
    return tuple(json.loads(line)["text"] for line in encoded.decode().split("\n")[:-1])
