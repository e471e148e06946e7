"""The computations of the sentence-ldp recipe: data, maps, releases, models, attacks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats32
from discreet.attacks.attributes import attribute_attack
from discreet.attacks.inversion import Bags, inversion_attack
from discreet.attacks.membership import Predictions, membership_attack
from discreet.encoders.encoder import Encoder, encoded_once
from discreet.encoders.maps import PublicMap
from discreet.mechanisms.label import RandomizedResponse
from discreet.mechanisms.sentence import unit_rows
from discreet.models.sphere_noise import sphere_mechanism
from discreet.release.vectors import VectorSet
from discreet.spaces.encoder_space import encoder_space
from discreet.training.linear_head import fit_head
from discreet.training.vectors.maps import MapSettings, MapTrainer
from discreet.training.vectors.task import Target, TaskSettings, train_on_release
from discreet_recipes.data_files import labelled_rows


@dataclass(frozen=True)
class Size:
    """How much is run: rows of each part, epochs, repetitions over the noise."""

    sst2: tuple[int, int, int]
    """Public, private and test rows."""
    imdb: tuple[int, int, int]
    dimensions: tuple[int, ...]
    map_epochs: int
    model_epochs: int
    trials: int
    attacked: int


QUICK = Size((6735, 6000, 872), (1200, 1200, 800), (2, 4, 16, 64, 384), 6, 5, 3, 800)
FULL = Size(
    (6735, 60_614, 872), (5000, 20_000, 25_000), (2, 4, 8, 16, 32, 64, 128, 384), 15, 8, 5, 3000
)


@dataclass(frozen=True)
class Part:
    """Texts, their labels and their vectors."""

    texts: list[str] = field(repr=False)
    labels: list[str] = field(repr=False)
    vectors: Floats32 = field(repr=False)

    @property
    def codes(self) -> NDArray[np.int64]:
        """Class index of each row."""
        return np.array([int(label) for label in self.labels])


def load_part(data: Path, name: str, rows: int, encoder: Encoder, folder: Path) -> Part:
    """The first rows of a file, encoded once for the folder (these data sets are public)."""
    found = labelled_rows(data, name)
    texts, labels = found.texts[:rows], (found.labels or [])[:rows]
    return Part(texts, labels, encoded_once(encoder, texts, folder))


@dataclass
class Task:
    """One data set: what is public, what is private, what is tested on."""

    public: Part
    private: Part
    test: Part
    size: Size
    encoder: str
    more: Part | None = None
    """Further public text for the maps."""
    _maps: dict[tuple[str, float, int], PublicMap] = field(default_factory=dict, repr=False)

    @cached_property
    def unprotected(self) -> float:
        """Accuracy of logistic regression on all private and public vectors as they are."""
        vectors = np.concatenate([self.private.vectors, self.public.vectors])
        labels = [*self.private.labels, *self.public.labels]
        head = fit_head(vectors, labels, regression=False, penalty=0.1)
        found = np.array(head.decide(head.scores(self.test.vectors)))
        return float((found == np.array(self.test.labels)).mean())

    def map(self, mechanism: str, epsilon: float, dimension: int) -> PublicMap:
        """The map trained on the public part for this noise; made once."""
        key = (mechanism, epsilon, dimension)
        if key not in self._maps:
            settings = MapSettings(epsilon, mechanism, (dimension,), epochs=self.size.map_epochs)
            self._maps[key] = self._trainer.train(settings)
        return self._maps[key]

    @cached_property
    def _trainer(self) -> MapTrainer:
        return MapTrainer(
            self.public.vectors,
            self.public.labels,
            encoder=self.encoder,
            source="the public part",
            more=None if self.more is None else self.more.vectors,
            more_labels=None if self.more is None else self.more.labels,
        )

    def releases(
        self, mechanism: str, epsilon: float, dimension: int, rng: np.random.Generator
    ) -> "Releases":
        """Everything of this task, released once."""
        mapped = self.map(mechanism, epsilon, dimension)
        law = sphere_mechanism(mechanism, dimension, epsilon)

        def release(part: Part) -> Floats32:
            return law.release(unit_rows(mapped.apply(part.vectors)), rng)

        return Releases(release(self.public), release(self.private), release(self.test))

    def accuracy(
        self, mechanism: str, epsilon: float, dimension: int, label_epsilon: float | None = None
    ) -> dict[str, float]:
        """Mean and standard deviation over trials, each with noise of its own."""
        found = []
        for trial in range(self.size.trials):
            rng = np.random.default_rng(1000 + trial)
            released = self.releases(mechanism, epsilon, dimension, rng)
            target = _target(self.private.codes, label_epsilon, rng)
            model = self.model(released.private, target, trial)
            guess = np.array(model.predict(VectorSet(released.test)))
            found.append(float((guess == np.array(self.test.labels)).mean()))
        return {"mean": float(np.mean(found)), "std": float(np.std(found, ddof=1))}

    def model(self, vectors: Floats32, target: Target, seed: int) -> Any:
        """A model of vectors, released or not."""
        settings = TaskSettings(epochs=self.size.model_epochs, seed=seed)
        return train_on_release(VectorSet(vectors), target, settings=settings)

    def attacks(self, mechanism: str, epsilon: float, dimension: int) -> dict[str, Any]:
        """Membership, inversion and attributes, each by its main measure."""
        rng = np.random.default_rng(7)
        seen = self.releases(mechanism, epsilon, dimension, rng)
        few = slice(0, self.size.attacked)
        # Others of the same kind: the last private rows, which these models are not trained on.
        last = slice(len(self.private.labels) - self.size.attacked, None)
        trained = slice(0, last.start)
        target = _target(self.private.codes[trained], None, rng)

        def told(vectors: Floats32) -> tuple[Predictions, Predictions]:
            model = self.model(vectors[trained], target, 0)
            inside, outside = (
                Predictions(model.probabilities(VectorSet(vectors[rows])), self.private.codes[rows])
                for rows in (few, last)
            )
            return inside, outside

        out: dict[str, Any] = {}
        for outcome in membership_attack(
            *told(seen.private), unprotected=told(self.private.vectors)
        ):
            out[outcome.attack] = outcome.to_dict()
        # The other two learn from public texts and are tried on private ones.
        space = encoder_space()
        words = [Bags.of(part.texts[few], space) for part in (self.public, self.private)]
        clean = (self.public.vectors[few], self.private.vectors[few])
        inverted = inversion_attack(
            seen.public[few], words[0], seen.private[few], words[1], unprotected=clean
        )
        out |= {f"words, {outcome.measure}": outcome.to_dict() for outcome in inverted}
        limit = float(np.median([len(text.split()) for text in self.public.texts[few]]))
        guessed = attribute_attack(
            seen.public[few],
            _lengths(self.public.texts[few], limit),
            seen.private[few],
            _lengths(self.private.texts[few], limit),
            unprotected=clean,
        )
        out["attribute: length"] = guessed.to_dict()
        return out


@dataclass(frozen=True)
class Releases:
    """Released vectors of each part."""

    public: Floats32
    private: Floats32
    test: Floats32


def _target(
    codes: NDArray[np.int64], label_epsilon: float | None, rng: np.random.Generator
) -> Target:
    if label_epsilon is None:
        return Target(("0", "1"), codes)
    law = RandomizedResponse(("0", "1"), label_epsilon)
    return Target(("0", "1"), law.release(codes, rng), law.transition)


def _lengths(texts: Sequence[str], limit: float) -> list[str]:
    return ["long" if len(text.split()) > limit else "short" for text in texts]
