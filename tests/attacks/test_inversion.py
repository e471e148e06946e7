"""Inversion: full recovery where it is possible, chance where it is not, and never much below."""

import numpy as np
import pytest

from discreet.attacks.inversion import Bags, inversion_attack
from discreet.errors import InvalidValue
from discreet.mechanisms.sentence import Purkayastha, unit_rows
from discreet.spaces.space import EmbeddingSpace

WORDS = ["<unk>", *(f"word{chr(97 + i)}{chr(97 + j)}" for i in range(8) for j in range(8))]
SPACE = EmbeddingSpace.from_arrays(
    WORDS, np.random.default_rng(0).standard_normal((len(WORDS), 24)), unknown="<unk>"
)


def sentences(count: int, rng: np.random.Generator) -> list[str]:
    shares = 1.0 / np.arange(1, len(WORDS))  # some words are much more frequent than others
    shares /= shares.sum()
    return [" ".join(rng.choice(WORDS[1:], 4, replace=False, p=shares)) for _ in range(count)]


@pytest.fixture(scope="module")
def halves():
    rng = np.random.default_rng(1)
    known, hidden = (Bags.of(sentences(count, rng), SPACE) for count in (400, 300))
    turn = rng.standard_normal((24, 24))
    return known, hidden, known.means @ turn, hidden.means @ turn


def test_bags_and_means_by_hand():
    bags = Bags.of(["wordab wordab wordcd", "wordef nothing"], SPACE)
    place = WORDS.index
    assert bags.counts[0, place("wordab")] == 2
    assert bags.present[0, place("wordab")] == 1
    assert bags.counts.sum() == 4  # the unknown word is no word to recover
    expected = (2 * SPACE.vectors[place("wordab")] + SPACE.vectors[place("wordcd")]) / 3
    np.testing.assert_allclose(bags.means[0], expected)
    np.testing.assert_allclose(bags[np.array([1])].means[0], SPACE.vectors[place("wordef")])


def test_vectors_that_say_everything_give_the_words_away(halves):
    known, hidden, aux, targets = halves
    precision, recall, f1 = inversion_attack(aux, known, targets, hidden)
    assert [o.measure for o in (precision, recall, f1)] == ["precision", "recall", "F1"]
    assert f1.success.low > 0.8
    p, r = precision.success.value, recall.success.value
    assert f1.success.value == pytest.approx(2 * p * r / (p + r))
    assert f1.chance < 0.5
    assert f1.targets == 300


def test_chance_is_the_most_frequent_words(halves):
    known, hidden, aux, targets = halves
    counts = np.asarray(known.present.sum(axis=0)).reshape(-1)
    top = np.argsort(-counts)[:4]
    expected = sum(hidden.present[i, j] for i in range(300) for j in top) / (300 * 4)
    precision, recall, _ = inversion_attack(aux, known, targets, hidden)
    assert precision.chance == pytest.approx(expected)
    assert recall.chance == pytest.approx(expected)  # every sentence has four words


def test_noise_takes_the_words_away_and_the_attack_falls_to_chance_not_below(halves):
    known, hidden, aux, targets = halves
    rng = np.random.default_rng(2)
    clean = unit_rows(aux), unit_rows(targets)
    found = {}
    for epsilon in (0.0, 40.0, 1e6):
        mechanism = Purkayastha(24, epsilon)
        released = [mechanism.release(rows, rng) for rows in clean]
        found[epsilon] = inversion_attack(
            released[0], known, released[1], hidden, unprotected=clean
        )[2]
    values = [outcome.success.value for outcome in found.values()]
    assert values == sorted(values)
    assert values[0] > found[0.0].chance - 0.02
    assert found[0.0].success.low <= found[0.0].chance
    assert values[1] < values[2] - 0.1
    assert found[1e6].success.value == pytest.approx(found[1e6].unprotected.value, abs=0.02)


def test_the_words_of_the_targets_are_only_used_to_measure(halves):
    """Shuffled truth: an attack that looked at it would still find it."""
    known, hidden, aux, targets = halves
    order = np.random.default_rng(3).permutation(len(hidden))
    shuffled = inversion_attack(aux, known, targets, hidden[order])[2]
    assert (
        shuffled.success.value < 0.5 < inversion_attack(aux, known, targets, hidden)[2].success.low
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda k, h, a, t: (a[:, :3], k, t, h), "rows of one length"),
        (lambda k, h, a, t: (a[:9], k, t, h), "the words of each vector"),
        (lambda k, h, a, t: (a[:9], k[np.arange(9)], t, h), "at least 20 public sentences"),
        (lambda k, h, a, t: (a, k, t[:0], h[np.arange(0)]), "and a target"),
    ],
)
def test_what_does_not_belong_together(halves, change, message):
    with pytest.raises(InvalidValue, match=message):
        inversion_attack(*change(*halves))


def test_a_sentence_of_unknown_words():
    with pytest.raises(InvalidValue, match="without a single known token"):
        Bags.of(["wordab", "zanzibar"], SPACE)
