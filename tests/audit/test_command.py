"""``discreet audit`` as a person runs it."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command import called, discreet
from discreet.cli.audit import audit as app
from discreet.errors import DiscreetError, VerificationFailed
from discreet.mechanisms.material import made_up_store
from discreet.mechanisms.registry import entries

TESTS = Path(__file__).parent.parent


@pytest.fixture
def vectors(tmp_path):
    """A small vector file: two clusters and an outlier."""
    rows = ["<unk> 9 9"]
    rows += [f"a{i} {0.01 * i} {0.02 * (i % 3)}" for i in range(20)]
    rows += [f"b{i} {2 + 0.01 * i} {0.02 * (i % 3)}" for i in range(20)]
    path = tmp_path / "vectors.txt"
    path.write_text("\n".join(rows) + "\n")
    return str(path)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A current directory for a user's own modules, forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(TESTS)])
    yield tmp_path
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(
            sys.modules[name].__file__
        ):
            del sys.modules[name]


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_a_sound_mechanism_passes_and_every_check_is_named(vectors):
    result = run("-m", "santext", "--epsilon", 2, "--space", vectors, "--samples", 500, "--seed", 1)
    assert result.exit_code == 0, result.output
    for check in (
        "law.normalises",
        "law.inequality",
        "law.certificate",
        "sampler.law",
        "independence.positions",
        "independence.batches",
        "independence.workers",
        "independence.company",
        "black-box.loss",
    ):
        assert f"PASS         {check}" in result.output
    assert "epsilon 2 claimed" in result.output
    assert "Verdict: no check failed." in result.output
    proven = {line.split()[1] for line in result.output.splitlines() if "[proof]" in line}
    assert proven == {"law.normalises", "law.inequality"}


def test_options_reach_the_mechanism(vectors):
    common = ("--space", vectors, "--samples", 500, "--seed", 1, "--json")
    named = ("-m", "santext")
    published = run(*named, "--epsilon", 2, "--calibration", "published", *common)
    finding = _by_name(published)["law.certificate"]
    assert "kappa 1," in finding["summary"]
    assert isinstance(run(*named, "--epsilon", 2, "--clip", 1, *common).exception, DiscreetError)
    assert isinstance(
        run("--mechanism", "nothing", "--epsilon", 2, *common).exception, DiscreetError
    )
    assert isinstance(run(*named, *common).exception, DiscreetError)


def _by_name(result):
    return {f["check"]: f for f in json.loads(result.output)["findings"]}


def test_json_has_the_same_for_programs(vectors):
    result = run(
        "-m", "santext", "--epsilon", 2, "--space", vectors, "--samples", 500, "--seed", 7, "--json"
    )
    values = json.loads(result.output)
    assert set(values) == {
        "mechanism",
        "passed",
        "statement",
        "false_alarms",
        "seed",
        "findings",
    }
    assert values["passed"] is True
    assert values["seed"] == 7
    assert values["false_alarms"] == 1e-6
    assert values["statement"]["epsilon"] == 2.0
    for finding in values["findings"]:
        assert set(finding) == {
            "check",
            "verdict",
            "summary",
            "proof",
            "quantity",
            "claimed",
            "found",
            "pair",
            "detail",
            "between",
            "exact",
            "lower_bound",
            "scope",
            "pairs",
            "draws",
            "tests",
        }
        assert finding["verdict"] in ("PASS", "FAIL", "NOT CHECKED")
        assert isinstance(finding["proof"], bool)
    law = _by_name(result)["law.inequality"]
    assert law["proof"] is True
    assert law["quantity"] == "epsilon"
    assert law["claimed"] == 2.0
    assert 0 < law["found"] <= 2.0
    assert len(law["pair"]) == 2
    assert (law["exact"], law["lower_bound"]) == (True, False)
    shown = _by_name(result)["black-box.loss"]
    assert (shown["exact"], shown["lower_bound"], shown["draws"]) == (False, True, 500)
    assert shown["found"] <= shown["claimed"]
    assert _by_name(result)["sampler.law"]["tests"] > 0


def test_a_fault_names_its_worst_pair_and_raises_what_exits_with_4(here):
    (here / "mine.py").write_text("from audit.gallery import without_the_half as broken\n")
    result = run("--python", "mine:broken", "--samples", 500, "--seed", 1)
    assert isinstance(result.exception, VerificationFailed)
    assert result.exception.exit_code == 4
    assert "law.inequality" in str(result.exception)
    line = next(line for line in result.output.splitlines() if "law.inequality" in line)
    assert "FAIL" in line
    assert "epsilon 3 claimed, 4.30394 found: 'word34' against 'word37'" in line
    result = run("--python", "mine:broken", "--samples", 500, "--seed", 1, "--json")
    assert isinstance(result.exception, VerificationFailed)
    assert json.loads(result.output)["passed"] is False
    assert _by_name(result)["law.inequality"]["pair"] == ["word34", "word37"]


def test_an_infinite_loss_is_valid_json(here):
    (here / "mine.py").write_text("from audit.gallery import float32_with_zeros as zeros\n")
    result = run("--python", "mine:zeros", "--samples", 500, "--seed", 1, "--json")
    text = result.output
    assert "Infinity" not in text
    assert _by_name(result)["law.inequality"]["found"] == "infinite"


RESPONSE = """
import numpy as np
from discreet.statement import Notion, PrivacyStatement, Unit

class Response:
    inputs = 4
    statement = PrivacyStatement(notion=Notion.PURE, epsilon=EPSILON, unit=Unit.LABEL)
    keep = np.exp(1.0) / (np.exp(1.0) + 3)
    def release(self, ids, rng):
        other = (ids + rng.integers(1, 4, len(ids))) % 4
        return np.where(rng.random(len(ids)) < self.keep, ids, other)
    def log_probabilities(self, ids):
        law = np.full((4, 4), (1 - self.keep) / 3)
        np.fill_diagonal(law, self.keep)
        return np.log(law)[ids]
"""


@pytest.mark.parametrize(("epsilon", "passes"), [(1.0, True), (0.95, False)])
def test_your_own_mechanism(here, epsilon, passes):
    (here / "mine.py").write_text(RESPONSE.replace("EPSILON", str(epsilon)))
    result = run("--python", "mine:Response", "--samples", 2000, "--seed", 1)
    assert (result.exception is None) == passes
    assert f"epsilon {epsilon:.6g} claimed, 1 found" in result.output


BAD = {
    "no statement": ("x = 1\n", "needs an attribute statement"),
    "no release": ("class x:\n    statement = s\n    inputs = 4\n", "needs a method release"),
    "claims nothing": (
        "class x:\n    statement = none\n    inputs = 4\n    release = r\n",
        "claims nothing",
    ),
    "no inputs": ("class x:\n    statement = s\n    release = r\n", "needs an attribute space"),
    "wrong shape": (
        "class x:\n    statement = s\n    inputs = 4\n"
        "    def release(self, ids, rng): return np.zeros((len(ids), 2), int)\n",
        r"one whole number for each of 3 ids; got shape \(3, 2\) of int64",
    ),
    "wrong kind": (
        "class x:\n    statement = s\n    inputs = 4\n"
        "    def release(self, ids, rng): return ids * 1.0\n",
        "got shape .* of float64",
    ),
    "raises": (
        "class x:\n    statement = s\n    inputs = 4\n"
        "    def release(self, ids, rng): raise TypeError('no')\n",
        "release of .* raised TypeError: no",
    ),
    "wrong law": (
        "class x:\n    statement = s\n    inputs = 4\n    release = r\n"
        "    def log_probabilities(self, ids): return np.zeros(4)\n",
        "log_probabilities of .* must return a row of floats for each id",
    ),
    "outside": (
        "class x:\n    statement = s\n    inputs = 4\n"
        "    def release(self, ids, rng): return ids + 9\n"
        "    def log_probabilities(self, ids): return np.full((len(ids), 4), np.log(0.25))\n",
        "an id that its law does not have",
    ),
    "no vectors": (
        "class x:\n    statement = s\n    release = r\n    def log_density(self, a, b): return a\n",
        "needs an attribute inputs: a matrix",
    ),
    "density of the wrong shape": (
        "class x:\n    statement = s\n    inputs = np.eye(3)\n    release = r\n"
        "    def log_density(self, a, b): return a\n",
        "log_density of .* must return a float for each row",
    ),
    "density of other vectors": (
        "class x:\n    statement = s\n    inputs = np.eye(3)\n"
        "    def release(self, a, rng): return a[:, :2]\n"
        "    def log_density(self, a, b): return a[:, 0]\n",
        "a row of floats as long as the input",
    ),
    "density that raises": (
        "class x:\n    statement = s\n    inputs = np.eye(3)\n    release = r\n"
        "    def log_density(self, a, b): raise KeyError('no')\n",
        "log_density of .* raised KeyError",
    ),
    "unknown metric": (
        "class x:\n    statement = odd\n    inputs = 4\n    release = r\n",
        r"give the object a method distance\(first, second\)",
    ),
    "not made": ("class x:\n    def __init__(self, a): pass\n", "could not be made without"),
    "not importable": ("import nothing_of_that_name\n", "needs a module that is missing"),
    "stops on import": ("raise SystemExit(0)\n", "importing mine raised SystemExit"),
    "stops on release": (
        "class x:\n    statement = s\n    inputs = 4\n"
        "    def release(self, ids, rng): raise SystemExit(0)\n",
        "release of .* raised SystemExit",
    ),
    "not python": ("class x\n", "importing mine raised SyntaxError"),
}

PRELUDE = """
import numpy as np
from discreet.statement import Metric, Notion, PrivacyStatement, Unit
s = PrivacyStatement(notion=Notion.PURE, epsilon=1.0, unit=Unit.WORD)
none = PrivacyStatement(notion=Notion.NONE, unit=Unit.WORD)
odd = PrivacyStatement(
    notion=Notion.METRIC, epsilon=1.0, unit=Unit.WORD, metric=Metric("odd", 1, 1, 1)
)
def r(self, ids, rng): return ids
"""


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_audited_is_one_sentence_and_exit_2(here, name):
    code, message = BAD[name]
    (here / "mine.py").write_text(PRELUDE + code)
    result = run("--python", "mine:x", "--samples", 500)
    assert isinstance(result.exception, DiscreetError), result.exception
    assert result.exception.exit_code == 2
    assert "\n" not in str(result.exception)
    with pytest.raises(DiscreetError, match=message):
        raise result.exception


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--python", "mine"), "must be module:object"),
        (("--python", "mine.py:x"), "leave off the .py"),
        (("--python", "nowhere_at_all:x"), "there is no module nowhere_at_all"),
        (("--python", "mine:y"), "mine has no object y"),
        (("--python", "mine:x", "--epsilon", 1), "leave out --mechanism and its options"),
    ],
)
def test_bad_arguments(here, arguments, message):
    (here / "mine.py").write_text(PRELUDE + "x = 1\n")
    error = run(*arguments).exception
    assert isinstance(error, DiscreetError)
    assert error.exit_code == 2
    assert message in str(error)


@pytest.mark.parametrize(
    ("run", "epsilon", "code", "said"),
    [
        (called, "1.0", 0, ""),
        (discreet, "0.9", 4, "does not keep its promise"),
        (called, "None", 2, "epsilon"),
    ],
)
def test_exit_codes_of_the_command(here, run, epsilon, code, said):
    (here / "mine.py").write_text(RESPONSE.replace("EPSILON", epsilon))
    done = run("audit", "--python", "mine:Response", "--samples", 500, cache=here / "cache")
    assert done.code == code, done.err
    assert said in done.err
    assert "Traceback" not in done.err


SETTINGS = {
    "gaussian": ("--delta", 0.1, "--clip", 1),
    "laplace": ("--clip", 1),
    "truncated-laplace": ("--delta", 0.1, "--clip", 1),
    "random-projection": ("--dim", 1),
    "sphere-gaussian": ("--delta", 0.1),
}
TITLES = {
    "word": "in the space vectors (41 words)",
    "sentence": "in 16 dimensions",
    "document": "with a small made-up store",
    "label": "of 4 labels",
}


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_every_mechanism_is_audited_by_its_name(vectors, entry):
    given = () if entry.name == "uniform" else ("--epsilon", 2)
    if entry.family == "word":
        given += ("--space", vectors)
    given += SETTINGS.get(entry.name, ())
    result = run("-m", entry.name, *given, "--samples", 300, "--seed", 1)
    assert result.exit_code == 0, (result.output, result.exception)
    assert result.output.startswith(f"Audit of {entry.name} {TITLES[entry.family]}")
    assert "PASS         law.inequality" in result.output or entry.name == "truncated-laplace"
    assert "PASS         sampler.law" in result.output
    assert "PASS         black-box.loss" in result.output
    # Documents and vectors are endless, so that no look at some of them is a proof.
    finite = entry.family in ("word", "label") and hasattr(entry.kind, "log_probabilities")
    assert ("[proof]" in result.output) == finite


def test_an_audit_of_documents_takes_a_store(tmp_path):
    made_up_store().save(tmp_path / "public")
    given = ("--epsilon", 2, "--candidates", tmp_path / "public", "--samples", 300, "--seed", 1)
    result = run("-m", "sentence-votes", *given, "--selection", "exponential")
    assert result.output.startswith("Audit of sentence-votes with the store public\n")
    missing = run("-m", "sentence-votes", "--epsilon", 2, "--candidates", tmp_path / "none")
    assert "there is no candidate store" in str(missing.exception)


def test_an_audit_of_labels_takes_their_names_and_a_prior():
    given = ("--epsilon", 1, "--samples", 300, "--seed", 1)
    named = run("-m", "randomized-response", *given, "--labels", "good,bad")
    assert named.output.startswith("Audit of randomized-response of 2 labels\n")
    assert "'good' against 'bad'" in named.output
    prior = run("-m", "prior-response", *given, "--label-prior", "0.5,0.3,0.2")
    assert prior.output.startswith("Audit of prior-response of 3 labels\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-m", "nothing"), "--mechanism must be one of cmp, "),
        (
            ("-m", "purkayastha", "--max-words", 5),
            "--max-words is for a word; purkayastha is",
        ),
        (("-m", "santext", "--labels", "a,b"), "--labels is for a label"),
        (("-m", "deep-candidate", "--dim", 3), "--dim is not an option of deep-candidate"),
        (("-m", "randomized-response", "--label-prior", "1,0"), "--label-prior is not an option"),
        (("-m", "prior-response", "--label-prior", "a"), "--label-prior must be numbers"),
        (("-m", "prior-response", "--labels", 3), "prior-response needs --label-prior"),
        (("-m", "sphere-gaussian"), "sphere-gaussian needs --delta"),
    ],
)
def test_options_of_another_family_are_refused(arguments, message):
    error = run(*arguments, "--epsilon", 1).exception
    assert isinstance(error, DiscreetError)
    assert message in str(error)
