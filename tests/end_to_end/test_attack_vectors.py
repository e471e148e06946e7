"""``discreet attack membership|inversion|attributes`` as a person would run them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from command import MARKER, called
from discreet.models.task import TaskModel
from discreet.release.vectors import VectorSet, write_vectors
from tiny_bert import sentences, write_bert


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("attacks")
    write_bert(directory / "tiny", head=False)
    texts, labels = sentences(200)
    rows = [{"text": t, "mood": y} for t, y in zip(texts, labels, strict=True)]
    (directory / "public.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rng = np.random.default_rng(0)
    eye, none = np.eye(2, dtype=np.float32), np.zeros(2, dtype=np.float32)
    model = TaskModel(((eye, none),), ((4 * eye, none),), ("a", "b"), False, None, {})
    model.save(directory / "model.safetensors")
    for name, sure in (("members", 1.5), ("others", 0.2), ("alike", 0.2)):
        labels = rng.choice(["a", "b"], 120).tolist()
        side = np.array([1.0 if label == "a" else -1.0 for label in labels])
        gap = side * np.abs(rng.normal(sure, 0.1, 120))
        rows = np.stack([gap, -gap], axis=1)
        write_vectors(directory / f"{name}.npz", VectorSet(rows, labels=labels))
    write_vectors(directory / "bare.npy", VectorSet(rows))
    write_vectors(directory / "odd.npz", VectorSet(rows, labels=[MARKER] * 120))
    return directory


def attack(place: Path, *arguments: object):
    given = [str(a).replace("PLACE", str(place)) for a in arguments]
    return called("attack", *given, cache=place / "cache")


def vectors(place: Path, kind: str, *more: object):
    encoder = ["--encoder", place / "tiny", "--json"]
    done = attack(place, kind, place / "public.jsonl", *encoder, *more)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_attributes_with_much_noise_and_with_next_to_none(place):
    options = ["--attribute-field", "mood", "--dim", 8]
    private = vectors(place, "attributes", *options, "--epsilon", 0)
    bare = vectors(place, "attributes", *options, "--epsilon", 1e6)
    (lost,), (found,) = private["outcomes"], bare["outcomes"]
    assert lost["success"]["low"] < lost["chance"] + 0.1
    assert found["success"]["value"] > 0.9
    assert lost["unprotected"] == found["unprotected"]
    assert (private["auxiliary"], private["targets"], private["dimension"]) == (100, 100, 8)


def test_inversion_reports_three_figures(place):
    found = vectors(place, "inversion", "--epsilon", 1e6, "--texts", 120)
    assert [o["measure"] for o in found["outcomes"]] == ["precision", "recall", "F1"]
    assert found["targets"] == 60
    f1 = found["outcomes"][2]
    assert f1["success"]["value"] == pytest.approx(f1["unprotected"]["value"], abs=0.02)
    assert f1["success"]["value"] > f1["chance"]


def test_membership_in_words_and_in_json(place):
    files = ["--model", "PLACE/model.safetensors", "--members", "PLACE/members.npz"]
    done = attack(place, "membership", *files, "--others", "PLACE/others.npz")
    assert done.code == 0, done.err
    assert done.lines[0] == "membership by entropy: balanced accuracy over 120 targets"
    assert "the attack is above it" in done.lines[3]
    done = attack(
        place,
        *("membership", "--model", "PLACE/model.safetensors", "--members", "PLACE/alike.npz"),
        *("--others", "PLACE/others.npz", "--unprotected-model", "PLACE/model.safetensors"),
        *("--unprotected-members", "PLACE/members.npz"),
        *("--unprotected-others", "PLACE/others.npz", "--json"),
    )
    for outcome in json.loads(done.out)["outcomes"]:
        assert outcome["success"]["low"] <= 0.5 <= outcome["success"]["high"]
        assert outcome["unprotected"]["low"] > 0.9


M = ["membership", "--model", "PLACE/model.safetensors", "--others", "PLACE/others.npz"]
A = ["attributes", "PLACE/public.jsonl", "--encoder", "PLACE/tiny"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*M, "--members", "PLACE/bare.npy"], "has no labels"),
        ([*M, "--members", "PLACE/odd.npz"], "120 are not, the first in row 1"),
        ([*M, "--members", "PLACE/no.npz"], "there is no file"),
        (
            [*M, "--members", "PLACE/others.npz", "--unprotected-model", "PLACE/model.safetensors"],
            "belong together",
        ),
        (
            ["membership", "--model", "PLACE/no", "--members", "x.npz", "--others", "x.npz"],
            "there is no file",
        ),
        ([*A, "--attribute-field", "mood"], "needs --epsilon"),
        ([*A, "--attribute-field", "genre", "-e", "1"], "has no field genre"),
        ([*A, "--attribute-field", "mood", "-e", "-1"], "got -1"),
        ([*A, "--attribute-field", "mood", "-e", "1", "--texts", "10"], "at least 20"),
        (
            ["inversion", "PLACE/public.jsonl", "-e", "1", "--encoder", "PLACE/nowhere"],
            "not a directory",
        ),
        (["inversion", "PLACE/no.txt", "-e", "1"], "does not exist"),
    ],
)
def test_mistakes(place, arguments, message):
    done = attack(place, *arguments)
    assert done.code == 2, done.err
    assert re.search(r"^discreet: [^\n]+\n\Z", done.err, re.MULTILINE), done.err
    assert message in done.err
    assert MARKER not in done.err
    assert done.out == b""
