"""Attributes that texts really have (authors, groups), and labels of many classes in stages."""

from pathlib import Path
from typing import Any

import numpy as np

from discreet.attacks.attributes import attribute_attack
from discreet.encoders.encoder import load_encoder
from discreet.encoders.maps import PublicMap
from discreet.mechanisms import registry
from discreet.mechanisms.sentence import unit_rows
from discreet.release.vectors import VectorSet
from discreet.text.labelled import Labelled, read_labelled
from discreet.training.vectors.label_stages import train_in_label_stages
from discreet.training.vectors.maps import MapTrainer
from discreet.training.vectors.settings import MapTrainingSettings, TaskSettings
from discreet_recipes.data_files import data_file, encoded_texts
from discreet_recipes.sentence_ldp.sizes import MECHANISMS, SentenceLDPOptions

DIMENSION = 16
STAGES = (1, 2, 4)
_BLANK_FREE = 20
"""Letters of a text at least: some posts are empty once their headers are gone."""


class Attributed:
    """Texts with an attribute: an attacker's half with it, a half under attack, as vectors."""

    def __init__(
        self, data: Path, name: str, field: str, size: SentenceLDPOptions, folder: Path
    ) -> None:
        encoder = load_encoder(size.encoder, max_tokens=size.attribute_tokens)
        halves = [self._rows(data, f"{name}-{half}", field, size) for half in ("train", "test")]
        self.known, self.hidden = ([*(half.labels or [])] for half in halves)
        self.vectors = [encoded_texts(encoder, half.texts, folder) for half in halves]
        self.encoder = encoder.fingerprint
        self.size = size

    @staticmethod
    def _rows(data: Path, name: str, field: str, size: SentenceLDPOptions) -> Labelled:
        rows = read_labelled(data_file(data, name), label_field=field)
        labels = rows.labels or []
        if field == "author":
            few = sorted(set(labels))[: size.authors]
            return rows.part([row for row, label in enumerate(labels) if label in few])
        good = [row for row, text in enumerate(rows.texts) if len(text.strip()) >= _BLANK_FREE]
        return rows.part(np.random.default_rng(0).permutation(good)[: size.news])

    def attacked(self, mechanism: str, epsilon: float) -> dict[str, Any]:
        """Success on vectors in few dimensions, with noise and without, and on whole vectors.

        The map is the principal directions of the attacker's half: it keeps as much as it can, and
        was not made to hide anything.
        """
        mapped = PublicMap.pca(
            self.vectors[0], DIMENSION, encoder=self.encoder, source="the attacker's half"
        )
        units = [unit_rows(mapped.apply(half)) for half in self.vectors]
        law = registry.mechanism(mechanism, dimension=DIMENSION, epsilon=epsilon)
        rng = np.random.default_rng(0)
        noisy = [law.release(half, rng) for half in units]
        [protected] = attribute_attack(
            noisy[0], self.known, noisy[1], self.hidden, unprotected=(units[0], units[1])
        )
        [whole] = attribute_attack(self.vectors[0], self.known, self.vectors[1], self.hidden)
        return {**protected.to_dict(), "whole vectors": whole.success.value}

    def label_stages(self, epsilon: float, label_epsilon: float, stages: int) -> dict[str, float]:
        """Accuracy of models whose labels were released in stages, and how many came out right.

        Half of the first half is public and makes the map; the vectors of the other half and of
        the tests are released once.
        """
        classes = tuple(sorted(set(self.known)))
        codes = np.array([classes.index(label) for label in self.known])
        middle = len(codes) // 2
        trainer = MapTrainer(
            self.vectors[0][:middle],
            self.known[:middle],
            encoder=self.encoder,
            source="the public half",
        )
        made = MapTrainingSettings(
            epsilon, MECHANISMS[0], (DIMENSION,), epochs=self.size.map_epochs
        )
        mapped = trainer.train(made)
        law = registry.mechanism(MECHANISMS[0], dimension=DIMENSION, epsilon=epsilon)
        right, kept = [], []
        for trial in range(self.size.trials):
            rng = np.random.default_rng(100 + trial)
            private, test = (
                VectorSet(law.release(unit_rows(mapped.apply(rows)), rng))
                for rows in (self.vectors[0][middle:], self.vectors[1])
            )
            trained = train_in_label_stages(
                private,
                classes,
                codes[middle:],
                epsilon=label_epsilon,
                stages=stages,
                rng=rng,
                settings=TaskSettings(epochs=self.size.model_epochs, batch=64, seed=trial),
            )
            kept.append(float((trained.released == codes[middle:]).mean()))
            right.append(
                float((np.array(trained.model.predict(test)) == np.array(self.hidden)).mean())
            )
        spread = float(np.std(right, ddof=1)) if len(right) > 1 else 0.0
        return {
            "accuracy": float(np.mean(right)),
            "standard deviation": spread,
            "right": float(np.mean(kept)),
        }
