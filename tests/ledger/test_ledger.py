"""The ledger, on a file and on a server: what it allows, books, gives back and notices."""

import asyncio
import contextlib
import os
import random
import sqlite3
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from discreet.errors import (
    BudgetExceeded,
    IncompatibleStatements,
    InputError,
    InvalidValue,
    LedgerUnavailable,
    NotFound,
)
from discreet.ledger import Amount, Charge, Ledger, LedgerKey, Seen, cost, screened
from discreet.ledger import chain as chain_module
from discreet.ledger import totals as totals_module
from discreet.randomness import SEEDED_CAVEAT
from discreet.statement import Metric, PrivacyStatement, Unit
from ledger_charges import KEY, charge, statement

SECONDS = 10**6


class Clock:
    def __init__(self, monkeypatch, at=1_000_000):
        self.at = at
        for module in (chain_module, totals_module):
            monkeypatch.setattr(module, "now", lambda: self.at * SECONDS)


# -- amounts -----------------------------------------------------------------------------------


def test_what_is_spent_is_rounded_up_and_what_is_allowed_down():
    assert Amount.spent(1e-10) == Amount(1)
    assert Amount.allowed(1e-10) == Amount(0)
    assert Amount.spent(0.1, 1e-6) == Amount(10**8, 10**12)
    assert sum((Amount.spent(0.1) for _ in range(10)), Amount()) == Amount.allowed(1.0)
    assert not Amount(unbounded=1).within(Amount.allowed(5.0))
    for wrong in (-1.0, float("nan"), float("inf"), 1e9, "1"):
        with pytest.raises(InvalidValue):
            Amount.spent(wrong)


def test_a_metric_statement_costs_what_the_farthest_two_units_may_lose():
    metric = Metric("m", nearest=None, median=1.0, farthest=4.0)
    near = PrivacyStatement(notion="metric", epsilon=2.0, slack=0.5, metric=metric, unit="document")
    assert cost(near) == Amount.spent(8.5)
    assert cost(PrivacyStatement(notion="none", unit="document")).unbounded == 1
    added = statement(0.5, 1e-6, adjacency="add/remove")
    assert cost(added).epsilon == 1.0
    assert cost(added).delta > 2e-6
    assert cost(added, "add/remove") == Amount.spent(0.5, 1e-6)
    with pytest.raises(IncompatibleStatements):
        cost(statement(0.5), "add/remove")


def test_draws_of_a_person_add_up_and_those_of_two_do_not():
    word = statement(0.5, unit="word")
    given = Charge.of_draws(
        word, [2, 3, 4], persons=["ann", "bob", "ann"], dataset="d", command="c"
    )
    assert {p: s.epsilon for p, s in given.persons.items()} == {"ann": 3.0, "bob": 1.5}
    assert (given.amount().epsilon, given.statement.unit, given.units) == (3.0, Unit.USER, 9)
    nobody = Charge.of_draws(word, [2, 3, 4], dataset="d", command="c")
    assert (nobody.amount().epsilon, nobody.statement.unit) == (2.0, Unit.DOCUMENT)
    assert Charge.of_draws(word, [0], dataset="d", command="c").amount() == Amount()
    unproven = Charge.of_draws(statement(0.5, 0.2, "word"), [9], dataset="d", command="c")
    assert unproven.amount().unbounded == 1


def test_seeded_noise_is_not_charged():
    with pytest.raises(InvalidValue, match="seed"):
        Charge(dataset="d", command="c", statement=statement().with_caveats(SEEDED_CAVEAT))


@pytest.mark.parametrize("draws", [["zanzibar"], "zanzibar", [3, -1], -1, [2.7], [[1]], [True]])
def test_draws_are_whole_numbers_and_not_repeated(draws):
    with pytest.raises(InvalidValue, match=r"whole numbers of at least 0$"):
        Charge.of_draws(statement(unit="word"), draws, dataset="d", command="c")


def test_persons_are_charged_by_statements_of_the_same_unit():
    with pytest.raises(IncompatibleStatements, match="for a user, and that of a person for a word"):
        Charge(
            dataset="d",
            command="c",
            statement=statement(9.0, unit="user"),
            persons={"ann": statement(9.0, unit="user"), "bob": statement(0.1, unit="word")},
        )


# -- limits ------------------------------------------------------------------------------------


def test_exactly_what_the_limit_allows_passes(ledger):
    ledger.limit(dataset="tickets", epsilon=1.0)
    for _ in range(10):
        ledger.reserve(charge(0.1)).commit("ab")
    with pytest.raises(BudgetExceeded, match="epsilon 0 is left of epsilon 1") as caught:
        ledger.reserve(charge(1e-9))
    assert caught.value.exit_code == 3
    assert (caught.value.remaining, caught.value.requested) == (Amount(), Amount(1))
    assert ledger.budget("tickets").left == Amount()
    assert ledger.verify() == []


def test_a_delta_is_limited_too(ledger):
    ledger.limit(dataset="tickets", epsilon=10.0, delta=1e-6)
    ledger.reserve(charge(1.0, 1e-6))
    with pytest.raises(BudgetExceeded, match="without a delta"):
        ledger.reserve(charge(1.0, 1e-9))
    ledger.reserve(charge(1.0))


def test_without_a_limit_everything_is_booked(ledger):
    ledger.reserve(charge(7.0))
    ledger.reserve(Charge(dataset="tickets", command="c", statement=unproven()))
    budget = ledger.budget("tickets")
    assert (budget.limit, budget.left, budget.held.unbounded) == (None, None, 1)
    ledger.limit(dataset="tickets", epsilon=100.0)
    assert ledger.budget("tickets").left == Amount()
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge(0.001))  # nothing is proven of the sum


def unproven():
    return PrivacyStatement(notion="none", unit="document")


def test_a_limit_refuses_what_is_proven_for_less_than_its_unit(ledger):
    ledger.limit(dataset="tickets", epsilon=100.0)
    with pytest.raises(IncompatibleStatements, match="lift it first"):
        ledger.reserve(charge(1.0, unit="word"))
    ledger.limit(dataset="people", epsilon=100.0, unit="user")
    with pytest.raises(IncompatibleStatements):
        ledger.reserve(charge(1.0, dataset="people"))
    ledger.reserve(charge(dataset="people", persons={"ann": (1.0, 0.0)}))


def test_people_are_counted_side_by_side_and_everybody_with_each(ledger):
    ledger.limit(dataset="tickets", epsilon=5.0)
    ledger.reserve(charge(persons={"ann": (3.0, 0.0), "bob": (1.0, 0.0)}))
    ledger.reserve(charge(persons={"bob": (3.0, 0.0)}))
    assert ledger.budget("tickets").left == Amount.spent(1.0)  # bob's 4, not 7
    assert ledger.budget("tickets", "ann").left == Amount.spent(2.0)
    assert ledger.budget("tickets", "cleo").left == Amount.spent(5.0)
    ledger.reserve(charge(1.0))  # about everybody: bob has 5 now
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge(persons={"bob": (0.1, 0.0)}))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge(0.1))
    ledger.reserve(charge(persons={"ann": (1.0, 0.0)}))
    assert [len(list(ledger.entries("tickets", person=p))) for p in ("ann", "bob", "cleo")] == [
        3,
        3,
        1,
    ]


def test_a_person_may_have_a_limit_of_its_own(ledger):
    ledger.limit(dataset="tickets", epsilon=10.0)
    ledger.limit(dataset="tickets", person="ann", epsilon=2.0)
    with pytest.raises(BudgetExceeded, match="this person"):
        ledger.reserve(charge(persons={"ann": (3.0, 0.0), "bob": (3.0, 0.0)}))
    assert ledger.budget("tickets", "bob").left == Amount.spent(10.0)  # nothing of it was booked
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge(3.0))  # ann is among everybody
    assert len(ledger.limits("tickets")) == 2
    ledger.limit(dataset="tickets", person="ann", epsilon=None)
    ledger.reserve(charge(3.0))


def test_a_window_forgets_and_all_time_does_not(ledger, monkeypatch):
    clock = Clock(monkeypatch)
    ledger.limit(dataset="tickets", epsilon=2.0, window=timedelta(hours=1))
    ledger.limit(dataset="tickets", epsilon=3.0)
    for _ in range(2):
        ledger.reserve(charge(1.0))
    with pytest.raises(BudgetExceeded, match="within 1:00:00"):
        ledger.reserve(charge(1.0))
    clock.at += 3599
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge(1.0))
    clock.at += 1
    ledger.reserve(charge(1.0))
    clock.at += 10**6
    with pytest.raises(BudgetExceeded, match="left of epsilon 3"):
        ledger.reserve(charge(1.0))


def test_a_clock_that_is_put_back_brings_nothing_back(ledger, monkeypatch):
    clock = Clock(monkeypatch)
    ledger.limit(dataset="tickets", epsilon=1.0, window=60)
    ledger.reserve(charge(1.0))
    for jump in (-(10**5), 30, 29):
        clock.at += jump
        with pytest.raises(BudgetExceeded):
            ledger.reserve(charge(0.5))
    clock.at = 1_000_061
    ledger.reserve(charge(1.0))
    clock.at = 5  # a clock that starts in 1970
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge(0.5))
    times = [entry.at for entry in ledger.entries()]
    assert times == sorted(times)
    assert ledger.verify() == []


def test_what_is_counted_cannot_be_changed_later(ledger):
    ledger.limit(dataset="models", epsilon=8.0, delta=1e-5, adjacency="add/remove")
    trained = Charge(
        dataset="models",
        command="train",
        statement=statement(3.0, 1e-6, "user", adjacency="add/remove"),
    )
    ledger.reserve(trained)
    assert ledger.budget("models").left.epsilon == 5.0
    with pytest.raises(IncompatibleStatements, match="another data set"):
        ledger.reserve(charge(1.0, dataset="models"))
    with pytest.raises(InvalidValue, match="goes on to"):
        ledger.limit(dataset="models", epsilon=8.0)


def test_a_document_more_or_less_is_not_part_of_a_user_more_or_less(ledger):
    ledger.limit(dataset="models", epsilon=8.0, unit="document", adjacency="add/remove")
    user = statement(3.0, 0.0, "user", adjacency="add/remove")
    with pytest.raises(IncompatibleStatements, match="set a limit for a user"):
        ledger.reserve(Charge(dataset="models", command="train", statement=user))


# -- reserve, commit, refund -------------------------------------------------------------------


def test_what_is_reserved_is_spent_until_it_is_refunded(ledger):
    ledger.limit(dataset="tickets", epsilon=3.0)
    first, second, third = (ledger.reserve(charge(1.0)) for _ in range(3))
    first.commit("aa")
    first.commit("aa")  # the same words again
    second.refund()
    budget = ledger.budget("tickets")
    assert (budget.spent.epsilon, budget.held.epsilon, budget.left.epsilon) == (1.0, 1.0, 1.0)
    for again in (first.refund, lambda: first.commit("bb"), second.commit):
        with pytest.raises(InvalidValue, match="already"):
            again()
    assert [entry.state for entry in ledger.entries()] == ["committed", "refunded", "reserved"]
    assert [entry.receipt for entry in ledger.entries()] == ["aa", None, None]
    ledger.reservation(third.id).refund()  # by somebody who looked at it
    assert ledger.budget("tickets").held == Amount()
    with pytest.raises(NotFound):
        ledger.reservation("0" * 32)
    assert ledger.verify() == []


def test_a_request_is_charged_once(ledger):
    ledger.limit(dataset="tickets", epsilon=3.0)
    first = ledger.reserve(charge(1.0), request="r1")
    again = ledger.reserve(charge(1.0), request="r1")
    assert (again.id, first.repeated, again.repeated) == (first.id, False, True)
    first.commit("aa")
    assert ledger.reserve(charge(1.0), request="r1").state == "committed"
    assert ledger.budget("tickets").spent.epsilon == 1.0
    with pytest.raises(InvalidValue, match="another charge"):
        ledger.reserve(charge(2.0), request="r1")
    other = ledger.reserve(charge(1.0), request="r2")
    other.refund()
    assert not ledger.reserve(charge(1.0), request="r2").repeated  # nothing was charged for it


def test_many_are_reserved_in_one_transaction_each_by_itself(ledger):
    ledger.limit(dataset="b", epsilon=2.0)
    given = [(charge(1.0, dataset=name), None) for name in "abbbc"]
    found = ledger.reserve_all(given)
    assert [isinstance(each, BudgetExceeded) for each in found] == [False] * 3 + [True, False]
    made = [each for each in found if not isinstance(each, BudgetExceeded)]
    ledger.close_all([(each, "committed", "dd") for each in made])
    assert {entry.state for entry in ledger.entries()} == {"committed"}
    assert ledger.verify() == []


def test_what_waits_in_memory_is_reserved_and_committed_at_once(ledger):
    ledger.limit(dataset="b", epsilon=2.0)
    given = [(charge(1.0, dataset=name), f"{place:064x}") for place, name in enumerate("cbbba")]
    found = ledger.book_all(given)
    assert [isinstance(each, BudgetExceeded) for each in found] == [False] * 3 + [True, False]
    booked = {entry.id: entry for entry in ledger.entries()}
    assert len(booked) == 4  # what was refused is nowhere
    for each, (_, receipt) in zip(found, given, strict=True):
        if not isinstance(each, BudgetExceeded):
            assert (booked[each.id].state, booked[each.id].receipt) == ("committed", receipt)
    assert ledger.budget("b").spent.epsilon == 2.0
    assert ledger.budget("b").held == Amount()
    with pytest.raises(InvalidValue, match="committed already"):
        found[0].refund()
    assert ledger.verify() == []


def test_a_batch_checks_each_release_against_those_before_it(ledger, monkeypatch):
    """Persons and windows are looked up in tables, which must have what the batch wrote so far."""
    Clock(monkeypatch)
    ledger.limit(dataset="p", epsilon=3.0)
    ledger.limit(dataset="w", epsilon=2.0, window=60)
    ann, bob = {"ann": (2.0, 0.0)}, {"bob": (3.0, 0.0)}
    given = [
        charge(dataset="p", persons=ann),
        charge(dataset="p", persons=bob),
        charge(dataset="p", persons=ann),
        charge(2.0, dataset="w"),
        charge(1.0, dataset="w"),
    ]
    found = ledger.reserve_all([(each, None) for each in given])
    assert [isinstance(each, BudgetExceeded) for each in found] == [False, False, True, False, True]
    twice = ledger.reserve_all([(charge(1.0, dataset="r"), "same name")] * 2)
    assert [each.repeated for each in twice] == [False, True]
    assert twice[0].id == twice[1].id
    assert ledger.verify() == []


def test_a_slow_and_obvious_book_says_the_same(ledger, monkeypatch):
    """Random charges, commits and refunds, against sums over a plain list."""
    random.seed(11)
    clock = Clock(monkeypatch)
    names = ["ann", "bob", "cleo"]
    ledger.limit(dataset="tickets", epsilon=6.0)
    ledger.limit(dataset="tickets", epsilon=3.0, window=100)
    ledger.limit(dataset="tickets", person="ann", epsilon=4.0)
    booked, refused = [], 0

    def lost(person, since=None):
        return sum(
            amounts.get(person, amounts.get("", 0))
            for at, amounts, _ in booked
            if since is None or at > since
        )

    for _ in range(150):
        clock.at += random.randrange(40)
        if booked and random.random() < 0.2:
            entry = booked.pop(random.randrange(len(booked)))
            entry[2].refund()
            continue
        whom = random.sample(names, random.randrange(4))
        amounts = {name: random.choice([1, 250, 500, 1000]) for name in whom} or {"": 500}
        booked.append((clock.at, amounts, None))
        # Limits concern only those who are charged.
        touched = names if "" in amounts else whom
        fine = all(lost(p) <= 6000 and lost(p, clock.at - 100) <= 3000 for p in touched) and (
            "ann" not in touched or lost("ann") <= 4000
        )
        booked.pop()
        persons = {name: (amount / 1000, 0.0) for name, amount in amounts.items() if name}
        try:
            made = ledger.reserve(charge(0.5, persons=persons))
            assert fine
            booked.append((clock.at, amounts, made))
        except BudgetExceeded:
            assert not fine
            refused += 1
    assert refused > 20
    for name in names:
        assert ledger.budgets("tickets", name)[0].held.epsilon == pytest.approx(lost(name) / 1000)
    assert ledger.verify() == []


def test_threads_and_tasks_share_one_ledger(ledger):
    ledger.limit(dataset="tickets", epsilon=20.0)
    passed = []

    def work():
        for _ in range(10):
            with contextlib.suppress(BudgetExceeded):
                passed.append(ledger.reserve(charge(1.0)).id)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(passed)) == 20

    async def tasks():
        ledger.limit(dataset="tickets", epsilon=25.0)
        calls = [asyncio.to_thread(ledger.reserve, charge(1.0)) for _ in range(8)]
        return await asyncio.gather(*calls, return_exceptions=True)

    found = asyncio.run(tasks())
    assert sum(isinstance(each, BudgetExceeded) for each in found) == 3


# -- the same row again ------------------------------------------------------------------------


def test_a_row_is_known_again_and_its_first_release_stays_the_first(ledger):
    first, second = ledger.reserve(charge()), ledger.reserve(charge())
    ledger.remember(first, "tickets", ["tea", "cup"], ["one", "two"])
    ledger.remember(second, "tickets", ["tea", "pot"])
    # What is not committed may yet be given back: nobody may hand it out until then.
    assert ledger.seen("tickets", ["cup"]) == [Seen(first.id, None)]
    first.commit()
    assert ledger.seen("tickets", ["cup", "none", "tea", "pot"]) == [
        Seen(first.id, "two"),
        None,
        Seen(first.id, "one"),
        Seen(second.id, None),
    ]
    assert ledger.seen("other", ["cup"]) == [None]
    second.refund()  # nothing of it was released
    assert ledger.seen("tickets", ["tea", "pot"]) == [Seen(first.id, "one"), None]


def test_what_was_released_comes_back_letter_by_letter(ledger):
    odd = ["it's 100 % \\' ? %s", "; DROP TABLE discreet_row; --", "tea \u2603 \U0001f375 $1 {x}"]
    one, two = ledger.reserve(charge(1.0)), ledger.reserve(charge(1.0))
    ledger.remember(one, "tickets", ["1", "2", "3"], odd)
    ledger.remember(two, "tickets", ["4"], odd[:1])
    ledger.close_all([(one, "committed", None), (two, "committed", None)])
    assert [seen.kept for seen in ledger.seen("tickets", ["1", "2", "3", "4"])] == [*odd, odd[0]]
    assert ledger.verify() == []


def test_policies_for_rows_that_come_again():
    found = [None, Seen("e", "kept"), Seen("f", None)]
    assert screened(found, "charge").new == (0, 1, 2)
    for policy in ("stored-first-release", "refuse"):
        with pytest.raises(BudgetExceeded, match="released before"):
            screened(found, policy)
    assert screened(found[:2]).stored == {1: "kept"}
    with pytest.raises(InvalidValue):
        screened(found, "again")


# -- what is stored ----------------------------------------------------------------------------


def everything(ledger):
    tables = ["dataset", "event", "posting", "account", "open", "request", "limit", "row"]
    with ledger._store.transaction(write=False) as connection:
        return repr([connection.rows(f"SELECT * FROM discreet_{name}") for name in tables])


def test_no_name_and_no_text_is_stored(ledger):
    secret = "zanzibar"
    ledger.limit(dataset=secret, person=secret, epsilon=9.0)
    made = ledger.reserve(charge(dataset=secret, persons={secret: (1.0, 0.0)}), request=secret)
    ledger.remember(made, secret, [secret])
    made.commit("aa")
    assert secret not in everything(ledger)
    assert ledger.named(secret) in everything(ledger)
    other = LedgerKey(bytes(32))
    assert other.dataset(secret) not in everything(ledger)


CHANGES = {
    "an event is gone": "DELETE FROM discreet_event WHERE number = 2",
    "the last event is gone": "DELETE FROM discreet_event WHERE number = 11",
    "an event says less": "UPDATE discreet_event SET body = replace(body, '1.0', '0.5')",
    "an event is of another time": "UPDATE discreet_event SET at = at + 1 WHERE number = 2",
    "a posting is smaller": "UPDATE discreet_posting SET nano = 1 WHERE number = 2",
    "a posting is gone": "DELETE FROM discreet_posting WHERE number = 2",
    "the total is smaller": "UPDATE discreet_dataset SET nano = 1",
    "a person's total is smaller": "UPDATE discreet_account SET nano = 1",
    "a person's account is gone": "DELETE FROM discreet_account",
    "a limit is larger": "UPDATE discreet_dataset SET limits = replace(limits, '9000', '9900')",
    "an open one is forgotten": "DELETE FROM discreet_open",
    "other changes are counted": "UPDATE discreet_dataset SET adjacency = 'add/remove'",
    "persons are forgotten": "UPDATE discreet_dataset SET persons = 0",
    "a person's limit is looked over": "UPDATE discreet_dataset SET limited = 0",
    "it is later": "UPDATE discreet_dataset SET at = at + 1",
    "a posting is older": "UPDATE discreet_posting SET at = at - 1 WHERE number = 3",
    "what is given back is older": "UPDATE discreet_posting SET at = at - 1 WHERE number = 7",
    "a request is forgotten": "DELETE FROM discreet_request",
    "a request is another one": "UPDATE discreet_request SET request = 'a'",
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_is_changed_shows(ledger, change):
    ledger.limit(dataset="tickets", epsilon=9.0)
    ledger.reserve(charge(1.0))
    made = ledger.reserve(charge(persons={"ann": (1.0, 0.0)}))
    made.commit("aa")
    ledger.limit(dataset="tickets", epsilon=9.0, person="ann")
    for _ in range(2):
        ledger.reserve(charge(1.0), request="one").refund()
    ledger.reserve(charge(1.0), request="one").commit("bb")
    assert ledger.verify() == []
    with ledger._store.transaction() as connection:
        connection.run(CHANGES[change])
    assert ledger.verify()


# -- opening -----------------------------------------------------------------------------------


def test_a_ledger_is_found_again_and_only_with_its_key(url):
    with Ledger.open(url, key=KEY) as ledger:
        ledger.reserve(charge(1.0)).commit("aa")
    with Ledger.open(url, key=KEY) as ledger:
        assert ledger.budget("tickets").spent.epsilon == 1.0
    with pytest.raises(InputError, match="not the key"):
        Ledger.open(url, key=bytes(32))
    with pytest.raises(InvalidValue, match="32 bytes"):
        Ledger.open(url, key=b"short")


def _one_with_rows(ledger):
    done = ledger.reserve(charge(1.0))
    ledger.remember(done, "tickets", ["tea", "cup"], ["cap", "sea"])
    ledger.remember(done, "tickets", ["saucer"])
    done.commit("ab" * 32)
    return done


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("DELETE FROM discreet_row WHERE kept IS NULL", ["the 3 rows"]),
        ("DELETE FROM discreet_row", ["the 3 rows"]),
        ("UPDATE discreet_row SET kept = 'sea' WHERE kept = 'cap'", ["the 3 rows"]),
        ("UPDATE discreet_row SET kept = NULL", ["the 3 rows"]),
        ("UPDATE discreet_row SET fingerprint = dataset WHERE kept = 'sea'", ["the 3 rows"]),
        ("UPDATE discreet_row SET entry = dataset", ["the 3 rows", "which released nothing"]),
        ("INSERT INTO discreet_row VALUES ('d', 'f', 'e', NULL)", ["which released nothing"]),
        ("UPDATE discreet_row SET kept = kept", []),
    ],
)
def test_rows_by_which_texts_are_known_again_are_in_the_chain(url, change, found):
    with Ledger.open(url, key=KEY) as ledger:
        _one_with_rows(ledger)
        # What was refunded has no rows, and what another release had first is not its own.
        other = ledger.reserve(charge(1.0))
        ledger.remember(other, "tickets", ["tea", "spoon"])
        other.refund()
        assert ledger.verify() == []
        assert ledger.unchecked_rows() == 0
        with ledger._store.transaction() as connection:
            connection.run(change)
        problems = ledger.verify()
        assert len(problems) == len(found)
        assert all(some in said for some, said in zip(found, problems, strict=True))


@pytest.mark.parametrize("kept", ["a \0 b", "half \ud800"])
def test_what_no_database_can_keep_is_refused_in_words_of_ours(url, kept):
    with Ledger.open(url, key=KEY) as ledger:
        done = ledger.reserve(charge(1.0))
        with pytest.raises(InvalidValue, match="which a ledger cannot keep"):
            ledger.remember(done, "tickets", ["tea"], [kept])
        assert ledger.seen("tickets", ["tea"]) == [None]


def test_rows_of_which_the_chain_says_nothing_are_counted(url):
    """Those of releases under way, and of a version that did not put them into the chain."""
    with Ledger.open(url, key=KEY) as ledger:
        _one_with_rows(ledger)
        done = ledger.reserve(charge(1.0))
        ledger.remember(done, "tickets", ["spoon"])
        assert (ledger.verify(), ledger.unchecked_rows()) == ([], 1)
        ledger._with_rows.clear()
        done.commit()
        assert (ledger.verify(), ledger.unchecked_rows()) == ([], 1)


def test_a_ledger_of_a_later_version_is_left_alone(url):
    with Ledger.open(url, key=KEY) as ledger, ledger._store.transaction() as connection:
        connection.run("UPDATE discreet_ledger SET version = 99")
    with pytest.raises(InputError, match="later discreet"):
        Ledger.open(url, key=KEY)


def test_an_older_ledger_becomes_a_newer_one(url, monkeypatch):
    from discreet.ledger import schema

    with Ledger.open(url, key=KEY) as ledger:
        ledger.reserve(charge(1.0))
    later = (*schema.MIGRATIONS, ("ALTER TABLE discreet_row ADD COLUMN note TEXT",))
    monkeypatch.setattr(schema, "MIGRATIONS", later)
    monkeypatch.setattr(schema, "VERSION", len(later))
    for _ in range(2):  # and only once
        with Ledger.open(url, key=KEY) as ledger:
            assert ledger.budget("tickets").held.epsilon == 1.0
            with ledger._store.transaction(write=False) as connection:
                assert connection.rows("SELECT note FROM discreet_row") == []


def test_a_file_has_its_key_beside_it_for_its_owner_alone(tmp_path):
    path = tmp_path / "deep" / "ledger.db"
    path.parent.mkdir()
    with Ledger.open(path) as ledger:
        ledger.reserve(charge(1.0))
    key = path.with_name("ledger.db.key")
    assert len(key.read_bytes()) == 32
    assert not [p.name for p in path.parent.iterdir() if p.stat().st_mode & 0o077]
    with Ledger.open(f"sqlite:///{path}") as ledger:
        assert ledger.budget("tickets").held.epsilon == 1.0
    key.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        Ledger.open(path)
    key.unlink()
    with pytest.raises(NotFound, match="key of this ledger"):
        Ledger.open(path)
    with pytest.raises(NotFound, match="no ledger"):
        Ledger.open(tmp_path / "gone.db", new=False)


@pytest.mark.parametrize(
    "url", ["", "mysql://host/name", "sqlite://host/name", "sqlite:///", "postgres:/x"]
)
def test_addresses_that_are_none(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if url == "postgres:/x":  # a path like any other, in a folder that is not there
        url = "postgres:/x\0"
    with pytest.raises((InvalidValue, LedgerUnavailable, ValueError)):
        Ledger.open(url, key=KEY)


def test_what_can_only_be_read_is_shown_and_not_written(tmp_path):
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as ledger:
        ledger.reserve(charge(1.0))
    with Ledger.open(f"sqlite:///{path}?mode=ro", key=f"{path}.key") as ledger:
        assert ledger.budget("tickets").held.epsilon == 1.0
        with pytest.raises(LedgerUnavailable, match="read-only"):
            ledger.reserve(charge(1.0))


def test_what_is_no_ledger_is_refused(tmp_path):
    path = tmp_path / "ledger.db"
    path.write_bytes(b"zanzibar " * 1000)
    with pytest.raises(LedgerUnavailable) as caught:
        Ledger.open(path, key=KEY)
    assert "zanzibar" not in str(caught.value)
    with pytest.raises(LedgerUnavailable):
        Ledger.open(tmp_path, key=KEY)


def test_a_file_that_somebody_holds_is_waited_for_and_then_said(tmp_path, monkeypatch):
    from discreet.ledger import stores

    monkeypatch.setattr(stores, "WAIT_SECONDS", 0.05)
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnavailable, match="another process"):
            ledger.reserve(charge(1.0))
        other.close()
        ledger.reserve(charge(1.0))


def test_nobody_is_told_before_it_has_reached_the_disk(tmp_path, monkeypatch):
    from discreet.ledger import stores

    path, told, at_the_disk = tmp_path / "ledger.db", [], []
    with Ledger.open(path, key=KEY) as ledger, Ledger.open(path, key=KEY) as other:
        assert Path(f"{path}-wal").exists()

        def to_disk(descriptor):
            same = os.path.samestat(os.fstat(descriptor), os.stat(f"{path}-wal"))
            # Others may write and look meanwhile.
            at_the_disk.append((same, len(list(other.entries())), len(told)))
            os.fsync(descriptor)

        monkeypatch.setattr(stores, "_to_disk", to_disk)
        told.append(ledger.reserve(charge(1.0)).id)
        told.append(ledger.reserve(charge(1.0)).id)
        assert at_the_disk == [(True, 1, 0), (True, 2, 1)]


def test_what_does_not_reach_the_disk_is_an_error_and_counts_as_spent(tmp_path, monkeypatch):
    from discreet.ledger import stores

    def full(descriptor):  # noqa: ARG001
        raise OSError(5, "Input/output error")

    with Ledger.open(tmp_path / "ledger.db", key=KEY) as ledger:
        monkeypatch.setattr(stores, "_to_disk", full)
        with pytest.raises(LedgerUnavailable, match="nothing was released"):
            ledger.reserve(charge(1.0))
        assert ledger.budget("tickets").held.epsilon == 1.0


def test_many_data_sets_are_booked_in_the_order_in_which_they_came(tmp_path):
    names = [f"set {number}" for number in range(1100)]
    with Ledger.open(tmp_path / "ledger.db", key=KEY) as ledger:
        for name in names[::7]:
            ledger.limit(dataset=name, epsilon=0.5)
        found = ledger.reserve_all([(charge(1.0, dataset=name), None) for name in names])
        refused = [place for place, each in enumerate(found) if isinstance(each, BudgetExceeded)]
        assert refused == list(range(1100))[::7]
        kept = [each.dataset for each in found if not isinstance(each, BudgetExceeded)]
        assert kept == [ledger.named(name) for name in names if names.index(name) % 7]
        assert ledger.verify() == []
