"""Map, release, train, predict: the commands one after the other, with the packaged encoder."""

import csv
import json
from itertools import product

import numpy as np
import pytest

from command import called, each_text_encoded_once, share_public_tables
from discreet.encoders.maps import PublicMap
from discreet.encoders.settings import MapSettings

GOOD = ("lovely", "wonderful", "delightful", "brilliant", "charming", "superb")
BAD = ("dreadful", "boring", "awful", "terrible", "dull", "horrible")
THINGS = ("film", "meal", "hotel", "book", "concert", "walk", "play", "journey", "party", "song")
FRAMES = ("What a {} {}.", "We had a {} {} on Sunday.")


def _rows(frame: str) -> list[dict[str, str]]:
    return [
        {"text": frame.format(word, thing), "mood": mood}
        for mood, words in (("up", GOOD), ("down", BAD))
        for word, thing in product(words, THINGS)
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Files of text, and everything that the commands made of them."""
    folder = tmp_path_factory.mktemp("vectors")
    share_public_tables(folder / "cache")
    for name, frame in zip(("public", "private"), FRAMES, strict=True):
        lines = [json.dumps(row) for row in _rows(frame)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    with each_text_encoded_once():
        yield folder


def _run(place, *arguments: object):
    return called(*arguments, cache=place / "cache")


def _embed(place, out: str, *options: object):
    common = ["--epsilon", 6, "--label-field", "mood", "--labels", "down,up"]
    common += ["--map", f"trained:{place / 'map.safetensors'}"]
    found = _run(place, "embed", place / "private.jsonl", "-o", place / out, *common, *options)
    assert found.code == 0, found.err


@pytest.mark.encoder
def test_from_public_text_to_predictions(place):
    mapped = place / "map.safetensors"
    trained = _run(
        place,
        *("train", "map", place / "public.jsonl", "-o", mapped, "--epsilon", 6, "--dim", 2),
        *("--label-field", "mood", "--json"),
    )
    assert trained.code == 0, trained.err
    about = json.loads(trained.out)
    assert about["public text"] == "public.jsonl"
    assert about["validation"][0]["accuracy"] > 0.8
    assert "Kept: 2 dimensions." in trained.err

    _embed(place, "train.parquet", "--label-epsilon", 2)
    model = place / "model.safetensors"
    learnt = _run(place, "train", "embeddings", place / "train.parquet", "-o", model)
    assert learnt.code == 0, learnt.err
    assert "corrected for the law of their release" in learnt.err
    assert "nothing was added" in learnt.err

    _embed(place, "test.parquet", "--label-mechanism", "none")
    found = _run(
        place,
        *("predict", place / "test.parquet", "--model", model),
        *("-o", place / "said.csv", "--json"),
    )
    assert found.code == 0, found.err
    scores = json.loads(found.out)
    assert (
        scores["rows"],
        *(scores["metrics"][name] > 0.8 for name in ("accuracy", "macro_f1")),
    ) == (120, True, True)
    with (place / "said.csv").open() as file:
        said = list(csv.DictReader(file))
    assert len(said) == 120
    assert {row["prediction"] for row in said} <= {"down", "up"}
    assert all(0.5 <= float(row["probability"]) <= 1 for row in said)

    # Vectors that were released in another way are refused, and nothing is written.
    wrong, beside = place / "wrong.parquet", place / "wrong.parquet.privacy.json"
    wrong.write_bytes((place / "test.parquet").read_bytes())
    receipt = json.loads((place / "test.parquet.privacy.json").read_text())
    for part, key, value in (
        ("map", "fingerprint", "0" * 64),
        ("encoder", "fingerprint", "0" * 64),
        ("mechanism", "epsilon", 5.0),
    ):
        beside.write_text(json.dumps(receipt | {part: receipt[part] | {key: value}}))
        refused = _run(place, "predict", wrong, "--model", model, "-o", place / "no.csv")
        word = f"another {part if key == 'fingerprint' else key}"
        assert (refused.code, word in refused.err) == (2, True)
    beside.unlink()
    bare = _run(place, "predict", wrong, "--model", model, "-o", place / "no.csv")
    assert (bare.code, "has no receipt" in bare.err) == (2, True)
    assert not (place / "no.csv").exists()


@pytest.mark.parametrize(
    ("about", "epsilon", "told"),
    [
        ({"mechanism": "purkayastha", "epsilon": 6.0}, 6.0, False),
        ({"mechanism": "purkayastha", "epsilon": 6.0}, 4.0, True),
        ({"mechanism": "priv-unit", "epsilon": 6.0}, 6.0, True),
        ({"mechanism": ["priv-unit"], "epsilon": None}, 6.0, False),
        (None, 6.0, False),
    ],
)
def test_a_map_for_other_noise_is_told(tmp_path, about, epsilon, told):
    layer = (np.eye(3, 2, dtype=np.float32), np.zeros(2, np.float32))
    PublicMap.of_layers([layer], encoder=None, about={"settings": about}).save(tmp_path / "map")
    said = MapSettings(map=f"trained:{tmp_path / 'map'}").used_otherwise("purkayastha", epsilon)
    assert ["and is used otherwise" in line for line in said] == [True] * told


@pytest.mark.encoder
def test_the_published_loop_says_that_nothing_holds(place):
    out = place / "loop.safetensors"
    options = ["--published", "--epsilon", 3, "--epochs", 4, "--dim", 2]
    options += ["--label-field", "mood", "--labels", "down,up", "--label-epsilon", 1, "--json"]
    found = _run(place, "train", "embeddings", place / "private.jsonl", "-o", out, *options)
    assert found.code == 0, found.err
    assert "the paper claims to cost 12" in found.err
    assert "No formal guarantee for any sentence" in found.err
    told = json.loads(found.out)
    assert (told["statement"]["notion"], told["statement"]["epsilon"]) == ("none", None)
    assert told["statement"] == told["about"]["statement"]
    assert any("only the labels are protected" in said for said in told["statement"]["caveats"])
    assert PublicMap.load(place / "loop.map.safetensors").dimension == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "map", "{public}", "--epsilon", "-1"), "--epsilon must be"),
        (("train", "map", "{public}", "--epsilon", "1", "--dim", "1"), "at least 2; got 1"),
        (("train", "map", "{public}", "--epsilon", "1", "--dim", "few"), "auto or a whole number"),
        (
            ("train", "map", "{public}", "--epsilon", "1", "-m", "gaussian"),
            "one of planar-laplace, ",
        ),
        (("train", "map", "{public}", "--epsilon", "1", "--label-field", "x"), "has no field x"),
        (("train", "map", "{public}", "--epsilon", "1", "--encoder", "/no"), "is not a directory"),
        (("train", "embeddings", "{public}"), "is no file of vectors"),
        (("train", "embeddings", "{missing}"), "there is no file"),
        (("train", "embeddings", "{missing}", "--dim", "3"), "--dim belongs to --published"),
        (("train", "embeddings", "{public}", "--published"), "needs --epsilon"),
        (("predict", "{missing}", "--model", "{missing}"), "there is no file"),
        (("predict", "{missing}", "--model", "{public}"), "is no model"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(place, tmp_path, arguments, message):
    names = {"public": place / "public.jsonl", "missing": place / "missing.parquet"}
    out = tmp_path / "out.csv"
    found = _run(place, *(str(part).format(**names) for part in arguments), "-o", out)
    assert found.code == 2
    assert message in found.err
    assert len(found.err.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())
    assert not any(word in found.err for word in (*GOOD, *BAD, *THINGS))


def test_an_output_that_exists_is_kept(place, tmp_path):
    (tmp_path / "out.csv").write_text("mine")
    for command in (("train", "map", "--epsilon", 1), ("train", "embeddings")):
        found = _run(place, *command, place / "public.jsonl", "-o", tmp_path / "out.csv")
        assert (found.code, "exists already" in found.err) == (2, True)
    assert (tmp_path / "out.csv").read_text() == "mine"
