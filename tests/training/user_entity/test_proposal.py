"""Bounds that are proposed: what they keep, what noise they ask for, and what that leaves."""

import pytest

from discreet.accounting.user_entity import UserEntityTraining
from discreet.errors import InvalidValue
from discreet.training.user_entity._bounds import within_bounds
from discreet.training.user_entity.proposal import proposals
from discreet.training.user_entity.rules import Rules
from discreet.training.user_entity.users import Sentence, gather

RULES = Rules(user_rate=0.5, entity_rate=1.0)
STEPS, EPSILON = 2, 8.0


def text(users=12, *, shared=3):
    """Each user has a sentence without an entity, an own entity, and everybody's."""
    sentences = []
    for user in range(users):
        sentences.append(Sentence(f"u{user}", [1, 2]))
        sentences.append(Sentence(f"u{user}", [1, 2], frozenset({f"own {user}"})))
        everybodys = [frozenset({f"shared {number}"}) for number in range(shared)]
        sentences += [Sentence(f"u{user}", [3], entities) for entities in everybodys]
    return gather(sentences)


def found(users, **changes):
    given = {"holders": [1, 2], "cells": [1, 2], "ratios": [0.5]}
    return proposals(users, RULES, steps=STEPS, epsilon=EPSILON, **(given | changes))


@pytest.fixture(scope="module")
def some():
    return found(text())


def test_each_says_what_its_bounds_keep_and_the_noise_that_they_ask_for(some):
    users = text()
    for one in some:
        _, dropped = within_bounds(
            users, holders=one.holders, cells=one.cells, one_cell=one.one_cell
        )
        assert one.kept == 1 - dropped.sentences / sum(map(len, users))
        run = UserEntityTraining(
            user_rate=0.5,
            entity_rate=1.0,
            noise=one.noise,
            steps=STEPS,
            holders=one.holders,
            cells=one.cells,
            cell_ratio=one.cell_ratio,
            one_cell=one.one_cell,
        )
        assert EPSILON - 0.2 < run.joint_epsilon(RULES.delta) <= EPSILON


def test_the_one_with_most_signal_comes_first_and_none_beats_training_for_users_alone(some):
    signals = [one.signal for one in some]
    assert signals == sorted(signals, reverse=True)
    assert 0 < signals[-1] < signals[0] < 1
    assert len(some) == 6
    assert sum(one.one_cell for one in some) == 2


def test_where_no_entity_is_shared_one_holder_is_enough():
    best = found(text(shared=0), cells=[1])[0]
    assert (best.holders, best.kept) == (1, 1.0)


def test_users_with_one_text_each_are_told_to_use_one_cell():
    shared = [f"shared {place // 2}" for place in range(12)]
    users = gather(Sentence(f"u{i}", [1, 2], frozenset({name})) for i, name in enumerate(shared))
    best = found(users, cells=[1], holders=[1])[0]
    assert best.one_cell
    assert best.cell_ratio == 1


def test_text_without_entities_is_refused():
    with pytest.raises(InvalidValue, match="holds no entity"):
        found(gather([Sentence("u", [1])]))
