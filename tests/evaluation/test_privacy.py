"""N_x, S_x and S*_y against the slowest, most obvious way to get them."""

import itertools
import math
from dataclasses import asdict
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import InvalidValue
from discreet.evaluation import privacy
from discreet.evaluation.privacy import (
    likely_outputs,
    output_privacy,
    renyi_entropy,
    word_privacy,
)
from discreet.evaluation.privacy_report import Summary
from discreet.mechanisms.word import SanText, SanTextPlus
from discreet.spaces.space import EmbeddingSpace
from goodness import LEVEL
from small_spaces import both_spaces, clustered_space, random_space

SEED = 20260214


class Tabled:
    """A mechanism with the law that a table of probabilities says."""

    name = "tabled"

    def __init__(self, table):
        self.table = np.asarray(table, dtype=float)
        vectors = np.arange(len(self.table), dtype=float)[:, None]
        self.space = EmbeddingSpace.from_arrays([f"w{i}" for i in range(len(vectors))], vectors)
        self.most_rows = 0

    def log_probabilities(self, ids):
        self.most_rows = max(self.most_rows, len(ids))
        with np.errstate(divide="ignore"):
            return np.log(self.table[ids])


class Dealt:
    """A mechanism without a formula whose draws come in exactly the tabled proportions.

    Simulated figures are then those of the law itself, with nothing left to chance.
    """

    name = "dealt"

    def __init__(self, counts):
        self.counts = np.asarray(counts)
        self.space = Tabled(self.counts).space
        self.most_draws = 0

    def release(self, ids, rng):
        self.most_draws = max(self.most_draws, len(ids))
        out = np.empty(len(ids), dtype=np.int64)
        for word in np.unique(ids):
            cards = np.repeat(np.arange(len(self.counts)), self.counts[word])
            places = np.flatnonzero(ids == word)
            assert len(places) % len(cards) == 0
            decks = np.tile(cards, (len(places) // len(cards), 1))
            out[places] = rng.permuted(decks, axis=1).ravel()
        return out


class Hidden:
    """Another mechanism without its formula."""

    name = "hidden"

    def __init__(self, mechanism):
        self.space, self.statement, self.release = (
            mechanism.space,
            mechanism.statement,
            mechanism.release,
        )


def smallest_set(weights, mass: float) -> int:
    """By trying all sets of every size."""
    weights = [float(w) for w in weights]
    needed = mass * math.fsum(weights) - 1e-13
    for size in range(1, len(weights) + 1):
        if any(math.fsum(c) >= needed for c in itertools.combinations(weights, size)):
            return size
    raise AssertionError("the whole set has all the mass")


def small_mechanisms():
    for space in both_spaces(9):
        for epsilon in (0.5, 3.0, 8.0):
            yield SanText(space, epsilon, calibration="published")
        yield SanTextPlus(space, 2.0, sensitive=[1, 3, 4, 8], p=0.4, calibration="published")


def uneven_prior(count: int) -> np.ndarray:
    prior = np.random.default_rng(4).exponential(size=count) ** 2
    prior[2] = 0.0
    return prior


@pytest.mark.parametrize("mass", [0.3, 0.8, 0.95, 0.999])
def test_words_agree_with_all_sets_of_outputs(mass):
    for mechanism in small_mechanisms():
        law = np.exp(mechanism.log_probabilities(np.arange(9)))
        ids = [4, 0, 4, 8]
        found = word_privacy(mechanism, ids, mass=mass, runs=50)
        assert found.exact
        assert found.ids.tolist() == ids
        assert found.keep == pytest.approx(law[ids, ids], rel=1e-12)
        assert found.options.tolist() == [smallest_set(law[x], mass) for x in ids]
        once = [sum(1 - (1 - p) ** 50 for p in law[x]) for x in ids]
        assert found.distinct == pytest.approx(once, rel=1e-9)


@pytest.mark.parametrize("mass", [0.3, 0.8, 0.95, 0.999])
@pytest.mark.parametrize("with_prior", [False, True])
def test_outputs_agree_with_all_sets_of_inputs(mass, with_prior):
    prior = uneven_prior(9) if with_prior else None
    for mechanism in small_mechanisms():
        law = np.exp(mechanism.log_probabilities(np.arange(9)))
        joint = law * (np.ones(9) if prior is None else prior)[:, None]
        outputs = [y for y in (5, 1, 8, 5) if joint[:, y].any()]
        found = output_privacy(mechanism, outputs, prior, mass=mass, runs=50)
        assert found.exact
        assert found.outputs.tolist() == outputs
        assert found.inputs.tolist() == [smallest_set(joint[:, y], mass) for y in outputs]
        best = [joint[:, y].max() / joint[:, y].sum() for y in outputs]
        assert found.guess == pytest.approx(best, rel=1e-12)
        possible = np.ones(9, bool) if prior is None else prior > 0
        once = [sum(1 - (1 - p) ** 50 for p in law[possible, y]) for y in outputs]
        assert found.distinct == pytest.approx(once, rel=1e-9)


@pytest.mark.parametrize("count", [7, 20, 1000])
@pytest.mark.parametrize("mass", [0.5, 0.95, 0.999])
def test_uniform_hides_everything(count, mass):
    mechanism = Tabled(np.full((count, count), 1 / count))
    expected = math.ceil(Fraction(str(mass)) * count)
    words = word_privacy(mechanism, [0, count - 1], mass=mass)
    assert words.keep == pytest.approx([1 / count] * 2)
    assert words.options.tolist() == [expected] * 2
    outputs = output_privacy(mechanism, [0, count - 1], mass=mass)
    assert outputs.inputs.tolist() == [expected] * 2
    assert outputs.guess == pytest.approx([1 / count] * 2)


def test_a_huge_epsilon_hides_nothing():
    space = random_space(50)
    mechanism = SanText(space, epsilon=1e6, calibration="published")
    words = word_privacy(mechanism, np.arange(50), mass=0.999)
    assert words.keep == pytest.approx(np.ones(50))
    assert (words.options == 1).all()
    assert words.distinct == pytest.approx(np.ones(50))
    outputs = output_privacy(mechanism, np.arange(50), mass=0.999)
    assert (outputs.inputs == 1).all()
    assert outputs.guess == pytest.approx(np.ones(50))


def test_an_output_that_all_inputs_give_below_the_smallest_float_still_has_a_posterior():
    class Remote(Tabled):
        def log_probabilities(self, ids):
            return np.array([[0.0, -1000.0], [0.0, -1000.0 + math.log(3)]])[ids]

    found = output_privacy(Remote(np.eye(2)), [1], mass=0.7)
    assert found.inputs.tolist() == [1]
    assert found.guess == pytest.approx([0.75])


def test_an_output_that_cannot_come_out_has_no_inputs():
    for exact in (True, False):
        mechanism = Tabled([[0.5, 0.5, 0.0]] * 3)
        if not exact:
            mechanism = Dealt([[1, 1, 0]] * 3)
        found = output_privacy(mechanism, [2, 0], runs=2)
        assert found.inputs.tolist() == [0, 3]
        assert found.guess == pytest.approx([0.0, 1 / 3])
        assert found.distinct[0] == 0


def test_a_word_that_santext_plus_kept_is_disclosed():
    space = clustered_space(60)
    mechanism = SanTextPlus(space, 3.0, sensitive=np.arange(30, 60), p=0.3)
    # Of the 60 words the unknown token, word 0, is sensitive too.
    found = output_privacy(mechanism, [5, 40])
    assert found.inputs[0] == 1
    assert found.guess[0] == 1
    assert found.inputs[1] > 10
    assert word_privacy(mechanism, [5]).keep == pytest.approx([0.7])


@pytest.mark.parametrize("space", both_spaces(80), ids=lambda s: s.name)
def test_more_epsilon_hides_less(space):
    everything = np.arange(len(space))
    found = []
    for epsilon in (0.2, 1.0, 3.0, 8.0, 30.0):
        mechanism = SanText(space, epsilon, calibration="published")
        found.append((word_privacy(mechanism, everything), output_privacy(mechanism, everything)))
    for (words, outputs), (sharper_words, sharper_outputs) in itertools.pairwise(found):
        # For this law both hold word by word; S*_y falls on the whole.
        assert (sharper_words.keep > words.keep).all()
        assert (sharper_words.options <= words.options).all()
        assert sharper_outputs.inputs.sum() <= outputs.inputs.sum()
        assert sharper_outputs.guess.mean() > outputs.guess.mean()
    assert found[-1][0].options.sum() < found[0][0].options.sum() / 2
    assert found[-1][1].inputs.sum() < found[0][1].inputs.sum() / 2


COUNTS = np.array(
    [
        [10, 5, 3, 2, 0],
        [1, 1, 1, 1, 16],
        [4, 4, 4, 4, 4],
        [0, 0, 20, 0, 0],
        [7, 6, 0, 6, 1],
    ]
)


@pytest.mark.parametrize("mass", [0.4, 0.8, 0.95])
@pytest.mark.parametrize("draws_at_once", [2**20, 45])
def test_simulation_counts_like_the_law(mass, draws_at_once, monkeypatch):
    monkeypatch.setattr(privacy, "_DRAWS", draws_at_once)
    dealt, tabled = Dealt(COUNTS), Tabled(COUNTS / 20)
    rng = np.random.default_rng(SEED)
    ids = [3, 0, 1, 2, 4, 0]
    simulated = word_privacy(dealt, ids, mass=mass, runs=20, rng=rng)
    exact = word_privacy(tabled, ids, mass=mass)
    assert not simulated.exact
    assert simulated.keep == pytest.approx(exact.keep)
    assert simulated.options.tolist() == exact.options.tolist()
    assert simulated.distinct.tolist() == [(COUNTS[x] > 0).sum() for x in ids]
    assert dealt.most_draws <= max(draws_at_once, 20)

    for prior in (None, [5, 1, 0, 2, 0.5]):
        outputs = [4, 1, 4, 2]
        simulated = output_privacy(dealt, outputs, prior, mass=mass, runs=20, rng=rng)
        exact = output_privacy(tabled, outputs, prior, mass=mass)
        assert not simulated.exact
        assert simulated.inputs.tolist() == exact.inputs.tolist()
        assert simulated.guess == pytest.approx(exact.guess)
        possible = np.ones(5, bool) if prior is None else np.array(prior) > 0
        assert simulated.distinct.tolist() == [(COUNTS[possible, y] > 0).sum() for y in outputs]


def bounds_on_simulation(law: np.ndarray, mass: float, runs: int) -> tuple[float, list, list]:
    """How far keep may be off, and between what options must lie, at the level of the suite.

    Hoeffding bounds a frequency. For options: the empirical law differs from the law on any set by
    at most their total variation, whose mean is at most sqrt(V / runs) / 2, and which exceeds its
    mean by t with probability at most exp(-2 runs t^2).
    """
    words, outputs = law.shape
    off = math.sqrt(math.log(4 * words / LEVEL) / (2 * runs))
    variation = math.sqrt(outputs / runs) / 2 + off
    ordered = np.cumsum(np.sort(law, axis=1)[:, ::-1], axis=1)
    fewest = [(row < mass - variation).sum() + 1 for row in ordered]
    most = [(row < mass + variation).sum() + 1 for row in ordered]
    return off, fewest, most


def test_simulation_agrees_with_the_law_and_a_wrong_law_is_seen():
    space, runs, mass = random_space(40, dimension=3), 40_000, 0.8
    mechanism = SanText(space, 3.0, calibration="published")
    ids = np.arange(0, 40, 2)
    rng = np.random.default_rng(SEED)
    simulated = word_privacy(Hidden(mechanism), ids, mass=mass, runs=runs, rng=rng)
    assert not simulated.exact

    def agrees(law: np.ndarray) -> bool:
        off, fewest, most = bounds_on_simulation(law, mass, runs)
        assert np.subtract(most, fewest).max() <= 10, "the bounds must be of some use"
        kept = np.abs(simulated.keep - law[np.arange(20), ids]).max() <= off
        counted = (simulated.options >= fewest).all() and (simulated.options <= most).all()
        return bool(kept and counted)

    assert agrees(np.exp(mechanism.log_probabilities(ids))), f"seed {SEED}"
    wrong = SanText(space, 3.0 * 1.2, calibration="published")
    assert not agrees(np.exp(wrong.log_probabilities(ids)))


def test_few_runs_give_a_lower_estimate():
    mechanism = SanText(random_space(200), 0.1, calibration="published")
    ids = np.arange(50)
    few = word_privacy(Hidden(mechanism), ids, runs=20, rng=np.random.default_rng(SEED))
    assert few.options.max() <= 20
    assert word_privacy(mechanism, ids).options.min() > 150


@pytest.mark.parametrize("numbers", [1, 200, 10**6])
def test_the_size_of_blocks_changes_nothing_but_memory(numbers, monkeypatch):
    inner = SanText(random_space(60), 4.0, calibration="published")
    everything = np.arange(60)
    mechanism = Tabled(np.exp(inner.log_probabilities(everything)))
    plain = word_privacy(mechanism, everything), output_privacy(mechanism, everything)
    monkeypatch.setattr(privacy, "_LAW_NUMBERS", numbers)
    monkeypatch.setattr(privacy, "_TABLE_NUMBERS", numbers)
    mechanism.most_rows = 0
    seen: list[float] = []

    def progress(done: int, total: int) -> None:
        seen.append(done / total)

    words = word_privacy(mechanism, everything, progress=progress)
    assert seen[-1] == 1
    assert (np.diff(seen) > 0).all()
    seen.clear()
    outputs = output_privacy(mechanism, everything, progress=progress)
    assert seen[-1] == 1
    assert (np.diff(seen) > 0).all()
    assert mechanism.most_rows <= max(1, numbers // 60)
    assert (words.keep == plain[0].keep).all()
    assert (words.options == plain[0].options).all()
    assert (outputs.inputs == plain[1].inputs).all()
    assert outputs.guess == pytest.approx(plain[1].guess, rel=1e-12)


def test_too_many_inputs_are_simulated_unless_the_law_is_asked_for(monkeypatch):
    mechanism = SanText(random_space(40), 2.0, calibration="published")
    monkeypatch.setattr(privacy, "EXACT_INPUTS", 39)
    rng = np.random.default_rng(SEED)
    assert not output_privacy(mechanism, [1], runs=3, rng=rng).exact
    assert output_privacy(mechanism, [1], exact=True).exact
    assert output_privacy(mechanism, [1], np.arange(40)).exact, (
        "one word is impossible: 39 are left"
    )
    assert not output_privacy(mechanism, [1], np.arange(40), exact=False, rng=rng).exact


def test_likely_outputs():
    for mechanism in (Tabled(COUNTS / 20), Dealt(COUNTS)):
        rng = np.random.default_rng(SEED)
        assert likely_outputs(mechanism, 0, 3, runs=20, rng=rng) == [(0, 0.5), (1, 0.25), (2, 0.15)]
        assert likely_outputs(mechanism, 3, 5, runs=20, rng=rng) == [(2, 1.0)]


def test_no_words_are_no_problem():
    mechanism = SanText(random_space(10), 2.0, calibration="published")
    for made in (mechanism, Hidden(mechanism)):
        assert word_privacy(made, []).keep.shape == (0,)
        assert output_privacy(made, [], runs=2).inputs.shape == (0,)


# -- entropies -------------------------------------------------------------------------------------


def some_laws() -> np.ndarray:
    rng = np.random.default_rng(1)
    laws = rng.dirichlet(np.full(30, 0.2), size=(4, 3))
    laws[0, 0] = np.eye(30)[3]
    laws[1, 1] = np.full(30, 1 / 30)
    return laws


def logs_of(laws: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(laws)


def test_entropies_of_the_named_orders():
    laws = some_laws()
    logs = logs_of(laws)
    assert renyi_entropy(logs, 0) == pytest.approx(np.log((laws > 0).sum(axis=-1)))
    assert renyi_entropy(logs, 1) == pytest.approx(stats.entropy(laws, axis=-1), abs=1e-12)
    assert renyi_entropy(logs, 2) == pytest.approx(-np.log((laws**2).sum(axis=-1)), abs=1e-12)
    assert renyi_entropy(logs, math.inf) == pytest.approx(-np.log(laws.max(axis=-1)))
    assert renyi_entropy(logs[0, 0], 1).shape == ()
    assert renyi_entropy(logs, 0.5).shape == (4, 3)


def test_entropy_never_rises_with_the_order_and_meets_its_limits():
    logs = logs_of(some_laws())
    orders = [0, 1e-12, 0.3, 0.98, 0.9901, 1 - 1e-7, 1, 1 + 1e-7, 1.0099, 1.02, 3, 1e3, math.inf]
    found = np.array([renyi_entropy(logs, order) for order in orders])
    assert np.isfinite(found).all()
    assert (np.diff(found, axis=0) <= 1e-12).all()
    assert found[1] == pytest.approx(found[0], abs=1e-8)
    assert found[orders.index(1 - 1e-7)] == pytest.approx(found[orders.index(1)], abs=1e-5)
    assert found[orders.index(1 + 1e-7)] == pytest.approx(found[orders.index(1)], abs=1e-5)
    assert renyi_entropy(logs, 1e7) == pytest.approx(found[-1], abs=1e-5)


@pytest.mark.parametrize("order", [1 - 0.00999, 1 + 0.00999, 1 - 1e-5, 1 + 1e-5])
def test_the_form_near_order_1_is_the_textbook_one(order):
    laws = some_laws()
    textbook = np.log((laws**order).sum(axis=-1)) / (1 - order)
    assert renyi_entropy(logs_of(laws), order) == pytest.approx(textbook, abs=1e-9)


def test_uniform_law_has_one_entropy_and_tiny_probabilities_do_no_harm():
    for order in (0, 0.5, 0.995, 1, 2, 100, math.inf):
        assert renyi_entropy(np.full(64, -math.log(64)), order) == pytest.approx(math.log(64))
    tiny = np.array([0.0, -2000.0])
    for order in (0.5, 0.991, 1, 2, math.inf):
        assert renyi_entropy(tiny, order) == pytest.approx(0.0, abs=1e-300)
    assert renyi_entropy(tiny, 1e-3) == pytest.approx(math.log1p(math.exp(-2)) / 0.999)


def test_keep_and_options_are_read_as_entropies():
    mechanism = SanText(random_space(50), 2.0, calibration="published")
    logs = mechanism.log_probabilities(np.arange(50))
    found = word_privacy(mechanism, np.arange(50))
    # A word is its own likeliest output in SanText, so -ln N_x is the min-entropy.
    assert -np.log(found.keep) == pytest.approx(renyi_entropy(logs, math.inf))
    assert (np.log(found.options) <= renyi_entropy(logs, 0)).all()


# -- summaries and bad input -----------------------------------------------------------------------


def test_summary_counts_each_value_as_often_as_it_occurs():
    rng = np.random.default_rng(2)
    values, weights = rng.integers(0, 50, 40).astype(float), rng.integers(0, 9, 40)
    written_out = np.repeat(values, weights)
    found = Summary.of(values, weights)
    quarters = np.quantile(written_out, [0.25, 0.5, 0.75], method="inverted_cdf")
    expected = [written_out.mean(), written_out.min(), *quarters, written_out.max()]
    assert list(asdict(found).values()) == pytest.approx(expected)
    assert asdict(Summary.of([4.0])) == dict.fromkeys(asdict(found), 4.0)


@pytest.mark.parametrize(
    ("values", "weights"), [([], None), ([1], [0]), ([1, 2], [1]), ([1, 2], [2, -1])]
)
def test_summary_of_nothing(values, weights):
    with pytest.raises(InvalidValue, match="a summary needs"):
        Summary.of(values, weights)


@pytest.mark.parametrize("measure", [word_privacy, output_privacy])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"mass": 0}, "mass of .* must be a number between 0 and 1, both excluded; got 0"),
        ({"mass": 1.0}, "got 1.0"),
        ({"mass": float("nan")}, "got nan"),
        ({"mass": "0.9"}, "mass of"),
        ({"runs": 0}, "runs of .* must be a whole number of at least 1; got 0"),
        ({"runs": 2.5}, "got 2.5"),
    ],
)
def test_bad_parameters(measure, bad, message):
    mechanism = SanText(random_space(10), 2.0, calibration="published")
    with pytest.raises(InvalidValue, match=message):
        measure(mechanism, [1], **bad)


@pytest.mark.parametrize("measure", [word_privacy, output_privacy])
@pytest.mark.parametrize("ids", [[10], [-1], [0.5], [[1]], ["tea"]])
def test_bad_ids(measure, ids):
    mechanism = SanText(random_space(10), 2.0, calibration="published")
    with pytest.raises(InvalidValue, match="word ids"):
        measure(Hidden(mechanism), ids)


@pytest.mark.parametrize(
    "prior", [[1.0] * 9, [-1.0] + [1.0] * 9, [math.nan] + [1.0] * 9, [0.0] * 10, [math.inf] * 10]
)
def test_bad_prior(prior):
    mechanism = SanText(random_space(10), 2.0, calibration="published")
    with pytest.raises(InvalidValue, match="prior of output_privacy must be"):
        output_privacy(mechanism, [1], prior)


def test_other_bad_input():
    mechanism = SanText(random_space(10), 2.0, calibration="published")
    with pytest.raises(InvalidValue, match="can say its law"):
        output_privacy(Hidden(mechanism), [1], exact=True)
    with pytest.raises(InvalidValue, match="count of likely_outputs"):
        likely_outputs(mechanism, 1, 0)
    for order in (-1, math.nan):
        with pytest.raises(InvalidValue, match="order of renyi_entropy must be 0 or more"):
            renyi_entropy(np.zeros(1), order)
    with pytest.raises(InvalidValue, match="at least 1 output"):
        renyi_entropy(np.zeros((3, 0)), 1)
