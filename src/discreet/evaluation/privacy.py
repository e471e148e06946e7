"""How much a word mechanism hides: N_x, S_x and S*_y of the SanText paper.

These figures describe the noise of a typical word. They guarantee nothing: the guarantee is the
mechanism's statement. They are taken exactly from the law wherever the mechanism can say it, else
estimated by simulation, and every result says which of the two it is.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet import check
from discreet.arrays import Floats, Ids, Progress, row_blocks
from discreet.attacks.bayes import checked_prior
from discreet.errors import InvalidValue
from discreet.parallel import in_threads
from discreet.protocols import WordMechanism
from discreet.randomness import secure_generator

EXACT_INPUTS = 30_000
"""Above so many possible inputs S*_y is simulated: the law of every pair would take too long."""

_LAW_NUMBERS = 2**22
_TABLE_NUMBERS = 2**25
_DRAWS = 2**20
# Sums of probabilities are rounded: a set that misses the mass by less than this reaches it.
_ROUNDING = 1e-10
_NEAR_SHANNON = 1e-2


@dataclass(frozen=True)
class WordPrivacy:
    """What becomes of each of some words."""

    ids: Ids
    """The words measured."""
    keep: Floats
    """N_x: the probability that the word comes out unchanged."""
    options: Ids
    """S_x: the size of the smallest set of outputs that has probability ``mass`` or more."""
    distinct: Floats
    """The paper's estimate of S_x: how many different outputs ``runs`` draws give. It grows with
    ``runs``, so compare it only with figures of as many runs. Exact: its expectation."""
    exact: bool
    """True: from the law. False: estimated from ``runs`` draws of each word."""


@dataclass(frozen=True)
class OutputPrivacy:
    """What each of some outputs tells about the word that it came from."""

    outputs: Ids
    """The outputs measured."""
    inputs: Ids
    """S*_y: the size of the smallest set of inputs that has posterior probability ``mass`` or more;
    0 for an output that cannot come out (or, simulated, never did)."""
    guess: Floats
    """The largest posterior probability: how often the best guess at the input is right."""
    distinct: Floats
    """The paper's estimate of S*_y: how many different inputs give the output at least once if each
    is drawn ``runs`` times. Exact: its expectation."""
    exact: bool
    """True: from the law. False: estimated from ``runs`` draws of each possible input."""


def word_privacy(
    mechanism: WordMechanism,
    ids: ArrayLike,
    *,
    mass: float = 0.95,
    runs: int = 1000,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> WordPrivacy:
    """N_x and S_x of some words.

    Exact if the mechanism has ``log_probabilities``. Otherwise each word is released ``runs``
    times: N_x is then a frequency (standard error at most ``0.5 / sqrt(runs)``), and S_x the number
    of different outputs that make up ``mass`` of the draws. A sample is more concentrated than its
    law, so this S_x is a lower estimate, poor unless ``runs`` is many times larger than it; it can
    never be above ``runs``.

    Args:
        mechanism: a word mechanism.
        ids: the words to measure.
        mass: the probability that S_x must reach, between 0 and 1.
        runs: draws of each word, if it is simulated; also of the paper's estimate ``distinct``.
        rng: for the simulation.
        progress: called with (done, total).

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> from discreet.mechanisms.word import SanText
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0.0], [1.0], [9.0]])
    >>> privacy = word_privacy(SanText(space, epsilon=2.0, calibration="published"), [0, 2])
    >>> privacy.keep.round(3).tolist(), privacy.options.tolist(), privacy.exact
    ([0.731, 1.0], [2, 1], True)
    """
    words = mechanism.space.checked_ids(ids)
    mass = check.probability(mass, "mass of word_privacy")
    runs = check.whole(runs, "runs of word_privacy", at_least=1)
    keep, distinct = np.empty(len(words)), np.empty(len(words))
    options = np.empty(len(words), dtype=np.int64)
    law = getattr(mechanism, "log_probabilities", None)
    if law is None:
        rng = secure_generator() if rng is None else rng
        for part in row_blocks(len(words), runs, _DRAWS, progress):
            draws = mechanism.release(np.repeat(words[part], runs), rng).reshape(-1, runs)
            keep[part] = (draws == words[part, None]).mean(axis=1)
            groups, _, counts = _counted(draws)
            distinct[part] = np.bincount(groups, minlength=len(draws))
            options[part] = _grouped_support(groups, counts, len(draws), mass)
        return WordPrivacy(words, keep, options, distinct, exact=False)
    for part in row_blocks(len(words), len(mechanism.space), _LAW_NUMBERS, progress):
        probabilities = np.exp(law(words[part]))
        keep[part] = probabilities[np.arange(len(probabilities)), words[part]]
        distinct[part] = _expected_distinct(probabilities, runs)
        options[part] = _support(probabilities, mass)
    return WordPrivacy(words, keep, options, distinct, exact=True)


def likely_outputs(
    mechanism: WordMechanism,
    id: int,
    count: int = 5,
    *,
    runs: int = 1000,
    rng: np.random.Generator | None = None,
) -> list[tuple[int, float]]:
    """The likeliest outputs of one word with their probabilities, likeliest first.

    From the law, or as frequencies of ``runs`` draws; fewer than ``count`` if there are no more.
    """
    words = mechanism.space.checked_ids([id])
    count = check.whole(count, "count of likely_outputs", at_least=1)
    runs = check.whole(runs, "runs of likely_outputs", at_least=1)
    law = getattr(mechanism, "log_probabilities", None)
    if law is None:
        rng = secure_generator() if rng is None else rng
        draws = mechanism.release(np.repeat(words, runs), rng)
        outputs, counts = np.unique(draws, return_counts=True)
        probabilities = counts / runs
    else:
        probabilities = np.exp(law(words)[0])
        outputs = np.arange(len(probabilities))
    order = np.argsort(-probabilities, kind="stable")[:count]
    return [(int(outputs[i]), float(probabilities[i])) for i in order if probabilities[i] > 0]


def output_privacy(
    mechanism: WordMechanism,
    outputs: ArrayLike,
    prior: ArrayLike | None = None,
    *,
    mass: float = 0.95,
    runs: int = 1000,
    exact: bool | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> OutputPrivacy:
    """S*_y of some outputs: how many words an output could have come from.

    Somebody who knows the mechanism and holds the prior ``pi`` over words sees ``y`` and believes
    ``P(x|y) = pi(x) P(y|x) / sum_x' pi(x') P(y|x')``. S*_y is the size of the smallest set of words
    that has ``mass`` of this posterior, in the same way as S_x is that of the law.

    Where we differ from the paper (Yue et al. 2021, section 5.5): it calls S*_y the number of words
    that could have led to y *with a similar probability*, and estimates it by counting the words
    that gave y at least once in 1,000 runs each. That count treats a word that gave y once like one
    that gave it 900 times, and it grows with the number of runs. It is here too, as ``distinct``.

    Exact from the law if the mechanism has one and at most 30,000 words are possible under the
    prior: one pass over them, whose memory is bounded. Otherwise every possible word is released
    ``runs`` times; an output that was seen only h times is then credited with at most h inputs, so
    this is a lower estimate.

    Args:
        mechanism: a word mechanism.
        outputs: the outputs to measure, as word ids.
        prior: a weight for every word of the vocabulary, from public knowledge; all alike if None.
        mass: the posterior probability that S*_y must reach, between 0 and 1.
        runs: draws of each possible word, if simulated; also of the paper's ``distinct``.
        exact: True to insist on the law however long it takes, False to simulate.
        rng: for the simulation.
        progress: called with (done, total).

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> from discreet.mechanisms.word import SanText
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0.0], [1.0], [9.0]])
    >>> mechanism = SanText(space, epsilon=2.0, calibration="published")
    >>> output_privacy(mechanism, [0, 2]).inputs.tolist()
    [2, 1]
    >>> output_privacy(mechanism, [0, 2], prior=[1, 0, 1]).inputs.tolist()
    [1, 1]
    """
    seen = mechanism.space.checked_ids(outputs)
    mass = check.probability(mass, "mass of output_privacy")
    runs = check.whole(runs, "runs of output_privacy", at_least=1)
    count = len(mechanism.space)
    beliefs = checked_prior(
        np.ones(count) if prior is None else prior, count, "prior of output_privacy"
    )
    possible = np.flatnonzero(beliefs)
    weights = beliefs[possible]
    law = getattr(mechanism, "log_probabilities", None)
    if exact and law is None:
        raise InvalidValue("exact of output_privacy needs a mechanism that can say its law")
    if law is None or exact is False or (exact is None and len(possible) > EXACT_INPUTS):
        return _simulated_posterior(mechanism, seen, possible, weights, mass, runs, rng, progress)
    return _exact_posterior(law, count, seen, possible, weights, mass, runs, progress)


def _exact_posterior(
    law: Callable[[Ids], Floats],
    width: int,
    seen: Ids,
    possible: Ids,
    weights: Floats,
    mass: float,
    runs: int,
    progress: Progress | None,
) -> OutputPrivacy:
    inputs = np.empty(len(seen), dtype=np.int64)
    guess, distinct = np.empty(len(seen)), np.empty(len(seen))
    for chosen in row_blocks(len(seen), len(possible), _TABLE_NUMBERS):
        table = np.empty((len(seen[chosen]), len(possible)))
        for part in row_blocks(len(possible), width, _LAW_NUMBERS):
            table[:, part] = law(possible[part])[:, seen[chosen]].T
            if progress is not None:
                done = chosen.start * len(possible) + len(table) * part.stop
                progress(done, len(seen) * len(possible))
        distinct[chosen] = _expected_distinct(np.exp(table), runs)
        table += np.log(weights)
        # Shift before exp: an improbable output may lie below the smallest float for all inputs.
        highest = table.max(axis=1, keepdims=True)
        table -= np.where(np.isfinite(highest), highest, 0.0)
        np.exp(table, out=table)
        inputs[chosen] = _support(table, mass)
        # The largest entry is 1, or 0 in the row of an output that cannot come out.
        guess[chosen] = table.max(axis=1) / np.maximum(table.sum(axis=1), 1.0)
    return OutputPrivacy(seen, inputs, guess, distinct, exact=True)


def _simulated_posterior(
    mechanism: WordMechanism,
    seen: Ids,
    possible: Ids,
    weights: Floats,
    mass: float,
    runs: int,
    rng: np.random.Generator | None,
    progress: Progress | None,
) -> OutputPrivacy:
    wanted, place = np.unique(seen, return_inverse=True)
    column = np.full(len(mechanism.space), -1)
    column[wanted] = np.arange(len(wanted))
    columns, shares = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    rng = secure_generator() if rng is None else rng
    for part in row_blocks(len(possible), runs, _DRAWS, progress):
        draws = mechanism.release(np.repeat(possible[part], runs), rng).reshape(-1, runs)
        rows, outputs, counts = _counted(draws)
        hit = column[outputs] >= 0
        columns.append(column[outputs[hit]])
        shares.append(weights[part][rows[hit]] * counts[hit])
    groups, posterior = np.concatenate(columns), np.concatenate(shares)
    totals = np.bincount(groups, posterior, minlength=len(wanted))
    largest = np.zeros(len(wanted))
    np.maximum.at(largest, groups, posterior)
    inputs = _grouped_support(groups, posterior, len(wanted), mass)
    guess = largest / np.where(totals > 0, totals, 1.0)
    distinct = np.bincount(groups, minlength=len(wanted)).astype(np.float64)
    return OutputPrivacy(seen, inputs[place], guess[place], distinct[place], exact=False)


def renyi_entropy(log_probabilities: ArrayLike, order: float) -> Floats:
    """The Rényi entropy of each law in the last axis, in nats: ``ln(sum p^order) / (1 - order)``.

    Order 0 is the Hartley entropy (the logarithm of the number of possible outputs), 1 the Shannon
    entropy and infinity the min-entropy (minus the logarithm of the largest probability); the
    entropy never rises with the order. ``exp`` of it is a number of equally likely outputs.

    Args:
        log_probabilities: natural logarithms, ``-inf`` for 0; each last axis sums to 1.
        order: 0 or more; ``math.inf`` is allowed.

    >>> law = np.log([0.5, 0.25, 0.25])
    >>> [round(float(renyi_entropy(law, order)), 3) for order in (0, 1, 2, math.inf)]
    [1.099, 1.04, 0.981, 0.693]
    """
    logs = np.asarray(log_probabilities, dtype=np.float64)
    if not order >= 0:
        raise check.fail("order of renyi_entropy", "0 or more", order)
    if logs.ndim < 1 or not logs.shape[-1]:
        raise InvalidValue("log_probabilities of renyi_entropy need at least 1 output")
    highest = logs.max(axis=-1)
    if math.isinf(order):
        return np.asarray(-highest)
    if order == 0:
        return np.asarray(np.log(np.isfinite(logs).sum(axis=-1)))
    if abs(order - 1) < _NEAR_SHANNON:
        # The textbook form divides a rounding error by 1 - order; this one has none to divide.
        p = np.exp(logs)
        finite = np.where(p > 0, logs, 0.0)
        if order == 1:
            return np.asarray(-(p * finite).sum(axis=-1))
        excess = (p * np.expm1((order - 1) * finite)).sum(axis=-1)
        return np.asarray(np.log1p(excess) / (1 - order))
    powers = np.exp(order * (logs - highest[..., None])).sum(axis=-1)
    return np.asarray((np.log(powers) + order * highest) / (1 - order))


def _support(weights: Floats, mass: float) -> Ids:
    """For each row the least number of its entries that make up ``mass`` of the row's sum."""
    out = np.empty(len(weights), dtype=np.int64)

    def measure(part: slice) -> None:
        sums = np.cumsum(np.sort(weights[part], axis=1)[:, ::-1], axis=1)
        short = sums < sums[:, -1:] * (mass - _ROUNDING)
        out[part] = np.where(sums[:, -1] > 0, short.sum(axis=1) + 1, 0)

    in_threads(measure, list(row_blocks(*weights.shape)))
    return out


def _grouped_support(groups: Ids, weights: Floats, count: int, mass: float) -> Ids:
    """As :func:`_support` for sparse rows: ``groups`` says which row each weight belongs to."""
    order = np.lexsort((-weights, groups))
    groups, weights = groups[order], weights[order]
    totals = np.bincount(groups, weights, minlength=count)
    before = np.cumsum(totals) - totals
    sums = np.cumsum(weights) - before[groups]
    short = sums < totals[groups] * (mass - _ROUNDING)
    return np.bincount(groups[short], minlength=count) + (totals > 0)


def _counted(draws: Ids) -> tuple[Ids, Ids, Floats]:
    """Rows, outputs and counts of the different outputs of each row of draws."""
    width = int(draws.max(initial=0)) + 1
    codes = draws + width * np.arange(len(draws))[:, None]
    different, counts = np.unique(codes, return_counts=True)
    return different // width, different % width, counts.astype(np.float64)


def _expected_distinct(probabilities: Floats, runs: int) -> Floats:
    """For each row the expected number of its outcomes that ``runs`` draws show at least once."""
    with np.errstate(divide="ignore"):  # a certain outcome: log(1 - 1)
        missed = np.log1p(-np.minimum(probabilities, 1.0))
    missed *= runs
    return np.asarray(-np.expm1(missed, out=missed).sum(axis=1))
