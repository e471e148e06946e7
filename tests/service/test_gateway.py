"""The gateway with the real openai client, before an upstream on a loopback port."""

import asyncio
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx
import numpy as np
import pytest

from command import MARKER, WORDS, write_space
from discreet.service.gateway import conversations
from discreet.service.gateway.fields import Slot
from discreet.service.gateway.restoring import Restorer
from discreet.service.gateway.upstream import events
from discreet.service.keys import add_key
from discreet.service.problems import Problem
from discreet.statement import PrivacyStatement
from discreet.text.identifiers import Surrogates, lists
from discreet.text.identifiers.surrogates import WORDS as WORDS_OF_ONE
from echo_model import Model
from serving import served, upstream

MAIL = "xqjane.roe@place.example"  # a name that no surrogate has
PHONE = "+49 170 1234567"
TEXT = f"{WORDS[0]} {MARKER} {MAIL} {WORDS[1]} {PHONE}"
ALLOWED = ["tools", "stop"]


@pytest.fixture(scope="module", autouse=True)
def _library():
    """Loaded for the tests alone, as it takes a second in every process that collects them."""
    global openai
    import openai


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    return write_space(tmp_path_factory.mktemp("space") / "words.txt")


@pytest.fixture(scope="module")
def around(space):
    """A model, and a gateway in front of it."""
    model = Model()
    with upstream(model.app) as url:
        profile = {"space": str(space), "mechanism": "santext", "epsilon": 2.0}
        gateway = {"upstream": f"{url}/v1", "allow": ALLOWED, "timeout": 300.0}
        with served({"profiles": {"default": profile}, "gateway": gateway}) as up:
            yield up, model


@pytest.fixture
def asked(around):
    up, model = around
    model.bodies.clear()
    model.headers.clear()
    model.behaves, model.says, model.parts_of = "well", None, 3
    with openai.OpenAI(base_url=f"{up.url}/v1", api_key="key-of-user", max_retries=0) as client:
        yield client, model, up


def _user(text):
    return {"role": "user", "content": text}


def _reached(model):
    """Nothing protected reached the upstream, and the surrogates that did."""
    for secret in (MARKER, MAIL, PHONE, "1234567", "xqjane"):
        assert secret not in model.sent
    return re.findall(r"[\w.]+@example\.\w+", model.sent)


def test_no_secret_of_these_tests_can_be_a_surrogate():
    """What is looked for must not be there by chance."""
    entries = [
        each.lower() for some in vars(lists).values() if isinstance(some, tuple) for each in some
    ]
    assert len(entries) > 300
    for secret in (MARKER, "xqjane", *WORDS):
        assert not [entry for entry in entries if secret in entry]
    words = np.random.default_rng(0).integers(0, 2**64, (200, WORDS_OF_ONE), np.uint64)
    assert all("555-01" in phone for phone in Surrogates().made("phone", words))


def test_messages_are_sanitised_and_answers_restored(asked):
    client, model, up = asked
    told = [_user(f"first {TEXT}")]  # a text that was told before is not charged again
    raw = client.chat.completions.with_raw_response.create(model="tiny", messages=told)
    said = raw.parse().choices[0].message.content
    assert len(_reached(model)) == 1
    assert MAIL in said
    assert PHONE in said
    assert MARKER not in said
    statement = PrivacyStatement.from_dict(json.loads(raw.headers["discreet-statement"]))
    assert statement.epsilon == 2.0
    assert any("messages of a conversation are equal" in each for each in statement.public)
    assert raw.headers["discreet-words"] == raw.headers["discreet-words-charged"] == "4"
    assert model.headers[0]["authorization"] == "Bearer key-of-user"
    for secret in (MARKER, MAIL, PHONE, "key-of-user"):
        assert secret not in "".join(up.lines)


@pytest.mark.parametrize("parts_of", [1, 2, 3, 7, 1000])
def test_streams_are_restored_wherever_they_are_cut(asked, parts_of):
    client, model, _ = asked
    model.parts_of = parts_of
    stream = client.chat.completions.create(model="tiny", messages=[_user(TEXT)], stream=True)
    chunks = list(stream)
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    _reached(model)
    assert said.startswith("You said: ")
    assert MAIL in said
    assert said.endswith(PHONE)
    assert chunks[-1].choices[0].finish_reason == "stop"
    if parts_of == 1:
        assert len(chunks) > 20, "the stream was gathered before it was sent"


def test_a_stream_that_forgets_to_finish_keeps_nothing_back(asked):
    client, model, _ = asked
    model.behaves = "forgets the end"
    stream = client.chat.completions.create(model="tiny", messages=[_user(TEXT)], stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream).endswith(PHONE)


def test_a_history_that_is_sent_again_gets_the_same_release_and_is_charged_once(asked):
    client, model, _ = asked
    told = [_user(f"history {TEXT}")]
    first = client.chat.completions.create(model="tiny", messages=told)
    answer = first.choices[0].message.content
    told += [{"role": "assistant", "content": answer}, _user(f"and {MAIL} {WORDS[2]}")]
    raw = client.chat.completions.with_raw_response.create(model="tiny", messages=told)
    before, after = model.bodies[0]["messages"], model.bodies[1]["messages"]
    assert after[0] == before[0]
    # The answer goes back as the upstream wrote it, and equal identifiers stay equal.
    assert after[1]["content"] == f"You said: {before[0]['content']}"
    assert len(set(_reached(model))) == 1
    assert raw.headers["discreet-words-charged"] == "2"
    assert int(raw.headers["discreet-words"]) == 4 + 2
    assert MAIL in raw.parse().choices[0].message.content


def test_retries_at_the_same_time_are_one_release(asked):
    client, model, _ = asked
    told = [_user(f"retried {TEXT}")]

    def ask(_):
        raw = client.chat.completions.with_raw_response.create(model="tiny", messages=told)
        return int(raw.headers["discreet-words-charged"])

    with ThreadPoolExecutor(8) as pool:
        charged = list(pool.map(ask, range(8)))
    assert sorted(charged) == [0] * 7 + [4]
    assert len({json.dumps(body["messages"]) for body in model.bodies}) == 1


def test_other_conversations_get_draws_of_their_own(asked):
    client, model, _ = asked
    text = " ".join(WORDS[:30]) + f" {MAIL}"
    for name in "ab":
        client.chat.completions.create(
            model="tiny", messages=[_user(text)], extra_headers={"Discreet-Conversation": name}
        )
    one, other = (body["messages"][0]["content"] for body in model.bodies)
    # With 30 words at this epsilon two draws are equal in less than 1e-20.
    assert one != other


def test_conversations_that_begin_alike_share_nothing_of_what_follows(asked):
    _, model, up = asked
    secret = f"{' '.join(WORDS[:30])} {MAIL}"

    def said(*texts):
        body = {"model": "tiny", "messages": [_user(text) for text in texts]}
        answer = up.post("/v1/chat/completions", body)
        return int(answer.headers["discreet-words-charged"])

    hello = f"{WORDS[3]} {WORDS[4]} alike"
    assert said(hello, secret) == 33
    # The same message after another history is drawn and charged anew, with another surrogate.
    assert said(hello, WORDS[5], secret) == 1 + 30
    one, other = (body["messages"][-1]["content"] for body in model.bodies)
    assert one != other
    assert len(set(_reached(model))) == 2
    # What they have in common is one release, and so is the same message in one conversation.
    assert model.bodies[0]["messages"][0] == model.bodies[1]["messages"][0]
    assert said(hello, secret, WORDS[6], secret) == 1
    assert model.bodies[2]["messages"][3] == model.bodies[0]["messages"][1]
    # One word more or less in a message that another conversation has changes no charge of it.
    assert said(hello, f"{secret} {WORDS[7]}") == 31
    assert said(hello, WORDS[8], f"{secret} {WORDS[7]}") == 1 + 31


TOOL = {"type": "function", "function": {"name": "note", "parameters": {"type": "object"}}}


@pytest.mark.parametrize("stream", [False, True])
def test_arguments_of_tool_calls_are_restored_and_go_back_as_they_came(asked, stream):
    client, model, _ = asked
    told = [_user(f'tools {stream} "{MAIL}"')]
    options = {"model": "tiny", "tools": [TOOL]}
    if stream:
        chunks = list(client.chat.completions.create(messages=told, stream=True, **options))
        calls = [c.choices[0].delta.tool_calls for c in chunks if c.choices[0].delta.tool_calls]
        arguments = "".join(call[0].function.arguments for call in calls)
    else:
        message = client.chat.completions.create(messages=told, **options).choices[0].message
        arguments = message.tool_calls[0].function.arguments
    assert MAIL in json.loads(arguments)["quote"]
    again = json.dumps(json.loads(arguments), indent=1)  # as a framework writes it anew
    call = {"id": "call_1", "type": "function", "function": {"name": "note", "arguments": again}}
    told.append({"role": "assistant", "content": None, "tool_calls": [call]})
    told.append({"role": "tool", "tool_call_id": "call_1", "content": f"noted for {MAIL}"})
    raw = client.chat.completions.with_raw_response.create(messages=told, **options)
    sent = model.bodies[-1]["messages"]
    assert json.loads(sent[1]["tool_calls"][0]["function"]["arguments"])
    assert len(set(_reached(model))) == 1
    public = json.loads(raw.headers["discreet-statement"])["public"]
    assert "tools, as they are" in public


def test_structured_answers_stay_json(asked):
    client, model, _ = asked
    value = f'Place "A", {MAIL}'
    model.says = None
    told = [_user(value)]
    client.chat.completions.create(model="tiny", messages=told)
    surrogate = _reached(model)[0]
    model.says = json.dumps({"to": f"<{surrogate}>", "n": 3})
    said = client.chat.completions.create(
        model="tiny", messages=told, response_format={"type": "json_object"}
    )
    assert json.loads(said.choices[0].message.content) == {"to": f"<{MAIL}>", "n": 3}


def test_responses_are_sanitised_and_restored(asked):
    client, model, _ = asked
    whole = client.responses.create(model="tiny", input=f"resp {TEXT}")
    assert MAIL in whole.output_text
    assert model.bodies[0]["store"] is False
    again = [
        {"role": "user", "content": f"resp {TEXT}"},
        {"role": "assistant", "content": whole.output_text},
        {"role": "user", "content": f"more {MAIL}"},
    ]
    client.responses.create(model="tiny", input=again, instructions="be short")
    assert model.bodies[1]["input"][0]["content"] == model.bodies[0]["input"]
    assert model.bodies[1]["input"][1]["content"] == model.bodies[0]["input"]
    assert model.bodies[1]["instructions"] == "be short"
    with client.responses.stream(model="tiny", input=f"resp {TEXT}") as stream:
        deltas = [e.delta for e in stream if e.type == "response.output_text.delta"]
        final = stream.get_final_response().output_text
    assert "".join(deltas) == final
    assert PHONE in final
    _reached(model)


def test_embeddings_are_of_sanitised_text(asked):
    client, model, _ = asked
    found = client.embeddings.create(model="tiny", input=[TEXT, WORDS[3]])
    assert len(found.data) == 2
    _reached(model)
    assert client.embeddings.create(model="tiny", input=TEXT).data[0].embedding


def _part(kind, **held):
    return {"messages": [{"role": "user", "content": [{"type": kind, **held}]}]}


CALL = {"name": "f", "arguments": json.dumps({"a": MARKER})}
CALLED = {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": CALL}]}
REFUSED = {
    "an image": _part("image_url", image_url={"url": f"data:{MARKER}"}),
    "a file": _part("file", file={"file_data": MARKER}),
    "sound": _part("input_audio", input_audio={"data": MARKER}),
    "a name": {"messages": [{**_user("x"), "name": MARKER}]},
    "a new field of a message": {"messages": [{**_user("x"), MARKER: MARKER}]},
    "a new field of a part": _part("text", text="x", note=MARKER),
    "a role": {"messages": [{"role": MARKER, "content": "x"}]},
    "user": {"user": MARKER},
    "metadata": {"metadata": {"a": MARKER}},
    "a prediction": {"prediction": {"type": "content", "content": MARKER}},
    "a cache key": {"prompt_cache_key": MARKER},
    "a schema": {"response_format": {"type": "json_schema", "json_schema": {"name": MARKER}}},
    "storing": {"store": True},
    "a model that is a text": {"model": f"{MARKER} and more"},
    "a number that is a text": {"temperature": MARKER},
    "text in stream options": {"stream_options": {MARKER: True}},
    "a new field": {MARKER: 1},
    "functions": {"functions": [{"name": MARKER}]},
    "arguments from elsewhere": {"messages": [CALLED]},
    "content that is a number": {"messages": [{"role": "user", "content": 3}]},
    "no messages": {"messages": []},
    "a message that is a text": {"messages": [MARKER]},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_on_the_list_is_refused_and_nothing_is_sent(asked, name):
    _, model, up = asked
    body = {"model": "tiny", "messages": [_user("x")], **REFUSED[name]}
    answer = up.post("/v1/chat/completions", body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert MARKER not in answer.text
    assert model.bodies == []
    assert MARKER not in "".join(up.lines)


def test_what_the_policy_allows_passes_and_the_statement_says_so(asked):
    client, model, _ = asked
    raw = client.chat.completions.with_raw_response.create(
        model="tiny", messages=[{"role": "system", "content": "be kind"}, _user("x")], stop=["END"]
    )
    assert model.bodies[0]["stop"] == ["END"]
    assert model.bodies[0]["messages"][0]["content"] == "be kind"
    public = json.loads(raw.headers["discreet-statement"])["public"]
    assert "stop, as they are" in public
    assert "messages of the role system, as they are" in public


@pytest.mark.parametrize(
    ("behaves", "status"),
    [
        ("down", 502),
        ("nonsense", 502),
        ("another shape", 502),
        ("refuses", 404),
        ("rate", 429),
    ],
)
def test_an_upstream_that_fails_is_told_in_plain_words(asked, behaves, status):
    client, model, up = asked
    model.behaves = behaves
    with pytest.raises(openai.APIStatusError) as error:
        client.chat.completions.create(model="tiny", messages=[_user(f"{behaves} {TEXT}")])
    assert error.value.status_code == status
    assert MARKER not in error.value.response.text
    assert MARKER not in "".join(up.lines)
    if behaves == "rate":
        assert error.value.response.headers["retry-after"] == "7"


def test_a_stream_that_breaks_off_ends_in_an_error(asked):
    client, model, _ = asked
    model.behaves = "breaks off"
    stream = client.chat.completions.create(model="tiny", messages=[_user(TEXT)], stream=True)
    with pytest.raises(openai.APIError, match="broke off") as error:
        list(stream)
    assert (error.value.type, error.value.code) == ("server_error", "upstream")


def test_a_response_that_breaks_off_ends_in_an_error(asked):
    client, model, up = asked
    model.behaves = "breaks off"
    with (
        pytest.raises(openai.APIError, match="broke off"),
        client.responses.stream(model="tiny", input=f"broken {TEXT}") as stream,
    ):
        list(stream)
    assert MARKER not in "".join(up.lines)


# What the client's exception says, by the key that is used and what is asked.
IN_WORDS = {
    "no budget": ("PermissionDeniedError", "no-budget", "epsilon 3 is left"),
    "an image": ("UnprocessableEntityError", "not-on-the-list", "image_url of the request"),
    "a new field": ("UnprocessableEntityError", "not-on-the-list", "a field of the request"),
    "upstream down": ("InternalServerError", "upstream", "the upstream cannot be reached"),
    "bad key": ("AuthenticationError", "no-key", "send a key that this service knows"),
    "no such route": ("NotFoundError", "not-found", "there is no such route"),
}


@pytest.fixture(scope="module")
def strict(space, tmp_path_factory):
    """A gateway with keys and budgets, before an upstream that is away."""
    folder = tmp_path_factory.mktemp("strict")
    keys = folder / "keys.toml"
    secrets = {"poor": add_key(keys, "poor", budget=3.0), "rich": add_key(keys, "rich")}
    profile = {"space": str(space), "mechanism": "near-words", "epsilon": 2.0}
    gateway = {"upstream": "http://127.0.0.1:9/v1"}
    policy = {"profiles": {"default": profile}, "gateway": gateway}
    with served(policy, keys=keys, ledger=str(folder / "ledger.db")) as up:
        yield up, secrets


@pytest.mark.parametrize("name", IN_WORDS)
@pytest.mark.parametrize("stream", [False, True])
def test_the_exception_of_the_client_says_what_was_refused(strict, name, stream):
    up, secrets = strict
    kind, code, words = IN_WORDS[name]
    image = {"type": "image_url", "image_url": {"url": f"https://{MARKER}.example"}}
    extra = {MARKER: MARKER} if name == "a new field" else {}
    key = {"no budget": secrets["poor"], "bad key": f"no-{MARKER}"}.get(name, secrets["rich"])
    with openai.OpenAI(base_url=f"{up.url}/v1", api_key=key, max_retries=0) as client:
        said = {
            "model": "tiny",
            "messages": [_user([image] if name == "an image" else TEXT)],
            "stream": stream,
            "extra_body": extra,
        }
        ask = partial(client.chat.completions.create, **said)
        with pytest.raises(getattr(openai, kind)) as error:
            (client.models.list if name == "no such route" else ask)()
    assert words in str(error.value)
    assert error.value.code == code
    assert error.value.type
    # The same in both forms, and nothing of the text, of the key or of the field's name.
    body = error.value.response.json()
    assert body["error"]["message"] == body["detail"]
    assert error.value.response.headers["content-type"] == "application/problem+json"
    for secret in (MARKER, MAIL, PHONE, key):
        assert secret not in error.value.response.text + str(error.value) + "".join(up.lines)


def test_an_upstream_that_does_not_answer(space):
    model = Model(behaves="slow")
    profile = {"space": str(space), "mechanism": "santext", "epsilon": 2.0}
    with upstream(model.app) as url:
        gateway = {"upstream": f"{url}/v1", "timeout": 0.1}
        with served({"profiles": {"default": profile}, "gateway": gateway}) as up:
            answer = up.post("/v1/chat/completions", {"model": "m", "messages": [_user(TEXT)]})
            model.behaves = "well"
    assert answer.status_code == 504
    assert MARKER not in answer.text + "".join(up.lines)


def test_an_upstream_that_stops_in_the_middle_of_a_stream(space):
    model = Model(behaves="stalls")
    profile = {"space": str(space), "mechanism": "santext", "epsilon": 2.0}
    with upstream(model.app) as url:
        gateway = {"upstream": f"{url}/v1", "timeout": 0.5}
        with (
            served({"profiles": {"default": profile}, "gateway": gateway}) as up,
            openai.OpenAI(base_url=f"{up.url}/v1", api_key="x", max_retries=0) as client,
        ):
            ask = partial(client.chat.completions.create, model="m", messages=[_user(TEXT)])
            # On a machine that is busy it may seem silent from the start.
            with pytest.raises(openai.APIError, match=r"stopped in the middle|in time"):
                list(ask(stream=True))
            model.behaves = "well"
    assert MARKER not in "".join(up.lines)


def test_an_upstream_that_is_away(space):
    profile = {"space": str(space), "mechanism": "santext", "epsilon": 2.0}
    gateway = {"upstream": "http://127.0.0.1:9/v1"}
    with served({"profiles": {"default": profile}, "gateway": gateway}) as up:
        answer = up.post("/v1/chat/completions", {"model": "m", "messages": [_user(TEXT)]})
    assert answer.status_code == 502
    assert MARKER not in answer.text


# -- LiteLLM, with requests in the shapes that it sends --------------------------------------------


def _guardrail(up, headers=None, **body):
    shape = {
        "input_type": "request",
        "litellm_call_id": "call-1",
        "litellm_trace_id": "trace-1",
        "structured_messages": None,
        "images": None,
        "tools": None,
        "texts": [TEXT],
        "request_data": {"user_api_key_user_id": "default_user_id"},
        "request_headers": {"host": "x"},
        "litellm_version": "1.80",
        "additional_provider_specific_params": {},
        "tool_calls": None,
        "model": "tiny",
    }
    body = {**shape, **body}
    return up.post("/beta/litellm_basic_guardrail_api", body, headers=headers).json()


def test_the_guardrail_of_litellm_sanitises_and_restores(asked):
    _, _, up = asked
    messages = [{"role": "system", "content": "be kind"}, _user(TEXT)]
    told = _guardrail(up, texts=["be kind", TEXT], structured_messages=messages)
    assert told["action"] == "GUARDRAIL_INTERVENED"
    assert told["texts"][0] == "be kind"
    assert MAIL not in told["texts"][1]
    assert MARKER not in told["texts"][1]
    again = _guardrail(up, texts=["be kind", TEXT], structured_messages=messages)
    assert again["texts"] == told["texts"]
    back = _guardrail(up, input_type="response", texts=[told["texts"][1]])
    assert back["action"] == "GUARDRAIL_INTERVENED"
    assert MAIL in back["texts"][0]
    assert PHONE in back["texts"][0]
    half = told["texts"][1][:-2]
    assert _guardrail(up, input_type="response", texts=[half])["stream_holdback_chars"][0] > 3


@pytest.mark.parametrize(
    "body",
    [
        {"images": [f"data:{MARKER}"]},
        {"tool_calls": [{"id": MARKER}], "texts": [3]},
        {"input_type": MARKER},
        {"texts": MARKER},
        {"structured_messages": MARKER},
        {"structured_messages": [{**_user(TEXT), "name": MARKER}]},
        {"structured_messages": [_user(TEXT), *_part("file", file=MARKER)["messages"]]},
        {"structured_messages": [_user(TEXT), *_part("input_audio", data=MARKER)["messages"]]},
        {"structured_messages": [{**_user(TEXT), MARKER: MARKER}]},
        {"structured_messages": [_user(f"{MARKER} was not handed over")]},
        {"structured_messages": [{"role": "assistant", "content": TEXT, "refusal": MARKER}]},
    ],
)
def test_the_guardrail_blocks_what_it_cannot_protect(asked, body):
    _, _, up = asked
    told = _guardrail(up, **body)
    assert told["action"] == "BLOCKED"
    assert told["blocked_reason"]
    assert MARKER not in json.dumps(told)


def test_arguments_of_tool_calls_pass_the_guardrail_only_where_tools_may(asked, strict):
    _, _, up = asked
    told = {"texts": [TEXT], "structured_messages": [_user(TEXT), CALLED]}
    assert _guardrail(up, **told)["action"] == "GUARDRAIL_INTERVENED"  # allowed there
    up, secrets = strict
    told = _guardrail(up, headers={"authorization": f"Bearer {secrets['rich']}"}, **told)
    assert told["action"] == "BLOCKED"
    assert "tools of the request" in told["blocked_reason"]


def test_roles_that_cannot_be_told_are_taken_for_the_users(asked):
    _, _, up = asked
    messages = [{"role": "system", "content": "something else"}]
    assert MARKER not in _guardrail(up, structured_messages=messages)["texts"][0]


def test_the_values_of_a_call_are_let_go_in_time_whether_others_come_or_not(space, monkeypatch):
    from discreet.service import service as service_module
    from discreet.service.gateway import guardrail

    monkeypatch.setattr(service_module, "_SWEEP_SECONDS", 0.01)
    profile = {"space": str(space), "mechanism": "santext", "epsilon": 2.0}
    values = {"profiles": {"default": profile}, "gateway": {"upstream": "http://127.0.0.1:9/v1"}}
    with served(values) as up:
        told = _guardrail(up, texts=[TEXT])["texts"]
        back = _guardrail(up, input_type="response", texts=told)["texts"]
        assert MAIL in back[0]
        monkeypatch.setattr(guardrail, "_SECONDS", -1.0)
        for _ in range(1000):
            if _guardrail(up, input_type="response", texts=told)["texts"] == told:
                return
            time.sleep(0.01)
    raise AssertionError("the values of a call are still held")


def test_conversations_are_forgotten_by_size_and_by_age(monkeypatch):
    known = conversations.RememberedConversations(most_bytes=5000, seconds=60.0)
    for number in range(20):
        known.of("key", str(number)).keep_answer("text", "short", "x" * 100)
        assert known.total == sum(each.size for each in known._known.values())
        assert known.total <= 5000 + 600  # what the last one added came after the look
    assert 1 < len(known) < 20
    # Of a conversation without a name its end goes first: others may go on from its beginning.
    texts = ["one", "two", "three", "four"]
    slots = [Slot(texts, place, "user") for place in range(4)]
    path = known.along("key", slots)
    assert known.along("key", slots[:2]) == path[:2]
    for number in range(20, 28):
        known.of("key", str(number))
        assert known.total == sum(each.size for each in known._known.values())
    kept = [each in known._known.values() for each in path]
    assert kept == [True, True, False, False]
    late = known.of("key", "19")
    now = time.monotonic()
    monkeypatch.setattr(conversations.time, "monotonic", lambda: now + 61)
    known.forget()
    assert (len(known), known.total) == (0, 0)
    late.grow(50)  # somebody is still at it
    assert known.total == 0


# -- restoring, against the slow and obvious way --------------------------------------------------


@pytest.mark.parametrize("as_json", [False, True])
def test_a_stream_is_what_the_whole_would_be_however_it_is_cut(as_json):
    values = {"Ann Lee": 'J "R"', "Lee Roe": "x\ny", "Ann": "Bo", "42": "7", "(1) 55": "9"}
    restorer = Restorer(values)
    text = (
        '{"a": "Ann Lee Roe, Ann; Anna Lee Roe (1) 55 (1) 556", "b": 42, "c": [142, "42"]} Ann Le'
    )
    whole = restorer.json(text) if as_json else restorer.text(text)
    for size in range(1, len(text)):
        stream = restorer.stream(as_json=as_json)
        parts = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert "".join(parts) + stream.finish() == whole
    if as_json:
        assert json.loads(whole.removesuffix(" Ann Le")) == {
            "a": 'J "R" Roe, Bo; Anna x\ny 9 (1) 556',
            "b": 7,
            "c": [142, "7"],
        }


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(
    ("said", "restored"),
    [
        ("![x](https://a.example/?q=Ann)", False),
        ("![x](<https://a.example/? Ann Lee>)", False),
        ("<img src='//a.example/? and Ann Lee'>", False),
        ("![x](http:\\\\a.example?42)", False),
        ("[see](WWW.a.example/42)", False),
        ("https:Ann.a.example", False),
        ("https://a.example/?from=https://www.example.com/oak/7", False),
        (f"https://a.example/{'x' * 5000}?Ann", False),
        ("see <https://a.example> for Ann", True),
        ("at https://a.example\n(Ann)", True),
        ("(https://www.example.com/oak/7)", True),
        ("a < b / c, Ann", True),
    ],
)
def test_no_value_is_put_into_an_address_that_the_upstream_wrote(said, restored, as_json):
    """Whoever shows an answer with a picture asks the picture's server for it, by its address."""
    values = {
        "Ann": "xqjane",
        "Ann Lee": "xqjane",
        "42": "777",
        "https://www.example.com/oak/7": "xqjane",
    }
    restorer = Restorer(values)
    text = json.dumps({"said": said}) if as_json else said
    whole = restorer.json(text) if as_json else restorer.text(text)
    assert ("xqjane" in whole or "777" in whole) == restored
    assert restored or whole == text
    for size in (1, 2, 3, 7):
        stream = restorer.stream(as_json=as_json)
        parts = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert "".join(parts) + stream.finish() == whole


def _events_of(parts, head="text/event-stream"):
    """What the gateway reads of an upstream that sends these bytes."""

    async def sent():
        for part in parts:
            yield part

    async def read():
        answer = httpx.Response(200, headers={"content-type": head}, content=sent())
        return [event async for event in events(answer)]

    return asyncio.run(read())


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_events_are_read_wherever_their_bytes_are_cut(end):
    """Within a character, an end of a line, or beside what ends lines of other texts."""
    said = json.dumps({"content": "caf\u00e9 \u2028 \x85 \u2029 \U0001f600"}, ensure_ascii=False)
    lines = ["event: delta", f"data: {said}", "", ": a comment", "data: a", "data: b", "", "data:c"]
    raw = end.join(lines).encode()
    expected = [("delta", said), (None, "a\nb"), (None, "c")]
    for size in range(1, len(raw) + 1):
        parts = [raw[at : at + size] for at in range(0, len(raw), size)]
        assert _events_of(parts) == expected
    assert _events_of([raw], "text/event-stream; charset=latin-1") == expected


@pytest.mark.parametrize("line", [b"x", b"data: x\n"])
def test_an_event_without_an_end_is_not_gathered_for_ever(line):
    read = []

    def endless():
        while True:
            read.append(line * (2**20 // len(line)))
            yield read[-1]

    with pytest.raises(Problem, match="too long"):
        _events_of(endless())
    assert len(read) < 20
