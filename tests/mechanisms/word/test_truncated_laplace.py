"""Truncated Laplace: the noise, the exact mass outside the other box, both calibrations."""

import math

import numpy as np
import pytest
from scipy import stats

from discreet.errors import InvalidValue
from discreet.mechanisms.word import _box
from discreet.mechanisms.word.gaussian import Gaussian
from discreet.mechanisms.word.laplace import Laplace, LaplaceNoise
from discreet.mechanisms.word.truncated_laplace import TruncatedLaplace
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Adjacency, Notion, PrivacyStatement, Unit
from goodness import LEVEL, follows
from small_spaces import both_spaces, clustered_space, random_space

EXAMPLES = {
    f"{name}-{calibration}-{epsilon}": (
        lambda make=make, calibration=calibration, epsilon=epsilon: TruncatedLaplace(
            make(60, dimension=3), epsilon=epsilon, delta=0.01, clip=1.0, calibration=calibration
        )
    )
    for name, make in (("random", random_space), ("clusters", clustered_space))
    for calibration, epsilon in (("certified", 1.0), ("certified", 15.0), ("published", 0.5))
}


def truncated(scale: float, half_width: float):
    """The law of one coordinate, from SciPy's Laplace law."""
    law = stats.laplace(scale=scale)
    low, high = law.cdf(-half_width), law.cdf(half_width)
    return lambda x: np.clip((law.cdf(x) - low) / (high - low), 0.0, 1.0)


def slow_mass(shifts: np.ndarray, scale: float, half_width: float) -> np.ndarray:
    """Mass of one box outside the other, from the distribution function of SciPy."""
    cdf = truncated(scale, half_width)
    return 1.0 - np.prod(cdf(half_width - np.abs(shifts)), axis=-1)


def all_shifts(mechanism: TruncatedLaplace) -> np.ndarray:
    points = mechanism.points.astype(np.float64)
    first, second = np.triu_indices(len(points), 1)
    return np.abs(points[first] - points[second])


def hockey_stick(mechanism_noise, shift: np.ndarray, epsilon: float) -> float:
    """The integral of (p - e^epsilon q)+ in one or two dimensions, exact but for rounding.

    Cells end where a density has an edge or a kink, so Gauss-Legendre is exact in each.
    """
    width = mechanism_noise.half_width
    nodes, weights = np.polynomial.legendre.leggauss(30)
    axes = []
    for s in shift:
        cuts = np.unique([-width, s - width, 0.0, s, width, s + width])
        middle, half = (cuts[1:] + cuts[:-1]) / 2, (cuts[1:] - cuts[:-1]) / 2
        axes.append(
            ((middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel())
        )
    grid = np.stack([g.ravel() for g in np.meshgrid(*(a for a, _ in axes), indexing="ij")], axis=1)
    volume = np.prod([g.ravel() for g in np.meshgrid(*(w for _, w in axes), indexing="ij")], axis=0)
    origin, other = np.zeros_like(grid), np.tile(shift, (len(grid), 1))
    p = np.exp(mechanism_noise.log_density(origin, grid))
    q = np.exp(mechanism_noise.log_density(other, grid))
    assert (volume * p).sum() == pytest.approx(1.0, abs=1e-9)
    return float((volume * np.maximum(p - math.exp(epsilon) * q, 0.0)).sum())


# -- the noise -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("scale", "half_width"), [(1.0, 0.01), (2.0, 3.0), (0.1, 0.9), (5.0, 300)])
def test_noise_follows_the_law_and_a_5_percent_error_is_seen(scale, half_width):
    noise = LaplaceNoise(scale, half_width)
    vectors = np.tile([0.3, -2.0, 5.0, 0.0], (100_000, 1))
    draws = noise.add_noise(vectors, np.random.default_rng(2)) - vectors
    assert np.abs(draws).max() <= half_width * (1 + 1e-12)
    for column in draws.T:
        assert follows(column, truncated(scale, half_width))
    if half_width < 5 * scale:  # farther out the edge is hardly ever met
        assert not follows(draws.ravel(), truncated(scale, 1.05 * half_width))
    if half_width >= scale:
        assert not follows(draws.ravel(), truncated(1.06 * scale, half_width))
    assert np.std(draws) == pytest.approx(noise.standard_deviation, rel=0.01)


def test_standard_deviation_is_smooth_where_the_formula_changes():
    below = LaplaceNoise(1.0, 0.0099999).standard_deviation / 0.0099999
    above = LaplaceNoise(1.0, 0.0100001).standard_deviation / 0.0100001
    assert below == pytest.approx(above, rel=1e-6)
    assert LaplaceNoise(1.0, 1e-9).standard_deviation == pytest.approx(1e-9 / 3**0.5)
    assert LaplaceNoise(1.0, 1e3).standard_deviation == pytest.approx(2**0.5)


def test_density_is_normalised_and_nothing_outside():
    noise = LaplaceNoise(0.7, 1.2)
    assert hockey_stick(noise, np.array([0.5, 0.1]), 0.3) >= 0  # asserts the mass itself
    rng = np.random.default_rng(4)
    vectors = rng.standard_normal((200, 3))
    outputs = vectors + rng.uniform(-1.5, 1.5, (200, 3))
    inside = (np.abs(outputs - vectors) <= 1.2).all(axis=1)
    law = stats.laplace(scale=0.7)
    expected = (law.logpdf(outputs - vectors) - np.log(2 * law.cdf(1.2) - 1)).sum(axis=1)
    found = noise.log_density(vectors, outputs)
    assert 20 < inside.sum() < 180
    assert np.allclose(found[inside], expected[inside], rtol=1e-12)
    assert (found[~inside] == -np.inf).all()


def test_every_number_gets_its_own_noise():
    noise = LaplaceNoise(1.0, 2.0)
    draws = noise.add_noise(np.zeros((50_000, 3)), np.random.default_rng(3))
    for table in (draws, np.abs(draws), np.sign(draws)):
        correlation = np.corrcoef(np.column_stack([table[:-1], table[1:]]).T)
        assert np.abs(correlation - np.eye(6)).max() < 6.2 / math.sqrt(50_000)


# -- the mass outside the other box --------------------------------------------------------------

SHIFTS = [
    (1.0, 1.5, [0.4, 0.3]),
    (0.5, 0.7, [1.0, 0.2]),
    (2.0, 1.0, [1.5]),
    (3.0, 4.0, [0.5, 0.5, 0.5, 1.0]),
    (1.0, 4.0, [0.2] * 20),
]


@pytest.mark.parametrize(("scale", "half_width", "shift"), SHIFTS)
def test_mass_formula_against_scipy_and_by_drawing(scale, half_width, shift):
    shift = np.array(shift)
    exponent = _box.coordinate_exponent(shift / scale, half_width / scale).sum()
    mass = -math.expm1(-exponent)
    assert mass == pytest.approx(slow_mass(shift, scale, half_width), rel=1e-12)
    noise = LaplaceNoise(scale, half_width)
    draws = noise.add_noise(np.zeros((200_000, len(shift))), np.random.default_rng(8))
    hits = int((np.abs(draws - shift) > half_width).any(axis=1).sum())
    assert stats.binomtest(hits, 200_000, mass).pvalue > LEVEL
    for wrong in (mass * 1.1, mass / 1.1):
        assert wrong > 1 or stats.binomtest(hits, 200_000, wrong).pvalue < LEVEL


def test_mass_at_the_ends():
    exponents = _box.coordinate_exponent(np.array([0.0, 1e-300, 2.0, 3.999, 4.0, 9.0]), 2.0)
    assert exponents[0] == 0.0
    assert exponents[1] > 0
    assert exponents[2] == pytest.approx(math.log(2))
    assert 7 < exponents[3] < math.inf
    assert (exponents[4:] == math.inf).all()


@pytest.mark.parametrize("width", [0.3, 2.0, 15.0])
def test_coordinate_exponent_is_convex_and_its_bounds_hold(width):
    grid = np.linspace(0, 1.99 * width, 4001)
    values = _box.coordinate_exponent(grid, width)
    assert np.diff(values).min() > 0
    assert np.diff(values, 2).min() > -1e-12 * values.max()
    rng = np.random.default_rng(1)
    for _ in range(300):
        shift = rng.dirichlet(np.full(6, rng.choice([0.1, 1.0, 10.0]))) * rng.uniform(
            0, 1.9 * width
        )
        truth = _box.coordinate_exponent(shift, width).sum()
        reach = _box.Reach(shift.sum(), math.sqrt((shift**2).sum()), shift.max())
        assert truth <= reach.exponent(width)
        wider = _box.Reach(reach.l1, reach.l2, 1.3 * reach.linf)
        assert truth <= wider.exponent(width)
    # Tight when no coordinate sticks out, which is the case that matters.
    even = _box.Reach(300 * 0.004 * width, math.sqrt(300) * 0.004 * width, 0.02 * width)
    truth = 300 * float(_box.coordinate_exponent(np.array(0.004 * width), width))
    assert even.exponent(width) == pytest.approx(truth, rel=1e-2)


@pytest.mark.parametrize("numbers", [2**20, 500])
@pytest.mark.parametrize("space", both_spaces(80), ids=lambda s: s.name)
def test_worst_pair_is_found_among_all(space, numbers, monkeypatch):
    monkeypatch.setattr(_box, "_BLOCK_NUMBERS", numbers)
    monkeypatch.setattr(_box, "_PAIRS_AT_ONCE", 7)
    points = space.vectors
    linf = float(np.ptp(points, axis=0).max())
    for rate, width in ((0.1, 3.0), (1.0, 8.0), (1.0, 4.0), (3.0, 60.0)):
        found, shift = _box.exponent(points, rate, rate * linf, width)
        gaps = np.abs(points[:, None, :] - points[None, :, :]) * rate
        truth = _box.coordinate_exponent(gaps, width).sum(axis=2).max()
        assert truth <= found
        assert found <= truth * (1 + 1e-9) or math.isinf(truth)
        assert shift.shape == (space.dimension,)


def test_the_width_that_always_suffices_does():
    rng = np.random.default_rng(6)
    for _ in range(500):
        epsilon, delta = 10 ** rng.uniform(-2, 1.3), 10 ** rng.uniform(-9, -0.01)
        shift = epsilon * rng.dirichlet(np.full(rng.integers(1, 9), rng.choice([0.05, 0.5, 5.0])))
        width = _box.enough_width(epsilon, delta)
        exponent = float(_box.coordinate_exponent(shift, width).sum())
        assert -math.expm1(-exponent) <= delta * (1 + 1e-12)
    # One coordinate meets it.
    width = _box.enough_width(2.0, 1e-4)
    exponent = float(_box.coordinate_exponent(np.array([2.0]), width).sum())
    assert -math.expm1(-exponent) == pytest.approx(1e-4, rel=1e-6)


# -- certified -----------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-9, 1e-4, 0.1, 0.7])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("space", both_spaces(70), ids=lambda s: s.name)
def test_certified_box_is_the_smallest(space, epsilon, delta):
    mechanism = TruncatedLaplace(space, epsilon, delta, clip=1.0)
    noise, shifts = mechanism.noise, all_shifts(mechanism)
    assert shifts.sum(axis=1).max() / noise.scale <= epsilon * (1 + 1e-12)

    def worst(half_width):
        widths = half_width / noise.scale
        exponents = _box.coordinate_exponent(shifts / noise.scale, widths).sum(axis=1)
        return -math.expm1(-exponents.max())

    assert mechanism.true_delta_is_exact
    assert worst(noise.half_width) <= delta
    assert worst(0.99 * noise.half_width) > delta
    assert worst(noise.half_width) == pytest.approx(mechanism.true_delta, rel=1e-6)
    if delta > 1e-6:  # beyond, the differences of SciPy's distribution function lose their digits
        slow = slow_mass(shifts, noise.scale, noise.half_width).max()
        assert slow == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 0.01), (1.0, 1e-4), (4.0, 0.05)])
def test_certified_inequality_by_density_and_mutants_break_it(dimension, epsilon, delta):
    space = random_space(15, dimension)
    mechanism = TruncatedLaplace(space, epsilon, delta, clip=1.0)
    noise = mechanism.noise
    found = [hockey_stick(noise, shift, epsilon) for shift in all_shifts(mechanism)]
    assert max(found) <= delta * (1 + 1e-6)
    assert max(found) >= delta * (1 - 1e-6)
    worst = all_shifts(mechanism)[int(np.argmax(found))]
    smaller = LaplaceNoise(noise.scale, 0.95 * noise.half_width)
    assert hockey_stick(smaller, worst, epsilon) > delta * 1.01
    # A rate that is too high loses more than epsilon where the boxes overlap.
    far = all_shifts(mechanism)[int(all_shifts(mechanism).sum(axis=1).argmax())]
    sharper = LaplaceNoise(0.8 * noise.scale, noise.half_width)
    assert hockey_stick(sharper, far, epsilon) > delta * 1.01


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (10.0, 1e-5)])
def test_bound_of_large_spaces_is_safe_and_hardly_wider(epsilon, delta, monkeypatch):
    space = random_space(150, dimension=60)
    exact = TruncatedLaplace(space, epsilon, delta, clip=1.0)
    monkeypatch.setattr(_box, "MOST_WORK", 0.0)
    bound = TruncatedLaplace(space, epsilon, delta, clip=1.0)
    assert (exact.true_delta_is_exact, bound.true_delta_is_exact) == (True, False)
    assert exact.half_width <= bound.half_width <= 1.01 * exact.half_width
    assert slow_mass(all_shifts(bound), bound.noise.scale, bound.half_width).max() <= delta * 1.0001
    assert bound.true_delta <= delta
    assert bound.half_width <= _box.enough_width(epsilon, delta) * bound.noise.scale * (1 + 1e-9)


def test_search_that_would_take_too_long_ends_with_the_bound(monkeypatch):
    space = random_space(150, dimension=20)
    exact = TruncatedLaplace(space, 30.0, 1e-5, clip=1.0)
    monkeypatch.setattr(_box, "MOST_EXACT", 20.0)
    bound = TruncatedLaplace(space, 30.0, 1e-5, clip=1.0)
    assert (exact.true_delta_is_exact, bound.true_delta_is_exact) == (True, False)
    assert exact.half_width < bound.half_width
    assert exact.true_delta <= 1e-5
    assert bound.true_delta <= 1e-5


def test_one_dimension_is_the_known_mechanism():
    space = EmbeddingSpace.from_arrays("abc", [[-1.0], [0.2], [1.0]])
    mechanism = TruncatedLaplace(space, epsilon=0.5, delta=1e-3, clip=1.0)
    known = 2 / 0.5 * math.log(1 + (math.exp(0.5) - 1) / 2e-3)
    assert mechanism.half_width == pytest.approx(known, rel=1e-6)


def test_corrected_noise_is_hardly_smaller_than_laplace_and_far_above_gaussian():
    space = random_space(20, dimension=300)
    arguments = {"clip": 2.0, "sensitivity": "general"}
    mechanism = TruncatedLaplace(space, 1.0, 1e-5, **arguments)
    assert mechanism.half_width / 2.0 == pytest.approx(374.87, abs=0.1)
    box = mechanism.noise.standard_deviation / 2.0
    laplace = Laplace(space, 1.0, **arguments).noise.standard_deviation / 2.0
    gaussian = Gaussian(space, 1.0, 1e-5, **arguments).noise.standard_deviation / 2.0
    assert box == pytest.approx(48.96, abs=0.005)
    assert laplace == pytest.approx(48.99, abs=0.005)
    assert gaussian == pytest.approx(7.46, abs=0.005)


@pytest.mark.parametrize("delta", [1e-300, 1e-12, 0.999])
@pytest.mark.parametrize("epsilon", [1e-6, 700.0, 1e5])
def test_extreme_parameters_give_a_finite_box(epsilon, delta):
    mechanism = TruncatedLaplace(random_space(40), epsilon, delta, clip=1.0)
    assert 0 < mechanism.half_width < math.inf
    assert mechanism.true_delta <= delta
    assert mechanism.release(np.arange(40), np.random.default_rng(0)).shape == (40,)


# -- published -----------------------------------------------------------------------------------


def _pair(dimension: int, *, spread: bool) -> EmbeddingSpace:
    vector = np.full(dimension, dimension**-0.5) if spread else np.eye(dimension)[0]
    return EmbeddingSpace.from_arrays(["a", "b"], np.array([vector, -vector]))


@pytest.mark.parametrize(("spread", "truth"), [(True, 0.987), (False, 0.248)])
def test_the_paper_s_own_setting(spread, truth):
    mechanism = TruncatedLaplace(
        _pair(300, spread=spread), 0.1, 4.0**-300, clip=1.0, calibration="published"
    )
    assert mechanism.delta == pytest.approx(2.4e-181, rel=0.01)
    assert mechanism.half_width == pytest.approx(4.023, abs=0.001)
    assert mechanism.true_delta == pytest.approx(truth, abs=0.0005)
    assert mechanism.statement.delta == mechanism.true_delta
    draws = mechanism.noisy(np.zeros(20_000, dtype=np.int64), np.random.default_rng(0))
    outside = (np.abs(draws - mechanism.points[1]) > mechanism.half_width).any(axis=1)
    assert stats.binomtest(int(outside.sum()), 20_000, mechanism.true_delta).pvalue > LEVEL


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.01), (0.25, 0.01), (0.5, 0.05)])
def test_published_claim_is_false_in_two_dimensions_and_its_statement_true(epsilon, delta):
    mechanism = TruncatedLaplace(
        _pair(2, spread=True), epsilon, delta, clip=1.0, calibration="published"
    )
    rate = epsilon / (2 * math.sqrt(2))
    share = epsilon / (2 * math.sqrt(delta) * math.sqrt(2))
    assert mechanism.half_width == pytest.approx(-math.log(1 - share) / rate)
    found = hockey_stick(mechanism.noise, all_shifts(mechanism)[0], epsilon)
    assert found > 1.4 * delta, "the claimed delta is exceeded"
    assert found <= mechanism.statement.delta * (1 + 1e-9)
    assert found == pytest.approx(mechanism.statement.delta, rel=1e-6)
    assert mechanism.statement.epsilon == epsilon
    (caveat,) = mechanism.statement.caveats
    assert f"the paper claims delta = {delta:.3g}" in caveat


def test_published_claim_is_true_in_one_dimension():
    space = random_space(40, dimension=1)
    mechanism = TruncatedLaplace(space, 0.1, 0.2, clip=1.0, calibration="published")
    assert mechanism.true_delta <= 0.2
    assert mechanism.statement.caveats == ()
    found = [hockey_stick(mechanism.noise, s, 0.1) for s in all_shifts(mechanism)[::20]]
    assert max(found) <= mechanism.statement.delta * (1 + 1e-9)


def test_published_delta_is_that_of_the_worst_pair_and_the_bound_is_above(monkeypatch):
    for space in both_spaces(60):
        arguments = {"delta": 1e-4, "clip": 1.0, "calibration": "published"}
        exact = TruncatedLaplace(space, 0.1, **arguments)
        slow = slow_mass(all_shifts(exact), exact.noise.scale, exact.half_width).max()
        assert exact.true_delta == pytest.approx(slow, rel=1e-9)
        with monkeypatch.context() as patch:
            patch.setattr(_box, "MOST_WORK", 0.0)
            bound = TruncatedLaplace(space, 0.1, **arguments)
        assert slow <= bound.true_delta <= 1.3 * slow
        assert bound.half_width == exact.half_width
        assert 1e-4 < bound.least_delta <= slow
        assert bound.least_delta >= 0.7 * slow
        assert exact.least_delta == exact.true_delta
        assert "at least" in bound.statement.caveats[0]


def test_no_guarantee_is_said_when_there_is_none():
    mechanism = TruncatedLaplace(
        _pair(1600, spread=True), 0.1, 0.5, clip=1.0, calibration="published"
    )
    assert mechanism.true_delta == 1.0
    assert mechanism.statement.notion is Notion.NONE
    assert PrivacyStatement.from_json(mechanism.statement.to_json()) == mechanism.statement
    assert "the paper claims delta = 0.5" in mechanism.statement.caveats[0]


def test_a_delta_that_is_no_number_is_given_by_its_logarithm():
    space = EmbeddingSpace.from_arrays(["a", "b", "c"], [[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    arguments = {"clip": 1.0, "calibration": "published", "dummy_dimensions": 398}
    by_number = TruncatedLaplace(space, 5.0, delta=4.0**-400, **arguments)
    by_log = TruncatedLaplace(space, 5.0, delta=1e-5, log_delta=-400 * math.log(4), **arguments)
    assert by_log.half_width == pytest.approx(by_number.half_width, rel=1e-12)
    assert by_log.statement.delta == pytest.approx(by_number.statement.delta, rel=1e-9)
    # 4 ** -1700 is 0 to a computer; delta ** (1/d) is 1/4 all the same.
    arguments["dummy_dimensions"] = 1698
    far = TruncatedLaplace(space, 20.0, delta=1e-5, log_delta=-1700 * math.log(4), **arguments)
    wanted = -math.log1p(-20 / (0.5 * math.sqrt(1700))) * far.noise.scale
    assert far.half_width == pytest.approx(wanted, rel=1e-9)
    assert "claims delta = 1e-1024 " in far.statement.caveats[0]


def test_dummy_dimensions_open_the_range_that_the_message_names():
    space = random_space(30, dimension=4)
    limit = 2 * 0.01**0.25 * math.sqrt(4)
    arguments = {"delta": 0.01, "clip": 1.0, "calibration": "published"}
    for epsilon in (limit * 1.0001, 5.0, 40.0):
        with pytest.raises(InvalidValue, match=r"below 2 \* delta.*dummy_dimensions=") as error:
            TruncatedLaplace(space, epsilon, **arguments)
        named = int(str(error.value).split("dummy_dimensions=")[1].split()[0])
        mechanism = TruncatedLaplace(space, epsilon, dummy_dimensions=named, **arguments)
        with pytest.raises(InvalidValue, match=f"dummy_dimensions={named}"):
            TruncatedLaplace(space, epsilon, dummy_dimensions=named - 1, **arguments)
        d = 4 + named
        share = epsilon / (2 * 0.01 ** (1 / d) * math.sqrt(d))
        scale = 2 * math.sqrt(d) / epsilon
        assert mechanism.noise.scale == pytest.approx(scale)
        assert mechanism.half_width == pytest.approx(-scale * math.log(1 - share))
        assert mechanism.noisy(np.arange(3), np.random.default_rng(0)).shape == (3, 4)


# -- statements and bad input --------------------------------------------------------------------


def test_statement():
    statement = TruncatedLaplace(random_space(), epsilon=3, delta=1e-6, clip=1).statement
    assert statement.notion is Notion.APPROXIMATE
    assert (statement.epsilon, statement.delta) == (3.0, 1e-6)
    assert (statement.unit, statement.adjacency) == (Unit.WORD, Adjacency.REPLACE)
    assert "any two words of the vocabulary" in statement.scope
    assert "the clipping norm" in statement.public
    assert statement.caveats == ()


def test_duplicates_are_fine():
    vectors = np.repeat(random_space(20).vectors, 2, axis=0)
    space = EmbeddingSpace.from_arrays(map(str, range(40)), vectors)
    mechanism = TruncatedLaplace(space, epsilon=2.0, delta=1e-3, clip=5.0)
    assert mechanism.release(np.arange(40), np.random.default_rng(0)).shape == (40,)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "2", None, True])
@pytest.mark.parametrize("name", ["epsilon", "clip"])
def test_bad_numbers(name, value):
    arguments = {"epsilon": 1.0, "delta": 1e-5, "clip": 1.0, name: value}
    with pytest.raises(
        InvalidValue, match=f"{name} of TruncatedLaplace must be a finite number above 0; got"
    ):
        TruncatedLaplace(random_space(), **arguments)


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.5, float("nan"), float("inf"), "0.1", None])
@pytest.mark.parametrize("calibration", ["certified", "published"])
def test_bad_delta(value, calibration):
    with pytest.raises(
        InvalidValue, match="delta of TruncatedLaplace must be a number between 0 and 1"
    ):
        TruncatedLaplace(random_space(), 1, delta=value, clip=1, calibration=calibration)


BAD = {
    "delta too small": ({"delta": 1e-301}, "delta of TruncatedLaplace must be at least 1e-300"),
    "overflow": (
        {"epsilon": 1e-308, "clip": 1e10, "sensitivity": "general"},
        "noise of TruncatedLaplace is too large",
    ),
    "calibration": ({"calibration": "best"}, "calibration of TruncatedLaplace must be one of"),
    "sensitivity": ({"sensitivity": "best"}, "sensitivity of TruncatedLaplace must be one of"),
    "dummies with certified": ({"dummy_dimensions": 3}, "belong to calibration published"),
    "a logarithm with certified": ({"log_delta": -5.0}, "belongs to calibration published"),
    "a logarithm above delta's": (
        {"log_delta": -0.1, "calibration": "published"},
        "log_delta of TruncatedLaplace must be",
    ),
    "dummies below 0": ({"dummy_dimensions": -1}, "dummy_dimensions of TruncatedLaplace must be"),
    "half a dummy": ({"dummy_dimensions": 0.5}, "dummy_dimensions of TruncatedLaplace must be"),
}


@pytest.mark.parametrize("name", BAD)
def test_other_bad_input(name):
    arguments, message = BAD[name]
    with pytest.raises(InvalidValue, match=message):
        TruncatedLaplace(random_space(), **{"epsilon": 1, "delta": 1e-5, "clip": 1, **arguments})


def test_words_at_one_point_are_an_error():
    same = EmbeddingSpace.from_arrays("ab", [[3.0, 4.0], [3.0, 4.0]])
    for calibration in ("certified", "published"):
        with pytest.raises(InvalidValue, match="have the same vector after clipping"):
            TruncatedLaplace(same, 0.1, 1e-2, clip=1, calibration=calibration)
