"""The attack on authorship: it finds a style that is there, and none that is not."""

import numpy as np
import pytest

from discreet.attacks.authorship import StyleAttack, authors_of, macro_f1
from discreet.errors import InvalidValue

NAMES = [f"writer {number % 8}" for number in range(160)]
FOLDS = np.arange(160) // 80


def _texts(styles):
    """Each writer has a few words of its own among many that all share."""
    rng = np.random.default_rng(0)
    return [
        " ".join(
            f"w{rng.integers(30)}" if rng.random() < 0.7 else f"own{style}x{rng.integers(3)}"
            for _ in range(25)
        )
        for style in styles
    ]


@pytest.fixture(scope="module")
def written():
    return _texts([number % 8 for number in range(160)])


@pytest.fixture(scope="module")
def attack(written):
    truth, count = authors_of(NAMES, 2)
    assert count == 8
    return StyleAttack.learnt(written, truth, FOLDS)


def test_a_style_that_is_there_is_found(attack, written):
    found = attack.on(written)
    rng = np.random.default_rng(1)
    assert found.macro_f1(rng).low > 0.9
    assert found.top(rng).value == 1.0


def test_where_there_is_no_style_it_is_chance(attack):
    found = attack.on(_texts([9] * 160))
    rng = np.random.default_rng(1)
    assert (found.guesses == found.truth).mean() < 1 / 8 + 5 * np.sqrt(1 / 8 * 7 / 8 / 160)
    assert found.macro_f1(rng).value < 0.3
    assert 5 / 8 - 0.2 < found.top(rng).value < 5 / 8 + 0.2


def test_whoever_learns_from_releases_sees_through_a_change_of_words(attack, written):
    # Each own word becomes another one, always the same: no protection, and static is blind to it.
    moved = [text.replace("own", "zz") for text in written]
    moved = [text.translate(str.maketrans("01234567", "hijklmno")) for text in moved]
    truth, _ = authors_of(NAMES, 2)
    rng = np.random.default_rng(1)
    adaptive = StyleAttack.learnt(moved, truth, FOLDS).on(moved)
    assert adaptive.macro_f1(rng).low > 0.9
    assert attack.on(moved).macro_f1(rng).value < 0.5


def test_nobody_is_judged_by_who_has_learnt_from_the_text():
    # Texts without any style, each repeated by nobody: learning them by heart must not help.
    texts = [f"only{number}" for number in range(160)]
    truth, _ = authors_of(NAMES, 2)
    found = StyleAttack.learnt(texts, truth, FOLDS).on(texts)
    assert (found.guesses == found.truth).mean() < 1 / 8 + 5 * np.sqrt(1 / 8 * 7 / 8 / 160)


def test_macro_f1_is_that_of_another_implementation():
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(2)
    truth, guesses = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    found = macro_f1(guesses, truth, 4, rng)
    assert found.value == pytest.approx(f1_score(truth, guesses, average="macro"))
    assert found.low < found.value < found.high


@pytest.mark.parametrize(
    ("names", "says"),
    [(["one"] * 9, "2 different authors"), (["a"] * 5 + ["b"], "at least 2 texts of every")],
)
def test_too_few_to_tell_apart(names, says):
    with pytest.raises(InvalidValue, match=says):
        authors_of(names, 2)


def test_what_does_not_fit_together(attack):
    with pytest.raises(InvalidValue, match="a release of each text"):
        attack.on(["one"])
    with pytest.raises(InvalidValue, match="at least 4 texts"):
        StyleAttack.learnt(["a"], np.zeros(1, np.int64), np.zeros(1, np.int64))
