"""The certified step: what one user and one entity can change, exactly; and who is drawn."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch
from scipy.stats import binom, binomtest

from discreet.errors import InputError, InvalidValue
from discreet.models.awd_lstm import AwdLstm, AwdLstmShape
from discreet.training.user_entity._bounds import within_bounds
from discreet.training.user_entity._draws import Rates, StepDraws
from discreet.training.user_entity._gradients import added_up, contributions, norm_of
from discreet.training.user_entity.rules import Rules, TrainingPlan
from discreet.training.user_entity.trainer import UserEntityTrainer
from discreet.training.user_entity.users import Sentence, gather
from given_gradients import GivenGradients
from goodness import LEVEL

NEW_USER, NEW_ENTITY = "new user", "new entity"
CLIP, CELL_CLIP = 1.0, 0.25


def everything(entities=True):
    """Draws in which everybody takes part."""
    return StepDraws(bytes(32), Rates(users=1.0, entities=1.0 if entities else 0.0))


def rules(**changes):
    given = {"clip": CLIP, "cell_clip": CELL_CLIP, "holders": 3, "user_rate": 1.0}
    given |= {"learning_rate": 1.0, "optimizer": "sgd"}
    return Rules(**(given | changes))


def world(seed, holders=3, cells=1):
    """Sentences in which the new entity and the new user come last, and gradients to go with them.

    Some gradients are tiny, some huge, some opposite to each other.
    """
    rng = np.random.default_rng(seed)
    words = 40
    table = rng.standard_normal((words, 6)) * 10.0 ** rng.integers(-3, 4, (words, 1))
    table[1::2] = -table[::2] * rng.choice([1.0, 0.999, 3.0], (words // 2, 1))
    sentences = []
    for user in range(5):
        for place in range(6):
            entities = frozenset({f"old {user} {place}"} if place % 2 else set())
            sentences.append(Sentence(f"user {user}", rng.integers(0, words, 3), entities))
    for user in range(holders):
        for cell in range(cells):
            also = {NEW_ENTITY, f"beside {user} {cell}"} if cell else {NEW_ENTITY}
            for _ in range(2):
                ids = rng.integers(0, words, 4)
                sentences.append(Sentence(f"user {user}", ids, frozenset(also)))
    sentences += [
        Sentence(NEW_USER, rng.integers(0, words, 4), frozenset(entities))
        for entities in ((), (), *[(NEW_ENTITY,)] * int(rng.integers(0, 3)))
    ]
    return sentences, GivenGradients(table)


def pre_noise(sentences, model, draws, **changes):
    trainer = UserEntityTrainer(rules(**changes), gather(sentences), model, seed=0)
    return trainer.total(draws)["weights"].numpy()


def without(sentences, *, user=None, entity=None):
    return [s for s in sentences if s.user != user and entity not in s.entities]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("cells", [1, 2])
def test_a_user_and_an_entity_move_the_sum_by_at_most_the_stated_bound(seed, cells):
    sentences, model = world(seed, cells=cells)
    kept = (
        sentences,
        without(sentences, user=NEW_USER),
        without(sentences, entity=NEW_ENTITY),
        without(sentences, user=NEW_USER, entity=NEW_ENTITY),
    )
    bounds = rules(holders=10, cells=cells)
    trainers = [UserEntityTrainer(bounds, gather(some), model, seed=0) for some in kept]
    for draws in (everything(), everything(entities=False), *some_draws(seed)):
        sums = [trainer.total(draws)["weights"].numpy() for trainer in trainers]
        whole, no_user, no_entity, neither = sums
        drawn_user = draws.user(NEW_USER)
        drawn = draws.entity(NEW_ENTITY)
        holders = sum(draws.user(f"user {u}") for u in range(3))
        assert np.linalg.norm(whole - no_user) <= drawn_user * CLIP
        own = drawn_user * CELL_CLIP * cells  # the new user may hold it too
        limit = drawn * (holders * cells * CELL_CLIP + own)
        assert np.linalg.norm(whole - no_entity) <= limit
        change = np.linalg.norm(whole - neither)
        assert change <= drawn_user * CLIP + drawn * holders * cells * CELL_CLIP


def some_draws(seed):
    rates = Rates(users=0.5, entities=0.5, sentences=0.7)
    return [StepDraws.seeded(rates, seed, step) for step in range(3)]


def test_the_bound_is_reached():
    """All gradients along one line: a user and its entity move the sum by exactly the bound."""
    model = GivenGradients([[1e6, 0.0], [0.01, 0.0]])
    sentences = [Sentence(f"user {u}", [1]) for u in range(3)]
    sentences += [Sentence(f"user {u}", [0], frozenset({NEW_ENTITY})) for u in range(3)]
    sentences += [Sentence(NEW_USER, [0])] * 5  # each of a cell's norm, a quarter of a user's
    whole = pre_noise(sentences, model, everything())
    few = pre_noise(without(sentences, user=NEW_USER, entity=NEW_ENTITY), model, everything())
    assert np.linalg.norm(whole - few) == pytest.approx(CLIP + 3 * CELL_CLIP, rel=1e-3)


def test_a_sentence_without_an_entity_weighs_no_more_than_a_cell():
    model = GivenGradients(np.diag([100.0, 100.0, 100.0]))
    sentences = [Sentence("a", [0]), Sentence("a", [1]), Sentence("a", [2], frozenset({"x"}))]
    [given] = contributions(
        model,
        UserEntityTrainer(rules(), gather(sentences), model, seed=0).active(everything()),
        everything(),
        clip=CLIP,
        cell_clip=CELL_CLIP,
    )
    assert given["weights"].tolist() == pytest.approx([CELL_CLIP] * 3, rel=1e-3)


def test_without_the_second_clipping_the_bound_breaks():
    """A mutant that clips users only: one cell then turns the whole contribution around."""
    model = GivenGradients([[1.0, 0.0], [-1e6, 0.0]])
    users = gather([Sentence("a", [0]), Sentence("a", [1], frozenset({NEW_ENTITY}))])
    draws = everything()

    def contribution(kept, cell_clip):
        text = TrainingPlan.of(rules(), kept).active(kept[0], draws)
        return next(contributions(model, [text], draws, clip=CLIP, cell_clip=cell_clip))["weights"]

    alone = (users[0].take(np.array([0])),)
    right = contribution(users, CELL_CLIP) - contribution(alone, CELL_CLIP)
    wrong = contribution(users, None) - contribution(alone, None)
    assert float(right.norm()) <= CELL_CLIP
    assert float(wrong.norm()) == pytest.approx(2 * CLIP, rel=1e-3)


def test_the_bound_holds_for_a_network():
    shape = AwdLstmShape(
        words=12, boundary=0, embedding=5, hidden=6, layers=2, weight_drop=0.3, output_drop=0.4
    )
    model = AwdLstm(shape, seed=1)
    for value in model.trainable().values():
        value *= 4.0
    rng = np.random.default_rng(0)
    for seed in range(5):
        sentences, _ = world(seed)
        sentences = [
            dataclasses.replace(s, ids=rng.integers(1, 12, len(s.ids)).tolist()) for s in sentences
        ]
        few = without(sentences, user=NEW_USER, entity=NEW_ENTITY)
        totals = [
            UserEntityTrainer(rules(clip=0.5, cell_clip=0.1), gather(s), model, seed=0).total(
                everything()
            )
            for s in (sentences, few)
        ]
        change = sum(float((totals[0][n] - totals[1][n]).norm()) ** 2 for n in totals[0]) ** 0.5
        assert 0 < change <= 0.5 + 3 * 0.1


def test_one_user_more_does_not_move_how_the_others_are_rounded():
    # Sixteen sizes, again and again: whoever adds up some of them in 32 bits rounds alike each
    # time, and otherwise once a user stands before them all.
    sizes = np.tile(np.linspace(0.1, 0.99, 16, dtype=np.float32), 200)
    added = []
    for users in (sizes, np.append(np.float32(1.0), sizes)):
        parts = ({"weight": torch.tensor([size])} for size in users)
        total = added_up(parts, {"weight": torch.zeros(1, dtype=torch.float64)})
        added.append(float(total["weight"]))
    assert added[1] - added[0] == pytest.approx(1.0, abs=1e-9)


def test_the_norm_of_a_long_row_is_within_a_tenth_of_the_margin():
    # The gradient of a bias of so many words, all of them alike, as at the beginning.
    size = 2**18
    for entry in (0.9, 1.1, 1.3):
        exact = float(np.float32(entry)) * size**0.5
        assert norm_of({"bias": torch.full((size,), entry)}) == pytest.approx(exact, rel=1e-5)


def test_a_gradient_that_is_no_number_counts_for_nothing():
    model = GivenGradients([[float("nan"), 0.0], [float("inf"), 1.0], [1.0, 1.0]])
    bad = [Sentence("a", [0]), Sentence("b", [1], frozenset({"x"})), Sentence("c", [2])]
    bad += [Sentence("d", [0], frozenset({"y"})), Sentence("d", [2])]
    total = pre_noise(bad, model, everything())
    # Only the cell, or the sentence without an entity, that is no number is lost.
    assert total == pytest.approx([2 * CELL_CLIP / np.sqrt(2)] * 2, rel=1e-3)


def test_of_single_sentences_too_a_gradient_that_is_no_number_counts_for_nothing():
    # The model would be no number either, which tells everybody that the sentence is in the text.
    model = GivenGradients([[float("nan"), 0.0], [float("inf"), 1.0], [3e38, 3e38], [9.0, 0.0]])
    own = [Sentence("a", [word]) for word in range(4)]
    chosen = rules(algorithm="sample-level", sentence_rate=1.0, noise=1e-6, population=1)
    UserEntityTrainer(chosen, gather(own), model, seed=1).step(0)
    moved = model.trainable()["weights"].numpy()
    assert moved == pytest.approx([-CLIP, 0.0], abs=1e-3)


# -- activation ----------------------------------------------------------------------------------


def test_a_sentence_is_active_only_if_all_its_entities_are_drawn():
    users = gather(
        [
            Sentence("a", [0], frozenset({"x"})),
            Sentence("a", [1], frozenset({"x", "y"})),
            Sentence("a", [2], frozenset({"y"})),
            Sentence("a", [3]),
        ]
    )
    seen = set()
    for step in range(200):
        rates = Rates(users=1.0, entities=0.5, sentences=0.5)
        draws = StepDraws.seeded(rates, 3, step)
        text = TrainingPlan.of(rules(cells=2), users).active(users[0], draws)
        active = set() if text is None else set(text.sentences.tolist())
        x, y = draws.entity("x"), draws.entity("y")
        seen.add((x, y))
        expected = {i for i, on in ((0, x), (1, x and y), (2, y)) if on}
        assert active - {3} == expected
    assert len(seen) == 4


def test_the_published_algorithm_uses_a_sentence_with_an_undrawn_entity():
    """The fault that the certified one does not have."""
    users = gather([Sentence("a", [0], frozenset({"x", "y"})), Sentence("b", [1])])
    kinds = {}
    for algorithm in ("certified", "published"):
        plan = TrainingPlan.of(rules(algorithm=algorithm, entity_rate=0.5), users)
        for step in range(50):
            draws = StepDraws.seeded(Rates(users=1.0, entities=0.5), 1, step)
            if draws.entity("x") and not draws.entity("y"):
                kinds[algorithm] = plan.active(users[0], draws) is not None
    assert kinds == {"certified": False, "published": True}


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
def test_users_entities_and_sentences_are_drawn_at_their_rates(rate):
    rates = Rates(users=rate, entities=rate, sentences=rate)
    steps, names = 60, [f"n{i}" for i in range(100)]
    counts = {"users": 0, "entities": 0, "sentences": 0}
    for step in range(steps):
        draws = StepDraws.seeded(rates, 5, step)
        counts["users"] += sum(draws.user(name) for name in names)
        counts["entities"] += sum(draws.entity(name) for name in names)
        counts["sentences"] += int(draws.sentences("who", 100).sum())
    for count in counts.values():
        assert binomtest(count, 6000, rate).pvalue > LEVEL
        assert binomtest(count, 6000, rate + 0.08).pvalue < LEVEL


def test_draws_are_independent_of_each_other():
    """Two names are drawn together as often as their rates say, within and across steps."""
    rates = Rates(users=0.5, entities=0.5)
    together = sum(
        draws.user("a") and draws.entity("a")
        for draws in (StepDraws.seeded(rates, 2, step) for step in range(4000))
    )
    low, high = binom.interval(1 - 1e-9, 4000, 0.25)
    assert low <= together <= high


def test_fresh_draws_do_not_repeat():
    keys = {StepDraws.fresh(Rates(users=0.5)).key for _ in range(50)}
    assert len(keys) == 50


# -- bounds --------------------------------------------------------------------------------------


def crowd(holders, cells=1):
    sentences = []
    for user, cell in itertools.product(range(holders), range(cells)):
        also = {"shared", f"{user} {cell}"} if cell else {"shared"}
        sentences.append(Sentence(f"u{user}", [1], frozenset(also)))
        sentences.append(Sentence(f"u{user}", [2]))
    return gather(sentences)


def test_what_exceeds_the_bounds_is_dropped_and_counted():
    kept, dropped = within_bounds(crowd(7, cells=3), holders=4, cells=2)
    with_it = [sum("shared" in cell for cell in user.cells) for user in kept]
    assert sorted(with_it) == [0, 0, 0, 2, 2, 2, 2]
    assert dropped.sentences == 3 * 3 + 4 * 1
    assert dropped.sensitive == 21
    assert (dropped.entities_over_holders, dropped.entities_over_cells) == (1, 7)
    assert all((user.cell < 0).sum() == 3 for user in kept), "sentences without an entity stay"


def test_what_is_dropped_does_not_depend_on_the_order_of_users():
    users = crowd(7)
    forward, _ = within_bounds(users, holders=4, cells=1)
    backward, _ = within_bounds(users[::-1], holders=4, cells=1)
    assert [len(u) for u in forward] == [len(u) for u in backward[::-1]]


def test_within_the_bounds_nothing_changes_and_the_domain_is_closed_under_removal():
    users = crowd(4, cells=2)
    kept, dropped = within_bounds(users, holders=4, cells=2, strict=True)
    assert kept == users
    assert dropped.sentences == 0
    for place in range(4):
        fewer = users[:place] + users[place + 1 :]
        assert within_bounds(fewer, holders=4, cells=2, strict=True)[0] == fewer


def test_the_figure_for_users_holds_for_the_data_as_given_if_holders_cover_everybody():
    """What a user keeps then depends on nobody else."""
    users = crowd(6, cells=3)
    for place in range(6):
        alone, _ = within_bounds(users[place : place + 1], holders=6, cells=1)
        among, _ = within_bounds(users, holders=6, cells=1)
        assert alone[0].cells == among[place].cells


def test_dropping_can_depend_on_others_and_the_statement_says_so():
    users = crowd(5)
    full, _ = within_bounds(users, holders=4, cells=1)
    lost = next(place for place, user in enumerate(full) if not user.cells)
    other = next(place for place in range(5) if place != lost)
    fewer, _ = within_bounds(users[:other] + users[other + 1 :], holders=4, cells=1)
    assert all(user.cells for user in fewer), "the one who had lost it has it back"
    model = GivenGradients(np.eye(3))
    trainer = UserEntityTrainer(rules(holders=4, noise=30.0), users, model, seed=0)
    assert any("dropped" in caveat for caveat in trainer.statement(1).caveats)
    inside = rules(holders=5, noise=30.0)
    loose = UserEntityTrainer(inside, users, model, seed=0)
    assert loose.statement(1).caveats == trainer.statement(1).caveats, "it tells nothing of them"
    strict = UserEntityTrainer(inside, users, model, seed=0, strict=True)
    assert not any("dropped" in caveat for caveat in strict.statement(1).caveats)


def test_places_of_an_entity_go_to_cells_that_stay():
    """Each of these holds the entity that everybody wants; one has no other that is full."""
    texts = [("a", {"all", "two"}), ("b", {"all", "two"}), ("c", {"all"})]
    texts += [("d", {"two", "own"}), ("e", {"own", "e's"})]
    users = gather(Sentence(name, [1], frozenset(entities)) for name, entities in texts)
    kept, dropped = within_bounds(users, holders=1, cells=1)
    assert [bool(len(user)) for user in kept] == [False, False, True, False, True]
    assert (dropped.sentences, dropped.users_emptied) == (3, 3)
    # No cell that was left out would fit: nothing is wasted.
    held = {entity for user in kept for cell in user.cells for entity in cell}
    assert all(held & entities for name, entities in texts if name not in "ce")


def test_longer_cells_come_first():
    users = gather([Sentence("a", [1], frozenset({"x"})), Sentence("b", [1] * 9, frozenset({"x"}))])
    kept, _ = within_bounds(users, holders=1, cells=1)
    assert [len(user) for user in kept] == [0, 1]


def test_with_one_cell_a_user_keeps_one_cell_or_what_names_nobody():
    users = crowd(4, cells=3)
    kept, dropped = within_bounds(users, holders=2, cells=2, one_cell=True)
    assert [len(user.cells) + bool((user.cell < 0).any()) for user in kept] == [1] * 4
    assert dropped.users_over_one_cell == 4
    assert within_bounds(kept, holders=2, cells=2, one_cell=True, strict=True)[0] == kept
    with pytest.raises(InvalidValue, match="4 users have more than one"):
        within_bounds(users, holders=4, cells=3, one_cell=True, strict=True)
    model = GivenGradients(np.eye(3))
    trainer = UserEntityTrainer(rules(one_cell=True, noise=30.0), users, model, seed=0)
    assert any("one set of entities" in caveat for caveat in trainer.statement(1).caveats)


@pytest.mark.parametrize("seed", range(10))
def test_with_one_cell_an_entity_takes_its_holders_away_as_a_whole(seed):
    """What is left does not tell which holders were drawn: the account counts on it."""
    sentences, model = world(seed, cells=2)
    users, _ = within_bounds(gather(sentences), holders=10, cells=1, one_cell=True)
    named = [user for user in users if any(NEW_ENTITY in cell for cell in user.cells)]
    others = [user for user in users if user not in named]
    assert all((user.cell == 0).all() for user in named), "a holder has that one cell"
    for draws in (everything(), *some_draws(seed)):
        both, few = (
            UserEntityTrainer(rules(one_cell=True, holders=10), some, model, seed=0, strict=True)
            .total(draws)["weights"]
            .numpy()
            for some in (users, others)
        )
        drawn = draws.entity(NEW_ENTITY) * sum(draws.user(user.name) for user in named)
        assert np.linalg.norm(both - few) <= drawn * CELL_CLIP


def test_with_one_cell_a_cell_and_a_user_reach_their_norms():
    model = GivenGradients(np.diag([100.0, 100.0, 0.1]))
    sentences = [Sentence("a", [0]), Sentence("b", [1], frozenset({"x"})), Sentence("c", [2])]
    total = pre_noise(sentences, model, everything(), one_cell=True)
    assert total.tolist() == pytest.approx([CLIP, CELL_CLIP, 0.1], rel=1e-3)


def test_strict_refuses_with_numbers_only():
    with pytest.raises(InvalidValue, match="1 entities have more than 4 holders") as raised:
        within_bounds(crowd(7), holders=4, cells=1, strict=True)
    assert "shared" not in str(raised.value)


# -- bad input -----------------------------------------------------------------------------------

BAD = [
    ({"user_rate": 0.0}, "user_rate of Rules must be a finite number above 0 and at most 1"),
    ({"user_rate": 1.5}, "user_rate"),
    ({"entity_rate": -0.1}, "entity_rate"),
    ({"sentence_rate": 1.1}, "sentence_rate"),
    ({"algorithm": "sample-level", "sentence_rate": 0.0}, "sentence rate"),
    ({"noise": 0.0}, "noise"),
    ({"noise": -1.0}, "noise"),
    ({"noise": float("nan")}, "noise"),
    ({"clip": 0.0}, "clip"),
    ({"cell_clip": 2.0}, "cell clip"),
    ({"delta": 0.0}, "delta"),
    ({"holders": -1}, "holders"),
    ({"cells": 0}, "cells"),
    ({"population": 0}, "population"),
    ({"algorithm": "magic"}, "algorithm"),
    ({"optimizer": "magic"}, "optimizer"),
]


@pytest.mark.parametrize(("changes", "named"), BAD, ids=[str(b[0]) for b in BAD])
def test_bad_rules_are_refused_by_name(changes, named):
    with pytest.raises(InvalidValue, match=named):
        rules(**changes)


def test_no_users_and_users_without_text_are_refused():
    with pytest.raises(InputError, match="no users"):
        gather([])
    with pytest.raises(InputError, match="user 1 ") as raised:
        gather([Sentence("a", [1]), Sentence("zanzibar", [])])
    assert "zanzibar" not in str(raised.value)
    with pytest.raises(InvalidValue, match="no users"):
        UserEntityTrainer(rules(), (), GivenGradients(np.eye(2)))


def test_nothing_protected_is_shown():
    users = gather([Sentence("zanzibar", [1, 2], frozenset({"timbuktu"}))])
    draws = StepDraws.fresh(Rates(users=1.0))
    text = TrainingPlan.of(rules(), users).active(users[0], draws)
    shown = repr(users) + repr(draws) + repr(text) + repr(Sentence("zanzibar", [7]))
    assert not {"zanzibar", "timbuktu"} & set(shown.replace("'", " ").split())
    assert draws.key.hex() not in shown


def test_the_same_data_in_pieces_gives_the_same_contributions(monkeypatch):
    """Users who share a pass over the model do not act on each other."""
    sentences, _ = world(1)
    shape = AwdLstmShape(words=40, boundary=0, embedding=5, hidden=6, weight_drop=0.2)
    users, model, draws = gather(sentences), AwdLstm(shape, seed=1), everything()
    plan = TrainingPlan.of(rules(), users)
    texts = [plan.active(user, draws) for user in users]
    together = list(contributions(model, texts, draws, clip=CLIP, cell_clip=CELL_CLIP))
    monkeypatch.setattr("discreet.training.user_entity._gradients._WORDS_TOGETHER", 1)
    alone = list(contributions(model, texts, draws, clip=CLIP, cell_clip=CELL_CLIP))
    assert len(alone) == len(users)
    for one, other in zip(together, alone, strict=True):
        for name in one:
            torch.testing.assert_close(one[name], other[name], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("algorithm", ["published", "published-optimized"])
def test_the_published_algorithms_add_the_average_as_it_is_whatever_the_default_optimiser(
    algorithm,
):
    made = Rules(algorithm=algorithm, noise=1e-6, population=3, user_rate=1.0, entity_rate=1.0)
    sentences, model = world(1)
    trainer = UserEntityTrainer(made, gather(sentences), model, seed=0)
    before = model.trainable()["weights"].clone()
    total = trainer.total(trainer.draws(0))["weights"]
    trainer.step(0)
    moved = (model.trainable()["weights"] - before).double()
    expected = -total / trainer.plan.denominator
    assert made.optimizer == "sgd"
    assert torch.allclose(moved, expected, atol=1e-4 * float(expected.abs().max()))
