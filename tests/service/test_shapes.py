"""Every part of a request put in the place of every other kind: refused in words, never a 500."""

import copy
import json

import pytest

from command import WORDS, write_space
from echo_model import Model
from serving import served, upstream

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
PARTS = [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "x"}}]
BODIES = {
    "/v1/sanitize": {"documents": [WORDS[0]], "mapping": False, "persons": ["one"]},
    "/v1/restore": {"documents": ["x"], "mapping": [[0, "a b", "c"]], "by_row": True},
    "/v1/explain": {"words": [WORDS[0]], "profile": "default"},
    "/v1/chat/completions": {
        "model": "tiny",
        "stream_options": {"include_usage": True},
        "response_format": {"type": "json_object"},
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "messages": [
            {"role": "user", "content": PARTS[:1]},
            {"role": "assistant", "content": None, "refusal": "no", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c", "content": "x"},
            {"role": "user", "content": PARTS},
        ],
    },
    "/v1/responses": {
        "model": "tiny",
        "instructions": "x",
        "text": {"format": {"type": "text"}},
        "include": ["a"],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "x"}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "x"},
        ],
    },
    "/v1/embeddings": {"model": "tiny", "input": ["x"], "dimensions": 2},
    "/beta/litellm_basic_guardrail_api": {
        "input_type": "request",
        "texts": ["x"],
        "structured_messages": [{"role": "user", "content": PARTS}],
        "images": [],
        "litellm_call_id": "a",
        "litellm_trace_id": "b",
    },
}
OTHERS = [None, True, 3, "x", [], {}, [1], {"a": 1}, [[]], [{}]]


def _mutants(values, path=()):
    """Where each part stands."""
    yield path
    if isinstance(values, dict | list):
        for key, each in values.items() if isinstance(values, dict) else enumerate(values):
            yield from _mutants(each, (*path, key))


def _with(values, path, other):
    if not path:
        return other
    changed = copy.deepcopy(values)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = other
    return changed


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    space = write_space(tmp_path_factory.mktemp("space") / "words.txt")
    with upstream(Model().app) as url:
        profile = {"space": str(space), "mechanism": "near-words", "epsilon": 2.0}
        values = {"profiles": {"default": profile}, "gateway": {"upstream": f"{url}/v1"}}
        with served(values, time_grid_ms=0.0) as found:
            yield found


@pytest.mark.parametrize("route", BODIES)
def test_no_shape_of_a_request_is_a_surprise(up, route):
    before = len(up.lines)
    for path in _mutants(BODIES[route]):
        for other in OTHERS:
            body = json.dumps(_with(BODIES[route], path, other))
            headers = {"content-type": "application/json"}
            answer = up.client.post(route, content=body, headers=headers)
            assert answer.status_code in (200, 403, 413, 422, 502), (path, other, answer.text)
    assert not [line for line in up.lines[before:] if '"event": "error"' in line]
