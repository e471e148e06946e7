"""The algebra of privacy statements."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import IncompatibleStatements, InvalidValue
from discreet.statement import Adjacency, Metric, MetricKind, Notion, PrivacyStatement, Unit, odds

METRICS = [Metric("one", 0.5, 1.0, 2.0), Metric("other", 0.5, 1.0, 2.0)]
# Multiples of 1/8 add without rounding, so equalities can be exact.
LOSS = st.integers(0, 400).map(lambda n: n / 8)
WORDS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3).map(tuple)


@st.composite
def statements(draw, notions=tuple(Notion), metrics=METRICS, units=(Unit.WORD, Unit.USER)):
    notion = draw(st.sampled_from(notions))
    values = {}
    if notion is not Notion.NONE:
        values["epsilon"] = draw(LOSS)
    if notion is Notion.APPROXIMATE:
        values["delta"] = draw(st.integers(0, 4)) / 16
    if notion in (Notion.METRIC, Notion.UTILITY_OPTIMISED):
        values["slack"] = draw(LOSS)
        values["metric"] = draw(st.sampled_from(metrics))
    return PrivacyStatement(
        notion=notion,
        unit=draw(st.sampled_from(units)),
        adjacency=draw(st.sampled_from(list(Adjacency))),
        public=draw(WORDS),
        caveats=draw(WORDS),
        **values,
    )


def alike(notion):
    """Statements that may be added to each other."""
    return statements((notion,), METRICS[:1], (Unit.WORD,)).map(
        lambda s: PrivacyStatement(
            **{
                **{f: getattr(s, f) for f in s.__dataclass_fields__},
                "adjacency": Adjacency.REPLACE,
            }
        )
    )


@given(statements())
def test_json_round_trip(statement):
    assert PrivacyStatement.from_json(statement.to_json()) == statement
    assert json.loads(statement.to_json())["notion"] == statement.notion


@given(statements(), statements(), statements())
def test_partial_order(a, b, c):
    assert a <= a
    if a <= b and b <= a:
        assert a == b
    if a <= b and b <= c:
        assert a <= c
    assert (a < b) == (b > a) == (a <= b and a != b)


@pytest.mark.parametrize("notion", list(Notion))
def test_composition_is_a_commutative_monoid_that_weakens(notion):
    @given(alike(notion), alike(notion), alike(notion))
    def check(a, b, c):
        assert a + b == b + a
        assert (a + b) + c == a + (b + c)
        assert a <= a + b
        if a <= b:
            assert a + c <= b + c

    check()


@given(alike(Notion.METRIC), st.integers(1, 9))
def test_repeating_is_adding(a, times):
    total = a
    for _ in range(times - 1):
        total = total + a
    assert a.repeated(times) == total


@given(statements(), statements())
def test_what_differs_is_not_added(a, b):
    same = all(
        getattr(a, what) == getattr(b, what)
        for what in ("notion", "unit", "adjacency", "metric", "scope")
    )
    if same:
        a.compose(b)
    else:
        with pytest.raises(IncompatibleStatements):
            a.compose(b)


def test_metric_becomes_pure_only_with_a_diameter():
    metric = PrivacyStatement(notion=Notion.METRIC, unit=Unit.WORD, epsilon=2.0, metric=METRICS[0])
    pure = metric.to_pure(diameter=3.0)
    assert (pure.notion, pure.epsilon, pure.metric) == (Notion.PURE, 6.0, None)
    both = PrivacyStatement(
        notion=Notion.METRIC, unit=Unit.WORD, epsilon=2.0, slack=0.5, metric=METRICS[0]
    )
    assert both.to_pure(diameter=3.0).epsilon == 6.5
    with pytest.raises(TypeError):
        metric.to_pure()
    assert metric.to_pure(diameter=2.0).epsilon == 4.0
    for bad in (0, -1, math.inf, 1.0, 1.999, 4e-6):
        # Any two units are 2 apart at most, and no less: a smaller figure would not hold for all.
        with pytest.raises(InvalidValue, match="diameter must be"):
            metric.to_pure(diameter=bad)
    for notion in (Notion.UTILITY_OPTIMISED, Notion.APPROXIMATE, Notion.NONE):
        values = {} if notion is Notion.NONE else {"epsilon": 1.0}
        if notion is Notion.UTILITY_OPTIMISED:
            values["metric"] = METRICS[0]
        with pytest.raises(IncompatibleStatements):
            PrivacyStatement(notion=notion, unit=Unit.WORD, **values).to_pure(diameter=1.0)


def test_pure_reads_as_approximate():
    pure = PrivacyStatement(notion=Notion.PURE, unit=Unit.LABEL, epsilon=1.0)
    assert pure <= pure.to_approximate(delta=1e-5)
    assert not pure.to_approximate(delta=1e-5) <= pure


@pytest.mark.parametrize(
    "values",
    [
        {"notion": "pure", "epsilon": -1.0},
        {"notion": "pure", "epsilon": math.nan},
        {"notion": "pure"},
        {"notion": "pure", "epsilon": 1.0, "delta": 0.1},
        {"notion": "pure", "epsilon": 1.0, "slack": 0.1},
        {"notion": "pure", "epsilon": 1.0, "metric": METRICS[0]},
        {"notion": "metric", "epsilon": 1.0},
        {"notion": "none", "epsilon": 1.0},
        {"notion": "perfect", "epsilon": 1.0},
        {"notion": "pure", "epsilon": 1.0, "unit": "nation"},
    ],
)
def test_impossible_statements_are_refused(values):
    with pytest.raises(ValueError):  # noqa: PT011 - enums and ours are both ValueErrors
        PrivacyStatement(**({"unit": "word"} | values))


def test_json_with_missing_or_extra_entries_is_refused():
    good = PrivacyStatement(notion=Notion.PURE, unit=Unit.WORD, epsilon=1.0).to_dict()
    for bad in ({k: v for k, v in good.items() if k != "delta"}, good | {"extra": 1}):
        with pytest.raises(InvalidValue):
            PrivacyStatement.from_dict(bad)
    for text in ("", "{", "[]", "5", '"pure"'):
        with pytest.raises(InvalidValue, match="not a JSON object"):
            PrivacyStatement.from_json(text)


def test_plain_words_say_what_matters():
    text = str(
        PrivacyStatement(
            notion=Notion.UTILITY_OPTIMISED,
            unit=Unit.WORD,
            epsilon=2.0,
            slack=1.0,
            metric=METRICS[0],
            scope="some words",
            public=("the number of words",),
            caveats=("seeded: not for release",),
        )
    )
    for part in ("one word", "exp(2 * d + 1)", "some words", "number of words", "not for release"):
        assert part in text
    for distance in (0.5, 1.0, 2.0):
        assert odds(2 * distance + 1) in text
    assert "No formal guarantee" in str(PrivacyStatement(notion=Notion.NONE, unit=Unit.WORD))
    approximate = PrivacyStatement(
        notion=Notion.APPROXIMATE,
        unit=Unit.USER,
        epsilon=1.0,
        delta=1e-5,
        adjacency=Adjacency.ADD_REMOVE,
    )
    assert "one user more or less" in str(approximate)
    both = replace(approximate, unit=Unit.USER_ENTITY)
    assert "each user together with any entity: having one user and one entity more" in str(both)
    assert "1e-05" in str(approximate)


def test_a_metric_says_its_kind_and_a_file_without_one_can_be_read():
    metric = Metric("chord", None, 1.0, 2.0, MetricKind.EUCLIDEAN)
    statement = PrivacyStatement(
        notion=Notion.METRIC, epsilon=1.0, unit=Unit.SENTENCE, metric=metric
    )
    values = statement.to_dict()
    assert values["metric"]["kind"] == "euclidean"
    assert PrivacyStatement.from_json(statement.to_json()).metric.kind is MetricKind.EUCLIDEAN
    del values["metric"]["kind"]
    old = PrivacyStatement.from_dict(values)
    assert old.metric.kind is MetricKind.OTHER
    # The name identifies a metric, so that releases of both times add up.
    assert old == statement
    assert (old + statement).epsilon == 2.0
    with pytest.raises(InvalidValue, match="not a privacy statement"):
        PrivacyStatement.from_dict({**values, "metric": {**values["metric"], "kind": "odd"}})


def test_a_delta_of_one_or_more_is_said_to_guarantee_nothing():
    word = PrivacyStatement(notion="approximate", epsilon=1.0, delta=0.01, unit="word")
    for nothing in (word.for_units(200), word.repeated(100)):
        assert "Guarantees nothing" in str(nothing)
        assert "Protects" not in str(nothing)
    with pytest.raises(InvalidValue, match="delta"):
        PrivacyStatement(notion="pure", epsilon=1.0, unit="word").for_units(5, 2.0)
