"""``discreet embed`` as a person would run it, with a model of a few thousand weights."""

import csv
import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import MARKER, called, discreet, environment, share_public_tables
from discreet.cli._choice import LabelChoice
from discreet.encoders.encoder import load_encoder
from discreet.encoders.maps import PublicMap
from discreet.ledger import Ledger
from discreet.mechanisms import label
from discreet.receipt import Receipt
from discreet.release.vectors import read_vectors
from discreet.statement import PrivacyStatement
from tiny_bert import MARKS, write_bert

TEXTS = ["the tea was good", f"{MARKER} is cold", "a cup is not warm", "bad", "the runner walks"]
LABELS = ["good", "bad", "good", "bad", "good"]
SECOND = TEXTS[::-1]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("embed")
    write_bert(directory / "tiny", head=False)
    rows = [
        {"id": i, "text": t, "text2": s, "label": y}
        for i, (t, s, y) in enumerate(zip(TEXTS, SECOND, LABELS, strict=True))
    ]
    (directory / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), directory / "in.parquet")
    for name, mark in (("in.csv", ","), ("in.tsv", "\t")):
        with (directory / name).open("w", newline="") as file:
            csv.writer(file, delimiter=mark).writerows([rows[0], *(r.values() for r in rows)])
    (directory / "in.txt").write_text("\n".join(TEXTS) + "\n")
    encoder = load_encoder(str(directory / "tiny"))
    made = PublicMap.random(16, 3)
    for name, owner in (("own", encoder.fingerprint), ("strange", "f" * 64)):
        trained = PublicMap(made.weights, made.biases, owner, {"made": "trained"})
        trained.save(directory / f"{name}.safetensors")
    return directory


def embed(place: Path, *arguments: object, run=called):
    given = list(arguments)
    if "--encoder" not in given:
        given += ["--encoder", place / "tiny"]
    return run("embed", *given, cache=place / "cache")


def test_a_plain_bert_is_read_without_libraries_that_take_seconds_to_import(place, tmp_path):
    given = ["embed", "in.txt", "-o", tmp_path / "out.parquet", "--epsilon", 10]
    given += ["--encoder", "tiny", "--map", "random", "--dim", 3, "--device", "cpu"]
    slow = "{'torch', 'transformers', 'sentence_transformers', 'sklearn', 'matplotlib'}"
    code = f"""
import atexit, os, sys
atexit.register(lambda: os._exit(7 if {slow} & set(sys.modules) else 0))
from discreet.cli import main
sys.argv = ["discreet", *{list(map(str, given))}]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=place,
        env=environment(tmp_path / "cache"),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "out.parquet").is_file()


def test_a_run_of_the_installed_command(place, tmp_path):
    out = tmp_path / "v.parquet"
    options = ["--epsilon", 10, "--dim", 4, "--label-field", "label", "--labels", "good,bad"]
    options += ["--label-epsilon", 2, "--keep", "id"]
    done = embed(place, place / "in.jsonl", "-o", out, *options, run=discreet)
    assert (done.code, done.out) == (0, b"")
    assert MARKER not in done.err
    assert done.err.startswith("Released 5 vectors of 4 dimensions with purkayastha")
    assert "exp(10 * d + 2)" in done.err
    assert "seeded" not in done.err
    found = read_vectors(out)
    assert found.vectors.shape == (5, 4)
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1.0, atol=1e-5)
    assert set(found.labels) <= {"good", "bad"}
    assert dict(found.kept) == {"id": [0, 1, 2, 3, 4]}
    receipt = Receipt.beside(out).to_dict()
    statement = PrivacyStatement.from_dict(receipt["statement"])
    assert (statement.epsilon, statement.slack) == (10.0, 2.0)
    assert "what is kept as it is: id" in statement.public
    assert receipt["label"]["transition"][0][0] == pytest.approx(np.exp(2) / (np.exp(2) + 1))
    assert receipt["input"] == {
        "format": "jsonl",
        "text_field": "text",
        "pair_field": None,
        "label_field": "label",
        "kept": ["id"],
    }
    assert MARKER not in json.dumps(receipt)
    assert MARKER.encode() not in out.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["v.parquet", "v.parquet.privacy.json"]


@pytest.mark.parametrize("name", ["in.jsonl", "in.parquet", "in.csv", "in.tsv", "in.txt"])
def test_every_format_gives_the_same_vectors(place, tmp_path, name):
    more = [] if name == "in.txt" else ["--label-field", "label", "--labels", "bad,good"]
    more += [] if name == "in.txt" else ["--label-mechanism", "none"]
    done = embed(
        place, place / name, "-o", tmp_path / "v.npz", "-e", 1e6, "--dim", 4, "--yes-weak", *more
    )
    assert done.code == 0, done.err
    found = read_vectors(tmp_path / "v.npz")
    assert found.labels == (None if name == "in.txt" else LABELS)
    clean = PublicMap.random(16, 4).apply(load_encoder(str(place / "tiny")).encode(TEXTS))
    clean /= np.linalg.norm(clean, axis=1, keepdims=True)
    np.testing.assert_allclose(found.vectors, clean, atol=1e-3)
    if name != "in.txt":
        public = Receipt.beside(tmp_path / "v.npz").statement.public
        assert "the labels, which are released as they are" in public


def test_pairs(place, tmp_path):
    done = embed(
        place,
        place / "in.csv",
        "-o",
        tmp_path / "v.parquet",
        "-e",
        1e6,
        "--yes-weak",
        "--pair-field",
        "text2",
    )
    assert done.code == 0, done.err
    found = read_vectors(tmp_path / "v.parquet")
    np.testing.assert_allclose(found.second, found.vectors[::-1], atol=1e-3)
    assert "changing both costs the sum" in done.err
    assert Receipt.beside(tmp_path / "v.parquet").counts == {"rows": 5, "sentences": 10}


def test_vectors_are_booked_and_refused_without_budget(place, tmp_path):
    book = tmp_path / "l.db"

    def booked(name, *more):
        given = ("-e", 4, "--ledger", book, "--dataset", "notes", *more)
        return embed(place, place / "in.jsonl", "-o", tmp_path / name, *given)

    first = booked("a.npz")
    assert first.code == 0, first.err
    again = booked("b.npz")
    assert (again.code, "released before" in again.err) == (3, True)
    with Ledger.open(book) as ledger:
        (entry,) = ledger.entries()
        assert (entry.command, entry.state) == ("embed", "committed")
        assert entry.amount.epsilon > 0
        ledger.limit(dataset="notes", epsilon=1.5 * entry.amount.epsilon, delta=0.1)
    refused = booked("b.npz", "--again", "charge")
    assert (refused.code, "budget" in refused.err) == (3, True)
    assert not (tmp_path / "b.npz").exists()
    assert called("ledger", "verify", book, tmp_path / "a.npz", cache=place / "cache").code == 0
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / "one.jsonl").write_bytes((place / "in.jsonl").read_bytes())
    given = ("-e", 4, "--ledger", book, "--dataset", "notes", "--again", "charge")
    several = embed(place, folder, "-o", tmp_path / "c", *given)
    assert (several.code, "budget" in several.err) == (3, True), several.err
    assert not (tmp_path / "c").exists()


def test_noise_is_fresh_unless_seeded(place, tmp_path):
    names = iter("abcd")

    def vectors(*more: object) -> np.ndarray:
        out = tmp_path / f"{next(names)}.npy"
        done = embed(place, place / "in.txt", "-o", out, "-e", 5, *more)
        assert ("seeded: not for release" in done.err) == bool(more)
        return read_vectors(out).vectors

    assert not np.array_equal(vectors(), vectors())
    np.testing.assert_array_equal(vectors("--seed", 3), vectors("--seed", 3))


@pytest.mark.parametrize(
    ("options", "headline"),
    [
        (["-m", "planar-laplace", "-e", "7"], "exp(7 * d), where d is the Euclidean distance"),
        (
            ["-m", "sphere-gaussian", "-e", "7", "--delta", "1e-5"],
            "plus a probability of delta = 1e-05",
        ),
        (["-e", "7", "--map", "pca", "--public", "PLACE/in.txt", "--dim", "3"], "in 3 dimensions"),
        (["-e", "7", "--map", "trained:PLACE/own.safetensors"], "in 3 dimensions"),
        (["-e", "7", "--pooling", "cls", "--dim", "16"], "in 16 dimensions"),
    ],
    ids=["laplace", "sphere-gaussian", "pca", "trained", "cls"],
)
def test_mechanisms_and_maps(place, tmp_path, options, headline):
    given = [option.replace("PLACE", str(place)) for option in options]
    done = embed(place, place / "in.txt", "-o", tmp_path / "v.npy", *given)
    assert done.code == 0, done.err
    assert headline in done.err


def test_principal_directions_of_public_words(place, tmp_path):
    done = embed(place, place / "in.txt", "-o", tmp_path / "v.npy", "-e", 7, "--map", "pca")
    assert done.code == 0, done.err
    about = Receipt.beside(tmp_path / "v.npy").map["about"]
    assert about["public text"] == "the 5,000 most frequent words of the starter space"
    kept = (place / "cache" / "encoded").glob("*.npy")
    # Of public words, never of the input: for the map, and to say what a search is worth.
    assert {np.load(each).shape for each in kept} == {(1000, 16), (5000, 16)}


def test_what_a_search_is_worth_stands_beside_the_statement(place, tmp_path):
    # A model that tells words apart: among equal vectors there are no nearest ones.
    pieces = [*MARKS, *ascii_lowercase, *(f"##{letter}" for letter in ascii_lowercase)]
    letters = write_bert(tmp_path / "letters", head=False, pieces=pieces)
    recall = []
    for epsilon, verdict in ((2, "do not use these vectors for search"), (1e5, "search works")):
        out = tmp_path / f"{epsilon:g}.npy"
        options = ["-o", out, "-e", epsilon, "--dim", 16, "--encoder", letters, "--yes-weak"]
        done = embed(place, place / "in.txt", *options)
        assert verdict in done.err, done.err
        told = Receipt.beside(out).about["search"]
        assert told["in_words"] in done.err
        recall.append(told["recall_at_10"])
    assert recall[0] < 0.1
    assert recall[1] > 0.3


def test_prior_response(place, tmp_path):
    done = embed(
        *(place, place / "in.csv", "-o", tmp_path / "v.npz", "-e", 7, "--label-field", "label"),
        *("--labels", "good,bad,odd", "--label-mechanism", "prior-response"),
        *("--label-epsilon", 1, "--label-prior", "0.6,0.4,0"),
    )
    assert done.code == 0, done.err
    law = Receipt.beside(tmp_path / "v.npz").labels.transition
    assert [row[2] for row in law] == [0, 0, 0]


def test_the_names_of_the_command_line_are_those_of_the_mechanisms():
    listed = next(each for each in LabelChoice.declared() if each.name == "label_mechanism")
    for mechanism in label.__all__:
        assert getattr(label, mechanism).name in listed.setting.help


@dataclass(frozen=True)
class Row:
    """A mistake, and what is said of it."""

    message: str
    options: list[str] = field(default_factory=list)
    name: str = "in.csv"
    data: str | None = None
    out: str = "out.parquet"
    before: str | None = None
    """The name of a file that is there already."""


def labelled(message: str, *options: str, **more: str) -> Row:
    return Row(message, ["--label-field", "label", *options], **more)


RR = ["--labels", "good,bad", "--label-epsilon", "2"]
BAD = {
    "no such file": Row("does not exist", name="nowhere.csv"),
    "an empty text": Row("the text of row 2 is empty", data=f"text\n{MARKER}\n   \n"),
    "an empty second text": Row(
        "the text of row 1 is empty",
        ["--pair-field", "b"],
        data=f"text,b\n{MARKER},\n",
    ),
    "no such text field": Row("has no column words", ["--text-field", "words"]),
    "no such second field": Row("has no column b", ["--pair-field", "b"]),
    "no such label field": Row(
        "has no column stars", ["--label-field", "stars", "--labels", "a,b", "--label-epsilon", "1"]
    ),
    "labels in plain text": labelled("plain text and has no field label", *RR, name="in.txt"),
    "a second text that is a number": Row(
        "id that is not a string", ["--pair-field", "id"], name="in.jsonl"
    ),
    "labels outside the set": labelled(
        "2 of 5 are not, the first in row 2", "--labels", "good,so-so", "--label-epsilon", "2"
    ),
    "one class": labelled("at least 2; got 1", "--labels", "good", "--label-epsilon", "2"),
    "one class, public": labelled("at least 2", "--labels", "good", "--label-mechanism", "none"),
    "no set of labels": labelled("belong together", "--label-epsilon", "2"),
    "a set without a field": Row("belong together", ["--labels", "a,b"]),
    "no label epsilon": labelled("needs --label-epsilon", "--labels", "good,bad"),
    "label epsilon below 0": labelled("got -2", "--labels", "good,bad", "--label-epsilon", "-2"),
    "label options without labels": Row("need --label-field", ["--label-epsilon", "2"]),
    "a prior of two for three": labelled(
        "a number for each of the 2 labels; got 3",
        *RR,
        *("--label-mechanism", "prior-response", "--label-prior", ".2,.3,.5"),
    ),
    "a prior in words": labelled(
        "must be numbers", *RR, "--label-mechanism", "prior-response", "--label-prior", "x,y"
    ),
    "a prior without its mechanism": labelled(
        "--label-prior is not an option of", *RR, "--label-prior", ".5,.5"
    ),
    "unknown label mechanism": labelled("must be one of", *RR, "--label-mechanism", "coin"),
    "keeping the text": Row("--keep text would write", ["--keep", "text"]),
    "keeping the label": labelled("--keep label would write", *RR, "--keep", "label"),
    "keeping what is not there": Row("has no column nothing", ["--keep", "nothing"]),
    "the text twice": Row("each field can be used once", ["--pair-field", "text"]),
    "epsilon below 0": Row("got -1", ["--epsilon", "-1"]),
    "epsilon that protects nothing": Row("two texts at a distance of 1", ["--epsilon", "30"]),
    "epsilon nan": Row("got nan", ["--epsilon", "nan"]),
    "no epsilon": Row("purkayastha needs --epsilon", ["--epsilon", ""]),
    "dimension 1": Row("at least 2; got 1", ["--dim", "1"]),
    "more dimensions than the encoder": Row("at most that of the encoder, 16", ["--dim", "17"]),
    "more, by pca": Row("at most that of the encoder, 16", ["--dim", "17", "--map", "pca"]),
    "unknown mechanism": Row("must be one for a sentence", ["--mechanism", "cmp"]),
    "gaussian": Row("for a sentence it is sphere-gaussian", ["--mechanism", "gaussian"]),
    "a rule for documents": Row("--selection is not an option", ["--selection", "exponential"]),
    "public documents": Row("--candidates is for --unit document", ["--candidates", "PLACE"]),
    "a map for documents": Row("--dim is for --unit", ["--unit", "document", "--dim", "4"]),
    "pairs of documents": Row("unit sentence", ["--unit", "document", "--pair-field", "text2"]),
    "no public documents": Row("sentence-votes needs --candidates", ["--unit", "document"]),
    "no delta": Row("gaussian needs --delta", ["--mechanism", "sphere-gaussian"]),
    "delta for purkayastha": Row("--delta is not an option", ["--delta", "0.1"]),
    "unknown map": Row("must be one of random", ["--map", "umap"]),
    "no such map": Row("there is no file", ["--map", "trained:PLACE/no.safetensors"]),
    "not a map": Row("is not a file that discreet wrote", ["--map", "trained:PLACE/in.csv"]),
    "another encoder's map": Row(
        "made for another encoder", ["--map", "trained:PLACE/strange.safetensors"]
    ),
    "the same with other pooling": Row(
        "made for another encoder",
        ["--map", "trained:PLACE/own.safetensors", "--pooling", "cls"],
    ),
    "dim against the map": Row(
        "that of the trained map, 3", ["--map", "trained:PLACE/own.safetensors", "--dim", "4"]
    ),
    "public text without pca": Row("belongs to --map pca", ["--public", "PLACE/in.txt"]),
    "too little public text": Row(
        "more than 16 public texts; got 5", ["--map", "pca", "--public", "PLACE/in.txt"]
    ),
    "no such encoder": Row("not a directory with a model", ["--encoder", "PLACE/nowhere"]),
    "not an encoder": Row("holds no encoder", ["--encoder", "PLACE"]),
    "unknown pooling": Row("must be one of mean, cls", ["--pooling", "max"]),
    "no suffix": Row("end its name in .parquet, .npz or .npy", out="out"),
    "standard output": Row("end its name in .parquet", out="-"),
    "labels in npy": labelled("no place for labels", *RR, out="out.npy"),
    "output exists": Row("exists already", before="out.parquet"),
    "receipt exists": Row("exists already", before="out.parquet.privacy.json"),
    "no such directory": Row("directory that does not exist", out="no/out.npy"),
    "unknown unit": Row("must be one of sentence", ["--unit", "word"]),
    "not JSON": Row("line 1", name="bad.jsonl", data=f'{{"text": "{MARKER}'),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_one_sentence_and_writes_nothing(place, tmp_path, case):
    row = BAD[case]
    source = place / row.name
    if row.data is not None:
        source = tmp_path / row.name
        source.write_text(row.data)
    if row.before is not None:
        (tmp_path / row.before).write_text("precious")
    out = row.out if row.out == "-" else tmp_path / row.out
    options = [option.replace("PLACE", str(place)) for option in row.options]
    if "--epsilon" not in options:
        options += ["--epsilon", "5"]
    elif "" in options:
        del options[options.index("--epsilon") :]
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = embed(place, source, "-o", out, *options)
    assert done.code == 2, done.err
    assert re.fullmatch(r"discreet: [^\n]+\n", done.err), done.err
    assert row.message in done.err
    assert MARKER not in done.err
    assert done.out == b""
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_input_is_never_replaced(place, tmp_path):
    source = tmp_path / "in.parquet"
    source.write_bytes((place / "in.parquet").read_bytes())
    done = embed(place, source, "-o", source, "-e", 5, "--force")
    assert (done.code, "is the input itself" in done.err) == (2, True)
    assert source.read_bytes() == (place / "in.parquet").read_bytes()


@pytest.mark.encoder
def test_the_packaged_encoder(tmp_path):
    share_public_tables(tmp_path / "cache")
    texts = ["The tea is hot.", "A warm cup of tea.", "Stocks fell sharply."] * 20
    (tmp_path / "in.txt").write_text("\n".join(texts) + "\n")
    done = discreet(
        *(
            "embed",
            tmp_path / "in.txt",
            "-o",
            tmp_path / "v.npy",
            "-e",
            300,
            "--yes-weak",
            "--dim",
            32,
        ),
        cache=tmp_path / "cache",
    )
    assert done.code == 0, done.err
    found = read_vectors(tmp_path / "v.npy").vectors.reshape(20, 3, 32)
    tea = np.einsum("ij,ij->i", found[:, 0], found[:, 1]).mean()
    stocks = np.einsum("ij,ij->i", found[:, 0], found[:, 2]).mean()
    assert tea > stocks + 0.2
    assert Receipt.beside(tmp_path / "v.npy").encoder["name"] == "all-MiniLM-L6-v2"
