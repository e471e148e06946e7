"""What the playground answers: what a release would be, and no word of a text in an error."""

import asyncio
import gc
import json

import httpx
import numpy as np
import pytest
from starlette.applications import Starlette

from discreet.attacks.bayes import says_its_law
from discreet.release.text import Sanitizer
from discreet.service import _playground_mechanisms as mechanisms_module
from discreet.service import playground
from discreet.service._playground_mechanisms import PageSetting, Workshop, variants
from discreet.service._playground_text import told, tried
from playground_server import TEXT, small_space

SECRET = "quagmire"
FIRST = "near-words-guided"


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("playground")
        patch.setenv("DISCREET_CACHE", str(folder / "cache"))
        yield small_space(folder)


@pytest.fixture(scope="module")
def shop(space):
    return Workshop(str(space))


class Client:
    """Asks an application without a server between."""

    def __init__(self, app):
        self._transport = httpx.ASGITransport(app)

    def get(self, path):
        return asyncio.run(self._asked("GET", path))

    def post(self, path, **body):
        return asyncio.run(self._asked("POST", path, **body))

    async def _asked(self, method, path, **body):
        async with httpx.AsyncClient(transport=self._transport, base_url="http://here") as client:
            return await client.request(method, path, **body)


@pytest.fixture(scope="module")
def client(space):
    return Client(Starlette(routes=playground.routes(str(space))))


def _asked(client, path, **body):
    answer = client.post(f"/playground/{path}", json={"mechanism": FIRST, "epsilon": 8} | body)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("layout", ["public", "tokens"])
@pytest.mark.parametrize("identifiers", [True, False])
@pytest.mark.parametrize("public_words", [True, False])
@pytest.mark.parametrize("name", [FIRST, "near-words", "santext"])
def test_what_is_shown_is_what_a_release_would_be(shop, name, public_words, identifiers, layout):
    setting = PageSetting(shop.variant(name), 8.0, layout, public_words, identifiers)
    result = tried(shop, setting, TEXT, np.random.default_rng(7))
    sanitizer = Sanitizer(
        shop.prepared(setting).mechanism,
        layout=layout,
        public="function-words" if public_words else None,
        identifiers="rules" if identifiers else None,
    )
    release = sanitizer.sanitize([TEXT], np.random.default_rng(7))
    assert result.text == release.values[0]
    assert int((~result.passed).sum()) == release.units
    assert result.identifiers == release.identifiers
    # Side by side: the originals, put together, are the text.
    assert "".join(piece.get("space", piece.get("text", "")) for piece in result.pieces) == TEXT


def test_every_mechanism_that_needs_only_an_epsilon_can_be_tried(client):
    choices = client.get("/playground/choices").json()
    names = [each["name"] for each in choices["mechanisms"]]
    assert names == list(variants())
    assert {"near-words-plain", "santext", "santext-plus", "cmp", "mahalanobis", "uniform"} <= {
        *names
    }
    assert not {"gaussian", "laplace", "random-projection"} & {*names}
    for name in names:
        answer = _asked(client, "try", mechanism=name, text="the house is old")
        assert answer["counts"] == {"drawn": 2, "passed": 2, "same": answer["counts"]["same"]}
        assert answer["guarantee"]["in_words"][0]


def test_a_word_and_a_whole_text_have_their_statements(client):
    answer = _asked(client, "try", text=TEXT)
    guarantee, drawn = answer["guarantee"], answer["counts"]["drawn"]
    assert guarantee["word"]["epsilon"] == 8
    assert guarantee["whole"]["epsilon"] == pytest.approx(8 * drawn)
    assert f"({drawn} drawn words)" in guarantee["whole_in_words"][0]
    assert answer["identifiers"] == {"person": 1, "date": 1, "email": 1}


def test_outcomes_are_the_law_after_what_was_released(client, shop):
    setting = PageSetting(shop.variant(FIRST), 8.0)
    mechanism = shop.prepared(setting).mechanism
    released = mechanism.words[:3]
    answer = _asked(client, "outcomes", word=40, released=released.tolist())
    law = np.exp(mechanism.log_probabilities([40], released)[0])
    told = {each["word"]: each["chance"] for each in answer["likely"]}
    for word, chance in told.items():
        assert law[mechanism.space.id_of(word)] == pytest.approx(chance)
    assert min(told.values()) == pytest.approx(law.max())
    assert sum(told.values()) + answer["other"] == pytest.approx(1.0)


def test_outcomes_of_a_law_without_a_formula_say_how_many_draws(client):
    answer = _asked(client, "outcomes", mechanism="cmp", word=40, released=[])
    assert answer["draws"] > 0
    assert sum(each["chance"] for each in answer["likely"]) + answer["other"] == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["near-words", "santext", "uniform", FIRST])
def test_the_attacker_is_right_about_as_often_as_the_law_says(client, shop, name):
    """On words drawn by the public frequencies, within 6 standard deviations."""
    setting = PageSetting(shop.variant(name), 8.0, public_words=False)
    mechanism, prior = shop.prepared(setting).mechanism, shop.prior(setting)
    rng = np.random.default_rng(11)
    words = rng.choice(len(prior), 3000, p=prior)
    released = mechanism.release(words, rng)
    body = {"mechanism": name, "public_words": False}
    found = np.array(
        _asked(client, "attack", released=released.tolist(), passed=[False] * 3000, **body)[
            "guesses"
        ]
        if name != FIRST
        # A guide reads along: words that begin a text are asked for one by one.
        else [
            _asked(client, "attack", released=[word], passed=[False], **body)["guesses"][0]
            for word in released[:200].tolist()
        ]
    )
    rate = (found == words[: len(found)]).mean()
    if name == "santext":
        law = np.exp(mechanism.log_probabilities(np.arange(len(prior))))
        exact = float((prior[:, None] * law).max(axis=0).sum())
    elif name == FIRST:  # the picture has an average over texts, these begin one
        exact = mechanism.guess_rate(prior)
    else:
        exact = _asked(client, "frontier", **body)["guess"]
    assert abs(rate - exact) < 6 * np.sqrt(exact * (1 - exact) / len(found))


def test_the_frontier_rises_and_the_present_setting_is_on_it(client):
    answer = _asked(client, "frontier", mechanism="near-words-plain", epsilon=10)
    rates = [point["guess"] for point in answer["points"]]
    assert rates == sorted(rates)
    assert 0 < rates[0] < rates[-1] <= 1
    assert answer["guess"] == next(p["guess"] for p in answer["points"] if p["epsilon"] == 10)
    assert not answer["least"]


@pytest.mark.parametrize("name", [name for name, each in variants().items() if each.epsilon])
def test_every_mechanism_has_a_frontier_exact_or_from_below(shop, name, monkeypatch):
    monkeypatch.setattr(mechanisms_module, "FRONTIER", (4.0, 16.0))
    setting = PageSetting(shop.variants[name], 16.0, public_words=False)
    first, last = shop.frontier(setting)
    assert (first["epsilon"], last["epsilon"]) == (4.0, 16.0)
    assert 0 <= first["guess"] < last["guess"] <= 1
    assert {"epsilon": 16.0, **shop.point(setting)} == last
    mechanism = shop.prepared(setting).mechanism
    if last["least"] and says_its_law(mechanism):
        # The best guess, over all pairs of words, is right at least as often.
        law = np.exp(mechanism.log_probabilities(np.arange(len(mechanism.space))))
        prior = shop.prior(setting)
        assert last["guess"] <= (prior[:, None] * law).max(axis=0).sum() + 0.02
        assert abs(last["guess"] - prior @ np.diag(law)) < 0.02


def test_a_weak_setting_is_called_weak(client, shop):
    body = {"mechanism": "near-words-plain", "epsilon": 4, "text": "the house is old"}
    assert _asked(client, "try", **body)["guarantee"]["weak"] is None
    weak = PageSetting(shop.variants["santext"], 16.0, public_words=False)
    assert told(shop, weak, 3)["weak"].startswith("this setting is weak")


def test_nothing_of_a_text_stays_in_memory(space):
    word = SECRET + "xq"  # in no vocabulary
    shop = Workshop(str(space))
    for layout in ("public", "tokens"):
        setting = PageSetting(shop.variant("near-words"), 8.0, layout)
        tried(shop, setting, f"the {word} house {word}@roe.example", np.random.default_rng(0))
        made = shop.layout(setting)
        gc.collect()
        tables = [made.__dict__.get("_table"), made.tokenizer.__dict__.get("_table")]
        for table in filter(None, tables):
            assert len(table._slots) == 0
        made.divided([word])  # the look above would have seen it
        assert any(word in table._slots for table in filter(None, tables))
        made.forget()


BAD = {
    "not JSON": (b"{" + SECRET.encode(), 400, "not JSON"),
    "invalid UTF-8": (b'{"text": "\xff' + SECRET.encode() + b'"}', 400, "UTF-8"),
    "half a pair": (b'{"text": "\\ud800 quagmire"}', 400, "UTF-8"),
    "nested deeply": (b"[" * 5000, 400, "not JSON"),
    "a list": (b'["quagmire"]', 422, "object"),
    "no text": ({"text": None}, 422, "text must be a string"),
    "a number for a text": ({"text": 5}, 422, "text must be a string"),
    "a long text": ({"text": SECRET * 1000}, 413, "5,000 characters"),
    "unknown mechanism": ({"mechanism": SECRET}, 422, "must be one of near-words-guided"),
    "a list of mechanisms": ({"mechanism": [SECRET]}, 422, "must be one of"),
    "one that needs more": ({"mechanism": "laplace"}, 422, "must be one of"),
    "no epsilon": ({"epsilon": None}, 422, "from 1 to 16"),
    "epsilon true": ({"epsilon": True}, 422, "from 1 to 16"),
    "epsilon 0": ({"epsilon": 0}, 422, "from 1 to 16"),
    "epsilon in words": ({"epsilon": SECRET}, 422, "from 1 to 16"),
    "epsilon of no number": (b'{"mechanism": "near-words", "epsilon": NaN}', 422, "from 1 to 16"),
    "layout": ({"layout": SECRET}, 422, "layout must be one of"),
    "layout of lists": ({"layout": [SECRET]}, 422, "layout must be one of"),
    "a switch": ({"identifiers": SECRET}, 422, "true or false"),
}


@pytest.mark.parametrize(("body", "status", "says"), BAD.values(), ids=BAD)
def test_bad_input_is_told_without_repeating_it(client, body, status, says):
    if isinstance(body, dict):
        good = {"mechanism": FIRST, "epsilon": 8, "text": f"the {SECRET}"}
        body = json.dumps(good | body).encode()
    answer = client.post(
        "/playground/try", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert says in answer.json()["detail"]
    assert SECRET not in answer.text


WRONG_IDS = [None, SECRET, [SECRET], [True], [1.5], [-1], [10**9], [1] * 6000]


@pytest.mark.parametrize("ids", WRONG_IDS, ids=range(len(WRONG_IDS)))
def test_words_that_are_no_words(client, ids):
    good = {"mechanism": FIRST, "epsilon": 8, "word": 1, "passed": []}
    for path in ("outcomes", "attack"):
        answer = client.post(f"/playground/{path}", json=good | {"released": ids})
        assert answer.status_code == 422
        assert "by their numbers" in answer.json()["detail"]
        assert SECRET not in answer.text


@pytest.mark.parametrize("passed", [None, [], [1], [SECRET], [True, True]])
def test_which_passed_must_fit_what_was_released(client, passed):
    body = {"mechanism": FIRST, "epsilon": 8, "released": [5], "passed": passed}
    answer = client.post("/playground/attack", json=body)
    assert answer.status_code == 422
    assert SECRET not in answer.text


def test_a_hundred_megabytes_are_not_read(client):
    sent = 0

    async def body():
        nonlocal sent
        for _ in range(100):
            sent += 1
            yield SECRET.encode() * 2**17

    answer = client.post(
        "/playground/try", content=b"x" * 10**8, headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, SECRET in answer.text) == (413, False)
    answer = client.post(
        "/playground/try", content=body(), headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, SECRET in answer.text) == (413, False)
    assert sent == 1  # the first of a hundred parts was too much


def test_a_form_of_another_page_is_refused_and_nothing_can_be_asked_by_address(client):
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = client.post("/playground/try", content=b"{}", headers={"Content-Type": kind})
        assert answer.status_code == 415
    for path in ("try", "outcomes", "attack", "frontier"):
        assert client.get(f"/playground/{path}?text={SECRET}").status_code == 405


def test_an_error_of_ours_says_nothing_of_itself(client, monkeypatch):
    def failing(*_):
        raise RuntimeError(SECRET)

    monkeypatch.setattr(playground, "tried", failing)
    body = {"mechanism": FIRST, "epsilon": 8, "text": SECRET}
    answer = client.post("/playground/try", json=body)
    assert answer.status_code == 500
    assert SECRET not in answer.text


@pytest.mark.parametrize(
    "path", ["/", "/playground/page.js", "/playground/page.css", "choices", "try"]
)
def test_no_answer_may_be_stored_and_no_page_load_from_elsewhere(client, path):
    if path == "try":
        answer = client.post("/playground/try", json={})
    else:
        answer = client.get(path if path.startswith("/") else f"/playground/{path}")
    assert answer.headers["cache-control"] == "no-store"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "set-cookie" not in answer.headers


def test_the_page_names_no_other_host(client):
    for path in ("/", "/playground/page.js", "/playground/page.css"):
        text = client.get(path).text.replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text
        assert "https:" not in text
        for word in ("localStorage", "sessionStorage", "indexedDB", "innerHTML", "document.cookie"):
            assert word not in text
