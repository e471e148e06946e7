"""Attribute inference: it learns what can be learnt, and chance is what guessing gives."""

import numpy as np
import pytest

from discreet.attacks.attributes import attribute_attack
from discreet.errors import InvalidValue
from discreet.mechanisms.sentence import Purkayastha, unit_rows

CENTRES = {"a": [2.0, 0, 0, 0], "b": [-2.0, 0, 0, 0], "c": [0, 2.0, 2.0, 0]}


def examples(count: int, seed: int = 0) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    names = rng.choice(["a", "b", "c"], count, p=[0.5, 0.3, 0.2]).tolist()
    rows = np.array([CENTRES[name] for name in names]) + 0.5 * rng.standard_normal((count, 4))
    return unit_rows(rows), names


def test_success_falls_with_the_noise_to_chance():
    (aux, known), (targets, hidden) = examples(300), examples(300, seed=1)
    found, rng = {}, np.random.default_rng(2)
    for epsilon in (0.0, 4.0, 1e6):
        mechanism = Purkayastha(4, epsilon)
        [found[epsilon]] = attribute_attack(
            mechanism.release(aux, rng),
            known,
            mechanism.release(targets, rng),
            hidden,
            unprotected=(aux, targets) if epsilon > 1e5 else None,
        )
    none, some, all_ = found.values()
    assert none.chance == hidden.count("a") / 300
    # Who learns from nothing but noise may guess worse than the commonest, never much better.
    assert none.success.value < none.chance + 0.08
    assert none.success.high < some.success.value < all_.success.value
    assert all_.success.low > 0.9
    assert all_.success.value == pytest.approx(all_.unprotected.value, abs=0.03)
    assert all_.measure == "accuracy among 3 attributes"


def test_the_same_seed_gives_the_same_and_leaves_the_library_alone():
    import torch

    (aux, known), (targets, hidden) = examples(60), examples(40, seed=1)
    torch.manual_seed(9)
    before = torch.get_rng_state()
    first, second = (attribute_attack(aux, known, targets, hidden, seed=3) for _ in range(2))
    assert first == second
    assert torch.equal(before, torch.get_rng_state())


def test_an_attribute_that_was_never_seen_is_never_found():
    (aux, known), (targets, _) = examples(60), examples(10, seed=1)
    [outcome] = attribute_attack(aux, known, targets, ["d"] * 10)
    assert (outcome.success.value, outcome.chance) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("aux", "known", "targets", "hidden", "message"),
    [
        (30, ["a"] * 30, 5, ["a"] * 5, "at least 2 different attributes; got 1"),
        (4, ["a", "b"] * 2, 5, ["a"] * 5, "at least 20 public sentences"),
        (30, ["a", "b"] * 15, 0, [], "and a target"),
        (30, ["a", "b"] * 14, 5, ["a"] * 5, "the attribute of each vector"),
    ],
)
def test_what_cannot_be_attacked(aux, known, targets, hidden, message):
    with pytest.raises(InvalidValue, match=message):
        attribute_attack(examples(aux)[0], known, np.ones((targets, 4)), hidden)


def test_vectors_of_two_lengths():
    rows, names = examples(30)
    with pytest.raises(InvalidValue, match="one length"):
        attribute_attack(rows, names, rows[:, :3], names)
