"""A server that stops, comes back, or only lets us look."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import pytest

from discreet.errors import BudgetExceeded, InvalidValue, LedgerUnavailable
from discreet.ledger import Ledger
from ledger_charges import KEY, charge


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_server_that_stops_loses_nothing_and_is_found_again(url, postgres):
    with Ledger.open(url, key=KEY) as ledger:
        ledger.limit(dataset="tickets", epsilon=10.0)
        ids = [ledger.reserve(charge(1.0)).id for _ in range(3)]
        postgres.stop("immediate")  # as if the power failed
        try:
            with pytest.raises(LedgerUnavailable, match="nothing was released") as caught:
                ledger.reserve(charge(1.0))
            assert "host=" not in str(caught.value)
        finally:
            postgres.start()
        assert [entry.id for entry in ledger.entries()] == ids
        ledger.reserve(charge(1.0))
        assert ledger.budget("tickets").left.epsilon == 6.0
        assert ledger.verify() == []


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_server_that_lets_us_look_only(url):
    Ledger.open(url, key=KEY).close()
    with Ledger.open(f"{url}&options=-cdefault_transaction_read_only%3Don", key=KEY) as ledger:
        assert ledger.budget("tickets").limit is None
        with pytest.raises(LedgerUnavailable, match="nothing was released"):
            ledger.reserve(charge(1.0))


def test_a_server_that_is_not_there_and_a_key_that_is_missing():
    pytest.importorskip("psycopg")
    url = "postgresql://zanzibar:secret@/x?host=/nowhere"
    with pytest.raises(LedgerUnavailable) as caught:
        Ledger.open(url, key=KEY)
    assert "secret" not in str(caught.value)
    with pytest.raises(InvalidValue, match="key file"):
        Ledger.open(url)


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_database_without_an_encoding(url):
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE DATABASE plain ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"
        )
    with Ledger.open(url.replace("/postgres?", "/plain?"), key=KEY) as ledger:
        ledger.limit(dataset="Überfälle", epsilon=2.0)
        ledger.reserve(charge(1.0, dataset="Überfälle")).commit("aa")
        assert ledger.budget("Überfälle").left.epsilon == 1.0
        assert ledger.verify() == []


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_one_charge_takes_two_statements_that_hold_no_value_and_reach_the_disk(url, monkeypatch):
    import psycopg

    said, execute = [], psycopg.Connection.execute

    def listening(self, query, *rest, **more):
        said.append(str(query))
        return execute(self, query, *rest, **more)

    with Ledger.open(url, key=KEY) as ledger:
        ledger.limit(dataset="tickets", epsilon=4.0)
        monkeypatch.setattr(psycopg.Connection, "execute", listening)
        made = ledger.reserve(charge(1.0))
        assert [each.split()[0] for each in said] == ["SELECT", "WITH"]
        assert "set_config('synchronous_commit', 'on', true)" in said[1]
        assert not [each for each in said if made.id in each or made.dataset in each]
        ledger.reserve(charge(persons={"ann": (1.0, 0.0), "bob": (2.0, 0.0)}))
        (booked,) = ledger.book_all([(charge(1.0), "aa")])
        assert booked.state == "committed"
        with pytest.raises(BudgetExceeded):
            ledger.reserve(charge(1.0))
        assert ledger.budget("tickets").left.epsilon == 0.0  # two of all, two of bob
        assert ledger.verify() == []


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_who_was_slower_looks_again_with_a_lock(url, monkeypatch):
    from discreet.ledger.writing import Unlocked

    finish = Unlocked.finish_unless_changed
    with Ledger.open(url, key=KEY) as ledger, Ledger.open(url, key=KEY) as other:
        ledger.limit(dataset="tickets", epsilon=2.0)

        def slower(self):
            monkeypatch.setattr(Unlocked, "finish_unless_changed", finish)
            other.reserve(charge(1.0))
            return finish(self)

        monkeypatch.setattr(Unlocked, "finish_unless_changed", slower)
        ledger.reserve(charge(1.0))
        with pytest.raises(BudgetExceeded):
            ledger.reserve(charge(1.0))
        assert ledger.budget("tickets").held.epsilon == 2.0
        assert len(list(ledger.entries())) == 2
        assert ledger.verify() == []


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_who_looks_sees_one_moment_while_others_write(url):
    """Otherwise an event that came between two queries would look like one that is missing."""
    with Ledger.open(url, key=KEY) as looking, Ledger.open(url, key=KEY) as writing:
        writing.reserve(charge(1.0)).commit()
        with looking._store.transaction(write=False) as connection:
            heads = connection.rows("SELECT events FROM discreet_dataset")
            writing.reserve(charge(1.0)).commit()
            assert connection.rows("SELECT count(*) FROM discreet_event") == heads == [(2,)]
        assert looking.verify() == []


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_server_whose_default_is_another_isolation_books_exactly_as_much(url):
    level = "repeatable read"
    with Ledger.open(url, key=KEY) as ledger:
        ledger.limit(dataset="tickets", epsilon=20.0)
        with ledger._store.unlocked() as connection:
            connection.run(f"ALTER ROLE postgres SET default_transaction_isolation = '{level}'")
    try:
        with ThreadPoolExecutor(4) as pool, ExitStack() as opened:
            ledgers = [opened.enter_context(Ledger.open(url, key=KEY)) for _ in range(4)]
            booked = list(pool.map(_some, ledgers))
            assert (sum(booked), ledgers[0].verify()) == (20, [])
    finally:
        with Ledger.open(url, key=KEY) as ledger, ledger._store.unlocked() as connection:
            connection.run("ALTER ROLE postgres RESET default_transaction_isolation")


def _some(ledger):
    done = 0
    with suppress(BudgetExceeded):
        while True:
            ledger.reserve(charge(1.0)).commit()
            done += 1
    return done
