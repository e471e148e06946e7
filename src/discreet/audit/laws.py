"""The law checks of an audit: what can be proven, or failing that sampled, from the law itself."""

from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp, ndtri

from discreet.arrays import Floats, Generator, Ids
from discreet.audit.density import divergence, worst_ratio
from discreet.audit.distance_law import MOST_WORDS, all_pairs
from discreet.audit.findings import Finding, Quantity, Verdict
from discreet.audit.mass import total_mass
from discreet.audit.pairs import Pair, inputs_of, many_pairs
from discreet.audit.subject import Subject, VectorStage
from discreet.audit.verify import OFF_ONE, RELATIVE, Worst, distance_table, row_sums, worst_pair
from discreet.spaces.distances import Distances
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Notion

ALL_PAIRS = 2000
"""Up to so many inputs every pair is compared at every output."""

_ROW_NUMBERS = 2**23
_MOST_ROWS = 256
_FORM = 1e-8
_DENSITY_PAIRS = 400
_MASS_OFF = 0.02
_MASS_INPUTS = 2
_DIVERGENCE_PAIRS = 3


# -- finite laws ---------------------------------------------------------------------------------


def check_finite_law(
    subject: Subject, special: list[Pair], rng: Generator
) -> tuple[list[Finding], list[Pair]]:
    """Check rows and pairs of a finite law; also return its worst pairs."""
    everything = subject.count <= ALL_PAIRS and subject.count * (subject.outputs or 1) <= 2**24
    ids = np.arange(subject.count) if everything else _some_rows(subject, special, rng)
    logs = subject.log_probabilities(ids)
    findings = [_normalises(subject, ids, logs)]
    if findings[0].failed:
        told = "a law that does not sum to 1 has no ratios to compare"
        return [*findings, Finding("law.inequality", Verdict.NOT_CHECKED, told)], []
    worst = worst_pair(
        subject.statement,
        logs,
        distance_table(subject.distance, ids),
        own=ids,
        protected=subject.sensitive,
    )
    pair = (int(ids[worst.first]), int(ids[worst.second]))
    scope = f"all pairs of {len(ids):,} inputs at all {logs.shape[1]:,} outputs"
    if not subject.complete:
        scope += ", out of endlessly many"
    elif not everything:
        scope += f" (of {subject.count:,} inputs)"
    compared, proof = len(ids) * (len(ids) - 1) // 2, everything and subject.complete
    findings.append(_inequality(subject, worst, pair, scope, compared, proof=proof))
    pairs = [pair]
    certificate = getattr(subject.mechanism, "certificate", None)
    space = getattr(subject.mechanism, "space", None)
    if certificate is not None and isinstance(space, EmbeddingSpace):
        findings.append(_certificate(subject, certificate, space))
        if not everything and len(space) <= MOST_WORDS:
            closed, pair = _closed_form(subject, float(certificate.kappa), space, ids, logs)
            findings.append(closed)
            pairs.insert(0, pair)
    return findings, pairs


def _some_rows(subject: Subject, special: list[Pair], rng: Generator) -> Ids:
    count = min(_MOST_ROWS, max(2, _ROW_NUMBERS // max(1, subject.outputs or 1)))
    pairs = many_pairs(subject, special, count, rng)
    return inputs_of(pairs.tolist(), count)


def _normalises(subject: Subject, ids: Ids, logs: Floats) -> Finding:
    sums = row_sums(logs)
    off = np.abs(sums - 1)
    bad = ~(off <= OFF_ONE)
    row = int(bad.argmax()) if bad.any() else int(off.argmax())
    # How far off by rounding depends on the processor, so what is said is what was checked.
    told = f"{len(ids):,} of {subject.count:,} rows sum to 1 within {OFF_ONE:g}"
    if bad.any():
        told = (
            f"the probabilities of {subject.label(int(ids[row]))!r} sum to {sums[row]:.6g}, not 1 "
            f"({int(bad.sum()):,} of {len(ids):,} rows are off)"
        )
    return Finding(
        "law.normalises",
        Verdict.FAIL if bad.any() else Verdict.PASS,
        told,
        proof=subject.complete and len(ids) == subject.count,
        quantity=Quantity.SUM,
        claimed=1.0,
        found=float(sums[row]),
        exact=True,
    )


def _inequality(
    subject: Subject, worst: Worst, pair: Pair, scope: str, pairs: int, *, proof: bool
) -> Finding:
    approximate = subject.statement.notion is Notion.APPROXIMATE
    stray = subject.sensitive is not None and not subject.sensitive[worst.output or 0]
    detail = ""
    if worst.output is not None and worst.loss == np.inf:
        detail = f"{_output(subject, worst.output)} can come from the first, "
        detail += "but may only from itself" if stray else "but never from the second"
    return Finding(
        "law.inequality",
        Verdict.FAIL if worst.broken else Verdict.PASS,
        detail,
        proof=proof,
        quantity=Quantity.DELTA if approximate else Quantity.EPSILON,
        claimed=worst.claimed,
        found=worst.needed,
        exact=True,
        pair=(subject.label(pair[0]), subject.label(pair[1])),
        scope=scope,
        pairs=pairs,
    )


def _output(subject: Subject, number: int) -> str:
    return repr(subject.label(number)) if subject.outputs == subject.count else str(number)


def _certificate(subject: Subject, certificate: Any, space: EmbeddingSpace) -> Finding:
    """The certificate is for this space and epsilon, and its worst pair is what it says."""
    claimed = subject.statement.epsilon
    problem, needed, labels = "", float(certificate.rate), None
    if certificate.space != space.fingerprint:
        problem = "it was made for other words or vectors"
    elif certificate.rate > claimed * (1 + RELATIVE):
        problem = f"it proves {certificate.rate:.6g} only, for a claim of {claimed:.6g}"
    elif certificate.worst_pair is not None:
        x, y = (int(i) for i in certificate.worst_pair)
        labels = (subject.label(x), subject.label(y))
        targets = None if subject.sensitive is None else np.flatnonzero(subject.sensitive)
        log_z = logsumexp(
            -certificate.kappa * Distances(space, targets).block(np.array([x, y])), axis=1
        )
        distance = float(Distances(space).exact(np.array([x]), np.array([y]))[0])
        needed = float(certificate.kappa)
        if distance > 0:
            needed += abs(float(log_z[0] - log_z[1])) / distance
        if abs(needed - certificate.rate) > 1e-6 * certificate.rate:
            problem = f"its worst pair needs {needed:.9g}, not {certificate.rate:.9g}"
    return Finding(
        "law.certificate",
        Verdict.FAIL if problem else Verdict.PASS,
        problem or f"kappa {certificate.kappa:.6g}, {certificate.reason}",
        quantity=Quantity.EPSILON,
        claimed=claimed,
        found=needed,
        exact=True,
        pair=labels,
    )


def _closed_form(
    subject: Subject, kappa: float, space: EmbeddingSpace, ids: Ids, logs: Floats
) -> tuple[Finding, Pair]:
    """Every pair of a large vocabulary, if the law is a distance law."""
    statement, sensitive = subject.statement, subject.sensitive
    targets = None if sensitive is None else np.flatnonzero(sensitive)
    offsets = None if sensitive is None else np.where(sensitive, 0.0, statement.slack)
    columns = logs if targets is None else logs[:, targets]
    expected = log_softmax(-kappa * Distances(space, targets).block(ids), axis=1)
    if offsets is not None:
        expected -= offsets[ids][:, None]
    with np.errstate(invalid="ignore"):
        off = np.abs(columns - expected).max()
    if not off <= _FORM * (1 + kappa):
        told = f"the law is not the distance law of kappa {kappa:.6g} that the certificate is for"
        return Finding("law.all-pairs", Verdict.FAIL, told), (int(ids[0]), int(ids[1]))
    epsilon, slack = statement.epsilon, statement.slack
    worst = all_pairs(space, kappa, epsilon, targets=targets, offsets=offsets, slack=slack)
    limit = statement.epsilon * (1 + RELATIVE)
    count = len(space) * (len(space) - 1) // 2
    scope = f"all {count:,} pairs by the closed form of the distance law"
    if worst.rate <= limit < worst.bound:
        scope += f", some of them bounded by {worst.bound:.6g} only"
    finding = Finding(
        "law.all-pairs",
        Verdict.FAIL if worst.rate > limit else Verdict.PASS,
        proof=worst.bound <= limit,
        quantity=Quantity.EPSILON,
        claimed=statement.epsilon,
        found=worst.rate,
        exact=True,
        pair=(subject.label(worst.pair[0]), subject.label(worst.pair[1])),
        scope=scope,
        pairs=count,
    )
    return finding, worst.pair


# -- densities -----------------------------------------------------------------------------------


def check_density_law(
    subject: Subject,
    stage: VectorStage,
    special: list[Pair],
    samples: int,
    level: float,
    rng: Generator,
) -> tuple[list[Finding], list[Pair]]:
    """Check mass and ratios (or divergences) of a density; also return its worst pair."""
    mass = _mass(subject, stage, samples, level, rng)
    if subject.statement.notion is Notion.APPROXIMATE:
        finding, pair = _divergences(subject, stage, special, samples, level, rng)
    else:
        finding, pair = _ratios(subject, stage, special, rng)
    return [mass, finding], [pair]


def _mass(
    subject: Subject, stage: VectorStage, samples: int, level: float, rng: Generator
) -> Finding:
    name = "law.normalises"
    inputs = rng.permutation(subject.count)[:_MASS_INPUTS]
    masses = [total_mass(stage, int(x), samples, rng) for x in inputs]
    if not all(mass.conclusive for mass in masses):
        told = "the mass of this density cannot be estimated from samples"
        return Finding(name, Verdict.NOT_CHECKED, told)
    reach = -float(ndtri(level / 2 / len(inputs)))
    off = [abs(mass.estimate - 1) - reach * mass.error - _MASS_OFF for mass in masses]
    worst = int(np.argmax(off))
    mass = masses[worst]
    return Finding(
        name,
        Verdict.FAIL if off[worst] > 0 else Verdict.PASS,
        f"the density of {subject.label(int(inputs[worst]))!r} has mass {mass.estimate:.4g}, give "
        f"or take {reach * mass.error:.2g}; it should be 1",
        quantity=Quantity.SUM,
        claimed=1.0,
        found=mass.estimate,
        between=(mass.estimate - reach * mass.error, mass.estimate + reach * mass.error),
        draws=samples,
    )


def _ratios(
    subject: Subject, stage: VectorStage, special: list[Pair], rng: Generator
) -> tuple[Finding, Pair]:
    pairs = many_pairs(subject, special, _DENSITY_PAIRS, rng)
    distances = None if subject.distance is None else subject.distance(*pairs.T)
    worst = worst_ratio(subject.statement, stage, pairs, distances, rng)
    pair = (worst.first, worst.second)
    scope = f"density ratios of {len(pairs):,} pairs, at draws and on the line through each pair"
    return _inequality(subject, worst, pair, scope, len(pairs), proof=False), pair


def _divergences(
    subject: Subject,
    stage: VectorStage,
    pairs: list[Pair],
    samples: int,
    level: float,
    rng: Generator,
) -> tuple[Finding, Pair]:
    statement, draws = subject.statement, 2 * samples
    gaps = [np.subtract(*stage.at(np.array(pair))) for pair in pairs]
    # The farther apart, the easier to tell: the farthest come first, by the l1 norm too.
    by_gap = np.argsort([np.linalg.norm(gap) for gap in gaps])[::-1][:_DIVERGENCE_PAIRS]
    widest = np.argmax([np.abs(gap).sum() for gap in gaps])
    chosen = [pairs[i] for i in dict.fromkeys([*by_gap, widest])]
    each = level / (2 * len(chosen))
    estimates = [
        divergence(stage, *both, statement.epsilon, draws=draws, level=each, rng=rng)
        for x, y in chosen
        for both in ((x, y), (y, x))
    ]
    worst = max(estimates, key=lambda one: (one.low, one.estimate))
    pair = (worst.first, worst.second)
    broken = worst.low > statement.delta * (1 + RELATIVE)
    if not broken and not all(one.conclusive for one in estimates):
        told = (
            f"delta {statement.delta:.3g} claimed; what decides it is too rare to be simulated "
            "from the density here, so nothing can be said"
        )
        return Finding("law.inequality", Verdict.NOT_CHECKED, told), pair
    finding = Finding(
        "law.inequality",
        Verdict.FAIL if broken else Verdict.PASS,
        quantity=Quantity.DELTA,
        claimed=statement.delta,
        found=worst.estimate,
        between=(worst.low, worst.high),
        pair=(subject.label(pair[0]), subject.label(pair[1])),
        scope=f"{len(chosen)} pairs simulated from the density",
        pairs=len(chosen),
        draws=draws,
    )
    return finding, pair
