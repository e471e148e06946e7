"""Public maps trained through the noise they will meet.

A map decides which differences between sentences survive a mechanism. Trained through the noise on
public text, it spends the few dimensions it has on what a task needs, and learns how far apart to
put what must not be confused.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats32, Progress
from discreet.encoders.maps import PublicMap
from discreet.errors import InvalidValue, MissingExtra
from discreet.models.sphere_noise import sphere_mechanism
from discreet.training.linear_head import classes_of, codes_of
from discreet.training.vectors._bottleneck import Bottleneck, Goal, starts, train_bottleneck
from discreet.training.vectors.settings import MapSettings

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
        vectors: NDArray[np.floating[Any]],
        labels: Sequence[str] | None = None,
        *,
        encoder: str,
        source: str,
        more: NDArray[np.floating[Any]] | None = None,
        more_labels: Sequence[str] | None = None,
    ) -> None:
        rows = _checked(vectors, "vectors")
        spare = np.empty((0, rows.shape[1]), np.float32) if more is None else _checked(more, "more")
        if spare.shape[1] != rows.shape[1]:
            raise InvalidValue(
                f"more must have {rows.shape[1]} columns as the vectors have; got {spare.shape[1]}"
            )
        _check_rows(rows, labels)
        self._task = _Task(rows, labels, spare, more_labels)
        self._encoder, self._source = encoder, source
        # Not the stream of a small seed: the rows may have been shuffled or drawn by one.
        rng = np.random.default_rng([len(rows), rows.shape[1]])
        self._task.choose_classifier(rng)
        out = rng.random(len(rows)) < _HELD_OUT
        self._held_out, self._kept = np.flatnonzero(out), np.flatnonzero(~out)
        self._everything = np.arange(len(rows))
        self._targets = self._task.target(self._kept), self._task.target(self._everything)

    def train(self, settings: MapSettings, progress: Progress | None = None) -> PublicMap:
        """A map for these settings; its ``about`` holds the validation table."""
        task, sizes = self._task, settings.dimensions
        if max(sizes) > task.rows.shape[1]:
            raise InvalidValue(
                f"the dimension of a map must be at most that of the encoder, "
                f"{task.rows.shape[1]}; got {max(sizes)}"
            )
        runs = [*sizes, max(sizes, key=starts)]  # at most: which is trained last shows later
        report = _Stages(progress, sum(starts(size) for size in runs))
        early, final = self._targets
        table = []
        for size in sizes:
            tried = task.train(size, settings, early, self._kept, report)
            score = task.score(tried, early, self._held_out, settings.seed)
            table.append({"dimension": size, task.measure: round(score, 4)})
        best = max(table, key=lambda entry: (entry[task.measure], -entry["dimension"]))
        trained = task.train(int(best["dimension"]), settings, final, self._everything, report)
        about = {
            "made": "trained through noise",
            "objective": OBJECTIVES[task.classes is not None],
            "public text": self._source,
            "rows": len(task.rows),
            "further rows": len(task.more),
            "settings": asdict(settings),
            "validation": table,
            "validated on": f"{len(self._held_out)} held-out public rows, "
            f"{_VALIDATION_DRAWS} draws",
            **({} if task.classes is None else {"classes": list(task.classes)}),
            **task.chosen,
        }
        return PublicMap.of_layers(trained.layers, encoder=self._encoder, about=about)


class _Task:
    """What a map is trained for: classes if there are labels, else the vectors themselves."""

    def __init__(
        self,
        rows: Floats32,
        labels: Sequence[str] | None,
        more: Floats32,
        more_labels: Sequence[str] | None,
    ) -> None:
        self.rows, self.more = rows, more
        self.everything = np.concatenate([rows, more])
        self.classes: tuple[str, ...] | None = None
        self.chosen: dict[str, float] = {}
        self.measure = "mean cosine"
        self.more_codes: NDArray[np.int64] | None = None
        if labels is None:
            if more_labels is not None:
                raise InvalidValue("labels of further public text need labels of the public text")
            return
        self.measure = "accuracy"
        self.classes, self.codes = classes_of(labels)
        if more_labels is not None:
            if len(more_labels) != len(more):
                raise InvalidValue(
                    f"{len(more)} further public texts need as many labels; got {len(more_labels)}"
                )
            self.more_codes = codes_of(more_labels, self.classes, "labels of further public text")

    def choose_classifier(self, rng: np.random.Generator) -> None:
        """Its penalty, and the weight of the further rows, by cross-validation on the others.

        The log-loss decides: it tells apart on thousands of rows what accuracy cannot.
        """
        if self.classes is None:
            return
        fold = rng.integers(0, _FOLDS, len(self.rows))
        weights = _WEIGHTS if self.more_codes is not None else ()
        tried = [self._validated(penalty, 0.0, fold) for penalty in _PENALTIES]
        penalty = min(tried, key=_log_loss)["penalty"]
        tried += [self._validated(penalty, weight, fold) for weight in weights]
        self.chosen = min(tried, key=_log_loss)

    def _validated(
        self, penalty: float, weight: float, fold: NDArray[np.int64]
    ) -> dict[str, float]:
        loss, right = 0.0, 0
        for held_out in range(_FOLDS):
            inside = np.flatnonzero(fold == held_out)
            scores = self._classified(np.flatnonzero(fold != held_out), penalty, weight)[inside]
            truth = self.codes[inside]
            loss -= float(scores[np.arange(len(inside)), truth].sum())
            right += int((scores.argmax(axis=1) == truth).sum())
        rows = len(self.rows)
        return {
            "penalty": penalty,
            "weight": weight,
            "clean log-loss": loss / rows,
            "clean accuracy": right / rows,
        }

    def target(self, train: NDArray[np.int64]) -> Floats32:
        """What the decoder should say of every row, learnt from some of them."""
        if self.classes is None:
            centred = self.everything - self.rows.mean(axis=0)
            norms = np.linalg.norm(centred, axis=1, keepdims=True)
            return np.asarray(centred / np.maximum(norms, 1e-12))
        scores = self._classified(train, self.chosen["penalty"], self.chosen["weight"])
        odds = np.exp(_SHARPNESS * (scores - scores.max(axis=1, keepdims=True)))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True), dtype=np.float32)

    def _classified(
        self, train: NDArray[np.int64], penalty: float, weight: float
    ) -> NDArray[np.float64]:
        """Log-probabilities of a penalised logistic regression, for the further rows as well."""
        try:
            from sklearn.linear_model import LogisticRegression
        except ImportError as error:
            raise MissingExtra("training a map with labels", "train") from error
        rows, codes, weights = self.rows[train], self.codes[train], np.ones(len(train))
        assert self.classes is not None
        if len(np.unique(codes)) < len(self.classes):
            raise InvalidValue(
                "a class of the public labels occurs too seldom to be validated; give more "
                "examples of it, or leave it out"
            )
        if weight and self.more_codes is not None:
            rows = np.concatenate([rows, self.more])
            codes = np.concatenate([codes, self.more_codes])
            weights = np.concatenate([weights, np.full(len(self.more), weight)])
        model = LogisticRegression(C=1 / penalty, max_iter=1000)
        law = model.fit(rows, codes, weights).predict_proba(self.everything)
        return np.asarray(np.log(np.maximum(law, _SMALLEST)))

    def train(
        self,
        size: int,
        settings: MapSettings,
        values: Floats32,
        train: NDArray[np.int64],
        report: "_Stages",
    ) -> Bottleneck:
        """A map to this size, trained on these rows and the further ones."""
        chosen = np.concatenate([train, np.arange(len(self.rows), len(self.everything))])
        return train_bottleneck(
            self.everything[chosen],
            Goal(values[chosen], classes=self.classes is not None),
            mechanism=sphere_mechanism(settings.mechanism, size, settings.epsilon),
            hidden=settings.hidden,
            epochs=settings.epochs,
            seed=settings.seed,
            progress=report.within,
        )

    def score(
        self, trained: Bottleneck, values: Floats32, held_out: NDArray[np.int64], seed: int
    ) -> float:
        """How right the decoder is about held-out rows under noise."""
        said = trained.said(self.rows[held_out], _VALIDATION_DRAWS, seed + 1)
        if self.classes is not None:
            truth = np.tile(self.codes[held_out], _VALIDATION_DRAWS)
            return float((said.argmax(axis=1) == truth).mean())
        wanted = np.tile(values[held_out], (_VALIDATION_DRAWS, 1))
        return float(((said * wanted).sum(axis=1) / np.linalg.norm(said, axis=1)).mean())


class _Stages:
    """Progress over several trainings one after the other, in thousandths of one."""

    def __init__(self, progress: Progress | None, stages: int) -> None:
        self._progress, self._stages, self._finished = progress, stages, 0

    def within(self, done: int, total: int) -> None:
        if self._progress is not None:
            before = 1000 * self._finished
            self._progress(before + 1000 * done // total, 1000 * self._stages)
        self._finished += done == total


def _checked(vectors: NDArray[np.floating[Any]], name: str) -> Floats32:
    rows = np.asarray(vectors)
    if rows.ndim != 2 or rows.dtype.kind != "f":
        raise InvalidValue(f"{name} must be rows of numbers; got {rows.ndim} dimensions")
    bad = ~np.isfinite(rows).all(axis=1)
    if bad.any():
        raise InvalidValue(f"{name} must be finite; row {int(bad.argmax()) + 1} is not")
    return rows.astype(np.float32, copy=False)


def _log_loss(tried: dict[str, float]) -> float:
    return tried["clean log-loss"]


def _check_rows(rows: Floats32, labels: Sequence[str] | None) -> None:
    if len(rows) < _FEWEST:
        raise InvalidValue(
            f"a map needs at least {_FEWEST} public texts, and does well with thousands; "
            f"got {len(rows)}"
        )
    if labels is not None and len(labels) != len(rows):
        raise InvalidValue(f"{len(rows)} public texts need as many labels; got {len(labels)}")
