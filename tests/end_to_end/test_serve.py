"""``discreet serve`` as a person runs it: started, asked, stopped."""

import json
import re
import signal
import subprocess

import httpx
import pytest

from command import COMMAND, MARKER, WORDS, called, discreet, environment, write_space


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    return write_space(tmp_path_factory.mktemp("serve") / "words.txt")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def test_it_is_started_asked_and_stopped(space, cache, tmp_path):
    keys = tmp_path / "keys.toml"
    made = discreet("serve", "--new-key", "one", "--keys", keys, "--budget", 100, cache=cache)
    assert made.code == 0, made.err
    (secret,) = made.lines
    policy = tmp_path / "policy.toml"
    policy.write_text(
        f'[profiles.default]\nspace = "{space}"\nepsilon = 2\n[service]\nport = 0\n'
        f'ledger = "{tmp_path / "ledger.db"}"\n'
    )
    with subprocess.Popen(
        [COMMAND, "serve", "--policy", policy, "--keys", keys],
        stderr=subprocess.PIPE,
        env=environment(cache),
        text=True,
    ) as running:
        said = []
        for line in running.stderr:
            said.append(line)
            if found := re.search(r"Listening on (http://127\.0\.0\.1:\d+)", line):
                break
        answer = httpx.post(
            f"{found[1]}/v1/sanitize",
            json={"documents": [f"{WORDS[0]} {MARKER}"]},
            headers={"authorization": f"Bearer {secret}"},
            timeout=60,
        )
        running.send_signal(signal.SIGTERM)
        rest = running.stderr.read()
        assert running.wait(60) == 0
    assert answer.status_code == 200
    assert MARKER not in answer.text
    assert MARKER not in rest
    assert "Stopped; every request" in rest
    logged = [json.loads(line) for line in rest.splitlines() if line.startswith("{")]
    assert [(each["route"], each["key"]) for each in logged] == [("/v1/sanitize", "one")]
    assert "Protects each word" in "".join(said)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "0.0.0.0", "--epsilon", "2"], "needs --keys"),
        (["--policy", "nowhere.toml"], "no policy"),
        (["--policy", "x.toml", "--epsilon", "2"], "leave out the other options"),
        (["--new-key", "one"], "needs --keys"),
        (["--epsilon", "2", "--certificate", "a.pem"], "belong together"),
        (["--epsilon", "9999"], "weak"),
        (["--epsilon", "2", "--mechanism", "bogus"], "mechanism must be one of"),
        (["--epsilon", "2", "--upstream", "nowhere"], "http or https"),
        ([], "needs --epsilon"),
        (["--policy", "x.toml", "--readable"], "leave out the other options"),
    ],
)
def test_mistakes_are_told_before_anything_listens(space, cache, arguments, message):
    own = [] if "--policy" in arguments or "--new-key" in arguments else ["--space", space]
    done = called("serve", *own, *arguments, "--port", 0, cache=cache)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
