"""A server that stops, comes back, or only lets us look."""

import pytest

from discreet.errors import InvalidValue, LedgerUnavailable
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
