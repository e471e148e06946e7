"""What n releases cost together, against brute force over all outputs of small mechanisms."""

import math

import numpy as np
import pytest

from discreet.composition import UnitLoss
from discreet.errors import IncompatibleStatements, InvalidValue
from discreet.statement import Metric, Notion, PrivacyStatement, Unit
from goodness import exact_delta


def near_words(epsilon: float, near: int, outputs: int) -> tuple[np.ndarray, np.ndarray, UnitLoss]:
    """Two words with no output near both: the worst pair of a law that is flat near and far."""
    total = near * math.exp(epsilon) + outputs - near
    first, second = np.full((2, outputs), 1 / total)
    first[:near] = second[-near:] = math.exp(epsilon) / total
    return first, second, UnitLoss(epsilon, top=near * math.exp(epsilon) / total)


@pytest.mark.parametrize("delta", [1e-1, 1e-2, 1e-4])
@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize(("epsilon", "near", "outputs"), [(0.3, 1, 2), (1.0, 1, 4), (3.0, 2, 5)])
def test_the_composed_law_is_that_of_all_outputs(epsilon, near, outputs, times, delta):
    first, second, law = near_words(epsilon, near, outputs)
    found = law.of(times, delta)
    assert exact_delta(first, second, times, found) <= delta * (1 + 1e-9)
    if found > 1e-6:  # and no larger than it has to be
        assert exact_delta(first, second, times, found * (1 - 1e-6)) > delta * (1 - 1e-9)


@pytest.mark.parametrize("times", [1, 3, 6])
def test_unless_more_is_known_the_worst_law_is_randomised_response(times):
    keep = math.e / (1 + math.e)
    first, second = np.array([keep, 1 - keep]), np.array([1 - keep, keep])
    found = UnitLoss(1.0).of(times, 1e-3)
    assert exact_delta(first, second, times, found) == pytest.approx(1e-3, rel=1e-6)
    # Whatever else costs at most epsilon costs no more.
    other_first, other_second, _ = near_words(1.0, 1, 4)
    assert exact_delta(other_first, other_second, times, found) <= 1e-3


def test_it_agrees_with_the_accountant():
    from dp_accounting.pld.common import DifferentialPrivacyParameters
    from dp_accounting.pld.privacy_loss_distribution import from_privacy_parameters

    theirs = from_privacy_parameters(DifferentialPrivacyParameters(0.5, 0.0)).self_compose(40)
    assert UnitLoss(0.5).of(40, 1e-5) == pytest.approx(theirs.get_epsilon_for_delta(1e-5), rel=1e-3)


@pytest.mark.parametrize("times", [1, 2, 4])
def test_a_small_spread_costs_less_and_still_holds(times):
    # An exponential law: the loss has spread 0.8 and is never more than 0.8.
    scores = np.linspace(0, 0.8, 4)
    first, second = np.exp(scores) / np.exp(scores).sum(), np.exp(-scores) / np.exp(-scores).sum()
    loss = np.log(first / second)
    law = UnitLoss(float(np.abs(loss).max()), spread=float(np.ptp(loss)))
    found = law.of(times, 1e-2)
    assert found <= UnitLoss(law.epsilon).of(times, 1e-2)
    assert exact_delta(first, second, times, found) <= 1e-2


def test_without_delta_losses_add_up():
    assert UnitLoss(2.0, top=0.1, spread=0.1).of(7) == 14.0
    assert UnitLoss(0.0).of(5, 1e-6) == 0.0


@pytest.mark.parametrize("epsilon", [1e-12, 1e-3, 8.0, 50.0, 499.0, 600.0, 1e6])
@pytest.mark.parametrize("units", [1, 100, 20_000])
def test_large_and_small_numbers(epsilon, units):
    law = UnitLoss(epsilon, top=0.7)
    for delta in (1e-300, 1e-12, 1e-6, 0.5):
        found = law.of(units, delta)
        assert 0 <= found <= units * epsilon
        assert found <= law.of(units, 0.0)
    assert law.of(units, 1e-4) <= law.of(units, 1e-6)


WORD = PrivacyStatement(notion=Notion.PURE, epsilon=8.0, unit=Unit.WORD, scope="a word")
METRIC = Metric("a distance", 0.1, 0.5, 2.0)


def test_a_whole_text_has_a_statement():
    whole = WORD.for_units(30)
    assert (whole.notion, whole.unit, whole.epsilon) == (Notion.PURE, Unit.DOCUMENT, 240.0)
    assert "at most 30 words" in str(whole)
    less = WORD.for_units(30, 1e-6, law=UnitLoss(8.0, top=0.6), unit=Unit.USER)
    assert (less.notion, less.unit, less.delta) == (Notion.APPROXIMATE, Unit.USER, 1e-6)
    assert less.epsilon < 240.0


def test_a_metric_statement_is_taken_at_the_farthest_pair():
    metric = PrivacyStatement(notion=Notion.METRIC, epsilon=3.0, metric=METRIC, unit=Unit.WORD)
    assert metric.for_units(10).epsilon == 60.0


def test_approximate_statements_add_up():
    word = PrivacyStatement(notion=Notion.APPROXIMATE, epsilon=1.0, delta=1e-6, unit=Unit.WORD)
    whole = word.for_units(10, 0.5)
    assert (whole.epsilon, whole.delta) == (10.0, pytest.approx(1e-5))


def test_what_has_no_whole_is_refused():
    for notion in (Notion.NONE, Notion.UTILITY_OPTIMISED):
        metric = METRIC if notion is Notion.UTILITY_OPTIMISED else None
        epsilon = math.inf if metric is None else 1.0
        word = PrivacyStatement(notion=notion, epsilon=epsilon, unit=Unit.WORD, metric=metric)
        with pytest.raises(IncompatibleStatements):
            word.for_units(3)
    for count in (0, -1, 1.5):
        with pytest.raises(InvalidValue):
            WORD.for_units(count)
    with pytest.raises(InvalidValue):
        WORD.for_units(3, -0.1)
