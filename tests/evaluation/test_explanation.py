"""What explain says of a mechanism, and the epsilon that find_epsilon comes back with."""

import json
from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import InvalidValue, NotFound
from discreet.evaluation.explanation import (
    Explanation,
    epsilon_table,
    example_words,
    explain,
    explain_choice,
    find_epsilon,
    named_in,
    sample_words,
)
from discreet.mechanisms.word import NearWords, SanText, SanTextPlus, Uniform
from discreet.release.strength import (
    DRAWS,
    best_guess,
    keep_rate,
    mean_keep,
    refuse_weak_words,
    weakness,
)
from discreet.release.text import Sanitizer
from discreet.spaces.loaders import load_space
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Notion, PrivacyStatement, Unit
from small_spaces import all_distances, both_spaces, clustered_space, random_space


def slow_law(space: EmbeddingSpace, kappa: float) -> np.ndarray:
    weights = np.exp(-kappa * all_distances(space))
    return weights / weights.sum(axis=1, keepdims=True)


def slow_options(row: np.ndarray) -> int:
    """Take the likeliest words one after another until 95 % are reached."""
    total, count = 0.0, 0
    for chance in sorted(row, reverse=True):
        total, count = total + chance, count + 1
        if total >= 0.95 - 1e-12:
            return count
    raise AssertionError("a law that does not sum to 1")


class Silent:
    """A mechanism that cannot say its law: it can only be watched."""

    name = "silent"

    def __init__(self, inner: SanText) -> None:
        self.space, self.statement, self.release = inner.space, inner.statement, inner.release


@pytest.mark.parametrize("space", both_spaces(), ids=lambda space: space.name)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_figures_are_those_of_the_law(space, epsilon):
    mechanism = SanText(space, epsilon)
    law = slow_law(space, mechanism.kappa)
    ids = np.array([0, 5, 17, 17, 119])
    found = explain(mechanism, ids, ["word3", "word119"])
    keep = np.diag(law)[ids]
    assert found.keep == pytest.approx(keep.mean())
    assert found.keep_middle == pytest.approx(tuple(np.quantile(keep, [0.25, 0.75])))
    assert found.options == np.median([slow_options(law[i]) for i in ids])
    assert found.exact
    assert found.statement == mechanism.statement
    for word, number in (("word3", 3), ("word119", 119)):
        words, chances = zip(*found.examples[word], strict=True)
        best = np.argsort(-law[number], kind="stable")[:5]
        assert chances == pytest.approx(tuple(law[number, best]))
        assert set(words) == {space.words[i] for i in best}


def test_a_mechanism_without_a_law_is_watched_and_the_words_say_so():
    mechanism = SanText(random_space(), 3.0)
    ids = mechanism.space.spread_words()
    exact, watched = (explain(m, ids, ["word3"]) for m in (mechanism, Silent(mechanism)))
    assert not watched.exact
    assert "simulated: 200 draws" in "\n".join(watched.lines())
    assert "may be far larger" in "\n".join(watched.lines())
    assert "simulated" not in "\n".join(exact.lines())
    assert (watched.to_dict()["draws"], exact.to_dict()["draws"]) == (200, None)
    # 120 words of 200 draws each: a standard error of about 0.002.
    assert watched.keep == pytest.approx(exact.keep, abs=0.02)
    assert mean_keep(Silent(mechanism)) is None


def test_what_is_simulated_is_drawn_once_for_a_sanitizer(monkeypatch):
    watched, drawn = Silent(SanText(random_space(), 1.0)), []
    release = watched.release
    monkeypatch.setattr(watched, "release", lambda *asked: drawn.append(1) or release(*asked))
    made = Sanitizer(watched)
    first = made.keep_rate
    refuse_weak_words(made)
    assert (made.keep_rate, weakness(watched, first), len(drawn)) == (first, None, 1)
    assert keep_rate(Silent(SanText(random_space(), 1.0))) == first
    assert first[1] == DRAWS


def test_mean_keep_is_the_mean_over_spread_words():
    mechanism = SanText(clustered_space(), 3.0)
    keep = np.diag(slow_law(mechanism.space, mechanism.kappa))
    assert mean_keep(mechanism, count=1000) == pytest.approx(keep.mean())
    assert mean_keep(mechanism, count=2) == pytest.approx((keep[0] + keep[-1]) / 2)


def test_what_it_says_fits_the_figures():
    statement = PrivacyStatement(notion=Notion.PURE, epsilon=1.0, unit=Unit.WORD)
    found = Explanation(
        statement=statement,
        keep=0.4321,
        keep_middle=(0.125, 0.75),
        options=1234.0,
        examples={"tea": [("cup", 0.5), ("sea", 0.001)]},
        exact=True,
    )
    text = "\n".join(found.lines())
    for part in (
        *statement.lines(),
        "probability 0.432 on average",
        "0.125 to 0.75",
        "1,234 words share 95 %",
        "  tea -> cup 50 %, sea 0.1 %",
    ):
        assert part in text
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["keep"] == 0.4321
    assert plain["keep_quartiles"] == [0.125, 0.75]
    assert plain["options"] == 1234.0
    assert plain["examples"] == {"tea": [["cup", 0.5], ["sea", 0.001]]}
    assert PrivacyStatement.from_dict(plain["statement"]) == statement


def test_an_example_must_be_a_word_of_the_space():
    mechanism = SanText(random_space(), 1.0)
    with pytest.raises(NotFound) as caught:
        explain(mechanism, mechanism.space.spread_words(), ["zanzibar"])
    assert "zanzibar" not in str(caught.value)


# -- the other way round ---------------------------------------------------------------------------


@pytest.mark.parametrize("space", both_spaces(60), ids=lambda space: space.name)
@pytest.mark.parametrize("calibration", ["certified", "published"])
@pytest.mark.parametrize("wish", [{"keep": 0.05}, {"keep": 0.5}, {"keep": 0.99}, {"options": 3}])
def test_the_epsilon_found_is_the_smallest_that_will_do(space, calibration, wish):
    def make(epsilon: float) -> SanText:
        return SanText(space, epsilon, calibration=calibration)

    def granted(epsilon: float) -> bool:
        law = slow_law(space, make(epsilon).kappa)
        if "keep" in wish:
            return bool(np.diag(law).mean() >= wish["keep"])
        return bool(np.median([slow_options(row) for row in law]) <= wish["options"])

    found = find_epsilon(make, np.arange(len(space)), **wish)
    assert found.exact
    assert not found.line()
    found = found.epsilon
    assert granted(found)
    assert not granted(found / 1.0011)


def test_a_wish_that_any_epsilon_grants_ends_at_next_to_none():
    space = random_space(60)
    found = find_epsilon(
        lambda epsilon: SanText(space, epsilon, calibration="published"),
        np.arange(60),
        options=60,
    )
    assert 0 < found.epsilon < 1e-5


def test_a_wish_that_cannot_come_true_is_said():
    """A word outside the list is kept with probability 1 - p, whatever epsilon is."""
    space = random_space(20)

    def make(epsilon: float) -> SanTextPlus:
        return SanTextPlus(space, epsilon, sensitive=np.arange(10), p=0.9, calibration="published")

    with pytest.raises(InvalidValue, match="no epsilon up to 1e9"):
        find_epsilon(make, np.arange(10, 20), keep=0.5)


@pytest.mark.parametrize(
    "wish", [{}, {"keep": 0.5, "options": 3}, {"keep": 1.0}, {"keep": 2.0}, {"options": 0.5}]
)
def test_wishes_that_make_no_sense(wish):
    with pytest.raises(InvalidValue):
        find_epsilon(lambda epsilon: SanText(random_space(), epsilon), np.arange(3), **wish)


@pytest.mark.parametrize("wish", [{"keep": 0.5}, {"options": 3}])
def test_draws_decide_only_what_they_prove(wish):
    space = clustered_space(60)
    every = np.arange(60)

    def make(epsilon: float) -> SanText:
        return SanText(space, epsilon, calibration="published")

    exact = find_epsilon(make, every, **wish)
    shown = find_epsilon(
        lambda epsilon: Silent(make(epsilon)), every, **wish, rng=np.random.default_rng(0)
    )
    assert not shown.exact
    assert "confidence of 99.9 %" in shown.line()
    # What draws prove is true (a false alarm is rarer than 0.001), and not far beyond the need.
    assert exact.epsilon * 0.999 <= shown.epsilon < 2 * exact.epsilon


@pytest.mark.parametrize("wish", [{"keep": 0.5}, {"options": 3}])
def test_a_question_far_from_the_edge_costs_few_draws(wish):
    """Every word goes anywhere: nothing is near enough to a yes to be worth a second look."""
    drawn: list[int] = []

    class Anywhere:
        def release(self, ids, rng):
            drawn.append(len(ids))
            return rng.integers(0, 60, len(ids))

    with pytest.raises(InvalidValue, match="no epsilon up to 1e9"):
        find_epsilon(lambda _epsilon: Anywhere(), np.arange(60), **wish)
    # Thirty powers of two are asked about, each at a sixteenth of 2^14 or of 31,000 draws.
    assert max(drawn) <= 31_000 // 16


def test_more_outcomes_than_draws_can_show_are_not_taken_for_few():
    """500 equally likely outcomes: in 200 draws fewer than 200 are seen, at every epsilon."""
    uniform = Silent(Uniform(random_space(500)))
    assert explain(uniform, np.arange(20), ["word3"]).options < 200
    with pytest.raises(InvalidValue, match="no epsilon up to 1e9"):
        find_epsilon(lambda _epsilon: uniform, np.arange(20), options=200)


# -- which words are measured ----------------------------------------------------------------------


def test_spread_words_reach_from_the_first_to_the_last():
    space = random_space(120)
    assert space.spread_words(200).tolist() == list(range(120))
    some = space.spread_words(7)
    assert (some[0], some[-1], len(some)) == (0, 119, 7)
    assert np.diff(some).min() >= 19


def test_sample_words_count_as_often_as_they_occur():
    space = random_space(20)
    ids = sample_words(space, ["word1 word2", "", "word1 zanzibar"])
    assert ids.tolist() == [1, 2, 1, 0]
    many = sample_words(space, ["word1 word1 word1 word2 " * 1000], count=100)
    assert len(many) == 100
    assert set(many.tolist()) <= {1, 2}
    with pytest.raises(InvalidValue, match="no words"):
        sample_words(space, ["", "  "])


def _with_function_words():
    words = ["the", "and", *(f"word{i}" for i in range(30))]
    return EmbeddingSpace.from_arrays(words, np.arange(32.0)[:, None])


def test_words_that_pass_unchanged_are_not_measured():
    space = _with_function_words()
    assert sample_words(space, public="function-words").tolist() == list(range(2, 32))
    assert sample_words(space, ["the word3 and the"], public="function-words").tolist() == [5]
    with pytest.raises(InvalidValue, match="no words but those that pass unchanged"):
        sample_words(space, ["the and"], public="function-words")


def test_of_an_example_that_passes_unchanged_no_law_is_shown():
    space, shown = _with_function_words(), {"public": "function-words"}
    ids = sample_words(space, public="function-words")
    found, _ = explain_choice(
        lambda epsilon: SanText(space, epsilon), 3.0, ids, ["the", "word3"], shown=shown
    )
    assert (found.passing, list(found.examples)) == (("the",), ["word3"])
    assert found.to_dict()["passing"] == ["the"]
    assert "  the passes unchanged, unless it may be a name" in "\n".join(found.lines())
    told, _ = explain_choice(lambda epsilon: SanText(space, epsilon), 3.0, ids, ["the", "word3"])
    assert (told.passing, list(told.examples)) == ((), ["the", "word3"])


def test_examples_are_familiar_words_where_there_are_any():
    assert len(set(example_words(random_space(120)))) == 3
    words = ["x", "terrible", "london", "doctor"]
    space = EmbeddingSpace.from_arrays(words, np.arange(4.0)[:, None])
    assert example_words(space) == ["doctor", "london", "terrible"]


def test_on_a_public_sample_it_says_what_reading_along_is_worth():
    space = clustered_space(40)
    words = [word for word in space.words if word != space.words[space.unknown]]
    # Each text goes through the words in their order: who knows that names nearly all.
    texts = [" ".join(words[k % 39] for k in range(n, n + 20)) for n in range(60)]
    mechanism = NearWords(space, 2.0, near=4, outputs=20)
    named = named_in(mechanism, texts)
    assert named["contextual"] > named["exact"] + 0.2
    explained = replace(explain(mechanism, np.arange(40), []), named=named)
    (line,) = (line for line in explained.lines() if "words follow each other" in line)
    assert f"names {100 * named['exact']:.0f} one word at a time" in line
    assert explained.to_dict()["named"] == named
    without = replace(explained, named=None)
    assert any("--public-sample" in line for line in without.lines())
    # Of too few texts, and of a law that takes long to invert, it says nothing.
    assert named_in(mechanism, texts[:39]) is None
    assert named_in(SanText(space, 3.0), texts) is None


@pytest.mark.parametrize(
    ("epsilon", "near", "code"), [(9.0, 1, True), (9.0, 2, False), (2.0, 1, False)]
)
def test_a_law_that_gives_the_same_again_and_again_is_called_a_code(epsilon, near, code):
    mechanism = NearWords(clustered_space(40), epsilon, near=near, outputs=20)
    explained = explain(mechanism, np.arange(40), [])
    assert any("more a code" in line for line in explained.lines()) == code
    law = np.exp(mechanism.log_probabilities([7])[0])
    assert explained.again == pytest.approx((np.sort(law)[-near:] ** 2).sum())
    assert explain(SanText(clustered_space(40), 3.0), np.arange(40), []).again is None


def test_the_table_of_epsilons_has_the_guesses_that_a_run_states():
    space = load_space("english")

    def near_words(epsilon: float) -> NearWords:
        return NearWords(space, epsilon)

    for row in epsilon_table(near_words)[1:]:
        epsilon, _, guess = row.split()[:3]
        assert guess == f"{best_guess(near_words(float(epsilon))):.2f}"
