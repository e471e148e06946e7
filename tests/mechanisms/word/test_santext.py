"""SanText: the law, its calibration, its sampler."""

import itertools

import numpy as np
import pytest

from conformance import excess_loss
from discreet.composition import UnitLoss
from discreet.errors import InvalidValue
from discreet.mechanisms.word import SanText
from discreet.mechanisms.word import _distance_law as distance_law
from discreet.mechanisms.word._distance_law import DistanceLaw
from discreet.spaces.index import build_index
from discreet.spaces.space import EmbeddingSpace
from goodness import exact_delta, fits, mean_fits
from small_spaces import all_distances, both_spaces, clustered_space, random_space

EXAMPLES = {
    f"{space}-{calibration}-{epsilon}": (
        lambda space=space, calibration=calibration, epsilon=epsilon: SanText(
            {"random": random_space, "clusters": clustered_space}[space](),
            epsilon=epsilon,
            calibration=calibration,
        )
    )
    for space, calibration, epsilon in itertools.product(
        ("random", "clusters"), ("certified", "published"), (0.5, 3.0, 12.0)
    )
}


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0, 10.0, 40.0])
@pytest.mark.parametrize("space", both_spaces(300), ids=lambda s: s.name)
@pytest.mark.parametrize("calibration", ["certified", "published"])
def test_inequality_holds_for_all_pairs_and_outputs(space, calibration, epsilon):
    mechanism = SanText(space, epsilon=epsilon, calibration=calibration)
    assert excess_loss(mechanism, all_distances(space)) <= 1e-9


def test_forgetting_the_half_is_caught_on_a_clustered_space():
    space = clustered_space(300)
    mutant = SanText(space, epsilon=3.0, calibration="published")
    mutant._law.kappa = 3.0
    assert excess_loss(mutant, all_distances(space)) > 0.1


@pytest.mark.parametrize("calibration", ["certified", "published"])
@pytest.mark.parametrize(
    "vectors", [[[0.0], [1.0]], [[0.0], [1.0], [1.2]], [[0, 0], [1, 0], [0, 2]]]
)
def test_what_is_known_of_the_loss_of_a_word_holds_for_all_pairs_and_outputs(calibration, vectors):
    words = ["tea", "cup", "sea"][: len(vectors)]
    space = EmbeddingSpace.from_arrays(words, np.array(vectors, dtype=float))
    mechanism = SanText(space, epsilon=0.8, calibration=calibration)
    logs = mechanism.log_probabilities(np.arange(len(space)))
    losses = logs[:, None, :] - logs[None, :, :]
    law = mechanism.unit_loss
    assert losses.max() <= law.epsilon * (1 + 1e-9)
    spread = np.ptp(losses, axis=2).max()
    # As wide as it is said to be: half of that, as without the normalisers, is too little.
    assert law.spread / 2 * 1.5 < spread <= law.spread * (1 + 1e-9)
    # Texts of up to four words, over all outputs of all pairs.
    for times, delta in itertools.product((1, 2, 4), (0.05, 1e-3)):
        epsilon = law.of(times, delta)
        assert (
            max(
                exact_delta(np.exp(logs[x]), np.exp(logs[y]), times, epsilon)
                for x, y in itertools.permutations(range(len(space)), 2)
            )
            <= delta
        )


def test_a_narrow_range_of_the_loss_is_worth_something():
    mechanism = SanText(random_space(), epsilon=0.05, calibration="published")
    law = mechanism.unit_loss
    assert law.of(200, 1e-6) < 0.6 * UnitLoss(law.epsilon).of(200, 1e-6)


def test_law_is_the_textbook_one():
    space = random_space()
    mechanism = SanText(space, epsilon=2.0, calibration="published")
    weights = np.exp(-1.0 * all_distances(space))
    expected = np.log(weights / weights.sum(axis=1, keepdims=True))
    found = mechanism.log_probabilities(np.arange(len(space)))
    assert np.abs(found - expected).max() < 1e-12


def test_published_is_half_epsilon_and_certified_is_never_less():
    for space in both_spaces():
        for epsilon in (0.01, 1.0, 5.0, 1000.0):
            assert SanText(space, epsilon=epsilon, calibration="published").kappa == epsilon / 2
            assert epsilon / 2 <= SanText(space, epsilon=epsilon).kappa <= epsilon


def _draws(law: DistanceLaw, word: int, count: int, seed: int) -> np.ndarray:
    return law.sample(np.full(count, word), np.random.default_rng(seed))


@pytest.mark.parametrize("size", [None, 12, 100, 199])
@pytest.mark.parametrize("head_share", [2.0**-26, 2.0**-9, 2.0**-5])
# Of each as many draws that an error of 5 % is at least 8 standard errors of the mean (6 are seen).
@pytest.mark.parametrize(
    ("kappa", "dtype", "count"), [(0.5, np.float32, 200_000), (2.0, np.float64, 60_000)]
)
def test_every_way_of_sampling_follows_the_law_and_a_5_percent_error_is_seen(
    size, head_share, kappa, dtype, count, monkeypatch
):
    # Heads of every size against rests of every size: no index, a small, a middling, nearly all.
    # A large head share sends most draws through the rest, which is otherwise rare.
    monkeypatch.setattr(distance_law, "_HEAD_SHARE", head_share)
    plain = random_space(200, dimension=6)
    space = EmbeddingSpace.from_arrays(plain.words, plain.vectors.astype(dtype))
    index = None if size is None else build_index(space, size=size)
    law = DistanceLaw(space, kappa, index=index)
    wrong = DistanceLaw(space, kappa * 1.05)
    for word in (0, 77):
        draws = _draws(law, word, count, seed=word)
        distances = all_distances(space)[word]
        right, other = (
            np.exp(each.log_probabilities(np.array([word])))[0] for each in (law, wrong)
        )
        assert fits(draws, right)
        assert mean_fits(draws, right, distances)
        assert not mean_fits(draws, other, distances)


def test_rows_and_index_agree_on_duplicate_and_outlying_vectors():
    vectors = clustered_space(100).vectors.copy()
    vectors[1] = vectors[0]
    vectors[2] = vectors[0] + 1e-9
    vectors[3] *= 1e4
    space = EmbeddingSpace.from_arrays([f"w{i}" for i in range(100)], vectors)
    for index in (None, build_index(space, size=9)):
        law = DistanceLaw(space, 3.0, index=index)
        for word in (0, 3, 50):
            draws = _draws(law, word, 100_000, seed=5)
            assert fits(draws, np.exp(law.log_probabilities(np.array([word])))[0])


class _Forced(np.random.Generator):
    """Proposes one given word from the rest, then passes any test: its uniforms are huge."""

    def __init__(self, column: int):
        super().__init__(np.random.PCG64(0))
        self.column, self.left = column, 200

    def random(self, size=None):
        self.left -= 1
        return np.full(size, 1 - 2**-53 if self.left > 0 else 0.0)

    def integers(self, _low, _high, size):
        return np.full(size, self.column)


@pytest.mark.parametrize("indexed", [False, True])
def test_every_word_can_come_out_however_improbable(indexed):
    space = random_space(150)
    law = DistanceLaw(space, 60.0, index=build_index(space, size=10) if indexed else None)
    logs = law.log_probabilities(np.array([7]))[0]
    improbable = np.flatnonzero(logs < np.log(2.0**-53))
    assert len(improbable) > 100, "the law must be sharp enough for the test to mean something"
    for word in improbable:
        assert law.sample(np.array([7]), _Forced(int(word)))[0] == word


def test_improbable_words_keep_their_relative_probabilities():
    # Together they come out about once in 10,000 draws.
    space = EmbeddingSpace.from_arrays("abcd", [[0.0], [10.0], [10.5], [11.0]])
    law = DistanceLaw(space, 1.0)
    draws = _draws(law, 0, 1_500_000, seed=3)
    assert fits(draws, np.exp(law.log_probabilities(np.array([0])))[0])


def test_at_a_vanishing_epsilon_every_word_is_as_likely():
    # Columns that only fill up a block lie far away; at a tiny kappa even far is near.
    space = EmbeddingSpace.from_arrays(list("abcde"), np.arange(5.0)[:, None])
    mechanism = SanText(space, 2e-16, calibration="published")
    drawn = mechanism.release(np.zeros(20_000, dtype=np.int64), np.random.default_rng(3))
    assert fits(drawn, np.full(5, 0.2))


def test_positions_get_independent_noise():
    law = DistanceLaw(random_space(), 0.5)
    ids = np.tile([3, 9], 50_000)
    out = law.sample(ids, np.random.default_rng(0))
    pairs = out[0::2] * 120 + out[1::2]
    logs = law.log_probabilities(np.array([3, 9]))
    assert fits(pairs, np.exp(logs[0][:, None] + logs[1]).ravel())


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "2", None, True])
def test_bad_epsilon(epsilon):
    with pytest.raises(InvalidValue, match="epsilon of SanText must be a finite number above 0"):
        SanText(random_space(), epsilon=epsilon)


def test_an_epsilon_that_float_arithmetic_cannot_hold_is_refused():
    with pytest.raises(InvalidValue, match="too large"):
        SanText(random_space(), epsilon=1e300)
    huge = SanText(random_space(), epsilon=5e8)
    assert (huge.release(np.arange(120), np.random.default_rng(0)) == np.arange(120)).all()


def test_bad_calibration():
    with pytest.raises(InvalidValue, match="certified, published"):
        SanText(random_space(), epsilon=1, calibration="best")
