"""Private vectors over HTTP, and a service that speaks TLS."""

import shutil
import ssl
import subprocess

import httpx
import numpy as np
import pytest

from command import MARKER, WORDS, write_space
from discreet.ledger import Ledger
from serving import served
from tiny_bert import write_bert


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    space = write_space(tmp_path_factory.mktemp("space") / "words.txt")
    return {"space": str(space), "epsilon": 2.0}


def test_vectors_are_released_and_charged(profile, tmp_path):
    encoder = write_bert(tmp_path / "bert", head=False)
    embedding = {"encoder": str(encoder), "dim": 4, "epsilon": 3.0}
    ledger = tmp_path / "ledger.db"
    values = {"profiles": {"default": profile}, "embedding": embedding}
    with served(values, ledger=str(ledger)) as up:
        texts = ["the tea is good", f"a cup {MARKER}"]
        answer = up.post("/v1/embed", {"documents": texts})
        again = up.post("/v1/embed", {"documents": texts}).json()
        blank = up.post("/v1/embed", {"documents": [" "]})
        up.post("/v1/embed", {"documents": [texts[0]] * 3})
    assert answer.status_code == 200, answer.text
    body = answer.json()
    vectors = np.array(body["vectors"])
    assert vectors.shape == (2, 4)
    assert (vectors != np.array(again["vectors"])).any()
    assert body["statement"]["unit"] == "sentence"
    assert body["receipt"]["statement"] == body["statement"]
    assert blank.status_code == 422
    with Ledger.open(ledger) as book:
        entries = list(book.entries())
        assert [(e.state, e.command) for e in entries] == [("committed", "/v1/embed")] * 3
        assert entries[2].amount.epsilon == 3 * entries[0].amount.epsilon, "copies add up"
        assert book.verify() == []


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate")
def test_a_service_with_a_certificate_speaks_tls(profile, tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", *made, *names, *files], check=True, capture_output=True)
    values = {"profiles": {"default": profile}}
    with served(values, certificate=certificate, certificate_key=key) as up:
        assert up.url.startswith("https://")
        trusted = ssl.create_default_context(cafile=certificate)
        with httpx.Client(verify=trusted) as client:
            body = {"documents": [WORDS[0]]}
            assert client.post(f"{up.url}/v1/sanitize", json=body).status_code == 200
        with pytest.raises(httpx.HTTPError):
            httpx.get(up.url.replace("https", "http") + "/healthz")
