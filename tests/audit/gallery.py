"""Planted faults that an audit must catch, each with a sound twin that it must pass.

Small and self-contained on purpose: nothing here shares code with the mechanisms of the package, so
a mistake in those cannot hide one here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Metric, MetricKind, Notion, PrivacyStatement, Unit
from small_spaces import all_distances, clustered_space, random_space


def metric_statement(space: EmbeddingSpace, epsilon: float) -> PrivacyStatement:
    distances = all_distances(space)
    metric = Metric(
        "distance of the gallery",
        0.1,
        float(np.median(distances)),
        distances.max(),
        MetricKind.EUCLIDEAN,
    )
    return PrivacyStatement(notion=Notion.METRIC, epsilon=epsilon, metric=metric, unit=Unit.WORD)


def pure_statement(epsilon: float) -> PrivacyStatement:
    return PrivacyStatement(notion=Notion.PURE, epsilon=epsilon, unit=Unit.WORD)


def approximate_statement(epsilon: float, delta: float) -> PrivacyStatement:
    return PrivacyStatement(notion=Notion.APPROXIMATE, epsilon=epsilon, delta=delta, unit=Unit.WORD)


# -- finite laws ---------------------------------------------------------------------------------


class InCompany:
    """SanText whose releases depend on how many are released together, and where they stand."""

    def __init__(self, change, shared=False):
        self._law = san_text(clustered_space(60), 3.0, 1.5)
        self.space, self.statement = self._law.space, self._law.statement
        self.log_probabilities = self._law.log_probabilities
        self._change, self._shared = change, shared

    def release(self, ids, rng):
        ids = np.asarray(ids)
        if self._shared and len(set(ids.tolist())) == len(ids):
            point = rng.random()
            rows = self._law._cumulative[ids]
            return (rows <= point).sum(axis=1)
        return self._change(self._law.release(ids, rng), ids)


class Finite:
    """Any table of log-probabilities, sampled by inverting the cumulative sums."""

    def __init__(self, space, statement, logs):
        self.space, self.statement, self._logs = space, statement, np.asarray(logs, dtype=float)
        self._cumulative = np.exp(self._logs).cumsum(axis=1)
        self._cumulative /= self._cumulative[:, -1:]

    def release(self, ids, rng):
        ids, out = np.asarray(ids), np.empty(len(ids), dtype=np.int64)
        points = rng.random(len(ids))
        for x in np.unique(ids):
            mine = ids == x
            out[mine] = np.searchsorted(self._cumulative[x], points[mine], "right")
        return out

    def log_probabilities(self, ids):
        return self._logs[ids]


def in_company():
    return InCompany(lambda out, _: out)


def distance_logs(space, kappa):
    logs = -kappa * all_distances(space)
    logs -= logs.max(axis=1, keepdims=True)
    return logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))


def san_text(space, epsilon, kappa):
    return Finite(space, metric_statement(space, epsilon), distance_logs(space, kappa))


def without_the_half():
    """SanText with kappa = epsilon: the normaliser's own change is forgotten."""
    return san_text(clustered_space(60), 3.0, 3.0)


def with_the_half():
    return san_text(clustered_space(60), 3.0, 1.5)


def float32_with_zeros():
    """Weights in float32: far words get probability 0 for some inputs and not for others."""
    space = clustered_space(60)
    weights = np.exp((-20.0 * all_distances(space)).astype(np.float32))
    with np.errstate(divide="ignore"):
        logs = np.log(weights / weights.sum(axis=1, keepdims=True))
    return Finite(space, metric_statement(space, 40.0), logs)


def float64_without_zeros():
    return san_text(clustered_space(60), 40.0, 20.0)


class PassThrough(Finite):
    """Words that nobody knows come out as they are; the law that is shown does not say so."""

    passed: tuple[int, ...] = ()

    def release(self, ids, rng):
        out = super().release(ids, rng)
        return np.where(np.isin(ids, self.passed), ids, out)


def unknown_passed_through(known_law=True):
    space = random_space(60)
    mechanism = PassThrough(space, metric_statement(space, 0.5), distance_logs(space, 0.25))
    mechanism.passed = (41, 58)
    return mechanism if known_law else Bare(mechanism)


def unknown_released(known_law=True):
    mechanism = unknown_passed_through()
    mechanism.passed = ()
    return mechanism if known_law else Bare(mechanism)


class Bare:
    """A mechanism that says nothing about its law."""

    def __init__(self, inner):
        self._inner = inner
        self.space, self.statement = inner.space, inner.statement

    def release(self, ids, rng):
        return self._inner.release(ids, rng)


class Unnormalised(Finite):
    def log_probabilities(self, ids):
        return super().log_probabilities(ids) + 0.01


class OnlyTheLikely(Finite):
    """Samples from the likeliest outputs that have 99.8 % of the mass."""

    def release(self, ids, rng):
        out = super().release(ids, rng)
        law = np.exp(self._logs)
        order = np.sort(law, axis=1)
        cut = order[np.arange(len(law)), (order.cumsum(axis=1) < 0.002).sum(axis=1)]
        best = law.argmax(axis=1)
        return np.where(law[ids, out] < cut[ids], best[np.asarray(ids)], out)


class Plus(Finite):
    """SanText+ over a sensitive half; ``leak`` lets any word come out as an unsensitive one."""

    def __init__(self, space, epsilon, leak):
        count, p = len(space), 0.3
        self.sensitive = np.arange(0, count, 2)
        logs = np.full((count, count), -np.inf)
        weights = np.exp(-epsilon / 2 * all_distances(space)[:, self.sensitive])
        logs[:, self.sensitive] = np.log(weights / weights.sum(axis=1, keepdims=True))
        common = np.setdiff1d(np.arange(count), self.sensitive)
        logs[common] += math.log(p)
        logs[common, common] = math.log1p(-p)
        if leak:
            logs[0, self.sensitive] += math.log(0.9)
            logs[0, 1] = math.log(0.1)
        metric = metric_statement(space, epsilon).metric
        statement = PrivacyStatement(
            notion=Notion.UTILITY_OPTIMISED,
            epsilon=epsilon,
            slack=math.log(1 / p),
            metric=metric,
            unit=Unit.WORD,
        )
        super().__init__(space, statement, logs)


# -- near words ----------------------------------------------------------------------------------


class NearSets(Finite):
    """Each word has near outputs of weight exp(epsilon); every other output has weight 1.

    ``sizes`` says how many are near each word: all words alike, or there is no common total.
    """

    def __init__(self, epsilon=2.0, sizes=(3,)):
        space = random_space(12, dimension=3)
        self._nearest = all_distances(space).argsort(axis=1, kind="stable")
        self._epsilon, self._sizes = epsilon, sizes
        super().__init__(space, pure_statement(epsilon), self._law_of(self._nearest))

    def _law_of(self, nearest):
        weights = np.ones(nearest.shape)
        for word, places in enumerate(nearest):
            weights[word, places[: self._sizes[word % len(self._sizes)]]] = math.exp(self._epsilon)
        return np.log(weights / weights.sum(axis=1, keepdims=True))


class UnweighedFar(NearSets):
    """Tosses a coin of odds exp(epsilon) for near or far, however many words there are of each."""

    def release(self, ids, rng):
        near = rng.random(len(ids)) < 1 / (1 + math.exp(-self._epsilon))
        place = np.where(near, rng.integers(0, 3, len(ids)), rng.integers(3, 12, len(ids)))
        return self._nearest[ids, place]


class CountedOnTheText(NearSets):
    """Near words are those of the text that is being released: the lists give the text away."""

    def release(self, ids, rng):
        absent = ~np.isin(np.arange(12), np.unique(ids)[::2])
        moved = self._nearest[:, np.argsort(absent, kind="stable")]
        return Finite(self.space, self.statement, self._law_of(moved)).release(ids, rng)


class ReadingOn:
    """Which words are near depends on the word released before, or by mistake on the word itself.

    ``private``: the word before is looked up in the text, not in what came out for it.
    """

    contextual = True
    name = "reading-on"

    def __init__(self, private=False):
        self._plain, self._private = NearSets(), private
        self.space, self.statement = self._plain.space, self._plain.statement
        shift = np.random.default_rng(5).permuted(np.tile(np.arange(12), (13, 1)), axis=1)
        # A table of the law for each word before; the last is for the first word of a text.
        self._after = [
            Finite(self.space, self.statement, self._plain._law_of(places[self._plain._nearest]))
            for places in shift
        ]

    def release(self, ids, rng, offsets=None):
        ids = np.asarray(ids)
        starts = np.arange(len(ids)) if offsets is None else np.asarray(offsets)[:-1]
        ends = starts + 1 if offsets is None else np.asarray(offsets)[1:]
        out = np.empty(len(ids), dtype=np.int64)
        before = np.full(len(starts), 12)
        for step in range(int((ends - starts).max(initial=0))):
            here = starts + step < ends
            place = starts[here] + step
            for table in np.unique(before[here]):
                mine = place[before[here] == table]
                out[mine] = self._after[table].release(ids[mine], rng)
            before[here] = (ids if self._private else out)[place]
        return out

    def log_probabilities(self, ids, released=()):
        return self._after[released[-1] if len(released) else 12].log_probabilities(ids)


# -- noise, then the nearest word ----------------------------------------------------------------


class PlanarLaplace:
    """Density proportional to exp(-rate |z|)."""

    def __init__(self, dimension, rate, *, wrong_scale=1.0):
        self.d, self.rate, self.wrong_scale = dimension, rate, wrong_scale
        self._constant = (
            dimension * math.log(rate)
            + math.lgamma(dimension / 2)
            - math.log(2)
            - dimension / 2 * math.log(math.pi)
            - math.lgamma(dimension)
        )

    def noise(self, count, rng):
        way = rng.standard_normal((count, self.d))
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        return way * rng.gamma(self.d, self.wrong_scale / self.rate, size=(count, 1))

    def add_noise(self, vectors, rng):
        return vectors + self.noise(len(vectors), rng)

    def log_density(self, vectors, outputs):
        return self._constant - self.rate * np.linalg.norm(outputs - vectors, axis=1)


class OneForAll(PlanarLaplace):
    """One noise vector for the whole batch."""

    def add_noise(self, vectors, rng):
        return vectors + self.noise(1, rng)


class Nearest:
    """Noise, then the nearest word; ``avoid`` looks at the input word and leaves it out."""

    def __init__(self, space, noise, statement, *, avoid=False):
        self.space, self.points, self.noise = space, np.asarray(space.vectors), noise
        self.statement, self._avoid = statement, avoid
        self._squares = (self.points**2).sum(axis=1)

    def release(self, ids, rng):
        ids = np.asarray(ids)
        noisy = self.noise.add_noise(self.points[ids], rng)
        scores = self._squares - 2 * noisy @ self.points.T
        if self._avoid:
            scores[np.arange(len(ids)), ids] = np.inf
        return scores.argmin(axis=1)


def planar(avoid=False, noise=PlanarLaplace, epsilon=4.0, **wrong):
    space = random_space(50, dimension=4)
    return Nearest(space, noise(4, epsilon, **wrong), metric_statement(space, epsilon), avoid=avoid)


def bare_planar():
    return Bare(planar())


class OwnState(Nearest):
    """Keeps a random state of its own, which forked workers inherit."""

    _state = None

    def release(self, ids, rng):  # noqa: ARG002
        if self._state is None:
            self._state = np.random.default_rng(5)
        return super().release(ids, self._state)


def workers_share_a_state():
    good = planar()
    return OwnState(good.space, good.noise, good.statement)


class SameEveryCall(Nearest):
    """Starts from the same seed in every call."""

    def release(self, ids, rng):  # noqa: ARG002
        return super().release(ids, np.random.default_rng(5))


def calls_share_a_seed():
    good = planar()
    return SameEveryCall(good.space, good.noise, good.statement)


class Truncated:
    """Independent Laplace coordinates, cut off at ``reach``, by inverting the distribution."""

    def __init__(self, rate, reach):
        self.rate, self.reach = rate, reach
        self._inside = -math.expm1(-rate * reach)

    def add_noise(self, vectors, rng):
        size = -np.log1p(-rng.random(vectors.shape) * self._inside) / self.rate
        return vectors + size * rng.choice((-1.0, 1.0), size=vectors.shape)

    def log_density(self, vectors, outputs):
        away = np.abs(outputs - vectors)
        inside = (away <= self.reach).all(axis=1)
        logs = (math.log(self.rate / 2 / self._inside) - self.rate * away).sum(axis=1)
        return np.where(inside, logs, -np.inf)


def truncated_laplace(published):
    """The paper's box has claimed delta 4^-d; shifted boxes differ in slabs, so it is far more."""
    space, epsilon, d = random_space(50, dimension=8), 1.0, 8
    v = space.vectors
    spread = float(np.abs(v[:, None] - v[None]).sum(axis=2).max())
    rate = epsilon / spread
    if published:
        delta = 4.0**-d
        reach = -math.log(1 - epsilon / (2 * delta ** (1 / d) * math.sqrt(d))) / rate
    else:
        delta = 0.01
        reach = math.log(1 + math.expm1(epsilon) / (2 * delta)) / rate
    return Nearest(space, Truncated(rate, reach), approximate_statement(epsilon, delta))


class Normal:
    def __init__(self, sigma):
        self.sigma = sigma

    def add_noise(self, vectors, rng):
        return vectors + self.sigma * rng.standard_normal(vectors.shape)

    def log_density(self, vectors, outputs):
        z = (outputs - vectors) / self.sigma
        constant = vectors.shape[1] * math.log(self.sigma * math.sqrt(2 * math.pi))
        return -0.5 * (z**2).sum(axis=1) - constant


def gaussian_delta(sigma, gap, epsilon):
    """Balle and Wang 2018: the exact delta of Gaussian noise."""
    a, b = gap / (2 * sigma), epsilon * sigma / gap
    return below(a - b) - math.exp(epsilon) * below(-a - b)


def below(x):
    """The probability that a standard normal variable is below x."""
    return math.erfc(-x / math.sqrt(2)) / 2


def gaussian(classical):
    """The rule sqrt(2 ln(1.25/delta)) / epsilon holds up to epsilon 1 only."""
    space, epsilon, delta = random_space(50, dimension=4), 9.0, 1e-3
    gap = float(all_distances(space).max())
    low, high = 1e-3 * gap, 1e3 * gap
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (
            (low, middle) if gaussian_delta(middle, gap, epsilon) <= delta else (middle, high)
        )
    sigma = gap * math.sqrt(2 * math.log(1.25 / delta)) / epsilon if classical else high
    return Nearest(space, Normal(sigma), approximate_statement(epsilon, delta))


# -- vectors in, vectors out ---------------------------------------------------------------------


class Laplace:
    """A Laplace variable on each coordinate of vectors in [0, 1]^k."""

    def __init__(self, k, epsilon, claimed, **faults):
        self.scale, self.statement = 1 / epsilon, pure_statement(claimed)
        corners = (np.arange(2**3)[:, None] >> (np.arange(k) % 3)) & 1
        self.inputs = corners.astype(float)
        self.faults = faults

    def release(self, values, rng):
        noise = rng.laplace(0.0, self.scale * self.faults.get("scale", 1.0), values.shape)
        if self.faults.get("one_sided"):
            noise = np.abs(noise)
        if self.faults.get("one_number"):
            noise[:] = noise[:, :1]
        if self.faults.get("alone") and len(values) == 1:
            noise[:] = 0.0
        return values + noise

    def log_density(self, values, outputs):
        away = np.abs(outputs - values).sum(axis=1) / self.scale
        constant = values.shape[1] * math.log(2 * self.scale)
        return -away - constant + self.faults.get("constant", 0.0)


def dpnr(honest):
    """Sensitivity 1 on each of k coordinates: the loss is k * epsilon, not epsilon."""
    return Laplace(6, 0.5, 3.0 if honest else 0.5)


def laplace():
    return dpnr(True)


# -- sentences, documents and labels ---------------------------------------------------------------


class UnitGaussian:
    """Gaussian noise on unit vectors, which are up to 2 apart."""

    dimension = 4

    def __init__(self, apart):
        self.statement = statement_for(Unit.SENTENCE, Notion.APPROXIMATE, 1.0, 1e-2)
        low, high = 1e-3, 1e3
        for _ in range(100):
            sigma = math.sqrt(low * high)
            low, high = (low, sigma) if gaussian_delta(sigma, apart, 1.0) <= 1e-2 else (sigma, high)
        self.noise = Normal(high)

    def release(self, vectors, rng):
        noisy = self.noise.add_noise(vectors, rng)
        return noisy / np.linalg.norm(noisy, axis=1, keepdims=True)


def statement_for(unit, notion, epsilon, delta=0.0):
    return PrivacyStatement(notion=notion, epsilon=epsilon, delta=delta, unit=unit)


class Voting:
    """Each sentence votes for the choice it is nearest to; one is released by its votes."""

    dimension, choices = 2, np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])

    def __init__(self, weight=1, plain=False):
        self.statement = statement_for(Unit.SENTENCE, Notion.PURE, 2.0)
        self._weight, self._plain = weight, plain

    def statistic(self, vectors, offsets):
        gaps = np.asarray(vectors)[:, None] - self.choices
        votes = np.eye(3, dtype=int)[(gaps**2).sum(axis=2).argmin(axis=1)]
        return self._weight * np.add.reduceat(votes, np.asarray(offsets)[:-1], axis=0)

    def log_probabilities(self, vectors, offsets):
        logs = self.statement.epsilon / 2 * self.statistic(vectors, offsets)
        return logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))

    def select(self, vectors, rng, offsets):
        law = np.exp(self.log_probabilities(vectors, offsets))
        return (law.cumsum(axis=1) < rng.random((len(law), 1))).sum(axis=1).clip(0, 2)

    def release(self, vectors, rng, offsets):
        chosen = self.select(vectors, rng, offsets)
        if self._plain:
            chosen = self.statistic(vectors, offsets).argmax(axis=1)
        return self.choices[chosen]


class Counting:
    """The votes with two-sided geometric noise; one sentence moves two counts."""

    dimension = 2

    def __init__(self, moved=2, leak=False):
        self.statement = statement_for(Unit.SENTENCE, Notion.PURE, 2.0)
        self._rate, self._leak = self.statement.epsilon / moved, leak
        self.statistic = Voting().statistic

    def noisy(self, vectors, rng, offsets):
        votes = self.statistic(vectors, offsets)
        a, b = (rng.geometric(-math.expm1(-self._rate), votes.shape) for _ in range(2))
        return votes + a - b

    def log_density(self, vectors, outputs, offsets):
        away = np.abs(outputs - self.statistic(vectors, offsets)).sum(axis=1)
        return 3 * math.log(math.tanh(self._rate / 2)) - self._rate * away

    def release(self, vectors, rng, offsets):
        noisy = self.noisy(vectors, rng, offsets)
        # A vector made of the votes themselves, with less noise than was promised.
        shown = self.statistic(vectors, offsets) + noisy / 50 if self._leak else noisy
        return shown @ Voting.choices


class Response:
    """Keeps one of four labels, else any other."""

    classes = 4

    def __init__(self, others):
        self.statement = statement_for(Unit.LABEL, Notion.PURE, 1.0)
        self._keep = math.e / (math.e + others)

    def release(self, labels, rng):
        moved = (np.asarray(labels) + rng.integers(1, 4, len(labels))) % 4
        return np.where(rng.random(len(labels)) < self._keep, labels, moved)

    def log_probabilities(self, labels):
        law = np.full((4, 4), (1 - self._keep) / 3)
        np.fill_diagonal(law, self._keep)
        return np.log(law)[labels]


@dataclass(frozen=True)
class Planted:
    """A fault, its sound twin and the checks that must find the fault."""

    fault: Callable[[], object]
    sound: Callable[[], object]
    caught_by: tuple[str, ...]


GALLERY = {
    "santext without the half": Planted(without_the_half, with_the_half, ("law.inequality",)),
    "published truncated laplace": Planted(
        lambda: truncated_laplace(True), lambda: truncated_laplace(False), ("law.inequality",)
    ),
    "nearest word avoids the input": Planted(
        lambda: planar(avoid=True), planar, ("sampler.nearest", "black-box.loss")
    ),
    "the same without a law": Planted(
        lambda: Bare(planar(avoid=True)), bare_planar, ("black-box.loss",)
    ),
    "unknown words passed through": Planted(
        unknown_passed_through, unknown_released, ("sampler.law", "black-box.loss")
    ),
    "the same, law unknown": Planted(
        lambda: unknown_passed_through(False),
        lambda: unknown_released(False),
        ("black-box.loss",),
    ),
    "float32 law with zeros": Planted(
        float32_with_zeros, float64_without_zeros, ("law.inequality",)
    ),
    "one noise vector per batch": Planted(
        lambda: planar(noise=OneForAll), planar, ("independence.positions",)
    ),
    "one noise vector per batch, law unknown": Planted(
        lambda: Bare(planar(noise=OneForAll)),
        bare_planar,
        ("independence.positions",),
    ),
    "workers share a random state": Planted(
        workers_share_a_state, planar, ("independence.workers",)
    ),
    "every call starts from one seed": Planted(
        calls_share_a_seed, planar, ("independence.batches", "independence.workers")
    ),
    "a word alone passes": Planted(
        lambda: InCompany(lambda out, ids: ids if len(ids) == 1 else out),
        in_company,
        ("independence.company",),
    ),
    "the last of a batch passes": Planted(
        lambda: InCompany(lambda out, ids: np.append(out[:-1], ids[-1:])),
        in_company,
        ("independence.company",),
    ),
    "the first of a batch passes, law unknown": Planted(
        lambda: Bare(InCompany(lambda out, ids: np.append(ids[:1], out[1:]))),
        in_company,
        ("independence.company",),
    ),
    "different words of a batch share a draw": Planted(
        lambda: InCompany(lambda out, _: out, shared=True),
        in_company,
        ("independence.company",),
    ),
    "a vector alone gets no noise": Planted(
        lambda: Laplace(6, 0.5, 3.0, alone=True), laplace, ("independence.company",)
    ),
    "dpnr at its claimed epsilon": Planted(
        lambda: dpnr(False), laplace, ("law.inequality", "black-box.loss")
    ),
    "classical gaussian above epsilon 1": Planted(
        lambda: gaussian(True), lambda: gaussian(False), ("law.inequality",)
    ),
    "noise 10 % too small": Planted(lambda: planar(wrong_scale=0.9), planar, ("sampler.law",)),
    "one-sided noise": Planted(
        lambda: Laplace(6, 0.5, 3.0, one_sided=True), laplace, ("sampler.law",)
    ),
    "one number for all coordinates": Planted(
        lambda: Laplace(6, 0.5, 3.0, one_number=True), laplace, ("sampler.law",)
    ),
    "density without its constant": Planted(
        lambda: Laplace(6, 0.5, 3.0, constant=0.3), laplace, ("law.normalises",)
    ),
    "law that sums to 1.01": Planted(
        lambda: Unnormalised(
            random_space(60),
            metric_statement(random_space(60), 1.0),
            distance_logs(random_space(60), 0.5),
        ),
        lambda: san_text(random_space(60), 1.0, 0.5),
        ("law.normalises",),
    ),
    "unlikely words never drawn": Planted(
        lambda: OnlyTheLikely(
            clustered_space(60),
            metric_statement(clustered_space(60), 1.6),
            distance_logs(clustered_space(60), 0.8),
        ),
        lambda: san_text(clustered_space(60), 1.6, 0.8),
        ("sampler.law",),
    ),
    "unit vectors taken to be 1 apart": Planted(
        lambda: UnitGaussian(1.0), lambda: UnitGaussian(2.0), ("law.inequality",)
    ),
    "one sentence moves two votes": Planted(
        lambda: Voting(weight=2), Voting, ("law.inequality", "black-box.loss")
    ),
    "the winner of the votes is released": Planted(
        lambda: Voting(plain=True), Voting, ("sampler.law", "black-box.loss")
    ),
    "noise for one count where two move": Planted(
        lambda: Counting(1), Counting, ("law.inequality",)
    ),
    "a vector made of counts without noise": Planted(
        lambda: Counting(2, leak=True), Counting, ("black-box.loss",)
    ),
    "a label kept as if there were one class less": Planted(
        lambda: Response(2), lambda: Response(3), ("law.inequality",)
    ),
    "more words are near some words than near others": Planted(
        lambda: NearSets(sizes=(3, 6)), NearSets, ("law.inequality",)
    ),
    "near or far by a coin that counts neither": Planted(
        UnweighedFar, NearSets, ("sampler.law", "black-box.loss")
    ),
    "near words counted on the text itself": Planted(CountedOnTheText, NearSets, ("sampler.law",)),
    "a guide that sees a word before it is released": Planted(
        lambda: ReadingOn(private=True), ReadingOn, ("sampler.law", "black-box.loss")
    ),
    "santext+ lets a sensitive word out": Planted(
        lambda: Plus(random_space(60), 3.0, leak=True),
        lambda: Plus(random_space(60), 3.0, leak=False),
        ("law.inequality",),
    ),
}
