"""Every mechanism at every scale: tiny and huge numbers, far offsets, words that all but coincide.

What a mechanism cannot do it must refuse. What it does not refuse must hold: the inequality over
all pairs of inputs, in extended precision where a law is finite, and a sampler that follows its law
and can reach whatever the law can. Tolerances are the rounding that is due, and a billionth.
"""

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from conformance import Fed, excess_of
from discreet.errors import InvalidValue
from discreet.mechanisms import whole_noise
from discreet.mechanisms.noise import GaussianNoise, SphericalNoise, gaussian_delta, standard_normal
from discreet.mechanisms.registry import entries
from discreet.mechanisms.selection import RULES, Selection
from discreet.mechanisms.whole_noise import LARGEST_SUM, SMALLEST_RATE, GeometricNoise
from discreet.mechanisms.word import (
    CMP,
    Mahalanobis,
    NearWords,
    RandomProjection,
    TruncatedLaplace,
)
from discreet.mechanisms.word.laplace import LaplaceNoise
from discreet.randomness import bernoulli_exp, exponential
from discreet.spaces.distances import block_error, euclidean_metric
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import MetricKind, Notion
from goodness import LEVEL, fits, follows

ROUNDOFF = 2.0**-53
LONG = np.longdouble
LONG_ROUNDOFF = float(np.finfo(LONG).eps)
SHARE = 1e-9
EPSILONS = (1e-12, 1e-6, 1e-3, 1.0, 40.0, 1e4)


def family(name):
    return [pytest.param(entry, id=entry.name) for entry in entries() if entry.family == name]


# -- words -----------------------------------------------------------------------------------------

LINE = np.array([[-1.0], [-0.4], [-0.39], [0.1], [0.12], [0.1201], [0.5], [0.9]])
PLANE = np.column_stack([LINE, np.cos(9 * LINE)])


def _near(share):
    """Some of the words all but coincide, two of them do."""
    vectors = PLANE.copy()
    vectors[1], vectors[2] = vectors[0] * (1 + share), vectors[0] * (1 - share)
    vectors[5] = vectors[4]
    return vectors


SPACES = {
    **{f"line-{scale:g}": LINE * scale for scale in (1e-12, 1e-6, 1.0, 1e6, 1e12)},
    **{f"plane-{scale:g}": PLANE * scale for scale in (1e-12, 1e-6, 1.0, 1e6, 1e12)},
    "offset": PLANE + 1e4,
    "offset-single": (PLANE + 1e4).astype(np.float32),
    "near": _near(1e-7),
    "nearer": _near(1e-12) * 3,
    "ends": np.array([[1000.0], [np.nextafter(1000.0, 2e3)], [1000.1]]),
    "equal": np.ones((4, 2)),
}


def space_of(name):
    vectors = SPACES[name]
    return EmbeddingSpace.from_arrays([f"w{i}" for i in range(len(vectors))], vectors, name=name)


def built(entry, **given):
    """The mechanism with what its constructor wants of ``given``; None if it refuses."""
    wanted = inspect.signature(entry.kind).parameters
    missing = [n for n, p in wanted.items() if p.default is p.empty and n not in given]
    assert not missing, f"tests/test_scale.py has nothing for {missing} of {entry.name}"
    try:
        return entry.kind(**{name: given[name] for name in wanted if name in given})
    except InvalidValue:
        return None


def word_mechanism(entry, name, epsilon):
    vectors = SPACES[name]
    return built(
        entry,
        space=space_of(name),
        epsilon=epsilon,
        delta=1e-3,
        # Nothing is clipped where all words are far from the origin: they would become one.
        clip=(2.0 if abs(vectors.mean()) > 10 * vectors.std() else 0.8) * np.abs(vectors).max(),
        sensitive=np.arange(0, len(vectors), 2),
        p=0.3,
        dimension=1,
        seed=0,
    )


def long_distances(vectors):
    wide = vectors.astype(LONG)
    return np.sqrt(((wide[:, None] - wide) ** 2).sum(axis=2))


def exact_law(mechanism, distances):
    """The law of a finite word mechanism in extended precision, written down once more."""
    count = len(distances)
    if isinstance(mechanism, NearWords):
        return two_weights(mechanism, count)
    if not hasattr(mechanism, "kappa"):
        return np.full((count, count), -np.log(LONG(count)))
    targets = getattr(mechanism, "sensitive", np.arange(count))
    logs = -LONG(mechanism.kappa) * distances[:, targets]
    logs -= logs.max(axis=1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    if len(targets) == count:
        return logs
    out = np.full((count, count), LONG(-np.inf))
    out[:, targets] = logs
    common = np.setdiff1d(np.arange(count), targets)
    out[common] += np.log(LONG(mechanism.p))
    out[common, common] = np.log1p(-LONG(mechanism.p))
    return out


def two_weights(mechanism, count):
    """The law of near words, from its whole weights, which 64 bits of a long double hold."""
    weights, rows = mechanism._law, np.full((count, mechanism.outputs), LONG(mechanism._law.light))
    assert {len(set(near.tolist())) for near in mechanism._sets.fixed} == {mechanism.near}
    places = mechanism._sets.fixed[:count].astype(np.int64)
    np.put_along_axis(rows, places, LONG(weights.heavy), axis=1)
    out = np.full((count, count), LONG(-np.inf))
    out[:, mechanism.words] = np.log(rows) - np.log(LONG(weights.total))
    return out


def check_finite_words(mechanism):
    distances = long_distances(mechanism.space.vectors)
    law = exact_law(mechanism, distances)
    statement = mechanism.statement
    metric = statement.metric is not None
    allowed = LONG(statement.epsilon) * (distances if metric else 1) + LONG(statement.slack)
    allowed = np.broadcast_to(allowed, distances.shape)
    exponent = getattr(mechanism, "kappa", 0.0) * float(distances.max())
    rounding = 64 * LONG_ROUNDOFF * (1 + exponent)
    assert excess_of(statement, law, allowed * (1 + SHARE) + rounding) <= 0, "the loss is too large"
    # The law as it is told, and as it is sampled from.
    found = mechanism.log_probabilities(np.arange(len(law)))
    off = 4 * exponent * block_error(mechanism.space.dimension) + 64 * ROUNDOFF
    finite = np.isfinite(law)
    assert (np.isfinite(found) == finite).all()
    assert np.abs(found[finite] - law[finite]).max() <= off + 1e-12 * np.abs(law[finite]).max()
    rng = np.random.default_rng(20261101)
    for x in (0, 1, len(law) - 1):
        drawn = mechanism.release(np.full(2000, x), rng)
        assert fits(drawn, np.exp(law[x]).astype(float)), "the sampler is off its law"


def check_noisy_words(mechanism):
    fed, statement = Fed("word", mechanism), mechanism.statement
    centres, noise = fed.centres, mechanism.noise
    rng = np.random.default_rng(20261102)
    first, second = (i.ravel() for i in np.indices((fed.count, fed.count)))
    if statement.notion is Notion.APPROXIMATE:
        check_delta(mechanism, first, second)
    else:
        if statement.metric is None:
            allowed = np.full(len(first), statement.epsilon)
        elif isinstance(mechanism, Mahalanobis):
            allowed = statement.epsilon * mechanism.distance(first, second)
        else:
            distances = long_distances(mechanism.space.vectors)[first, second]
            allowed = (statement.epsilon * distances).astype(float)
        outputs = np.concatenate(
            [centres, centres + noise.width * rng.laplace(size=centres.shape), 2 * centres]
        )
        for output in outputs:
            rows = np.broadcast_to(output, (len(first), len(output)))
            at = [noise.log_density(centres[i], rows) for i in (first, second)]
            size = max(float(np.abs(logs).max()) for logs in at)
            rounding = 64 * ROUNDOFF * (1 + size) * len(output)
            assert (at[0] - at[1] <= allowed * (1 + SHARE) + rounding).all(), "too large a loss"
    if centres.shape[1] == 1:
        check_cells(mechanism, rng)


def check_delta(mechanism, first, second):
    """Delta of every pair, by a closed form for normal noise and exactly for noise in a box."""
    statement, points = mechanism.statement, mechanism.points.astype(np.float64)
    if isinstance(mechanism.noise, GaussianNoise):
        apart = long_distances(points).max()
        multiplier = float(mechanism.noise.standard_deviation / apart)
        assert gaussian_delta(statement.epsilon, multiplier) <= statement.delta * (1 + SHARE)
        return
    scale = Fraction(mechanism.noise.scale)
    for x, y in zip(first, second, strict=True):
        gaps = [abs(Fraction(p) - Fraction(q)) for p, q in zip(points[x], points[y], strict=True)]
        assert sum(gaps) <= Fraction(statement.epsilon) * scale, "the loss inside is too large"
        assert mass_outside(mechanism.noise, gaps) <= statement.delta * (1 + SHARE)


def mass_outside(noise, gaps):
    """The share of a box of truncated Laplace noise that lies outside one shifted by ``gaps``."""
    width = LONG(noise.half_width) / LONG(noise.scale)
    log_inside = LONG(0)
    for gap in gaps:
        shift = LONG(float(gap)) / LONG(noise.scale)
        if shift >= 2 * width:
            return 1.0
        if shift <= width:
            beyond = np.exp(shift - width) * -np.expm1(-shift) / (-2 * np.expm1(-width))
            log_inside += np.log1p(-beyond)
        else:
            log_inside += np.log(-np.expm1(shift - 2 * width) / (-2 * np.expm1(-width)))
            log_inside -= shift - width
    return float(-np.expm1(log_inside))


def check_cells(mechanism, rng):
    """On a line the law of the nearest word is known: where on the grid one word ends."""
    noise, grid = mechanism.noise, mechanism.grid
    places, ids = np.unique(mechanism.points.ravel().astype(np.float64), return_index=True)
    middles = places[:-1] / 2 + places[1:] / 2
    with np.errstate(over="ignore"):
        edges = (np.ceil(middles / grid) - 0.5) * grid
    for x in (0, len(mechanism.points) - 1):
        at = (edges - float(mechanism.points[x, 0])) / noise.width
        steps = np.diff(np.concatenate([[0.0], cdf_of(noise, at), [1.0]]))
        law = np.zeros(len(mechanism.points))
        law[ids] = steps.clip(0)
        drawn = mechanism.release(np.full(2000, x), rng)
        law[np.abs(law) < 1e-13] = 0.0
        few = law[drawn] > 0
        assert few.mean() > 0.99
        # A word within rounding of an edge is left out.
        clear = np.abs(at).min(initial=1.0) > 1e-12 * (
            1 + abs(mechanism.points[x, 0]) / noise.width
        )
        if clear:
            assert fits(drawn[few], law), "the sampler is off its law"


def cdf_of(noise, at):
    if isinstance(noise, GaussianNoise):
        return stats.norm.cdf(at)
    if isinstance(noise, LaplaceNoise) and noise.half_width < math.inf:
        size = at * noise.width / noise.scale
        most = noise.half_width / noise.scale
        part = np.expm1(-np.minimum(np.abs(size), most)) / math.expm1(-most)
        return 0.5 + np.sign(size) * part / 2
    return stats.laplace.cdf(at)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("entry", family("word"))
def test_words(entry, name):
    scale = float(np.abs(SPACES[name]).max())
    held = 0
    for epsilon in sorted({*EPSILONS, 1 / scale, 30 / scale}):
        mechanism = word_mechanism(entry, name, epsilon)
        if mechanism is None:
            continue
        held += 1
        (check_noisy_words if hasattr(mechanism, "noise") else check_finite_words)(mechanism)
        metric = mechanism.statement.metric
        if metric is not None and not isinstance(mechanism, Mahalanobis):
            assert long_distances(SPACES[name]).max() <= LONG(metric.farthest)
    # What is refused at every epsilon is refused for its scale.
    assert held or "1e-12" in name or name == "equal"


def test_boxes_of_random_settings_are_large_enough():
    """Rows that were scaled before they were subtracted gave boxes too small in one of four."""
    rng = np.random.default_rng(20261106)
    for _ in range(150):
        count, dimension = int(rng.integers(2, 5)), int(rng.integers(1, 4))
        offset, spread = 10.0 ** rng.integers(-3, 6), 10.0 ** rng.uniform(-13, 1)
        vectors = offset * (1 + spread * rng.standard_normal((count, dimension)))
        space = EmbeddingSpace.from_arrays("abcd"[:count], vectors)
        epsilon, delta = 10 ** rng.uniform(-4, 2), 10 ** rng.uniform(-8, -1)
        mechanism = TruncatedLaplace(space, epsilon, delta, clip=10 * np.abs(vectors).max())
        check_delta(mechanism, *(i.ravel() for i in np.indices((count, count))))


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 1e-3, 1e-6])
def test_two_neighbouring_numbers_are_hidden_from_each_other(epsilon):
    """At 1e-6 there was no noise at all."""
    space = EmbeddingSpace.from_arrays("ab", [[1000.0], [np.nextafter(1000.0, 2000.0)]])
    mechanism = TruncatedLaplace(space, epsilon, 1e-3, clip=1e4)
    rng = np.random.default_rng(0)
    kept = [int((mechanism.release(np.full(2000, x), rng) == x).sum()) for x in (0, 1)]
    # Both come out about equally often: a word is kept with at most 1 - exp(-epsilon / 2) / 2.
    most = 1 - math.exp(-epsilon / 2) / 2 + 1e-3
    assert all(stats.binomtest(n, 2000, most, "greater").pvalue > LEVEL for n in kept)
    check_delta(mechanism, np.array([0]), np.array([1]))


# -- sentences -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [2, 3, 64])
@pytest.mark.parametrize("entry", family("sentence"))
def test_sentences(entry, dimension):
    rng = np.random.default_rng(20261103)
    some = rng.standard_normal((3, dimension))
    rows = np.concatenate([some, -some[:1], *(some * (1 + s * rng.random(some.shape)) for s in
                           (1e-13, 1e-9, 1e-3))])  # fmt: skip
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for epsilon in EPSILONS:
        mechanism = built(entry, dimension=dimension, epsilon=epsilon, delta=1e-3)
        if mechanism is None:
            continue
        assert np.isfinite(mechanism.release(rows, rng)).all()
        statement = mechanism.statement
        if statement.notion is Notion.APPROXIMATE:
            multiplier = mechanism.noise.standard_deviation / 2
            assert gaussian_delta(epsilon, multiplier) <= statement.delta * (1 + SHARE)
            continue
        fed = Fed("sentence", mechanism)
        wide = rows.astype(LONG)
        apart = np.linalg.norm(wide[:, None] - wide, axis=2)
        if statement.metric is None:
            apart = np.ones_like(apart)
        elif statement.metric.kind is MetricKind.ANGLE:
            apart = 2 * np.arctan2(apart, np.linalg.norm(wide[:, None] + wide, axis=2))
        outputs = np.concatenate([rows, fed.release(np.arange(fed.count), rng)])
        outputs = outputs / np.linalg.norm(outputs, axis=1, keepdims=True)
        if hasattr(mechanism, "noise"):
            outputs = np.concatenate([outputs, mechanism.noise.add_noise(rows, rng)])
        for output in outputs:
            logs = mechanism.log_density(rows, np.broadcast_to(output, rows.shape))
            loss = logs[:, None] - logs
            # Rows are made unit rows once more, which moves each by a rounding or two.
            rounding = 64 * ROUNDOFF * (1 + np.abs(logs).max() + epsilon)
            assert (loss <= epsilon * apart * (1 + SHARE) + rounding).all(), "too large a loss"


# -- documents and labels --------------------------------------------------------------------------

PUBLIC = {
    "choices": np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]),
    "weights": np.array([[1.0, 0.0], [-1.0, 0.5], [0.3, -1.0]]),
    "biases": np.array([0.0, 0.1, 0.3]),
    "centroids": np.array([[-1.0, 0.0], [0.2, 0.0], [0.2 + 1e-7, 0.0], [2.0, -1.0]]),
    "candidates": np.array([[-1.0, 0.0], [0.2, 0.0], [0.2, 1e-7], [2.0, -1.0], [0.0, 0.0]]),
    "projections": np.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]]),
    "lower": np.array([-1.0, -0.3]),
    "upper": np.array([1.0, 0.3]),
}


def check_table(fed, epsilon):
    """The inequality over all pairs of documents or labels, and the sampler."""
    # The law of a choice among so few is right to a few roundings of its logarithm.
    finite = fed.law[np.isfinite(fed.law)]
    rounding = 256 * ROUNDOFF * (1 + np.abs(finite).max())
    allowed = fed.allowed * (1 + SHARE) + rounding
    assert excess_of(fed.mechanism.statement, fed.law, allowed) <= 0, "the loss is too large"
    rng = np.random.default_rng(20261104)
    for x in (0, fed.count - 1):
        drawn = fed.outcomes(np.full(2000, x), rng)
        assert fits(drawn, np.exp(fed.law[x])), f"the sampler is off its law at {epsilon}"


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("entry", family("document"))
def test_documents(entry, scale):
    public = {name: value * (scale if name != "biases" else 1) for name, value in PUBLIC.items()}
    for epsilon in (0.0, *EPSILONS):
        mechanism = built(entry, epsilon=epsilon, **public)
        if mechanism is None:
            assert epsilon < 1e-11
            continue
        fed = Fed("document", mechanism)
        if fed.law is not None:
            check_table(fed, epsilon)
            continue
        rng = np.random.default_rng(20261105)
        every = np.arange(fed.count)
        sums = mechanism.statistic(*fed.fed(every))
        for output in sums[:: fed.count // 4]:
            noisy = output + np.array([0, 1, -(2**40)][: sums.shape[1]])
            logs = mechanism.log_density(*fed.fed(every, np.broadcast_to(noisy, sums.shape)))
            rounding = 64 * ROUNDOFF * (1 + np.abs(logs).max())
            allowed = fed.allowed * (1 + SHARE) + rounding
            assert (logs[:, None] - logs <= allowed).all(), "the loss is too large"
        noise = mechanism.noisy(*fed.fed(np.zeros(2000, int), rng)) - sums[0]
        rate = mechanism._noise.rate
        # Odd numbers come out as often as the law says; they would not if there were gaps.
        a = math.exp(-rate)
        odd = stats.binomtest(int((noise & 1).sum()), noise.size, 2 * a / (1 + a) ** 2)
        assert odd.pvalue > LEVEL
        if rate < 1e-3:
            assert follows(np.abs(noise).ravel() * rate, stats.expon.cdf)


@pytest.mark.parametrize("entry", family("label"))
def test_labels(entry):
    for prior in ((0.25,) * 4, (1 - 3e-12, 1e-12, 1e-12, 1e-12), (0.5, 0.5, 0.0, 0.0)):
        for epsilon in (0.0, *EPSILONS):
            mechanism = built(entry, labels=4, prior=prior, epsilon=epsilon)
            check_table(Fed("label", mechanism), epsilon)


# -- what can be reached ---------------------------------------------------------------------------


class Scripted(np.random.Generator):
    """Uniform numbers as given, one for each call, then real ones; normal and Gamma draws far."""

    def __init__(self, *values):
        super().__init__(np.random.PCG64(1))
        self._values = list(values)

    def random(self, size=None):
        if self._values:
            return np.full(size, self._values.pop(0))
        return super().random(size)

    def standard_normal(self, size=None):
        return np.full(size, 6.5) if self._values else super().standard_normal(size)

    def standard_gamma(self, shape, size=None):
        """As far as NumPy's go in one dimension, and in more far enough."""
        return np.full(size, 44.0 if shape == 1 else shape + 4.0 * math.sqrt(shape) + 9.0)


LARGEST = 1 - 2.0**-53
FAR = 700.0
"""A probability of exp(-700) is one that a floating-point number can hold."""
PUSHED = [LARGEST] * 90


def test_exponential_draws_have_no_end():
    assert exponential((3,), Scripted(*PUSHED)).min() > FAR
    assert bernoulli_exp(np.full(3, FAR), Scripted(*[0.0] * 400)).all()


def test_noise_of_any_dimension_has_no_end():
    zero = np.zeros((2, 1))
    assert np.abs(SphericalNoise(1, 1.0).sample(2, Scripted(*PUSHED))).min() > FAR
    assert np.abs(LaplaceNoise(1.0).add_noise(zero, Scripted(*PUSHED))).min() > FAR
    normal = standard_normal((2,), Scripted(*PUSHED, 0.5, 0.0))
    assert normal.min() ** 2 / 2 > FAR
    assert (
        GaussianNoise(2.0).add_noise(zero, Scripted(*PUSHED, 0.5, 0.0)) == 2 * normal[:, None]
    ).all()
    for dimension in (2, 300):
        pushed = Scripted(*PUSHED, *[0.0] * 10**4)
        assert np.linalg.norm(SphericalNoise(dimension, 1.0).sample(2, pushed), axis=1).min() > FAR
    for width in (1e-10, 0.3, 5.0, 1e3):
        boxed = LaplaceNoise(1.0, width).add_noise(zero, Scripted(*[LARGEST] * 200))
        assert np.abs(boxed).min() > width * (1 - 1e-9)


@pytest.mark.parametrize("shape", [1, 2, 30])
def test_far_draws_follow_their_law(shape):
    """Draws beyond where NumPy's are taken over: their law given that they are there."""
    rng = Scripted()
    norms = np.linalg.norm(SphericalNoise(shape, 1.0).sample(4000, rng), axis=1)
    start = shape + 4 * math.sqrt(shape) + 8
    law = stats.gamma(shape)
    shares = law.sf(norms) / law.sf(start)
    assert norms.min() >= start
    assert follows(shares, stats.uniform.cdf)
    wrong = np.minimum(shares * 1.07, 1)
    assert stats.kstest(wrong, "uniform", method="asymp").pvalue < 1e-3


def test_far_normal_draws_follow_their_law():
    class Far(Scripted):
        def standard_normal(self, size=None):
            return np.full(size, 7.0)

    drawn = standard_normal((4000,), Far())
    assert follows(stats.norm.sf(drawn) / stats.norm.sf(6.0), stats.uniform.cdf)


def test_whole_noise_has_no_end_but_that_of_the_sum(monkeypatch):
    for rate in (SMALLEST_RATE, 1e-6, 0.3, 2.0):
        noise = GeometricNoise(rate)
        pushed = Scripted(*PUSHED, 0.5, *[0.0] * 20)
        drawn = noise.add_noise(np.zeros(2, dtype=np.int64), pushed)
        assert (np.abs(drawn) >= min(FAR / rate / 2, LARGEST_SUM)).all()
    monkeypatch.setattr(whole_noise, "exponential", lambda shape, rng: np.full(shape, 1e9))  # noqa: ARG005
    for rate in (SMALLEST_RATE, 1e-6, 1e-10):
        values = np.array([2**60, 0, -(2**60)])
        sums = GeometricNoise(rate).add_noise(values, np.random.default_rng(0))
        assert (np.abs(sums) == LARGEST_SUM).all() or rate > SMALLEST_RATE
        assert (np.abs(sums - values) >= min(9e8 / rate, 2**60)).all()
    with pytest.raises(InvalidValue, match="rate of the noise must be"):
        GeometricNoise(SMALLEST_RATE / 2)


@pytest.mark.parametrize("rule", RULES)
def test_every_choice_can_be_made(rule):
    """The last choice, at a probability of exp(-700): its own noise pushed as far as that."""
    scores = np.array([[9.0, 8.0]])

    class Second(Scripted):
        def random(self, size=None):
            drawn = np.full(size, 0.5)
            drawn.flat[-1] = LARGEST if self._values and self._values.pop() else 0.5
            return drawn

    assert Selection(rule, 2 * FAR).select(scores, Second(*PUSHED)).tolist() == [1]


@pytest.mark.parametrize("kind", [CMP, RandomProjection])
def test_a_far_word_on_a_line_can_be_reached(kind):
    """At exp(-150) for either side; NumPy's Gamma draws end at exp(-44)."""
    more = {"dimension": 1} if kind is RandomProjection else {}
    space = EmbeddingSpace.from_arrays("abc", [[0.0], [1.0], [-1.0]])
    assert kind(space, 300.0, **more).release([0], Scripted(*PUSHED))[0] != 0


# -- what is refused, and what is told -------------------------------------------------------------


def test_a_space_too_small_for_its_squares_is_refused():
    with pytest.raises(InvalidValue, match="multiply all vectors by one number"):
        euclidean_metric(space_of("line-1e-12"))
    assert euclidean_metric(space_of("equal")).farthest == 0.0


@pytest.mark.parametrize("name", [name for name in SPACES if name != "line-1e-12"])
def test_the_farthest_pair_is_never_farther_than_told(name):
    space = space_of(name)
    try:
        metrics = [euclidean_metric(space), Mahalanobis(space, 1.0).statement.metric]
    except InvalidValue:
        return
    every = np.arange(len(space))
    first, second = np.repeat(every, len(space)), np.tile(every, len(space))
    assert long_distances(space.vectors).max() <= LONG(metrics[0].farthest)
    farthest = Mahalanobis(space, 1.0).distance(first, second).max()
    assert farthest <= metrics[1].farthest <= farthest * (1 + 1e-5)


def test_mechanisms_of_two_shrinkages_have_two_metrics():
    one, other = (Mahalanobis(space_of("plane-1"), 1.0, shrinkage=s) for s in (0.2, 0.2000001))
    assert one.statement.metric != other.statement.metric
    assert "shrinkage 0.2 in" in one.statement.metric.name
