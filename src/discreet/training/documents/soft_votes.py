"""Fitting soft votes on public documents, through the law of the mechanism that will use them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from discreet import check
from discreet.arrays import Floats, Floats32, Ids
from discreet.errors import InvalidValue
from discreet.mechanisms.document import SoftVotes

_START = -2.0


def fit_soft_votes(
    vectors: ArrayLike,
    offsets: ArrayLike,
    classes: ArrayLike,
    epsilon: float,
    *,
    penalty: float = 1e-6,
    steps: int = 60,
    seed: int = 0,
) -> SoftVotes:
    """Soft votes that lead to the class of PUBLIC documents as often as epsilon allows.

    What is maximised is the mean log-probability of the right class under the exponential
    mechanism at this epsilon, with the weight of each sentence bounded as it will be: a sentence
    that cannot outvote the others learns not to try. The choices are the class means.

    Args:
        vectors: ``(N, d)``, the sentence vectors of all public documents in order.
        offsets: where each document starts, and N at the end.
        classes: the class of each document, counted from 0; each occurs.
        epsilon: loss that will be allowed for the release of a document, above 0.
        penalty: on the sum of squared weights.
        steps: of the optimiser (L-BFGS), at most.
        seed: of where it starts.

    >>> rng = np.random.default_rng(0)
    >>> classes = np.arange(40) % 2
    >>> sentences = rng.normal(size=(200, 3)) + np.repeat(classes, 5)[:, None]
    >>> mechanism = fit_soft_votes(sentences, np.arange(41) * 5, classes, epsilon=4.0)
    >>> law = mechanism.log_probabilities(sentences, np.arange(41) * 5)
    >>> bool((law.argmax(axis=1) == classes).mean() > 0.9)
    True
    """
    rows = np.asarray(vectors, dtype=np.float32)
    starts, wanted = np.asarray(offsets), np.asarray(classes)
    epsilon = check.positive(epsilon, "epsilon of soft votes")
    penalty = check.non_negative(penalty, "penalty of soft votes")
    steps = check.whole(steps, "steps of soft votes", at_least=1)
    number = _number(wanted, len(starts) - 1)
    owner = np.repeat(np.arange(len(wanted)), np.diff(starts))
    choices = np.stack([rows[wanted[owner] == i].mean(axis=0) for i in range(number)])
    objective = _objective(rows, starts, wanted, number, epsilon / 2, penalty)
    first = np.random.default_rng(seed).normal(0, 0.01, (number, rows.shape[1] + 1))
    first[:, -1] = _START
    optimum = minimize(
        objective, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": steps}
    )
    fitted = optimum.x.reshape(number, -1)
    return SoftVotes(choices, fitted[:, :-1], fitted[:, -1], epsilon)


def _objective(
    rows: Floats32, starts: Ids, wanted: Ids, number: int, rate: float, penalty: float
) -> Callable[[Floats], tuple[float, Floats]]:
    """Mean negative log-probability of the right class, and its gradient."""
    padded = np.concatenate([rows, np.ones((len(rows), 1), np.float32)], axis=1)
    owner = np.repeat(np.arange(len(wanted)), np.diff(starts))
    target = np.eye(number)[wanted]

    def at(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(number, -1)
        shares = expit(padded @ weights.T.astype(np.float32))
        sums = np.add.reduceat(shares, starts[:-1], axis=0, dtype=np.float64) * rate
        law = sums - logsumexp(sums, axis=1, keepdims=True)
        push = (np.exp(law) - target) * (rate / len(law))
        local = push.astype(np.float32)[owner] * shares * (1 - shares)
        gradient = (local.T @ padded).astype(np.float64)
        gradient[:, :-1] += 2 * penalty * weights[:, :-1]
        loss = -(law * target).sum() / len(law) + penalty * float((weights[:, :-1] ** 2).sum())
        return float(loss), gradient.ravel()

    return at


def _number(classes: Ids, documents: int) -> int:
    if classes.ndim != 1 or classes.dtype.kind not in "iu" or len(classes) != documents:
        raise InvalidValue(
            f"classes of soft votes must be a whole number for each of the {documents} documents"
        )
    number = int(classes.max(initial=0)) + 1
    if number < 2 or set(np.unique(classes).tolist()) != set(range(number)):
        raise InvalidValue(
            "classes of soft votes must be counted from 0, at least two, and each must occur"
        )
    return number
