"""The service on a ledger that is on a server, goes away, or may not be written."""

import contextlib
import itertools

import pytest

from command import MARKER, WORDS, write_space
from discreet.ledger import Ledger, chain, totals
from discreet.service.keys import add_key
from echo_model import Model
from ledger_charges import KEY
from serving import served, upstream

TEXT = f"{WORDS[0]} {MARKER}"


@pytest.fixture
def key_file(tmp_path):
    path = tmp_path / "ledger.key"
    path.touch(0o600)
    path.write_bytes(KEY)
    return path


@pytest.fixture
def serving(tmp_path, key_file):
    """A function that serves on a ledger, with a gateway before a model."""
    space = write_space(tmp_path / "words.txt")
    profile = {"space": str(space), "mechanism": "near-words", "epsilon": 2.0}
    secret = add_key(tmp_path / "keys.toml", "one", budget=2.0 * 20)

    @contextlib.contextmanager
    def on(url):
        model = Model()
        with upstream(model.app) as address:
            values = {"profiles": {"default": profile}, "gateway": {"upstream": f"{address}/v1"}}
            own = {"keys": tmp_path / "keys.toml", "ledger": url, "ledger_key": key_file}
            with served(values, **own) as up:
                up.client.headers["authorization"] = f"Bearer {secret}"
                yield up, model

    return on


def _sanitize(up):
    return up.post("/v1/sanitize", {"documents": [TEXT]})


def _chat(up, text=TEXT):
    message = {"role": "user", "content": text}
    return up.post("/v1/chat/completions", {"model": "tiny", "messages": [message]})


def _refused(up, model):
    """Whatever is asked is refused for now, in words of ours, and nothing is released."""
    sent = len(model.bodies)
    for answer in (_sanitize(up), _chat(up, WORDS[5])):
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert problem["type"] == "urn:discreet:problem:busy"
        assert "nothing was released" in problem["detail"]
        assert set(problem) == {"type", "title", "status", "detail", "error"}
    assert len(model.bodies) == sent, "a message reached the provider unpaid"
    assert not any(MARKER in line for line in up.lines)


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_server_that_goes_away_lets_nothing_out_and_is_found_again(url, postgres, serving):
    with serving(url) as (up, model):
        assert [_sanitize(up).status_code, _chat(up).status_code] == [200, 200]
        postgres.stop("immediate")
        try:
            _refused(up, model)
            assert up.client.get("/readyz").status_code == 503
            assert up.client.get("/healthz").status_code == 200
        finally:
            postgres.start()
        assert up.client.get("/readyz").status_code == 200
        assert [_sanitize(up).status_code, _chat(up, WORDS[3]).status_code] == [200, 200]
    with Ledger.open(url, key=KEY) as ledger:
        assert [entry.state for entry in ledger.entries()] == ["committed"] * 4
        assert ledger.verify() == []


def test_a_ledger_that_may_only_be_read_lets_nothing_out(url, serving, tmp_path):
    with Ledger.open(url, key=KEY) as ledger:
        ledger.limit(dataset="one", epsilon=2.0 * 20)  # the key's budget is there already
    only_read = "&options=-cdefault_transaction_read_only%3Don"
    if url.startswith("sqlite"):
        url, only_read = f"sqlite:///{tmp_path}/ledger.db", "?mode=ro"
    with serving(url + only_read) as (up, model):
        _refused(up, model)
    with Ledger.open(url, key=KEY) as ledger:
        assert list(ledger.entries()) == []


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_clock_that_jumps_changes_no_budget_and_no_rate(url, serving, monkeypatch):
    """Twenty words may be released, whatever the clock of the day says meanwhile."""
    at = chain.now()
    jumps = itertools.cycle((0, -(10**12), 10**13, -at))  # back, far ahead, and to 1970
    with serving(url) as (up, _):
        answers = []
        for jump in itertools.islice(jumps, 24):
            for module in (chain, totals):
                monkeypatch.setattr(module, "now", lambda jump=jump: at + jump)
            answers.append(up.post("/v1/sanitize", {"documents": [WORDS[0]]}).status_code)
    assert answers == [200] * 20 + [403] * 4
    with Ledger.open(url, key=KEY) as ledger:
        times = [entry.at for entry in ledger.entries()]
        assert times == sorted(times)
        assert ledger.verify() == []
