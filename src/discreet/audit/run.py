"""The whole audit of one mechanism: law, sampler, independence, black box."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Generator, Progress
from discreet.audit import exchange, sampler
from discreet.audit.company import check_company
from discreet.audit.distinguish import lower_bounds
from discreet.audit.findings import Finding, Quantity, Report, Verdict
from discreet.audit.independence import check_independence
from discreet.audit.laws import check_density_law, check_finite_law
from discreet.audit.pairs import Pair, distinct, inputs_of, nearest_other, special_pairs
from discreet.audit.sampler import Misfit, worst_misfit
from discreet.audit.subject import Subject, subject_of
from discreet.randomness import generator
from discreet.statement import Notion

SAMPLES = 20_000
FALSE_ALARMS = 1e-6
STATISTICAL_CHECKS = 9
"""Normalisation and divergence of densities, sampler, nearest word, positions, batches, workers,
company, black box: each may use a ninth of the false alarms."""

_MANY_INPUTS = 512
_MANY_DRAWS = 32
_FEW_INPUTS = 6
_LARGE = 10**7
_LARGE_SAMPLES = 4000
_SUSPECTS = 3
_CANDIDATES = 64
_ENOUGH = 2000


def audit(
    mechanism: Any,
    *,
    name: str | None = None,
    inputs: int | NDArray[np.floating[Any]] | None = None,
    seed: int | None = None,
    samples: int = SAMPLES,
    false_alarms: float = FALSE_ALARMS,
    progress: Progress | None = None,
) -> Report:
    """Check a mechanism against its own statement.

    Args:
        mechanism: anything with ``statement`` and ``release(ids, rng)``; with its law
            (``log_probabilities``, ``log_density``) far more can be checked.
        name: for the report.
        inputs: what to feed it, if it does not say so itself (``space`` or ``inputs``): how many
            ids there are, or a matrix of vectors.
        seed: repeats an audit; forked workers always use secure randomness.
        samples: draws of each input looked at; more of them find smaller faults.
        false_alarms: probability that a sound mechanism fails, at most.
        progress: called with (done, total).

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> from discreet.mechanisms.word import SanText
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0.0], [1.0], [5.0]])
    >>> audit(SanText(space, epsilon=2.0), seed=1, samples=500).passed
    True
    """
    samples = check.whole(samples, "samples", at_least=100)
    false_alarms = check.probability(false_alarms, "false_alarms")
    subject = subject_of(mechanism, name, inputs)
    rng = generator(seed)
    findings: list[Finding] = []
    for done, some in enumerate(_checks(subject, samples, false_alarms, rng, findings)):
        findings += some
        if progress:
            progress(done + 1, 5 + (subject.nearest_points is not None))
    return Report(
        mechanism=subject.name,
        statement=subject.statement,
        findings=tuple(findings),
        false_alarms=false_alarms,
        seed=seed,
    )


def _checks(
    subject: Subject,
    samples: int,
    false_alarms: float,
    rng: Generator,
    so_far: list[Finding],
) -> Iterator[list[Finding]]:
    level = false_alarms / STATISTICAL_CHECKS
    worst: list[Pair] = []
    special = special_pairs(subject, rng)
    if subject.has_law:
        findings, worst = check_finite_law(subject, special, rng)
        yield findings
    elif subject.stage is not None:
        findings, worst = check_density_law(subject, subject.stage, special, samples, level, rng)
        yield findings
    else:
        missing = "the object gives no law, so nothing can be proven about it; only samples are"
        yield [Finding("law.inequality", Verdict.NOT_CHECKED, f"{missing} looked at")]
    pairs = distinct([*worst, *special])
    yield [_sampler(subject, pairs, samples, level, rng, so_far)]
    if subject.nearest_points is not None and subject.stage is not None:
        inputs, draws = inputs_of(pairs, 4), _affordable(subject, samples) // 2
        stage, points = subject.stage, subject.nearest_points
        misfits = sampler.nearest_misfits(subject, stage, points, inputs, draws, rng)
        told = f"{draws * len(inputs):,} releases are the nearest words of noisy vectors"
        yield [_judged(subject, "sampler.nearest", misfits, level, told)]
    yield _independence(subject, samples, level, rng)
    yield [_black_box(subject, pairs, samples, level, rng)]
    yield [_company(subject, samples, level, rng)]


# -- sampler -------------------------------------------------------------------------------------


def _sampler(
    subject: Subject,
    pairs: list[Pair],
    samples: int,
    level: float,
    rng: Generator,
    so_far: list[Finding],
) -> Finding:
    name = "sampler.law"
    if any(f.check == "law.normalises" and f.failed for f in so_far) and subject.has_law:
        return Finding(name, Verdict.NOT_CHECKED, "there is no law to compare with")
    if subject.has_law:
        few = inputs_of(pairs, _FEW_INPUTS)
        many = rng.permutation(subject.count)[:_MANY_INPUTS]
        misfits = sampler.few_inputs(subject, few, 2 * samples, rng)
        misfits += sampler.many_inputs(subject, many, min(_MANY_DRAWS, samples), rng)
        draws = 2 * samples * len(few) + _MANY_DRAWS * len(many)
    elif subject.stage is not None:
        width = max(subject.stage.points.shape[1], subject.stage.centres.shape[1])
        draws = max(samples, min(10 * samples, _LARGE // 2 // width))
        inputs = rng.integers(0, subject.count, draws)
        misfits = exchange.misfits(subject.stage, inputs, rng)
    else:
        return Finding(name, Verdict.NOT_CHECKED, "the object gives no law to compare with")
    return _judged(subject, name, misfits, level, f"{draws:,} draws fit the law")


def _independence(subject: Subject, samples: int, level: float, rng: Generator) -> list[Finding]:
    candidates = rng.permutation(subject.count)
    tests = check_independence(subject, candidates, _affordable(subject, samples) // 8, rng)
    out: list[Finding] = []
    for where, told in (
        ("positions", "the positions of a batch get noise of their own"),
        ("batches", "every call gets noise of its own"),
        ("workers", "forked workers get noise of their own"),
    ):
        results = tests[where]
        name = f"independence.{where}"
        if out and out[0].failed:
            results = "the positions of a batch share noise; nothing further can be told apart"
        if isinstance(results, str):
            out.append(Finding(name, Verdict.NOT_CHECKED, results))
        else:
            out.append(_judged(subject, name, results, level, told))
    return out


def _company(subject: Subject, samples: int, level: float, rng: Generator) -> Finding:
    few = samples < _ENOUGH or _affordable(subject, samples) < samples
    misfits = check_company(subject, rng.permutation(subject.count)[:_CANDIDATES], rng, few=few)
    told = "alone, in small batches and at their ends inputs are released as in large ones"
    return _judged(subject, "independence.company", misfits, level, told)


def _judged(subject: Subject, name: str, misfits: list[Misfit], level: float, told: str) -> Finding:
    worst = worst_misfit(misfits)
    failed = worst.p_value < level
    if failed:
        whose = "" if worst.input is None else f"{subject.label(worst.input)!r}: "
        told = f"{whose}{worst.what}"
    return Finding(
        name,
        Verdict.FAIL if failed else Verdict.PASS,
        told,
        quantity=Quantity.P_VALUE,
        claimed=level,
        found=worst.p_value,
        tests=worst.tests,
    )


# -- black box -----------------------------------------------------------------------------------


def _black_box(
    subject: Subject, pairs: list[Pair], samples: int, level: float, rng: Generator
) -> Finding:
    pairs = distinct([*_suspects(subject, rng), *pairs])
    draws = _affordable(subject, samples)
    if draws < samples:
        draws //= 2  # many inputs are tried
    bounds = lower_bounds(subject, pairs, draws, level, rng)
    worst = max(bounds, key=lambda bound: bound.shown - bound.allowed)
    approximate = subject.statement.notion is Notion.APPROXIMATE
    if not approximate and not worst.broken:
        # Nothing is broken: show where most was seen of what is allowed.
        worst = max(bounds, key=lambda bound: bound.shown / max(bound.allowed, 1e-300))
    return Finding(
        "black-box.loss",
        Verdict.FAIL if worst.broken else Verdict.PASS,
        f"at epsilon {subject.statement.epsilon:.4g} " if approximate else "",
        quantity=Quantity.DELTA if approximate else Quantity.LOSS,
        claimed=worst.allowed,
        found=worst.shown,
        lower_bound=True,
        pair=(subject.label(worst.first), subject.label(worst.second)),
        scope=f"{len(pairs)} pairs, {draws:,} releases of each input",
        pairs=len(pairs),
        draws=draws,
    )


def _suspects(subject: Subject, rng: Generator) -> list[Pair]:
    """Inputs that keep coming out as themselves, each with its neighbour."""
    if not subject.discrete or subject.outputs not in (None, subject.count):
        return []
    ids = rng.permutation(subject.count)[:_MANY_INPUTS]
    out = subject.release(np.repeat(ids, 8), rng).reshape(len(ids), 8)
    kept = (out == ids[:, None]).sum(axis=1)
    top = ids[np.argsort(-kept, kind="stable")[:_SUSPECTS]].tolist()
    if subject.vectors is not None:
        return list(zip(top, nearest_other(subject.vectors, top), strict=True))
    return [(x, (x + 1) % subject.count) for x in top]


def _affordable(subject: Subject, samples: int) -> int:
    """Draws of an input: fewer where each is a search through many numbers."""
    cost = subject.count * (0 if subject.vectors is None else subject.vectors.shape[1])
    large = subject.nearest_points is not None and cost * samples > _LARGE * _LARGE_SAMPLES / 10
    return min(samples, _LARGE_SAMPLES) if large else samples
