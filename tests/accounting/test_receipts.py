"""What releases guarantee together, from their receipts."""

import json

import numpy as np
import pytest
from scipy.stats import binom

from command import called
from discreet.accounting import add_receipts
from discreet.errors import InvalidValue
from discreet.randomness import SEEDED_CAVEAT
from discreet.receipt import Receipt, receipt_path
from discreet.staging import Digest
from discreet.statement import Adjacency, Metric, Notion, PrivacyStatement, Unit


def stated(epsilon=1.0, notion=Notion.PURE, unit=Unit.WORD, about=None, **more):
    metric = None
    if notion in (Notion.METRIC, Notion.UTILITY_OPTIMISED):
        metric = Metric(more.pop("name", "d"), 0.1, 1.0, 2.0)
    statement = PrivacyStatement(notion=notion, epsilon=epsilon, unit=unit, metric=metric, **more)
    return Receipt(statement, about or {})


def test_losses_of_one_kind_add_and_say_of_whom():
    pure, metric = stated(1.5, scope="a"), stated(3.0, Notion.METRIC, slack=0.5)
    both, near = add_receipts({"a": pure, "b": stated(2.0, scope="b"), "m": metric, "n": metric})
    assert (both.of, both.statement.epsilon) == (("a", "b"), 3.5)
    assert both.statement.scope == "a; b"
    assert (near.of, near.statement.epsilon, near.statement.slack) == (("m", "n"), 6.0, 1.0)


def test_a_pure_one_is_an_approximate_one_and_that_is_said():
    (both,) = add_receipts({"a": stated(1.0), "b": stated(2.0, Notion.APPROXIMATE, delta=1e-5)})
    assert (both.statement.epsilon, both.statement.delta) == (3.0, 1e-5)
    assert "a pure guarantee is an approximate one" in both.lines()[0]


@pytest.mark.parametrize(
    "other",
    [
        stated(1.0, unit=Unit.SENTENCE),
        stated(1.0, adjacency=Adjacency.ADD_REMOVE),
        stated(1.0, Notion.METRIC),
        stated(1.0, Notion.UTILITY_OPTIMISED),
        Receipt(PrivacyStatement(notion=Notion.NONE, unit=Unit.WORD)),
    ],
)
def test_what_bounds_something_else_stands_beside(other):
    first, second = add_receipts({"a": stated(1.0), "b": other})
    assert first.statement.epsilon == 1.0
    assert second.statement == other.statement


def test_two_metrics_are_not_added():
    pair = {"a": stated(1.0, Notion.METRIC), "b": stated(1.0, Notion.METRIC, name="other")}
    assert len(add_receipts(pair)) == 2


def test_words_of_two_vocabularies_are_not_added():
    one, other = (stated(1.0, about={"space": {"fingerprint": mark}}) for mark in "ab")
    assert len(add_receipts({"a": one, "b": other})) == 2
    assert len(add_receipts({"a": one, "b": one})) == 1


def test_whole_texts_are_added_too():
    whole = stated(9.0, unit=Unit.DOCUMENT).statement.to_dict()
    about = {"whole": {"document": {"words": 4, "statement": whole}, "in_words": ["..."]}}
    word, document = add_receipts({n: stated(1.0, about=about) for n in "ab"})
    assert (word.statement.epsilon, document.statement.epsilon) == (2.0, 18.0)
    assert document.statement.unit is Unit.DOCUMENT


def _exact_delta(epsilon, times, at):
    """Of randomised response, the worst law of a pure epsilon, by summing over all outcomes."""
    truth = 1 / (1 + np.exp(-epsilon))
    told = np.arange(times + 1)
    first, other = binom.pmf(told, times, truth), binom.pmf(told, times, 1 - truth)
    return np.clip(first - np.exp(at) * other, 0, None).sum()


def test_a_delta_buys_the_loss_of_the_worst_law_and_no_less():
    pair = {f"r{i}": stated(0.2) for i in range(40)}
    (plain,), (less,) = add_receipts(pair), add_receipts(pair, delta=1e-4)
    assert plain.statement.epsilon == pytest.approx(8.0)
    assert less.statement.delta == 1e-4
    found = less.statement.epsilon
    assert found < 6.0
    assert _exact_delta(0.2, 40, found) <= 1e-4 < _exact_delta(0.2, 40, 0.99 * found)


@pytest.mark.parametrize("epsilon", [0.0, 400.0, 1e4])
def test_losses_of_any_size_are_added(epsilon):
    (both,) = add_receipts({"a": stated(epsilon), "b": stated(1.0)}, delta=1e-6)
    assert epsilon <= both.statement.epsilon <= epsilon + 1


def test_deltas_that_add_up_to_one_guarantee_nothing():
    half = stated(1.0, Notion.APPROXIMATE, delta=0.6)
    (both,) = add_receipts({"a": half, "b": half})
    assert both.statement.notion is Notion.NONE


def test_seeds_and_repetitions_are_refused():
    with pytest.raises(InvalidValue, match="seed"):
        add_receipts({"a": stated(1.0), "b": stated(1.0, caveats=(SEEDED_CAVEAT,))})
    same = {"output": {"sha256": "0" * 64, "bytes": 3}}
    with pytest.raises(InvalidValue, match="costs once"):
        add_receipts({"a": stated(1.0, about=same), "b": stated(1.0, about=same)})
    with pytest.raises(InvalidValue, match="at least one"):
        add_receipts({})


@pytest.fixture
def released(tmp_path):
    for name in ("one", "two"):
        output = tmp_path / f"{name}.txt"
        output.write_text(name)
        stated(1.0).of_output(Digest.of(output)).write(receipt_path(output))
    return tmp_path


def test_the_command_takes_receipts_and_outputs(released):
    first, second = released / "one.txt.privacy.json", released / "two.txt"
    done = called("account", "receipts", first, second, cache=released)
    assert done.code == 0, done.err
    assert "epsilon = 2" in done.out.decode()
    done = called("account", "receipts", first, second, "--delta", 0.5, "--json", cache=released)
    (group,) = json.loads(done.out)["groups"]
    assert group["statement"]["epsilon"] < 2
    assert len(group["of"]) == 2


def test_the_command_refuses_what_does_not_belong_together(released):
    (released / "one.txt").write_text("changed")
    for given in ("one.txt", "one.txt.privacy.json"):
        done = called("account", "receipts", released / given, cache=released)
        assert (done.code, done.out) == (4, b"")
    done = called("account", "receipts", *[released / "two.txt"] * 2, cache=released)
    assert done.code == 2
    assert "costs once" in done.err
    done = called("account", "receipts", released / "three.txt", cache=released)
    assert done.code == 2
