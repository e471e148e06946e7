"""The service over a real socket: what it releases, what it refuses, and what it says of it."""

import gc
import json
import re
import socket
import threading
import weakref
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

from command import MARKER, UNKNOWN, WORDS, write_space
from discreet.errors import InvalidValue
from discreet.release.choice import chosen_sanitizer
from discreet.release.text import Sanitizer
from discreet.service.gateway.releases import MessageReleaser
from discreet.service.keys import ApiKeys, add_key, hashed
from discreet.service.policy import Policy
from discreet.service.releasing import Job, TextReleaser
from discreet.service.run import server
from discreet.service.service import _MOST_CHOSEN, Service
from discreet.statement import PrivacyStatement
from discreet.text import function_words
from serving import served

SECRET = f"{MARKER} {WORDS[3]} jane.roe@{MARKER}.example"


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    return write_space(tmp_path_factory.mktemp("space") / "words.txt")


@pytest.fixture(scope="module")
def profile(space):
    return {"space": str(space), "mechanism": "santext", "epsilon": 2.0}


@pytest.fixture(scope="module")
def plain(profile):
    """A service without keys."""
    chosen = {**profile, "choose": True}
    bare = {**profile, "identifiers": "none"}
    values = {"profiles": {"default": profile, "open": chosen, "bare": bare}}
    with served(values, max_documents=300, max_request_mb=0.1, time_grid_ms=0.0) as up:
        yield up


def test_documents_come_back_released_with_statement_and_receipt(plain):
    texts = [f"{WORDS[0]} {WORDS[1]}, {MARKER}!", WORDS[2]]
    answer = plain.post("/v1/sanitize", {"documents": texts})
    assert answer.status_code == 200
    body = answer.json()
    assert len(body["documents"]) == 2
    words = re.findall(r"[\w<>]+", " ".join(body["documents"]).lower())
    assert set(words) <= {*WORDS, UNKNOWN, "unk"}
    assert MARKER not in answer.text
    statement = PrivacyStatement.from_dict(body["statement"])
    assert statement == plain.service.releasers["default"].statement
    receipt = body["receipt"]
    assert receipt["counts"] == {"documents": 2, "words": 4}
    assert receipt["whole"]["document"]["words"] == 3
    assert receipt["statement"] == body["statement"]
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/", "/healthz", "/nowhere"])
def test_every_answer_says_once_that_it_is_what_it_says(plain, path):
    headers = plain.client.get(path).headers
    assert headers.get_list("x-content-type-options") == ["nosniff"]
    assert headers.get_list("referrer-policy") == ["no-referrer"]


def test_the_receipt_is_that_of_the_library(plain):
    releaser = plain.service.releasers["default"]
    body = plain.post("/v1/sanitize", {"documents": [WORDS[0]]}).json()
    told = {name: body["receipt"][name] for name in ("mechanism", "space", "keep", "layout")}
    assert told["mechanism"]["name"] == "santext"
    assert told["mechanism"]["epsilon"] == 2.0
    assert told["space"] == releaser.mechanism.space.to_dict()


def test_a_mapping_is_given_on_request_and_restores(plain):
    body = {"documents": ["write to jane.roe@place.example", "or +49 170 1234567"], "mapping": True}
    answer = plain.post("/v1/sanitize", body).json()
    assert {(row, value) for row, _, value in answer["mapping"]} == {
        (0, "jane.roe@place.example"),
        (1, "+49 170 1234567"),
    }
    assert answer["receipt"]["identifiers"]["mapping_kept"] is True
    assert answer["receipt"]["identifiers"]["types"] == {"email": 1, "phone": 1}
    surrogate = answer["mapping"][0][1]
    assert surrogate in answer["documents"][0]
    back = plain.post(
        "/v1/restore", {"documents": [f"Dear {surrogate},"], "mapping": answer["mapping"]}
    ).json()
    assert back == {"documents": ["Dear jane.roe@place.example,"], "replaced": 1, "ambiguous": 0}


def test_without_the_wish_no_mapping_is_given(plain):
    answer = plain.post("/v1/sanitize", {"documents": ["jane.roe@place.example"]}).json()
    assert "mapping" not in answer
    assert answer["receipt"]["identifiers"]["mapping_kept"] is False


def test_requests_at_the_same_time_get_what_is_their_own(plain):
    """Batched together, each gets its own number of documents, its own counts and mapping."""

    def ask(number):
        texts = [f"{WORDS[number % 9]} u{number}x{i}@place.example" for i in range(number % 5 + 1)]
        body = plain.post("/v1/sanitize", {"documents": texts, "mapping": True}).json()
        wanted = [text.split()[1] for text in texts]
        assert [value for _, _, value in body["mapping"]] == wanted
        assert body["receipt"]["counts"] == {"documents": len(texts), "words": len(texts)}
        assert body["receipt"]["identifiers"]["types"] == {"email": len(texts)}
        return len(body["documents"]) == len(texts)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, range(96)))


def test_identifiers_of_a_batch_go_to_the_request_that_they_are_of(profile):
    from discreet.service.releasing import Job

    service = Service(Policy.from_dict({"profiles": {"default": profile}}))
    texts = [
        ["a@b.example", WORDS[0]],
        [WORDS[1]],
        [WORDS[2], "call c@d.example and 020 7946 0018"],
    ]
    first, second, third = service.releasers["default"].release([Job(each) for each in texts])
    assert [(place, value) for place, _, value in first.entries] == [(0, "a@b.example")]
    assert (second.entries, second.identifiers) == ([], {})
    found = [(place, value) for place, _, value in third.entries]
    assert found == [(1, "c@d.example"), (1, "020 7946 0018")]
    assert third.identifiers == {"email": 1, "phone": 1}
    for outcome in (first, third):
        for place, surrogate, _ in outcome.entries:
            assert surrogate in outcome.texts[place]
    assert [outcome.draws for outcome in (first, second, third)] == [[0, 1], [1], [1, 2]]


@pytest.mark.parametrize("layout", ["tokens", "public"])
def test_nothing_of_a_text_is_kept_once_it_is_released(profile, layout):
    policy = Policy.from_dict({"profiles": {"default": {**profile, "layout": layout}}})
    releaser = TextReleaser(policy.profiles["default"])

    def holders(word):
        return [
            each
            for each in gc.get_objects()
            if type(each) in (dict, defaultdict)
            and any(isinstance(key, str) and word in key for key in each)
        ]

    seen = Sanitizer(releaser.sanitizer.given, layout=layout)
    seen.sanitize([f"{MARKER}held,"])
    assert holders(f"{MARKER}held"), "what is looked for must be found where it is kept"
    releaser.release([Job([f"{MARKER}gone, {WORDS[0]}"])])
    assert not holders(f"{MARKER}gone")


def test_noise_is_drawn_anew_for_every_request_of_a_batch(profile):
    """Equal texts released in one call differ as often as the law says; none shares its noise."""
    service = Service(Policy.from_dict({"profiles": {"default": profile}}))
    from discreet.service.releasing import Job

    releaser = service.releasers["default"]
    outcomes = releaser.release([Job([WORDS[0]]) for _ in range(2000)])
    drawn = [outcome.texts[0] for outcome in outcomes]
    space = releaser.mechanism.space
    law = np.exp(releaser.mechanism.log_probabilities([space.id_of(WORDS[0])])[0])
    kept = drawn.count(WORDS[0])
    p = law[space.id_of(WORDS[0])]
    # Eight standard deviations: a false alarm in less than 1e-14.
    assert abs(kept - 2000 * p) < 8 * np.sqrt(2000 * p * (1 - p))
    assert len(set(drawn)) > 5


BAD = {
    "not JSON": (b'{"documents": ["' + SECRET.encode(), 400, {}),
    "not UTF-8": (b'{"documents": ["\xff\xfe ' + SECRET.encode() + b'"]}', 400, {}),
    "half a pair": (b'{"documents": ["\\ud800 ' + SECRET.encode() + b'"]}', 400, {}),
    "nested": (b"[" * 5000 + SECRET.encode(), 400, {}),
    "a list": (json.dumps([SECRET]).encode(), 422, {}),
    "no documents": (json.dumps({"text": SECRET}).encode(), 422, {}),
    "a text for a list": (json.dumps({"documents": SECRET}).encode(), 422, {}),
    "a number for a text": (json.dumps({"documents": [SECRET, 1]}).encode(), 422, {}),
    "none": (json.dumps({"documents": []}).encode(), 422, {}),
    "too many": (json.dumps({"documents": [SECRET] * 301}).encode(), 413, {}),
    "too large": (json.dumps({"documents": [SECRET * 5000]}).encode(), 413, {}),
    "a field too many": (json.dumps({"documents": [SECRET], SECRET: 1}).encode(), 422, {}),
    "unknown profile": (json.dumps({"documents": [SECRET], "profile": SECRET}).encode(), 422, {}),
    "may not choose": (json.dumps({"documents": [SECRET], "mechanism": "cmp"}).encode(), 403, {}),
    "unknown mechanism": (
        json.dumps({"documents": [SECRET], "profile": "open", "mechanism": SECRET}).encode(),
        422,
        {},
    ),
    "a bad epsilon": (
        json.dumps({"documents": [SECRET], "profile": "open", "epsilon": -1}).encode(),
        422,
        {},
    ),
    "a weak epsilon": (
        json.dumps({"documents": [SECRET], "profile": "open", "epsilon": 1e4}).encode(),
        422,
        {},
    ),
    "epsilon in words": (
        json.dumps({"documents": [SECRET], "profile": "open", "epsilon": SECRET}).encode(),
        422,
        {},
    ),
    "mapping of nothing": (
        json.dumps({"documents": [SECRET], "profile": "bare", "mapping": True}).encode(),
        422,
        {},
    ),
    "not said to be JSON": (SECRET.encode(), 415, {"content-type": "text/plain"}),
    "compressed": (SECRET.encode(), 415, {"content-encoding": "gzip"}),
    "another host": (json.dumps({"documents": [SECRET]}).encode(), 421, {"host": "evil.example"}),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_a_problem_that_repeats_nothing(plain, name):
    content, status, headers = BAD[name]
    answer = plain.client.post(
        "/v1/sanitize", content=content, headers={"content-type": "application/json", **headers}
    )
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert problem["type"].startswith("urn:discreet:problem:")
    assert problem["detail"]
    for secret in SECRET.split():
        assert secret not in answer.text
        assert secret not in "".join(plain.lines)


def test_a_hundred_megabytes_are_refused_unread(plain):
    host, port = plain.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=300) as wire:
        head = f"POST /v1/sanitize HTTP/1.1\r\nHost: {host}:{port}\r\n"
        wire.sendall(
            (head + "Content-Type: application/json\r\nContent-Length: 104857600\r\n\r\n").encode()
        )
        assert b"413" in wire.recv(65536).split(b"\r\n")[0]


def test_a_body_that_does_not_say_its_length_is_counted(plain):
    def parts():
        for _ in range(64):
            yield b"x" * 4096

    answer = plain.client.post(
        "/v1/sanitize", content=parts(), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 413


def test_a_client_that_goes_away_harms_nobody(plain):
    host, port = plain.url.removeprefix("http://").split(":")
    for _ in range(5):
        with socket.create_connection((host, int(port))) as wire:
            wire.sendall(
                b"POST /v1/sanitize HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json"
                b"\r\nContent-Length: 900\r\n\r\n" + SECRET.encode()
            )
    assert plain.post("/v1/sanitize", {"documents": [WORDS[0]]}).status_code == 200
    assert MARKER not in "".join(plain.lines)


def test_routes_that_are_not_there_are_not_repeated(plain):
    answer = plain.client.get(f"/{MARKER}?q={MARKER}")
    assert answer.status_code == 404
    assert MARKER not in answer.text
    assert MARKER not in "".join(plain.lines)
    assert plain.client.get("/v1/sanitize").status_code == 405


def test_an_error_nobody_foresaw_says_nothing(plain, monkeypatch):
    def fails(*_):
        raise RuntimeError(f"cannot handle {SECRET}")

    releaser = plain.service.releasers["default"]
    monkeypatch.setattr(releaser, "release", fails)
    answer = plain.post("/v1/sanitize", {"documents": [SECRET]})
    assert answer.status_code == 500
    assert "nothing was released" in answer.json()["detail"]
    assert MARKER not in answer.text
    assert MARKER not in "".join(plain.lines)
    assert any('"kind": "RuntimeError"' in line for line in plain.lines)


def test_one_text_that_breaks_the_finder_spoils_no_other_answer(plain, monkeypatch):
    releaser = plain.service.releasers["default"]
    whole = releaser.release

    def brittle(jobs):
        if any("breaks" in text for job in jobs for text in job.texts):
            raise RuntimeError
        return whole(jobs)

    monkeypatch.setattr(releaser, "release", brittle)
    texts = ["breaks" if n % 4 == 0 else WORDS[n % 9] for n in range(40)]
    with ThreadPoolExecutor(20) as pool:
        answers = list(
            pool.map(lambda t: plain.post("/v1/sanitize", {"documents": [t]}).status_code, texts)
        )
    assert answers == [500 if text == "breaks" else 200 for text in texts]


def test_too_many_waiting_are_told_when_to_come_back(profile, monkeypatch):
    held = threading.Event()
    with served({"profiles": {"default": profile}}, waiting=2, time_grid_ms=0.0) as up:
        releaser = up.service.releasers["default"]
        whole = releaser.release

        def slow(jobs):
            held.wait(300)
            return whole(jobs)

        monkeypatch.setattr(releaser, "release", slow)
        with ThreadPoolExecutor(8) as pool:
            asked = [
                pool.submit(up.post, "/v1/sanitize", {"documents": [WORDS[0]]}) for _ in range(8)
            ]
            while sum(each.done() for each in asked) < 6:
                pass
            held.set()
            answers = [each.result() for each in asked]
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] * 2 + [503] * 6
    assert all(a.headers["retry-after"] for a in answers if a.status_code == 503)


def test_what_takes_too_long_is_thrown_away(profile, monkeypatch):
    held = threading.Event()
    with served({"profiles": {"default": profile}}, timeout=0.2) as up:
        releaser = up.service.releasers["default"]
        monkeypatch.setattr(releaser, "release", lambda _: held.wait(300))
        answer = up.post("/v1/sanitize", {"documents": [SECRET]})
        held.set()
    assert answer.status_code == 504
    assert MARKER not in answer.text


def test_a_stop_answers_what_had_begun(profile, monkeypatch):
    held, begun = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        with served({"profiles": {"default": profile}}) as up:
            releaser = up.service.releasers["default"]
            whole = releaser.release

            def slow(jobs):
                begun.set()
                held.wait(300)
                return whole(jobs)

            monkeypatch.setattr(releaser, "release", slow)
            asked = pool.submit(
                httpx.post, f"{up.url}/v1/sanitize", json={"documents": [WORDS[0]]}, timeout=300
            )
            begun.wait(300)
            threading.Timer(0.3, held.set).start()
        assert asked.result().status_code == 200


def test_other_routes(plain):
    assert plain.client.get("/healthz").json() == {"status": "ok"}
    assert plain.client.get("/readyz").json() == {"status": "ready"}
    listed = plain.client.get("/v1/mechanisms").json()
    assert listed["profiles"]["default"]["mechanism"] == "santext"
    assert "near-words" in listed["mechanisms"]
    told = plain.post("/v1/explain", {"words": [WORDS[0]]}).json()
    assert 0 < told["keep"] < 1
    assert list(told["examples"]) == [WORDS[0]]
    assert plain.post("/v1/explain", {"words": [MARKER]}).status_code == 422
    counted = plain.client.get("/metrics").text
    assert re.search(r'discreet_requests_total\{route="/healthz",status="200"\} \d', counted)
    assert MARKER not in counted
    described = plain.client.get("/openapi.json").json()
    assert described["openapi"] == "3.1.0"
    assert "/v1/sanitize" in described["paths"]
    page = plain.client.get("/docs").text
    assert "/v1/sanitize" in page
    assert not re.search(r"(src|href)=.(https?:)?//", page)
    assert plain.client.get("/v1/budget").json()["key"] == "local"
    assert plain.post("/v1/embed", {"documents": ["x"]}).status_code == 404


def test_a_client_lets_go_of_an_idle_connection_before_the_service_does(plain):
    """Or a request meets a connection that is just being closed, now and then, and fails."""
    assert server(plain.service).config.timeout_keep_alive > 3 * httpx.Limits().keepalive_expiry


def test_a_body_that_does_not_come_is_not_waited_for(plain, monkeypatch):
    monkeypatch.setattr("discreet.service.requests._BODY_SECONDS", 0.05)
    host = plain.url.removeprefix("http://")
    head = f"POST /v1/sanitize HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    with socket.create_connection(host.split(":"), timeout=300) as client:
        client.sendall(f'{head}Content-Length: 100\r\n\r\n{{"documents": ["{MARKER}'.encode())
        said = b"".join(iter(lambda: client.recv(4096), b""))  # until it is closed
    assert said.startswith(b"HTTP/1.1 408 ")
    assert MARKER.encode() not in said


def test_what_requests_chose_is_not_held_for_ever(plain):
    """A client that names another epsilon each time must not fill the memory."""
    made = weakref.WeakSet()
    for number in range(_MOST_CHOSEN + 4):
        asked = {"documents": [WORDS[0]], "profile": "open", "epsilon": 1 + number / 10}
        assert plain.post("/v1/sanitize", asked).status_code == 200
        made.add(list(plain.service._chosen.values())[-1])
    gc.collect()
    assert len(made) <= _MOST_CHOSEN


def test_a_request_may_choose_where_the_policy_lets_it(plain):
    body = {"documents": [WORDS[0]], "profile": "open", "epsilon": 1.5}
    answer = plain.post("/v1/sanitize", body).json()
    assert answer["statement"]["epsilon"] == 1.5
    assert function_words.PUBLIC not in answer["statement"]["public"]
    answer = plain.post("/v1/sanitize", {**body, "readable": True}).json()
    assert function_words.PUBLIC in answer["statement"]["public"]
    refused = plain.post("/v1/sanitize", {"documents": [WORDS[0]], "readable": True})
    assert refused.status_code == 403


def test_readable_is_what_it_is_elsewhere():
    """One preset: layout, function words, guide and polish, and the statement that tells them."""
    policy = {"profiles": {"default": {"epsilon": 12.0, "readable": True, "identifiers": "none"}}}
    policy["gateway"] = {"upstream": "http://127.0.0.1:9/v1"}
    service = Service(Policy.from_dict(policy))
    own, library = service.releasers["default"], chosen_sanitizer(epsilon=12.0, readable=True)
    assert own.statement == library.statement
    assert (own.sanitizer.about, own.sanitizer.polish) == (library.about, library.polish)
    through = MessageReleaser(service, "default").statement_of(())
    assert set(library.statement.public) < set(through.public)


# -- keys ------------------------------------------------------------------------------------------


@pytest.fixture
def keys(tmp_path):
    return tmp_path / "keys.toml"


def test_keys_open_what_their_scopes_say(profile, keys):
    full, narrow = add_key(keys, "full"), add_key(keys, "narrow", ["explain"], profile="default")
    counts = add_key(keys, "counts", ["metrics"])
    with keys.open("a") as file:
        file.write(f'[unsaid]\nsha256 = "{hashed("unsaid")}"\n')
    with served({"profiles": {"default": profile, "other": profile}}, keys=keys) as up:
        body = {"documents": [SECRET]}

        def status(secret, path="/v1/sanitize", more=None):
            headers = {} if secret is None else {"authorization": f"Bearer {secret}"}
            return up.post(path, {**body, **(more or {})}, headers=headers).status_code

        assert status(full) == 200
        assert up.post("/v1/sanitize", body, headers={"x-api-key": full}).status_code == 200
        assert status(None) == 401
        assert status("dsk_wrong") == 401
        assert status(full[:-1]) == 401
        assert status(narrow) == 403
        bearer = {"authorization": f"Bearer {narrow}"}
        assert up.post("/v1/explain", {}, headers=bearer).status_code == 200
        assert up.post("/v1/explain", {"profile": "other"}, headers=bearer).status_code == 403
        for secret, code in ((full, 403), ("unsaid", 403), (counts, 200)):  # of all keys together
            bearer = {"authorization": f"Bearer {secret}"}
            assert up.client.get("/metrics", headers=bearer).status_code == code
        assert up.client.get("/metrics").status_code == 401
        assert up.client.get("/healthz").status_code == 200
        logged = "".join(up.lines)
    assert full not in logged
    assert '"key": "full"' in logged


def test_the_file_of_keys_holds_no_key_and_is_for_its_owner(keys):
    secret = add_key(keys, "one")
    assert secret not in keys.read_text()
    assert keys.stat().st_mode & 0o077 == 0
    with pytest.raises(InvalidValue, match="already"):
        add_key(keys, "one")
    keys.chmod(0o644)
    with pytest.raises(ValueError, match="chmod 600"):
        ApiKeys.read(keys)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no keys"),
        ("[a]\nscopes = []", "needs sha256"),
        ("a = 1", "a section for each"),
        ('[a]\nsha256 = "12"', "64 hexadecimal"),
        (f'[a]\nsha256 = "{"0" * 64}"\nscopes = ["all"]', "scopes of key a must be one of"),
        (f'[a]\nsha256 = "{"0" * 64}"\nbudget = -1', "budget"),
        ("[a", "no TOML"),
    ],
)
def test_a_file_of_keys_with_a_mistake_is_refused(keys, content, message):
    keys.touch(0o600)
    keys.write_text(content)
    with pytest.raises(ValueError, match=message):
        ApiKeys.read(keys)


def test_a_rate_is_kept(profile, keys):
    secret = add_key(keys, "one")
    with served({"profiles": {"default": profile}}, keys=keys, rate=0.01) as up:
        headers = {"authorization": f"Bearer {secret}"}
        asked = [up.post("/v1/sanitize", {"documents": [WORDS[0]]}, headers=headers) for _ in "ab"]
    assert [answer.status_code for answer in asked] == [200, 429]
    assert int(asked[1].headers["retry-after"]) >= 1


# -- policies --------------------------------------------------------------------------------------


OWN = {"default": {}}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "profile named default"),
        ({"profile": {}}, "a section of the policy must be one of"),
        (
            {"profiles": {"default": {"epsilon": 1.0, "layuot": "public"}}},
            "layuot is not",
        ),
        ({"profiles": {"default": {"mechanism": "bogus", "epsilon": 1.0}}}, "mechanism must be"),
        ({"profiles": {"default": {"epsilon": 900.0}}}, "weak"),
        ({"profiles": {"default": {"layout": "x"}}}, "layout"),
        ({"profiles": {"default": 3}}, "must be a section"),
        ({"service": {"prot": 1}, "profiles": {"default": {}}}, "prot is not a setting"),
        ({"service": {"port": "1"}, "profiles": {"default": {}}}, "port of .service. must be"),
        ({"service": {"host": "0.0.0.0"}, "profiles": {"default": {}}}, "needs --keys"),
        ({"gateway": {}, "profiles": {"default": {}}}, "lacks a setting"),
        ({"gateway": {"upstream": "ftp://x"}, "profiles": {"default": {}}}, "http or https"),
        (
            {"gateway": {"upstream": "http://x", "roles": ["me"]}, "profiles": {"default": {}}},
            "roles",
        ),
        (
            {"gateway": {"upstream": "http://x", "roles": ["user"]}, "profiles": {"default": {}}},
            "must list assistant",
        ),
    ],
)
def test_a_policy_with_a_mistake_is_refused(values, message):
    with pytest.raises(InvalidValue, match=message):
        Service(Policy.from_dict(values))


def test_pages_of_other_origins_are_let_in_only_if_told(profile):
    origin = "https://tool.example"
    asks = {"origin": origin, "access-control-request-method": "POST"}
    with served({"profiles": {"default": profile}}) as up:
        assert (
            "access-control-allow-origin"
            not in up.client.options("/v1/sanitize", headers=asks).headers
        )
    with served({"profiles": {"default": profile}}, cors_origin=origin) as up:
        told = up.client.options("/v1/sanitize", headers=asks).headers
        assert told["access-control-allow-origin"] == origin
        other = up.client.options("/v1/sanitize", headers={**asks, "origin": "https://x.example"})
        assert "access-control-allow-origin" not in other.headers
