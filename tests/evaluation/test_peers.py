"""Peers: driven in a process of their own, counted for what they pass, and named if they fail."""

import json
import signal
import subprocess
import sys
import zlib
from dataclasses import asdict, replace

import numpy as np
import pytest

from command import WORDS, write_space
from discreet.errors import InvalidValue
from discreet.evaluation.comparison import documents as documents_module
from discreet.evaluation.comparison import peers
from discreet.evaluation.comparison.bench import Bench
from discreet.evaluation.comparison.documents import DocumentRow, document_rows, documents_of
from discreet.evaluation.comparison.peers import PEERS, Peer, peer_jobs
from discreet.evaluation.comparison.reading import TaskReading
from discreet.evaluation.comparison.run import ComparisonRow
from discreet.evaluation.comparison.task import Effort, Task
from discreet.evaluation.comparison.vectors import vector_rows
from discreet.mechanisms.registry import entries, find
from discreet.report.search import documents_section, search_section
from discreet.spaces import load_space

EFFORT = Effort(texts=60, longest=12, attacked=200, encoded=60, judged=5, seeds=1, folds=3)
PEER = Peer("toy", "1.0", (("", 8.0),))
# A peer that turns words round, but lets those with a q pass; at any epsilon.
TURNS = """
import json, sys
told = json.loads(sys.stdin.readline())
print(json.dumps({"ready": 2.0}))
for line in sys.stdin:
    words = json.loads(line)["words"]
    turned = [w if "q" in w else w[::-1] for w in words]
    print(json.dumps({"words": turned, "seconds": 0.5}))
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    space = load_space(str(write_space(tmp_path_factory.mktemp("peers") / "space.txt")))
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 12)) for _ in range(120)]
    task = Task.of(texts[:60], ["a", "b"] * 30, None, texts[60:], EFFORT)
    return Bench(task, space, EFFORT, encoder=False, judges=())


def _rows(bench, tmp_path, monkeypatch, script, peer=PEER):
    driver = tmp_path / "driver.py"
    driver.write_text(script)
    monkeypatch.setattr(peers, "_DRIVER", driver)
    place = tmp_path / f"{peer.package}-{peer.version}"
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "python").symlink_to(sys.executable)
    (place / "installed").write_text("")
    ((_, job),) = peer_jobs(bench, tmp_path, lambda _line: None, [peer])
    return [ComparisonRow.of(row) for row in job()["rows"]]


def test_what_a_peer_passes_and_what_watching_sees(bench, tmp_path, monkeypatch):
    (row,) = _rows(bench, tmp_path, monkeypatch, TURNS)
    # The first texts, of at least 100 words, say what passes; 50 have 600 words.
    clear = np.mean(["q" in word for text in bench.task.texts[:9] for word in text.split()])
    assert f"{100 * clear:.0f} of 100 words pass in clear" in row.note
    assert "50 texts, of each at most 60 words; begins after 2 s" in row.note
    assert row.speed == 24.0
    assert row.peer
    # Turned round is no protection: whoever has watched knows.
    assert row.attackers["watching"].value > 0.99
    assert row.best_attacker[0] == "watching"
    assert len(row.samples) == 20


def test_of_long_texts_a_peer_gets_the_beginnings():
    texts = ["One, two. " * 100] * 30
    beginnings = peers._first(texts, 60, 600, 10)
    assert beginnings == ["One, two. " * 14 + "One, two."] * 10
    assert peers._all_words(beginnings)[0] == ["one", ",", "two", "."] * 15
    assert len(peers._first(texts, 60, 100)) == 2
    assert peers._first(["  ", "a"], 60, 100) == ["", "a"]


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("raise LookupError('secret word')", "it stopped \\(LookupError\\)"),
        ("print('nonsense')", "what it answered cannot be read"),
        ("print('{\"ready\": 1}')", "did not answer for every text"),
        (TURNS.replace("[w ", "['more'] + [w "), "cannot be laid beside"),
    ],
)
def test_a_peer_that_cannot_run_is_a_row_that_says_why(bench, tmp_path, monkeypatch, script, says):
    (row,) = _rows(bench, tmp_path, monkeypatch, script)
    assert row.note.startswith("cannot run here: ")
    assert __import__("re").search(says, row.note)
    assert "secret" not in row.note
    assert row.best_attacker is None


@pytest.mark.parametrize("waits", [True, False])
def test_what_a_slow_peer_has_done_in_its_time_counts(bench, tmp_path, monkeypatch, waits):
    """It is done with one setting, and in the middle of an answer of the next when time is over."""

    def late(command, *, input, timeout, **_):
        assert json.loads(input.splitlines()[0]) == {"peer": "toy", "seconds": 360}
        asked = [json.loads(line) for line in input.splitlines()[1:]]
        done = [{"ready": 3.0}]
        done += [
            {"words": each["words"], "seconds": 1.0}
            for each in asked
            if each["mechanism"] == "quick"
        ]
        written = "\n".join(map(json.dumps, done)) + '\n{"words": ["a", "b'
        if waits:
            raise subprocess.TimeoutExpired(command, timeout, written.encode())
        return subprocess.CompletedProcess(command, -signal.SIGXCPU, written.encode(), b"")

    monkeypatch.setattr(peers.subprocess, "run", late)
    both = Peer("toy", "1.0", (("quick", 8.0), ("slow", 8.0)))
    quick, slow = _rows(bench, tmp_path, monkeypatch, TURNS, both)
    assert quick.attackers["watching"].value == 1.0
    assert slow.best_attacker is None
    assert slow.note == (
        "did not finish: 0 of 84 texts in 6 minutes of computing, of which it took 3 s to begin"
    )


def test_what_would_be_fetched_is_not_even_installed(bench, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    needy = Peer("dpmlm", "1.3.0", (("", 9.0), ("", 10.0)), ".cache/model")
    ((_, job),) = peer_jobs(bench, tmp_path / "none", lambda _line: None, [needy])
    rows = job()["rows"]
    assert [row["epsilon"] for row in rows] == [9.0, 10.0]
    assert all("data from the network that is not here" in row["note"] for row in rows)
    assert not (tmp_path / "none").exists()
    assert {peer.package for peer in PEERS} == {"mldp-text", "dp-diffractor", "dpmlm"}


def test_the_driver_needs_nothing_of_ours_and_speaks_json(tmp_path):
    package = tmp_path / "mldp_text"
    package.mkdir()
    (package / "__init__.py").write_text(
        "class M:\n def replace_word(self, w): print('chatter'); return w.upper()\n"
        "def get_mechanism(name, epsilon, embedding_matrix): return M()\n"
    )
    (package / "utils.py").write_text(
        "EMBED = 'file'\ndef validate_and_load_embeddings(f): return f\n"
    )
    text = {"mechanism": "tem", "epsilon": 1.0, "words": ["a", "b"]}
    asked = "\n".join(map(json.dumps, [{"peer": "mldp-text", "seconds": 60}, text])) + "\n"
    done = subprocess.run(
        [sys.executable, "-S", peers._DRIVER],
        input=asked,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(tmp_path)},
        check=True,
    )
    ready, answer = map(json.loads, done.stdout.splitlines())
    assert ready["ready"] >= 0
    assert (answer["words"], answer["seconds"] >= 0) == (["A", "B"], True)
    assert "chatter" in done.stderr


# A peer that puts its lists in order whenever it starts, and says so.
ORDERS = """
class EmbeddingManager:
    def __init__(self, paths):
        print("in order")
        import time
        while time.process_time() < 1: pass
        self.lists = [open(p).read().split() for p in paths]
"""
BEGINS = """
from diffractor.utils import EmbeddingManager
class DiffractorConfig:
    def __init__(self, verbose, seed): self.seed = seed
class Diffractor:
    def __init__(self, config, model_names):
        import pathlib
        paths = [str(pathlib.Path.home() / ".cache/diffractor" / (n + ".txt")) for n in model_names]
        self.mgr = EmbeddingManager(paths)
    def rewrite(self, texts, epsilon): return [" ".join(self.mgr.lists[0])]
"""


def test_what_a_peer_computes_at_every_start_is_computed_once(tmp_path):
    words = tmp_path / ".cache" / "diffractor" / "list.txt"
    words.parent.mkdir(parents=True)
    words.write_text("b a")
    package = tmp_path / "diffractor"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "utils.py").write_text(ORDERS)
    (package / "core.py").write_text(BEGINS)
    place = tmp_path / "peer"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    text = {"mechanism": "", "epsilon": 1.0, "words": ["x"]}
    asked = "\n".join(map(json.dumps, [{"peer": "dp-diffractor", "seconds": 60}, text])) + "\n"

    def run():
        done = subprocess.run(
            [place / "bin" / "python", peers._DRIVER],
            input=asked,
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(tmp_path), "HOME": str(tmp_path)},
            check=True,
        )
        ready, answer = map(json.loads, done.stdout.splitlines())
        return ready["ready"], answer["words"], "in order" in done.stderr

    first, again = run(), run()
    assert [each[1:] for each in (first, again)] == [(["b", "a"], True), (["b", "a"], False)]
    assert min(first[0], again[0]) > 0.9  # it is told as if it had begun anew
    words.write_text("b a c")  # another list is put in order anew
    assert run()[1:] == (["b", "a", "c"], True)


# -- vectors of sentences and documents ------------------------------------------------------------


def test_more_epsilon_finds_more_neighbours_and_is_recognised_more():
    rng = np.random.default_rng(0)
    table = rng.standard_normal((80, 32))
    rows = vector_rows(
        lambda texts: table[: len(texts)],
        [f"text {number}" for number in range(80)],
        dimensions=(8, 64),
        epsilons=(1.0, 500.0),
    )
    assert {row.dimension for row in rows} == {8}  # 64 are more than the encoder has
    names = {row.mechanism for row in rows}
    assert names == {"planar-laplace", "priv-unit", "purkayastha", "sphere-gaussian"}
    for name in names:
        low, high = (row for row in rows if row.mechanism == name)
        assert low.recall < 0.2
        assert high.recall > max(0.7 * high.without_noise, low.recall + 0.05)
        assert low.recognised < 0.2 < high.recognised
        assert high.any_two > low.any_two
    section = search_section(rows)
    assert "No setting that was tried" in section.paragraphs[0]
    assert len(section.tables[0].rows) == len(rows)


def test_search_needs_texts():
    with pytest.raises(InvalidValue, match="at least 50 different texts"):
        vector_rows(lambda texts: np.ones((len(texts), 4)), ["same"] * 90)


class _Encoder:
    """A direction for each word, and one that is a sentence's own."""

    fingerprint = "toy"

    def encode(self, sentences):
        seeds = [zlib.crc32(sentence.encode()) for sentence in sentences]
        own = np.array([np.random.default_rng(seed).standard_normal(24) for seed in seeds])
        topics = np.array([["alpha" in each, "beta" in each] for each in sentences], float)
        return np.hstack([6 * topics, 0.5 * own]).astype(np.float32)


def _document(rng, topic):
    words = [" ".join(rng.choice(WORDS, 4)).capitalize() for _ in range(int(rng.integers(3, 6)))]
    return " ".join(f"{each} {topic}." for each in words)


@pytest.fixture(scope="module")
def document_reading():
    rng, labels = np.random.default_rng(0), ["alpha", "beta"] * 45
    texts = [_document(rng, label) for label in labels]
    effort = replace(EFFORT, texts=90, longest=200)
    public = [_document(rng, label) for label in labels] + ["One sentence only."]
    return TaskReading(Task.of(texts, labels, None, public, effort), effort, encoder=False)


@pytest.fixture(scope="module")
def document_store(document_reading):
    _, public = documents_of(document_reading)
    return documents_module._store(public.encoded(_Encoder()), "toy")


def test_documents_keep_their_topic_if_epsilon_allows(
    document_reading, document_store, monkeypatch
):
    monkeypatch.setattr(documents_module, "_store", lambda *_: document_store)
    read = documents_of(document_reading)
    assert [len(each.rows) for each in read] == [90, 90]
    rows = document_rows(_Encoder(), document_reading, read, epsilons=(0.01, 60.0))
    bare, *protected = rows
    assert (bare.mechanism, bare.accuracy.value, bare.recall) == ("no protection", 1.0, 1.0)
    assert all(DocumentRow.of(asdict(row)) == row for row in rows)
    names = {row.mechanism for row in protected}
    assert names == {entry.name for entry in entries("document")} - {"soft-votes"}
    for name in names:
        low, high = (row for row in protected if row.mechanism == name)
        assert low.recognised.value < 0.1  # of 90, one is right by chance
        assert low.accuracy.value < 0.75
        if "votes" in name:
            assert high.accuracy.value > 0.9
    section = documents_section(rows)
    assert "1.00 without protection" in section.paragraphs[0]
    assert len(section.tables[0].rows) == len(rows)
    assert "more than public text is needed: soft-votes." in section.tables[0].note


def test_the_guess_is_the_best_there_is(document_reading, document_store):
    """Of a law that is known, nobody names more than the largest probabilities of its outputs."""
    own, _ = documents_of(document_reading)
    documents = own.encoded(_Encoder())
    settings = {"store": document_store, "epsilon": 2.0}
    built = find("sentence-votes", "document").build(settings)
    law = np.exp(built.log_probabilities(documents.vectors, documents.offsets))
    best, rng, right = law.max(axis=0).sum() / len(law), np.random.default_rng(0), []
    for _ in range(200):
        _, guessed = documents_module._attacked(built, documents.vectors, documents, rng)
        right.append((guessed == np.arange(len(law))).mean())
    error = 4 * np.sqrt(best / (200 * len(law)))
    assert abs(np.mean(right) - best) < error
    assert best > 1.5 / len(law)  # it can be told from chance


def test_texts_of_one_sentence_are_no_documents(bench):
    assert documents_of(bench.reading) is None
