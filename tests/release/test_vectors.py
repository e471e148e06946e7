"""Files of vectors: what is written is read, whole or not at all, and nothing is ever unpickled."""

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import InputError, InvalidValue, NotFound, OutputError, VerificationFailed
from discreet.mechanisms.label import RandomizedResponse
from discreet.receipt import PARTS_RECEIPT, Receipt, receipt_path
from discreet.release.vectors import VectorSet, read_vectors, write_vectors
from discreet.staging import Digest

FIRST = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
SECOND = FIRST[::-1] * 2
LABELS = ["good", "bad", "bad", "très bon", ""]
FULL = VectorSet(
    FIRST, SECOND, LABELS, np.array([1, 1, 2, 3, 3]), {"id": [9, 8, 7, 6, 5], "who": list("abcde")}
)


def receipt(said: object = 1) -> Receipt:
    return Receipt(RandomizedResponse(2, epsilon=1.0).statement, {"said": said})


def same(found: VectorSet, expected: VectorSet) -> None:
    np.testing.assert_array_equal(found.vectors, expected.vectors)
    assert found.vectors.dtype == np.float32
    for name in ("second", "rows"):
        got, wanted = getattr(found, name), getattr(expected, name)
        assert (got is None) == (wanted is None)
        if wanted is not None:
            np.testing.assert_array_equal(got, wanted)
    assert found.labels == expected.labels
    assert dict(found.kept) == dict(expected.kept)


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".PARQUET"])
@pytest.mark.parametrize("given", [FULL, VectorSet(FIRST), VectorSet(FIRST, labels=LABELS)])
def test_everything_comes_back(tmp_path, suffix, given):
    path = tmp_path / f"v{suffix}"
    written = write_vectors(path, given, receipt("é"))
    same(read_vectors(path), given)
    assert Receipt.beside(path) == written
    assert written.about["said"] == "é"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [path.name, f"v{suffix}.privacy.json"]
    )


def test_a_folder_of_parts_is_one_set_of_vectors(tmp_path):
    """As 'discreet embed FOLDER' writes it; a name such as a=b says nothing of the rows."""
    folder = tmp_path / "kind=test"
    folder.mkdir()
    for number, part in enumerate((slice(0, 2), slice(2, 5))):
        kept = {name: values[part] for name, values in FULL.kept.items()}
        half = VectorSet(FIRST[part], SECOND[part], LABELS[part], FULL.rows[part], kept)
        write_vectors(folder / f"part-00000{number}.parquet", half)
    (folder / "_SUCCESS").touch()
    same(read_vectors(folder), FULL)
    parts = sorted(folder.glob("part*"))
    written = receipt().of_output({part.name: Digest.of(part) for part in parts})
    written.write(folder / PARTS_RECEIPT)
    assert Receipt.beside(folder) == written
    (folder / "more.txt").touch()
    with pytest.raises(InputError, match="folder, and not one of vectors"):
        read_vectors(folder)
    (folder / "more.txt").unlink()
    parts[1].write_bytes(parts[0].read_bytes())
    with pytest.raises(VerificationFailed):
        Receipt.beside(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="folder, and not one of vectors"):
        read_vectors(tmp_path / "empty")


def test_npy_holds_vectors_alone(tmp_path):
    write_vectors(tmp_path / "v.npy", VectorSet(FIRST))
    same(read_vectors(tmp_path / "v.npy"), VectorSet(FIRST))
    assert Receipt.beside(tmp_path / "v.npy") is None
    for more, named in (
        (VectorSet(FIRST, labels=LABELS), "labels"),
        (VectorSet(FIRST, SECOND), "second vectors"),
        (VectorSet(FIRST, rows=np.arange(5)), "numbers of documents"),
        (VectorSet(FIRST, kept={"id": [1] * 5}), "kept columns"),
    ):
        with pytest.raises(OutputError, match=f"no place for {named}"):
            write_vectors(tmp_path / "w.npy", more, receipt())
    assert [p.name for p in tmp_path.iterdir()] == ["v.npy"]


def test_parquet_columns_are_what_others_expect(tmp_path):
    write_vectors(tmp_path / "v.parquet", FULL)
    table = pq.read_table(tmp_path / "v.parquet")
    assert table.column_names == ["vector", "vector2", "label", "row", "id", "who"]
    assert table.schema.field("vector").type == pa.list_(pa.float32(), 3)
    assert table.column("vector")[1].as_py() == FIRST[1].tolist()


@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.large_list(pa.float32())])
def test_lists_that_another_program_wrote(tmp_path, kind):
    rows = pa.chunked_array(
        [pa.array(FIRST[:2].tolist(), kind), pa.array(FIRST[2:].tolist(), kind)]
    )
    table = pa.table({"vector": rows, "label": pa.array([1, 0, 1, 0, 1])})
    pq.write_table(table, tmp_path / "v.parquet")
    same(read_vectors(tmp_path / "v.parquet"), VectorSet(FIRST, labels=list("10101")))


def test_parts_are_joined_in_order():
    parts = [
        VectorSet(
            FIRST[p], SECOND[p], LABELS[p], FULL.rows[p], {k: v[p] for k, v in FULL.kept.items()}
        )
        for p in (slice(0, 2), slice(2, 3), slice(3, 5))
    ]
    same(VectorSet.joined(parts), FULL)
    same(VectorSet.joined([VectorSet(FIRST[:1]), VectorSet(FIRST[1:])]), VectorSet(FIRST))


ZERO, NAN = FIRST.copy(), FIRST.copy()
ZERO[3], NAN[1, 2] = 0.0, np.nan


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: VectorSet(ZERO), "other than zero; that of row 4"),
        (lambda: VectorSet(NAN), "finite; that of row 2"),
        (lambda: VectorSet(FIRST, NAN), "second vectors must be finite"),
        (lambda: VectorSet(FIRST * np.inf), "finite"),
        (lambda: VectorSet(FIRST[:, :1]), "at least 2 columns; got 1"),
        (lambda: VectorSet(FIRST[0]), "rows of numbers"),
        (lambda: VectorSet(FIRST.astype(str)), "rows of numbers"),
        (lambda: VectorSet(FIRST, SECOND[:4]), "the shape of the first"),
        (lambda: VectorSet(FIRST, labels=LABELS[:4]), "labels must be one for each of the 5"),
        (lambda: VectorSet(FIRST, rows=np.arange(6)), "rows must be one"),
        (lambda: VectorSet(FIRST, rows=["zanzibar"] * 5), "a flat array of whole numbers$"),
        (lambda: VectorSet(FIRST, kept={"id": [1]}), "id must be one"),
        (lambda: VectorSet(FIRST, kept={"label": LABELS}), "cannot be called label"),
    ],
)
def test_what_is_no_set_of_vectors(make, message):
    with pytest.raises(InvalidValue, match=message):
        make()


class Trap:
    """Leaves a file behind if it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def parquet(**columns: object):
    return lambda path: pq.write_table(pa.table(columns), path)


def _to(path: Path, write: object, array: np.ndarray) -> None:
    with path.open("wb") as file:
        write(file, array)


BAD = {
    "empty npy": ("v.npy", lambda p: p.write_bytes(b""), "not an intact NumPy file"),
    "garbage npz": ("v.npz", lambda p: p.write_bytes(b"PK\x03\x04 no"), "not an intact NumPy file"),
    "garbage parquet": ("v.parquet", lambda p: p.write_bytes(b"PAR1"), "not an intact Parquet"),
    "a pickle as npy": (
        "v.npy",
        lambda p: p.write_bytes(pickle.dumps(Trap(p.with_name("trap")))),
        "not an intact NumPy file",
    ),
    "objects in npy": (
        "v.npy",
        lambda p: np.save(p, np.array([Trap(p.with_name("trap"))] * 2), allow_pickle=True),
        "plain numbers",
    ),
    "objects in npz": (
        "v.npz",
        lambda p: np.savez(p, vectors=FIRST, labels=np.array([Trap(p.with_name("trap"))])),
        "plain numbers",
    ),
    "npz without vectors": ("v.npz", lambda p: np.savez(p, x=FIRST), "no array vectors"),
    "npy called npz": ("v.npz", lambda p: _to(p, np.save, FIRST), "name it .npy"),
    "npz called npy": ("v.npy", lambda p: _to(p, np.savez, FIRST), "name it .npz"),
    "nan": ("v.npy", lambda p: np.save(p, NAN), "finite; that of row 2"),
    "zeros": ("v.npz", lambda p: np.savez(p, vectors=ZERO), "other than zero"),
    "one dimension": ("v.npy", lambda p: np.save(p, FIRST[:, :1]), "at least 2 columns"),
    "a flat array": ("v.npy", lambda p: np.save(p, FIRST[0]), "rows of numbers"),
    "too few labels": (
        "v.npz",
        lambda p: np.savez(p, vectors=FIRST, labels=np.array(["a"])),
        "labels must be one for each",
    ),
    "no column": ("v.parquet", parquet(x=[1]), "no column vector"),
    "numbers, no lists": ("v.parquet", parquet(vector=[1.0]), "does not hold lists of numbers"),
    "lists of strings": ("v.parquet", parquet(vector=[["a"]]), "does not hold lists of numbers"),
    "ragged": ("v.parquet", parquet(vector=[[1.0, 2.0], [1.0]]), "differ in length"),
    "a vector missing": ("v.parquet", parquet(vector=[[1.0, 2.0], None]), "lacks 1 values"),
    "a label missing": (
        "v.parquet",
        parquet(vector=[[1.0, 2.0]] * 2, label=["a", None]),
        "column label of .* lacks 1",
    ),
    "a number missing": ("v.parquet", parquet(vector=[[1.0, None]]), "finite"),
    "another suffix": ("v.txt", lambda p: p.write_text("1 2"), "end in .parquet, .npz or .npy"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_named_and_never_run(tmp_path, case):
    name, write, message = BAD[case]
    write(tmp_path / name)
    with pytest.raises(InputError, match=message):
        read_vectors(tmp_path / name)
    assert not (tmp_path / "trap").exists()


def test_a_missing_file(tmp_path):
    with pytest.raises(NotFound, match="there is no file"):
        read_vectors(tmp_path / "v.npy")


@pytest.mark.parametrize(
    ("name", "before", "message"),
    [
        ("v.txt", Path.exists, "end its name in .parquet, .npz or .npy"),
        ("-", Path.exists, "end its name in .parquet"),
        ("no/v.npy", Path.exists, "directory that does not exist"),
        ("v.npz", Path.mkdir, "is a directory"),
        ("v.npz", lambda p: p.write_text("precious"), "exists already"),
        ("v.npz", lambda p: receipt_path(p).write_text("precious"), "privacy.json exists already"),
    ],
)
def test_places_that_are_refused(tmp_path, name, before, message):
    before(tmp_path / name)
    there = sorted(tmp_path.rglob("*"))
    with pytest.raises(OutputError, match=message):
        write_vectors(tmp_path / name, VectorSet(FIRST), receipt())
    assert sorted(tmp_path.rglob("*")) == there


def test_force_replaces_both(tmp_path):
    for epsilon in (1, 2):
        write_vectors(tmp_path / "v.npz", VectorSet(FIRST), receipt(epsilon), force=True)
    assert Receipt.beside(tmp_path / "v.npz").about["said"] == 2
    write_vectors(tmp_path / "v.npz", VectorSet(FIRST), force=True)  # and an old receipt goes
    assert Receipt.beside(tmp_path / "v.npz") is None


@pytest.mark.parametrize("suffix", [".parquet", ".npz"])
def test_columns_of_mixed_types_are_refused_without_a_word_of_them(tmp_path, suffix):
    mixed = VectorSet(FIRST, kept={"who": ["zanzibar", 1, 2.5, None, [1]]})
    with pytest.raises(OutputError, match="kept column who") as caught:
        write_vectors(tmp_path / f"v{suffix}", mixed, receipt())
    assert "zanzibar" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".npy"])
def test_a_failure_on_the_way_leaves_neither_file(tmp_path, monkeypatch, suffix):
    def fail(*_: object, **__: object) -> str:
        raise OSError("no room")

    monkeypatch.setattr(Receipt, "to_json", fail)
    with pytest.raises(OSError, match="no room"):
        write_vectors(tmp_path / f"v{suffix}", VectorSet(FIRST), receipt())
    assert list(tmp_path.iterdir()) == []
