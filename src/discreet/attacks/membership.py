"""Was this row in the training set? Threshold attacks on a model's probabilities.

A model is surer of what it was trained on. Whoever may ask it takes a row whose score is above a
threshold for a member. The threshold is set on one half of the rows and measured on the other.

Papers: Yeom et al., "Privacy Risk in Machine Learning", CSF 2018 (confidence); Song and Mittal,
"Systematic Evaluation of Privacy Risks of Machine Learning Models", USENIX Security 2021 (entropy
that knows the label). Where we differ: one threshold for all classes, and balanced accuracy, so
that members and others need not be equally many.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array
from scipy.special import softmax

from discreet.arrays import Floats
from discreet.attacks.outcome import AttackOutcome, Estimate, mean_of_shares
from discreet.attacks.wide_logistic import wide_logistic
from discreet.errors import InvalidValue
from discreet.models.task import TaskModel
from discreet.release.vectors import read_vectors
from discreet.text.labelled import codes_of

_FEWEST = 4
_TINY = 1e-30
_PENALTY = 1e-2


@dataclass(frozen=True)
class LabelledPredictions:
    """What a model says of rows whose labels the attacker knows.

    Attributes:
        probabilities: ``(n, classes)``.
        labels: The class index of each row.
    """

    probabilities: Floats = field(repr=False)
    labels: NDArray[np.int64] = field(repr=False)

    def __post_init__(self) -> None:
        law = np.asarray(self.probabilities, dtype=np.float64)
        labels = np.asarray(self.labels)
        good = law.ndim == 2 and law.shape[1] >= 2 and bool((law >= 0).all())
        if not good or np.abs(law.sum(axis=1) - 1).max(initial=0.0) > 1e-3:
            raise InvalidValue(
                "probabilities of a membership attack must be rows that sum to 1, over at least "
                "2 classes"
            )
        if labels.shape != (len(law),) or labels.dtype.kind not in "iu":
            raise InvalidValue("labels of a membership attack must be a class index for each row")
        if ((labels < 0) | (labels >= law.shape[1])).any():
            raise InvalidValue(
                f"labels of a membership attack must be from 0 to {law.shape[1] - 1}"
            )
        object.__setattr__(self, "probabilities", law)
        object.__setattr__(self, "labels", labels.astype(np.int64))

    @classmethod
    def pair(
        cls, model: Path, members: Path, others: Path
    ) -> tuple["LabelledPredictions", "LabelledPredictions"]:
        """What a stored model says of its training rows, and of others."""
        loaded = TaskModel.load(model)
        return cls.read(members, loaded), cls.read(others, loaded)

    @classmethod
    def read(cls, path: Path, model: TaskModel) -> "LabelledPredictions":
        """What a model says of the labelled vectors in a file."""
        data = read_vectors(path)
        if data.labels is None:
            raise InvalidValue(f"{path} has no labels; a membership attack needs that of each row")
        law = model.probabilities(data)
        return cls(law, codes_of(data.labels, model.labels or (), f"the labels of {path}"))

    def __len__(self) -> int:
        return len(self.labels)


def negative_entropy(rows: LabelledPredictions) -> Floats:
    """How sure the model is, whatever of."""
    law = np.maximum(rows.probabilities, _TINY)
    return np.asarray((law * np.log(law)).sum(axis=1))


def negative_modified_entropy(rows: LabelledPredictions) -> Floats:
    """How sure the model is of the right label; being sure of a wrong one counts against it.

    >>> sure = LabelledPredictions([[0.9, 0.1], [0.1, 0.9]], [0, 0])
    >>> negative_modified_entropy(sure).round(3).tolist()
    [-0.021, -4.145]
    """
    law = np.maximum(rows.probabilities, _TINY)
    rest = np.maximum(1.0 - rows.probabilities, _TINY)
    own = np.arange(len(rows)), rows.labels
    others = law * np.log(rest)
    others[own] = 0.0
    return np.asarray(rest[own] * np.log(law[own]) + others.sum(axis=1))


def confidence(rows: LabelledPredictions) -> Floats:
    """The probability of the right label."""
    return rows.probabilities[np.arange(len(rows)), rows.labels]


SCORES: dict[str, Callable[[LabelledPredictions], Floats]] = {
    "entropy": negative_entropy,
    "label-aware entropy": negative_modified_entropy,
    "confidence": confidence,
}


def membership_attack(
    members: LabelledPredictions,
    others: LabelledPredictions,
    *,
    unprotected: tuple[LabelledPredictions, LabelledPredictions] | None = None,
    seed: int = 0,
) -> list[AttackOutcome]:
    """An outcome for each score: balanced accuracy, 0.5 being chance.

    Args:
        members: Rows that the model was trained on.
        others: Rows of the same kind that it was not trained on.
        unprotected: The same two of a model that was trained without protection.
        seed: Chooses the halves.
    """
    outcomes = []
    for name, score in SCORES.items():
        success, targets = _attacked(score(members), score(others), seed)
        base = None
        if unprotected is not None:
            base = _attacked(score(unprotected[0]), score(unprotected[1]), seed)[0]
        outcomes.append(
            AttackOutcome(f"membership by {name}", "balanced accuracy", success, 0.5, base, targets)
        )
    return outcomes


def learnt_by_heart(
    counts: csr_array, labels: NDArray[np.int64], classes: int
) -> Callable[[csr_array], Floats]:
    """A model of words that remembers its few texts: what it says of others as probabilities.

    Logistic regression with next to no penalty, on words whose order does not matter. Where there
    are fewer texts than words it gets all of its own texts right, and is sure of them.

    Args:
        counts: ``(texts, words)``: how often each word occurs.
        labels: Of each text, as a number from 0.
        classes: How many there are.
    """
    weights = wide_logistic(_unit_rows(counts), labels, classes, _PENALTY)
    return lambda rows: np.asarray(softmax(_unit_rows(rows) @ weights, axis=1))


def best_threshold(members: ArrayLike, others: ArrayLike) -> float:
    """The score from which on calling a row a member is right most often, both kinds weighing
    the same.

    >>> best_threshold([3.0, 4.0, 5.0], [1.0, 2.0, 4.0])
    3.0
    """
    inside, outside = np.sort(members), np.sort(others)
    candidates = np.append(np.unique(np.concatenate([inside, outside])), np.inf)
    caught = 1.0 - np.searchsorted(inside, candidates) / len(inside)
    cleared = np.searchsorted(outside, candidates) / len(outside)
    return float(candidates[(caught + cleared).argmax()])


def _attacked(members: Floats, others: Floats, seed: int) -> tuple[Estimate, int]:
    if min(len(members), len(others)) < _FEWEST:
        raise InvalidValue(
            f"a membership attack needs at least {_FEWEST} members and {_FEWEST} others; "
            f"got {len(members)} and {len(others)}"
        )
    rng = np.random.default_rng(seed)
    (known_in, hidden_in), (known_out, hidden_out) = (
        np.array_split(rng.permutation(scores), 2) for scores in (members, others)
    )
    threshold = best_threshold(known_in, known_out)
    success = mean_of_shares(hidden_in >= threshold, hidden_out < threshold)
    return success, len(hidden_in) + len(hidden_out)


def _unit_rows(counts: csr_array) -> csr_array:
    """Each row scaled to length 1; a text without words stays as it is."""
    norms = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)))
    return csr_array(diags_array(1 / np.where(norms > 0, norms, 1.0)) @ counts)
