"""Each test here runs on a file and on a real PostgreSQL server."""

import pytest

import postgres_server
from discreet.ledger import Ledger
from ledger_charges import KEY


@pytest.fixture(scope="session")
def postgres():
    pytest.importorskip("psycopg", reason="NO POSTGRESQL: psycopg is not installed")
    if postgres_server.binaries() is None:
        pytest.skip(postgres_server.NOT_FOUND)
    with postgres_server.running() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    """The address of an empty ledger."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    import psycopg

    server = request.getfixturevalue("postgres")
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return server.url


@pytest.fixture
def ledger(url):
    with Ledger.open(url, key=KEY) as opened:
        yield opened
