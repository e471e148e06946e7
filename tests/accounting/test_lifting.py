"""What follows for larger changes, against all events of small laws."""

import itertools
import math

import numpy as np
import pytest

from discreet.accounting.lifting import (
    for_any_two,
    for_group,
    for_replacing,
    for_smaller,
    group_as,
    in_parallel,
)
from discreet.errors import IncompatibleStatements, InvalidValue
from discreet.mechanisms.word import SanText
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Adjacency, Metric, Notion, PrivacyStatement, Unit


def events(outcomes):
    """All sets of outcomes, as rows of zeros and ones."""
    return np.array(list(itertools.product((0, 1), repeat=outcomes)))


def needed_delta(one, other, epsilon):
    """The least delta that holds between two laws, over every event and both ways."""
    sets = events(len(one))
    gaps = [sets @ (p - math.exp(epsilon) * q) for p, q in ((one, other), (other, one))]
    return max(0.0, *(gap.max() for gap in gaps))


def approximate(epsilon, delta, **more):
    given = {"unit": "user", **more}
    return PrivacyStatement(notion="approximate", epsilon=epsilon, delta=delta, **given)


def walk(rng, steps):
    """Laws on a walk from input to input, and what holds at every step."""
    laws = rng.dirichlet(np.full(4, 0.7), size=steps + 1)
    epsilon = float(rng.uniform(0, 1.5))
    delta = max(needed_delta(p, q, epsilon) for p, q in itertools.pairwise(laws))
    return laws, epsilon, delta


def test_no_event_of_any_walk_breaks_what_is_said_of_a_group():
    rng = np.random.default_rng(5)
    kept = 0
    for _ in range(400):
        steps = int(rng.integers(2, 5))
        laws, epsilon, delta = walk(rng, steps)
        if not 0 < delta < 1:
            continue
        try:
            group = for_group(approximate(epsilon, delta), steps)
        except IncompatibleStatements:
            continue  # delta would be 1 or more, which says nothing
        kept += 1
        assert group.epsilon == pytest.approx(steps * epsilon)
        assert needed_delta(laws[0], laws[-1], group.epsilon) <= group.delta + 1e-12
    assert kept > 20


def test_the_delta_of_a_group_is_met_and_a_sum_of_deltas_would_be_too_small():
    epsilon, delta = 1.0, 0.02
    last = np.array([0.0, 1.0])
    middle = np.array([delta, 1 - delta])
    first = np.array([(1 + math.exp(epsilon)) * delta, 1 - (1 + math.exp(epsilon)) * delta])
    for one, other in ((first, middle), (middle, last)):
        assert needed_delta(one, other, epsilon) == pytest.approx(delta)
    group = for_group(approximate(epsilon, delta), 2)
    assert needed_delta(first, last, 2 * epsilon) == pytest.approx(group.delta)
    assert group.delta > 2 * delta


def test_a_group_of_pure_and_metric_statements_and_of_nothing():
    pure = PrivacyStatement(notion="pure", epsilon=0.5, unit="word")
    assert for_group(pure, 7).epsilon == 3.5
    metric = Metric("m", nearest=None, median=1.0, farthest=2.0)
    near = PrivacyStatement(notion="metric", epsilon=1.0, slack=0.25, metric=metric, unit="word")
    assert (for_group(near, 4).epsilon, for_group(near, 4).slack) == (4.0, 1.0)
    assert for_any_two(for_group(near, 4)).epsilon == 4 * for_any_two(near).epsilon
    with pytest.raises(IncompatibleStatements):
        for_group(PrivacyStatement(notion="none", unit="word"), 2)
    with pytest.raises(IncompatibleStatements, match="grows to 1"):
        for_group(approximate(1.0, 1e-3), 800)
    assert group_as(approximate(1.0, 1e-3), 800, Unit.DOCUMENT).notion is Notion.NONE


def test_replacing_is_removing_and_adding():
    one = approximate(0.5, 1e-4, adjacency="add/remove")
    both = for_replacing(one)
    assert both.adjacency is Adjacency.REPLACE
    assert (both.epsilon, both.delta) == (1.0, pytest.approx(1e-4 * (1 + math.exp(0.5))))
    replaced = approximate(0.5, 1e-4)
    assert for_replacing(replaced) is replaced


def test_between_any_two_words_no_law_loses_more_than_is_said():
    # Clustered, with an outlier: on spread-out words a wrong constant does not show.
    points = np.array([[0.0], [0.1], [0.15], [5.0], [5.1], [20.0]])
    space = EmbeddingSpace.from_arrays([f"w{i}" for i in range(6)], points)
    mechanism = SanText(space, epsilon=0.7)
    law = mechanism.log_probabilities(np.arange(6))
    worst = max(np.abs(law[i] - law[j]).max() for i, j in itertools.combinations(range(6), 2))
    said = for_any_two(mechanism.statement)
    assert said.notion is Notion.PURE
    assert worst <= said.epsilon + 1e-9
    with pytest.raises(IncompatibleStatements):
        for_any_two(PrivacyStatement(notion="none", unit="word"))


def response(epsilon):
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    return np.array([[keep, 1 - keep], [1 - keep, keep]])


def test_in_parallel_nobody_loses_more_than_in_the_own_release():
    one, other = response(0.4), response(1.1)
    worst = 0.0
    # Two people, each in a release of one's own: one of them changes, the other stays.
    for a, b, c in itertools.product(range(2), repeat=3):
        before = np.log(np.outer(one[a], other[b]))
        for changed in (np.outer(one[c], other[b]), np.outer(one[a], other[c])):
            worst = max(worst, float(np.abs(before - np.log(changed)).max()))
    said = in_parallel(PrivacyStatement(notion="pure", epsilon=e, unit="user") for e in (0.4, 1.1))
    assert worst == pytest.approx(said.epsilon)  # the maximum: not less, and no sum


def test_what_has_no_maximum_is_refused():
    user = PrivacyStatement(notion="pure", epsilon=1.0, unit="user")
    word = PrivacyStatement(notion="pure", epsilon=1.0, unit="word")
    with pytest.raises(IncompatibleStatements, match="differ in unit"):
        in_parallel([user, word])
    with pytest.raises(InvalidValue):
        in_parallel([])
    both = in_parallel([user, approximate(0.5, 1e-6)])
    assert (both.notion, both.epsilon, both.delta) == (Notion.APPROXIMATE, 1.0, 1e-6)


def test_a_large_unit_speaks_for_a_small_one_and_not_the_other_way():
    user = PrivacyStatement(notion="pure", epsilon=1.0, unit="user")
    assert for_smaller(user, Unit.DOCUMENT).unit is Unit.DOCUMENT
    with pytest.raises(IncompatibleStatements, match="for_units"):
        for_smaller(for_smaller(user, Unit.WORD), Unit.DOCUMENT)


def test_one_document_more_can_cost_what_two_users_do():
    # Sums of what each user wrote, at most 1 either way, with noise on the whole numbers. A user
    # more moves the sum by 1; one document more can turn a user's sum from 1 to -1.
    epsilon, numbers = 0.5, np.arange(-60, 61)

    def law(total):
        masses = np.exp(-epsilon * np.abs(numbers - total))
        return masses / masses.sum()

    def loss(one, other):
        middle = np.abs(numbers) < 20
        return np.abs(np.log(law(one)[middle]) - np.log(law(other)[middle])).max()

    user = PrivacyStatement(notion="pure", epsilon=epsilon, unit="user", adjacency="add/remove")
    assert loss(0, 1) == pytest.approx(user.epsilon)
    document = for_smaller(user, Unit.DOCUMENT)
    assert loss(1, -1) == pytest.approx(document.epsilon)
    assert (document.unit, document.adjacency) == (Unit.DOCUMENT, user.adjacency)
    approximately = for_smaller(approximate(0.5, 1e-4, adjacency="add/remove"), Unit.DOCUMENT)
    assert approximately.delta == pytest.approx(1e-4 * (1 + math.exp(0.5)))


def test_a_user_is_part_of_a_user_and_an_entity_and_a_label_of_nothing():
    both = approximate(0.5, 1e-4, unit="user+entity", adjacency="add/remove")
    assert for_smaller(both, Unit.USER).epsilon == both.epsilon
    for unit in (Unit.WORD, Unit.DOCUMENT, Unit.USER):
        with pytest.raises(IncompatibleStatements):
            for_smaller(PrivacyStatement(notion="pure", epsilon=1.0, unit=unit), Unit.LABEL)
