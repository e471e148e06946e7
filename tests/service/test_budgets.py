"""Budgets of keys: what is charged, what is refused, and what happens when the ledger is away."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from command import MARKER, WORDS, write_space
from discreet.errors import InvalidValue
from discreet.ledger import Ledger
from discreet.service.keys import add_key
from echo_model import Model
from serving import served, upstream


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    space = write_space(tmp_path_factory.mktemp("space") / "words.txt")
    return {"space": str(space), "mechanism": "near-words", "epsilon": 2.0}


@pytest.fixture
def held(tmp_path):
    """A file of keys and a ledger."""
    return tmp_path / "keys.toml", tmp_path / "ledger.db"


def _bearer(secret):
    return {"authorization": f"Bearer {secret}"}


def _states(ledger):
    with Ledger.open(ledger) as book:
        assert book.verify() == []
        return [entry.state for entry in book.entries()]


def test_a_key_spends_its_budget_and_no_more(profile, held):
    keys, ledger = held
    # Of the two texts the longer one has three words of epsilon 2.
    secret, other = add_key(keys, "one", budget=13.0), add_key(keys, "two")
    body = {"documents": [" ".join(WORDS[:3]), WORDS[0]]}
    with served({"profiles": {"default": profile}}, keys=keys, ledger=str(ledger)) as up:
        answers = [up.post("/v1/sanitize", body, headers=_bearer(secret)) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 403]
        problem = answers[2].json()
        assert problem["type"].endswith("no-budget")
        assert "documents" not in problem
        told = up.client.get("/v1/budget", headers=_bearer(secret)).json()
        assert told["key"] == "one"
        assert json.dumps(told).count("13") >= 1
        assert up.post("/v1/sanitize", body, headers=_bearer(other)).status_code == 200
    assert _states(ledger) == ["committed"] * 3


def test_copies_of_a_text_in_one_request_add_up(profile, held):
    keys, ledger = held
    secret = add_key(keys, "one", ["sanitize", "budget", "persons"], budget=2.0 * 20)
    with served({"profiles": {"default": profile}}, keys=keys, ledger=str(ledger)) as up:

        def spent(documents, persons=None):
            body = {"documents": documents, "persons": persons}
            code = up.post("/v1/sanitize", body, headers=_bearer(secret)).status_code
            told = up.client.get("/v1/budget", headers=_bearer(secret)).json()
            return code, told["spent"]["epsilon"]

        two = " ".join(WORDS[:2])
        assert spent([two] * 1000) == (403, 0)
        assert spent([two.upper() + " " * each for each in range(11)]) == (403, 0)
        assert spent([two, " ".join(WORDS[2:5]), two, WORDS[5]]) == (200, 2.0 * 4)
        assert spent([two] * 12, [f"person {number}" for number in range(12)]) == (200, 2.0 * 6)


def test_many_at_once_never_overspend(profile, held):
    keys, ledger = held
    secret = add_key(keys, "one", budget=2.0 * 25)
    with served({"profiles": {"default": profile}}, keys=keys, ledger=str(ledger)) as up:

        def ask(_):
            body = {"documents": [WORDS[0]]}
            return up.post("/v1/sanitize", body, headers=_bearer(secret)).status_code

        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(ask, range(60)))
    assert answers.count(200) == 25
    assert answers.count(403) == 35
    assert _states(ledger) == ["committed"] * 25


def test_a_key_names_persons_if_it_may_and_the_ledger_has_the_digest_of_the_receipt(profile, held):
    import hashlib

    keys, ledger = held
    secret, plain = add_key(keys, "one", ["sanitize", "persons"]), add_key(keys, "two")
    with served({"profiles": {"default": profile}}, keys=keys, ledger=str(ledger)) as up:
        body = {"documents": [WORDS[0]], "persons": [MARKER]}
        refused = up.post("/v1/sanitize", body, headers=_bearer(plain))
        assert (refused.status_code, MARKER in refused.text) == (403, False)
        receipt = up.post("/v1/sanitize", body, headers=_bearer(secret)).json()["receipt"]
    with Ledger.open(ledger) as book:
        (entry,) = book.entries()
    assert entry.receipt == hashlib.sha256(json.dumps(receipt).encode()).hexdigest()
    for file in ledger.parent.glob("ledger.db*"):
        assert MARKER.encode() not in file.read_bytes()


def test_a_ledger_that_is_away_lets_nothing_out(profile, held):
    keys, ledger = held
    secret = add_key(keys, "one")
    with served({"profiles": {"default": profile}}, keys=keys, ledger=str(ledger)) as up:
        with sqlite3.connect(ledger) as broken:
            tables = broken.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
            for (name,) in tables:
                if not name.startswith("sqlite_"):
                    broken.execute(f'DROP TABLE "{name}"')
        broken.close()
        answer = up.post("/v1/sanitize", {"documents": [WORDS[0]]}, headers=_bearer(secret))
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
        assert "documents" not in answer.json()
        assert up.client.get("/readyz").status_code == 503
        assert up.client.get("/healthz").status_code == 200


def test_a_budget_without_a_ledger_is_refused(profile, held):
    keys, _ = held
    add_key(keys, "one", budget=1.0)
    with (
        pytest.raises(InvalidValue, match="needs a ledger"),
        served({"profiles": {"default": profile}}, keys=keys),
    ):
        pass


def test_a_conversation_is_charged_once(profile, held):
    keys, ledger = held
    secret = add_key(keys, "one", budget=2.0 * 5)
    model = Model()
    with upstream(model.app) as url:
        values = {"profiles": {"default": profile}, "gateway": {"upstream": f"{url}/v1"}}
        with served(values, keys=keys, ledger=str(ledger)) as up:

            def say(*texts):
                messages = [{"role": "user", "content": text} for text in texts]
                body = {"model": "tiny", "messages": messages}
                return up.post("/v1/chat/completions", body, headers=_bearer(secret)).status_code

            first, second = " ".join(WORDS[:3]), " ".join(WORDS[4:6])
            assert [say(first), say(first), say(first, second), say(first, second)] == [200] * 4
            assert say(first, second, WORDS[7]) == 403
            assert len(model.bodies) == 4
            assert say(first, second) == 200, "what was refused must not stay behind"
    assert "authorization" not in model.headers[0], "the service's keys are not the provider's"
    assert _states(ledger) == ["committed"] * 2
