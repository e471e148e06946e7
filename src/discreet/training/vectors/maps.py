"""Public maps trained through the noise they will meet.

A map decides which differences between sentences survive a mechanism. Trained through the noise on
public text, it spends the few dimensions it has on what a task needs, and learns how far apart to
put what must not be confused.
"""

from collections.abc import Sequence
from dataclasses import asdict
from operator import itemgetter

import numpy as np
from scipy.special import softmax

from discreet.arrays import Floats, Floats32, Generator, Ids, Progress, Rows
from discreet.encoders.layers import layers_of
from discreet.encoders.maps import PublicMap, require_dimension
from discreet.errors import InvalidValue, needs_extra
from discreet.models.sphere_noise import trainable
from discreet.text.labelled import codes_of
from discreet.training.linear_head import classes_of
from discreet.training.vectors._bottleneck import Bottleneck, Goal, starts, train_bottleneck
from discreet.training.vectors.settings import MapTrainingSettings

OBJECTIVES = {
    True: "cross-entropy of a decoder's classes against those of a regularised classifier of the "
    "clean public vectors, through the noise",
    False: "cosine between a decoder's reconstruction and the public vector, both centred, through "
    "the noise",
}

_VALIDATION_DRAWS = 10
_HELD_OUT = 0.2
_FEWEST = 50
_PENALTIES = (0.1, 0.3, 1.0, 3.0)
_WEIGHTS = (0.1, 0.2, 0.5, 1.0)
_FOLDS = 4
_SMALLEST = 1e-12
_SHARPNESS = 10.0


class MapTrainer:
    """Maps learnt from PUBLIC vectors; what does not depend on the noise is done once for several.

    With labels, a regularised linear classifier is fitted on the clean vectors first. The map and a
    small decoder then learn to say through the noise what that classifier says, with its
    probabilities sharpened: for the share of right answers it is best to send clear and unclear
    cases alike as far apart as the sphere allows. Without labels, the decoder learns to
    reconstruct the vector. A fifth of the rows is held out; the dimension that does best on it
    under noise is kept, and the map is trained again on all rows.

    Privacy: nothing is released here and nothing protected may be read. What a trained map does to
    a later release is said in the documentation of sentence vectors: its metric is the angle
    *after* the map, and between any two sentences the loss is at most pi times epsilon.

    Args:
        vectors: The encoder's vectors of public texts.
        labels: A class for each of them; None trains for reconstruction.
        encoder: Fingerprint of the encoder.
        source: What to call the public text in the map's provenance.
        more: Vectors of further public texts, which need not be of the same kind (whole reviews,
            say, where the vectors are of phrases). They are never validated on.
        more_labels: Their labels, if any; how much they weigh against the others is chosen by
            validation, and may be nothing.
    """

    def __init__(
        self,
        vectors: Rows,
        labels: Sequence[str] | None = None,
        *,
        encoder: str,
        source: str,
        more: Rows | None = None,
        more_labels: Sequence[str] | None = None,
    ) -> None:
        self._rows = rows = _checked(vectors, "vectors")
        none = np.empty((0, rows.shape[1]), np.float32)
        self._more = none if more is None else _checked(more, "more")
        if self._more.shape[1] != rows.shape[1]:
            raise InvalidValue(
                f"more must have {rows.shape[1]} columns as the vectors have; "
                f"got {self._more.shape[1]}"
            )
        if len(rows) < _FEWEST:
            raise InvalidValue(
                f"a map needs at least {_FEWEST} public texts, and does well with thousands; "
                f"got {len(rows)}"
            )
        _check_labels(labels, len(rows), "public texts")
        _check_labels(more_labels, len(self._more), "further public texts")
        self._everything = np.concatenate([rows, self._more])
        self._encoder, self._source = encoder, source
        self._classes: tuple[str, ...] | None = None
        self._codes: Ids = np.empty(0, np.int64)
        if labels is not None:
            self._classes, self._codes = classes_of(labels)
        self._more_codes = None
        if more_labels is not None:
            if self._classes is None:
                raise InvalidValue("labels of further public text need labels of the public text")
            self._more_codes = codes_of(more_labels, self._classes, "labels of further public text")
        # Not the stream of a small seed: the rows may have been shuffled or drawn by one.
        rng = np.random.default_rng([len(rows), rows.shape[1]])
        self._chosen = {} if self._classes is None else self._chosen_classifier(rng)
        out = rng.random(len(rows)) < _HELD_OUT
        self._held_out, self._kept = np.flatnonzero(out), np.flatnonzero(~out)
        self._targets = self._target(self._kept), self._target(np.arange(len(rows)))

    def train(self, settings: MapTrainingSettings, progress: Progress | None = None) -> PublicMap:
        """A map for these settings; its ``about`` holds the validation table."""
        sizes = settings.dimensions
        require_dimension(max(sizes), self._rows.shape[1])
        runs = [*sizes, max(sizes, key=starts)]  # at most: which is trained last shows later
        show = _over_several(progress, sum(starts(size) for size in runs))
        early, final = self._targets
        measure = "mean cosine" if self._classes is None else "accuracy"
        table = []
        for size in sizes:
            tried = self._trained(size, settings, early, self._kept, show)
            table.append({"dimension": size, measure: round(self._score(tried, settings.seed), 4)})
        best = max(table, key=lambda entry: (entry[measure], -entry["dimension"]))
        every = np.arange(len(self._rows))
        trained = self._trained(int(best["dimension"]), settings, final, every, show)
        about = {
            "made": "trained through noise",
            "objective": OBJECTIVES[self._classes is not None],
            "public text": self._source,
            "rows": len(self._rows),
            "further rows": len(self._more),
            "settings": asdict(settings),
            "validation": table,
            "validated on": f"{len(self._held_out)} held-out public rows, "
            f"{_VALIDATION_DRAWS} draws",
            **({} if self._classes is None else {"classes": list(self._classes)}),
            **self._chosen,
        }
        return PublicMap.of_layers(layers_of(trained.mapped), encoder=self._encoder, about=about)

    def _chosen_classifier(self, rng: Generator) -> dict[str, float]:
        """Its penalty, and the weight of the further rows, by cross-validation on the others.

        The log-loss decides: it tells apart on thousands of rows what accuracy cannot.
        """
        fold = rng.integers(0, _FOLDS, len(self._rows))
        tried = [self._validated(penalty, 0.0, fold) for penalty in _PENALTIES]
        penalty = min(tried, key=itemgetter("clean log-loss"))["penalty"]
        weights = () if self._more_codes is None else _WEIGHTS
        tried += [self._validated(penalty, weight, fold) for weight in weights]
        return min(tried, key=itemgetter("clean log-loss"))

    def _validated(self, penalty: float, weight: float, fold: Ids) -> dict[str, float]:
        loss, right = 0.0, 0
        for held_out in range(_FOLDS):
            inside = np.flatnonzero(fold == held_out)
            scores = self._classified(np.flatnonzero(fold != held_out), penalty, weight)[inside]
            truth = self._codes[inside]
            loss -= float(scores[np.arange(len(inside)), truth].sum())
            right += int((scores.argmax(axis=1) == truth).sum())
        return {
            "penalty": penalty,
            "weight": weight,
            "clean log-loss": loss / len(fold),
            "clean accuracy": right / len(fold),
        }

    def _target(self, train: Ids) -> Floats32:
        """What the decoder should say of every row: classes, learnt from some, or the vector."""
        if self._classes is None:
            centred = self._everything - self._rows.mean(axis=0)
            norms = np.linalg.norm(centred, axis=1, keepdims=True)
            return np.asarray(centred / np.maximum(norms, 1e-12))
        scores = self._classified(train, self._chosen["penalty"], self._chosen["weight"])
        scores -= scores.max(axis=1, keepdims=True)
        return softmax(_SHARPNESS * scores, axis=1).astype(np.float32)

    def _classified(self, train: Ids, penalty: float, weight: float) -> Floats:
        """Log-probabilities of a penalised logistic regression, for the further rows as well."""
        with needs_extra("training a map with labels", "train"):
            from sklearn.linear_model import LogisticRegression
        rows, codes, weights = self._rows[train], self._codes[train], np.ones(len(train))
        if len(np.unique(codes)) < len(self._classes or ()):
            raise InvalidValue(
                "a class of the public labels occurs too seldom to be validated; give more "
                "examples of it, or leave it out"
            )
        if weight and self._more_codes is not None:
            rows = np.concatenate([rows, self._more])
            codes = np.concatenate([codes, self._more_codes])
            weights = np.concatenate([weights, np.full(len(self._more), weight)])
        model = LogisticRegression(C=1 / penalty, max_iter=1000)
        law = model.fit(rows, codes, weights).predict_proba(self._everything)
        return np.asarray(np.log(np.maximum(law, _SMALLEST)))

    def _trained(
        self, size: int, settings: MapTrainingSettings, values: Floats32, train: Ids, show: Progress
    ) -> Bottleneck:
        """A map to this size, trained on these rows and the further ones."""
        chosen = np.concatenate([train, np.arange(len(self._rows), len(self._everything))])
        return train_bottleneck(
            self._everything[chosen],
            Goal(values[chosen], classes=self._classes is not None),
            trainable(settings.mechanism, size, settings.epsilon),
            settings,
            show,
        )

    def _score(self, trained: Bottleneck, seed: int) -> float:
        """How right the decoder is about held-out rows under noise."""
        said = trained.said(self._rows[self._held_out], _VALIDATION_DRAWS, seed + 1)
        if self._classes is not None:
            truth = np.tile(self._codes[self._held_out], _VALIDATION_DRAWS)
            return float((said.argmax(axis=1) == truth).mean())
        wanted = np.tile(self._targets[0][self._held_out], (_VALIDATION_DRAWS, 1))
        return float(((said * wanted).sum(axis=1) / np.linalg.norm(said, axis=1)).mean())


def _over_several(progress: Progress | None, trainings: int) -> Progress:
    """Progress over several trainings one after the other, in thousandths of one."""
    finished = 0

    def show(done: int, total: int) -> None:
        nonlocal finished
        if progress is not None:
            progress(1000 * finished + 1000 * done // total, 1000 * trainings)
        finished += done == total

    return show


def _checked(vectors: Rows, name: str) -> Floats32:
    rows = np.asarray(vectors)
    if rows.ndim != 2 or rows.dtype.kind != "f":
        raise InvalidValue(f"{name} must be rows of numbers; got {rows.ndim} dimensions")
    bad = ~np.isfinite(rows).all(axis=1)
    if bad.any():
        raise InvalidValue(f"{name} must be finite; row {int(bad.argmax()) + 1} is not")
    return rows.astype(np.float32, copy=False)


def _check_labels(labels: Sequence[str] | None, rows: int, name: str) -> None:
    if labels is not None and len(labels) != rows:
        raise InvalidValue(f"{rows} {name} need as many labels; got {len(labels)}")
