"""Folders: what is refused before anything is drawn, formats, what continues and what does not."""

import json
import pickle
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import WORDS, called
from crash_points import crashes
from discreet import Receipt, Sanitizer, load_space, mechanism
from discreet.engines import EngineSettings, release_folder
from discreet.engines.folder import unfinished
from discreet.engines.parts import PartReceipt, attempts_of, record_of
from discreet.engines.plan import planned
from discreet.engines.tasks import run_task, target_of
from discreet.errors import (
    BudgetExceeded,
    InputError,
    InvalidValue,
    NotFound,
    OutputError,
    VerificationFailed,
)
from discreet.ledger import DatasetLedger, Ledger
from discreet.release.recipe import Recipe, recipe_of
from discreet.statement import PrivacyStatement
from discreet.text.fates import Fates
from part_folders import (
    MARKER,
    InThisProcess,
    check_whole,
    documents,
    sanitizing,
    small_space,
    words_of,
    write,
)


@pytest.fixture(autouse=True)
def _no_workers(monkeypatch):
    monkeypatch.setattr(EngineSettings, "start", lambda _: InThisProcess())


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    return small_space(tmp_path_factory.mktemp("space"))


@pytest.fixture(scope="module")
def work(space):
    return sanitizing(space, Fates(("body",), keep=("id",), others="drop"))


SETTINGS = EngineSettings(part_rows=100)


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_every_format_becomes_the_same_folder(tmp_path, space, format):
    source = write(tmp_path / "in", format, files=3, rows=50)
    (source / "_SUCCESS").touch()  # as another engine leaves it
    (source / ".hidden").write_text("x")
    out = tmp_path / "out"
    given = ["-s", space, "-e", 4, "--text-field", "body", "--keep", "id", "--drop-others"]
    done = called("sanitize", source, "-o", out, *given, cache=tmp_path / "cache")
    assert done.code == 0, done.err
    receipt = check_whole(out, 150, 3 * words_of(50))
    assert receipt.about["engine"] == {"name": "local", "parts": 3, "attempts": 3}
    assert pq.read_table(out).column_names == (
        ["body", "id"] if format == "jsonl" else ["id", "body"]
    )
    assert called("verify", out, cache=tmp_path / "cache").code == 0


def test_a_folder_is_booked_as_a_whole_before_it_is_seen(tmp_path, space):
    source, book = write(tmp_path / "in", "csv", files=2, rows=20), tmp_path / "l.db"

    def release(name, *more):
        given = ["-s", space, "-e", 1, "--text-field", "body", "--keep", "id", "--drop-others"]
        given += ["--whole-delta", 0, "--yes-weak", "--ledger", book, "--dataset", "notes", *more]
        return called("sanitize", source, "-o", tmp_path / name, *given, cache=tmp_path / "cache")

    assert release("a").code == 0
    receipt = check_whole(tmp_path / "a", 40, 2 * words_of(20))
    whole = PrivacyStatement.from_dict(receipt.about["whole"]["document"]["statement"])
    with Ledger.open(book) as ledger:
        (entry,) = ledger.entries()
        assert (entry.state, entry.units) == ("committed", 2 * words_of(20))
        assert entry.statement == whole
        assert entry.id == receipt.about["ledger"]["entry"]
        assert ledger.verify([tmp_path / "a"]) == []
    again = release("b")
    assert (again.code, "released before" in again.err, "--again charge" in again.err) == (3, 1, 1)
    with Ledger.open(book) as ledger:
        ledger.limit(dataset="notes", epsilon=1.5 * entry.amount.epsilon)
    refused = release("b", "--again", "charge")
    assert (refused.code, "budget" in refused.err) == (3, True)
    assert sorted(path.name for path in tmp_path.glob("b*")) == []  # what was drawn is deleted
    with Ledger.open(book) as ledger:
        assert [entry.state for entry in ledger.entries()] == ["committed", "refunded"]
        ledger.limit(dataset="notes", epsilon=0.0)
    nothing_left = release("c", "--again", "charge")
    assert (nothing_left.code, "nothing is left" in nothing_left.err) == (3, True)


def test_a_ledger_knows_the_rows_of_folders_as_it_knows_those_of_files(tmp_path, work):
    """Copies add up wherever they stand, and a row is not released twice by the way it comes."""
    line, other = " ".join(WORDS[:4]), WORDS[9]
    source, book = tmp_path / "in", tmp_path / "l.db"
    source.mkdir()
    for name in "abc":  # a part each, and copies but for capitals and white space
        rows = [(1, line), (2, f" {line.upper()}")] if name != "c" else [(3, other)]
        told = [f"{number},{text}" for number, text in [("id", "body"), *rows]]
        (source / f"{name}.csv").write_text("\n".join(told))
    whole = PrivacyStatement.from_dict(work.made.statement.for_units(16).to_dict())
    with Ledger.open(book, key=bytes(32)) as ledger:
        own = DatasetLedger(ledger, "notes", again="refuse")
        release_folder(source, tmp_path / "out", work, ledger=own)
        (entry,) = ledger.entries()
        assert entry.amount.epsilon == pytest.approx(whole.epsilon)
        assert [each and each.entry for each in ledger.seen("notes", [line, other, "new"])] == [
            *[entry.id] * 2,
            None,
        ]
        (source / "c.csv").unlink()
        (source / "a.csv").write_text(f"id,body\n7,{WORDS[8]}\n8,{line}\n")
        with pytest.raises(BudgetExceeded, match=r"1 of the rows .* \(row 2\)"):
            release_folder(source, tmp_path / "more", work, ledger=own)
        assert not ledger.seen("notes", [WORDS[8]])[0]  # of what is deleted nothing is remembered
        made = Sanitizer(work.made.mechanism, ledger=DatasetLedger(ledger, "notes"))
        with pytest.raises(BudgetExceeded, match="released before"):
            made.sanitize([line])
    assert sorted(path.name for path in tmp_path.glob("more*")) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there are other owners there")
def test_nothing_is_put_into_a_folder_that_somebody_else_made(tmp_path, work, monkeypatch):
    """Who waits for a release by root, in a folder where everybody may write."""
    source = write(tmp_path / "in", "csv", files=1, rows=2)
    (tmp_path / "out.unfinished").mkdir()
    monkeypatch.setattr("os.geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(OutputError, match="belongs to another user"):
        release_folder(source, tmp_path / "out", work)
    assert list((tmp_path / "out.unfinished").iterdir()) == []


def test_parts_that_were_drawn_without_a_ledger_are_not_booked_as_if_with_one(
    tmp_path, work, monkeypatch
):
    source = write(tmp_path / "in", "csv", files=2, rows=2)

    class OnePart(InThisProcess):
        def run(self, parts, work, folder):
            yield run_task(parts[0], work, folder)
            yield {"number": 1, "error": "the power is gone"}

    with monkeypatch.context() as patched:
        patched.setattr(EngineSettings, "start", lambda _: OnePart())
        with pytest.raises(InputError, match="the power is gone"):
            release_folder(source, tmp_path / "out", work)
    with Ledger.open(tmp_path / "l.db", key=bytes(32)) as ledger:
        for name, refused in (("notes", "made without it"), ("others", "for another ledger")):
            with pytest.raises(OutputError, match=refused):
                release_folder(source, tmp_path / "out", work, ledger=DatasetLedger(ledger, name))
        assert list(ledger.entries()) == []
    assert not (tmp_path / "out").exists()


def test_what_is_no_string_in_json_is_written_as_json(tmp_path, work):
    source = tmp_path / "in"
    source.mkdir()
    rows = [{"body": WORDS[0], "id": value} for value in (1, "1", None, [2.5], {"a": True})]
    (source / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    release_folder(source, tmp_path / "out", work)
    ids = pq.read_table(tmp_path / "out").column("id").to_pylist()
    assert ids == ["1", "1", None, "[2.5]", '{"a": true}']


def test_groups_of_rows_are_gathered_into_parts(tmp_path, work):
    source = write(tmp_path / "in", "parquet", files=2, rows=95, group=10)
    parts, schema = planned(str(source), work.schema_of, part_rows=30)
    assert [part.row_groups for part in parts] == 2 * [(0, 1, 2), (3, 4, 5), (6, 7, 8), (9,)]
    assert [part.number for part in parts] == list(range(8))
    assert schema.names == ["id", "body"]
    release_folder(source, tmp_path / "out", work, EngineSettings(part_rows=30))
    check_whole(tmp_path / "out", 190, 2 * words_of(95))


def _other_column(source):
    pq.write_table(documents(5).rename_columns(["id", "text", "who"]), source / "g.parquet")


def _other_type(source):
    table = documents(5)
    pq.write_table(
        table.set_column(0, "id", table.column("id").cast(pa.string())), source / "g.parquet"
    )


def _another_format(source):
    (source / "g.csv").write_text("id,body\n1,x\n")


def _no_text(source):
    pq.write_table(documents(5).set_column(1, "body", [[1] * 5]), source / "g.parquet")


def _broken(source):
    (source / "g.parquet").write_bytes(b"PAR1 " + MARKER.encode())


def _by_folders(source):
    (source / "year=2024").mkdir()
    pq.write_table(documents(5), source / "year=2024" / "g.parquet")


def _unknown_name(source):
    (source / "notes.doc").write_text(MARKER)


BAD = {
    "a column is missing": (_other_column, [], "no column body"),
    "another type": (_other_type, ["--keep", "id"], "another name or type"),
    "another format": (_another_format, [], "different formats"),
    "text that is none": (_no_text, [], "not of a string type"),
    "a broken file": (_broken, [], "not an intact Parquet file"),
    "a column in the names of folders": (_by_folders, [], "NAME=VALUE"),
    "a file of no known format": (_unknown_name, [], "is no txt, csv"),
    "no fate": (None, ["--keep", "id"], "nothing says what becomes of who"),
    "a seed": (None, ["--seed", 1], "--seed is for a single file"),
    "persons": (None, ["--person-field", "who"], "--person-field is for a single file"),
    "an address without a cluster": (None, ["--address", "x:1"], "--engine ray or spark"),
    "no such engine": (None, ["--engine", "dask"], "local, ray, spark"),
    "no workers": (None, ["--workers", 0], "--workers"),
    "too weak": (None, ["-e", 4000], "--yes-weak"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_before_anything_is_drawn(tmp_path, space, case):
    spoil, more, said = BAD[case]
    source = write(tmp_path / "in", "parquet", files=2, rows=5)
    if spoil is not None:
        spoil(source)
    given = ["-s", space, "--text-field", "body", *([] if "-e" in more else ["-e", 4])]
    given += [] if case == "no fate" else ["--drop-others"]
    done = called("sanitize", source, "-o", tmp_path / "out", *given, *more, cache=tmp_path / "c")
    assert done.code == 2
    assert said in done.err
    assert MARKER not in done.err
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob("*.unfinished/*/*"))


@pytest.mark.parametrize(
    ("name", "said"), [("none", "names no files"), ("no-*.csv", "quote a pattern")]
)
def test_nothing_there(tmp_path, work, name, said):
    with pytest.raises(ValueError, match=said):
        release_folder(tmp_path / name, tmp_path / "out", work)


def test_an_engine_that_does_not_start_leaves_only_what_can_be_continued(
    tmp_path, work, monkeypatch
):
    source, out = write(tmp_path / "in", "jsonl", files=1, rows=20), tmp_path / "out"

    def away(_):
        raise NotFound("nobody answers")

    with monkeypatch.context() as patch:
        patch.setattr(EngineSettings, "start", away)
        with pytest.raises(NotFound):
            release_folder(source, out, work)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
        # A run in which a part was begun is not thrown away.
        place = tmp_path / "out.unfinished"
        with unfinished(out, planned(str(source), work.schema_of)[0], work.fingerprint) as state:
            attempts = attempts_of(target_of(place, state.parts[0]))
            attempts.parent.mkdir(parents=True)
            attempts.write_bytes(b".")
        with pytest.raises(NotFound):
            release_folder(source, out, work)
        assert attempts.exists()
    release_folder(source, out, work)
    assert check_whole(out, 20, words_of(20)).about["engine"]["attempts"] == 2


def test_an_output_that_is_there_is_left_alone(tmp_path, work):
    source = write(tmp_path / "in", "parquet", files=1, rows=50)
    with pytest.raises(OutputError, match="inside the input"):
        release_folder(source, source / "out", work)
    out = tmp_path / "out"
    out.mkdir()
    release_folder(source, out, work)  # an empty one is no obstacle
    first = check_whole(out, 50, words_of(50))
    with pytest.raises(OutputError, match="exists already and is not empty"):
        release_folder(source, out, work)
    again = release_folder(source, out, work, force=True)
    # So many words come out alike by chance less than once in 1e20 runs.
    assert again.about["output"] != first.about["output"]
    check_whole(out, 50, words_of(50))
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").touch()
    with pytest.raises(OutputError, match="no folder of parts"):
        release_folder(source, other, work, force=True)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(OutputError, match="is a file"):
        release_folder(source, file, work, force=True)
    for name in ("out.parquet", "out.csv.gz", "out.npz"):
        with pytest.raises(OutputError, match="a folder of parts; leave out the ending"):
            release_folder(source, tmp_path / name, work)
        assert not (tmp_path / name).exists()
    release_folder(source, tmp_path / "out.of.may", work)


def test_one_more_part_does_not_pass_for_released(tmp_path, work):
    release_folder(write(tmp_path / "in", "parquet", files=1, rows=5), tmp_path / "out", work)
    pq.write_table(documents(5), tmp_path / "out" / "part-000009.parquet")
    with pytest.raises(VerificationFailed, match="1 more"):
        Receipt.beside(tmp_path / "out")


def test_a_bad_row_stops_the_run_and_nothing_is_released(tmp_path, work):
    source = write(tmp_path / "in", "parquet", files=3, rows=5)
    pq.write_table(
        documents(5).set_column(1, "body", [["a", None, "b", "c", "d"]]), source / "f1.parquet"
    )
    with pytest.raises(ValueError, match=r"row 2 of .*f1.parquet has no text.*1 of 3 parts"):
        release_folder(source, tmp_path / "out", work)
    assert not (tmp_path / "out").exists()
    with pytest.raises(OutputError, match="other settings or of other files"):
        release_folder(
            source, tmp_path / "out", replace(work, fates=Fates(("body",), others="drop"))
        )
    pq.write_table(documents(5, 5), source / "f1.parquet")  # another file than was planned with
    with pytest.raises(OutputError, match="other settings or of other files"):
        release_folder(source, tmp_path / "out", work)


def test_a_task_that_is_run_again_draws_nothing(tmp_path, work):
    source = write(tmp_path / "in", "parquet", files=1, rows=50)
    (part,), _ = planned(str(source), work.schema_of)
    target = target_of(tmp_path, part)
    for _ in range(3):
        assert run_task(part, work.to_json(), str(tmp_path)) == {"number": 0, "error": None}
        first = PartReceipt.read(record_of(target))
        assert first.fits(target)
        assert attempts_of(target).read_bytes() == b"."


def test_of_two_tasks_at_the_same_time_one_is_kept(tmp_path, work):
    """Speculation: a second attempt that began before the first was committed is thrown away."""
    source = write(tmp_path / "in", "parquet", files=1, rows=50)
    (part,), _ = planned(str(source), work.schema_of)
    target = target_of(tmp_path, part)

    class Twice(Sanitizer):
        def sanitize(self, texts, rng=None):
            if not record_of(target).exists():  # while this one draws, another comes and goes
                assert run_task(part, work.to_json(), str(tmp_path))["error"] is None
            return super().sanitize(texts, rng)

    slow = replace(work, sanitizer=Twice(work.made.mechanism))
    kept = slow.release(part, target)
    assert kept == PartReceipt.read(record_of(target))
    assert kept.fits(target)
    assert attempts_of(target).read_bytes() == b".."
    assert not list(target.parent.glob(".*"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": "0.0.1"}, "release began with discreet 0.0.1"),
        ({"fingerprint": "0" * 64}, "fingerprints differ"),
        ({"space": "/nowhere/space.safetensors"}, "no such file"),
        ({"settings": {"epsilon": 5.0}}, "fingerprints differ"),
    ],
    ids=["version", "fingerprint", "space", "epsilon"],
)
def test_a_worker_with_something_else_releases_nothing(tmp_path, work, change, said):
    source = write(tmp_path / "in", "parquet", files=1, rows=5)
    (part,), _ = planned(str(source), work.schema_of)
    described = json.loads(work.to_json())
    described["recipe"] = json.dumps(json.loads(described["recipe"]) | change)
    outcome = run_task(part, json.dumps(described), str(tmp_path))
    assert said in outcome["error"]
    assert not list(tmp_path.rglob("*.attempts"))


def test_what_is_unforeseen_is_told_without_its_words(tmp_path, work, monkeypatch):
    source = write(tmp_path / "in", "parquet", files=1, rows=5)
    (part,), _ = planned(str(source), work.schema_of)

    def fail(*_):
        raise RuntimeError(MARKER)

    monkeypatch.setattr(Sanitizer, "sanitize", fail)
    outcome = run_task(part, work.to_json(), str(tmp_path))
    assert "RuntimeError in test_folders.py" in outcome["error"]
    assert MARKER not in outcome["error"]


def test_a_sanitizer_travels_as_names_and_numbers(space):
    sanitizer = Sanitizer(
        mechanism("santext", space=load_space(space), epsilon=4.0), layout="public", repeat="once"
    )
    packed = pickle.dumps(sanitizer)
    assert len(packed) < 2_000
    copy = pickle.loads(packed)
    assert copy.statement == sanitizer.statement
    assert pickle.loads(packed) is copy  # public data is loaded once in a process
    recipe = recipe_of(sanitizer)
    assert recipe == recipe_of(copy)
    assert Recipe.from_json(recipe.to_json()) == recipe


def test_a_space_of_arrays_cannot_be_sent_to_workers(tmp_path, work):
    arrays = replace(load_space(work.made.mechanism.space.source[0]), source=None)
    own = Sanitizer(mechanism("santext", space=arrays, epsilon=4.0))
    source = write(tmp_path / "in", "parquet", files=1, rows=5)
    with pytest.raises(InvalidValue, match="save_space"):
        release_folder(source, tmp_path / "out", replace(work, sanitizer=own))


def test_a_second_run_at_the_same_time_is_refused(tmp_path, work):
    source = write(tmp_path / "in", "parquet", files=1, rows=5)

    def meanwhile(*_):
        with pytest.raises(OutputError, match="another run is writing"):
            release_folder(source, tmp_path / "out", work)

    release_folder(source, tmp_path / "out", work, progress=meanwhile)
    check_whole(tmp_path / "out", 5, words_of(5))


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and locks of files")
def test_wherever_it_is_killed_the_same_call_continues(tmp_path, work):
    folder = tmp_path / "run"
    write(folder / "in", "csv", files=2, rows=3)

    def run(place: Path) -> Receipt:
        return release_folder(place / "in", place / "out", work, SETTINGS)

    interrupted = 0
    for _, place in crashes(folder, run):
        out = place / "out"
        if out.exists():  # then it is whole
            before = Receipt.beside(out)
            assert before is not None
            files = before.about["output"]["files"]
        else:
            found = [PartReceipt.read(path) for path in place.glob("out.unfinished/0*/*.json")]
            files = {
                each.part.name: {"sha256": each.digest.sha256, "bytes": each.digest.bytes}
                for each in found
                if list(place.glob(f"out.unfinished/*/{each.part.name}"))
            }
            interrupted += bool(files)
        if not out.exists() or place.joinpath("out.unfinished").exists():
            run(place)
        receipt = check_whole(out, 6, 2 * words_of(3))
        after = receipt.about["output"]["files"]
        assert {name: after[name] for name in files} == files  # nothing finished is drawn again
    assert interrupted > 5


@pytest.mark.encoder
def test_vectors_of_a_folder(tmp_path):
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.csv").write_text("text,stars,id\nWe waited two hours.,1,7\nGood food.,2,8\n")
    (source / "b.csv").write_text("text,stars,id\nNever again!,1,9\n")
    given = ["-e", 10, "--label-field", "stars", "--labels", "1,2", "--label-epsilon", 2]
    out = tmp_path / "out"
    done = called("embed", source, "-o", out, *given, "--keep", "id", cache=tmp_path / "cache")
    assert done.code == 0, done.err
    table = pq.read_table(out)
    assert table.column_names == ["id", "vector", "label"]
    assert table.column("id").to_pylist() == ["7", "8", "9"]
    assert table.schema.field("vector").type == pa.list_(pa.float32(), 16)
    receipt = Receipt.beside(out)
    assert receipt.counts == {"rows": 3, "sentences": 3}
    assert receipt.about["engine"] == {"name": "local", "parts": 2, "attempts": 2}
    (source / "b.csv").write_text("text,stars,id\n  ,1,9\n")
    done = called("embed", source, "-o", tmp_path / "o2", "-e", 10, cache=tmp_path / "cache")
    assert done.code == 2
    assert "row 1 is empty" in done.err
