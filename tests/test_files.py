"""Files are written whole or not at all; what is kept is used only as it was written."""

import os
import sys

import pytest

from discreet.errors import OutputError
from discreet.files import (
    Memo,
    SealedFiles,
    check_place,
    plain_json,
    sealed_json,
    unsealed_json,
    written_whole,
)
from discreet.staging import PRIVATE, folder_written_whole


def _names(folder):
    return sorted(path.name for path in folder.iterdir())


def _half_done(path):
    path.write_text("half")
    raise RuntimeError


def test_a_file_that_fails_leaves_the_old_one(tmp_path):
    path = tmp_path / "a.txt"
    with written_whole(path) as new:
        new.write_text("old")
    with pytest.raises(RuntimeError), written_whole(path) as new:
        _half_done(new)
    assert path.read_text() == "old"
    assert _names(tmp_path) == ["a.txt"]


def test_a_folder_that_fails_leaves_the_old_one(tmp_path):
    folder = tmp_path / "deep" / "store"
    with folder_written_whole(folder) as new:
        (new / "a").write_text("old")
    with pytest.raises(RuntimeError), folder_written_whole(folder) as new:
        _half_done(new / "b")
    assert _names(folder) == ["a"]
    with folder_written_whole(folder) as new:
        (new / "c").write_text("new")
    assert _names(folder) == ["c"]
    assert _names(folder.parent) == ["store"]


def test_a_folder_comes_back_if_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    folder = tmp_path / "store"
    with folder_written_whole(folder) as new:
        (new / "a").write_text("old")

    real, calls = os.replace, []

    def replace(source, target):
        calls.append(target)
        if len(calls) == 2:
            raise OSError("no room")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="no room"), folder_written_whole(folder) as new:
        (new / "b").write_text("new")
    assert _names(folder) == ["a"]
    assert _names(tmp_path) == ["store"]


def test_a_sealed_object_shows_that_it_was_altered():
    text = sealed_json({"b": [1.5], "a": "é"})
    assert unsealed_json(text) == {"b": [1.5], "a": "é"}
    for altered in (text.replace("1.5", "1.6"), "{}", "[]"):
        with pytest.raises(ValueError, match="not as it was written"):
            unsealed_json(altered)


def test_a_result_is_kept_by_all_it_depends_on(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path))
    one, other = (Memo("results", {"space": name, "norm": "l2"}) for name in "ab")
    assert one.read() is None
    one.write({"value": 3.5})
    assert (one.read(), other.read()) == ({"value": 3.5}, None)
    other.path.write_bytes(one.path.read_bytes())  # under the name of another
    assert other.read() is None
    one.path.write_text(one.path.read_text().replace("3.5", "3.4"))
    assert one.read() is None


def test_files_that_belong_together_are_sealed_together(tmp_path):
    kept = SealedFiles(tmp_path / "kept" / "name", (".a", ".b"))
    assert not kept.intact
    with kept.written() as paths:
        for path, content in zip(paths, "ab", strict=True):
            path.write_text(content)
    assert kept.intact
    assert [path.read_text() for path in kept.paths] == ["a", "b"]
    with pytest.raises(RuntimeError), kept.written() as (path, _):
        _half_done(path)
    assert kept.intact
    kept.paths[1].write_text("c")
    assert not kept.intact
    assert {path.name for path in kept.base.parent.iterdir()} == {"name.a", "name.b", "name.sha256"}


@pytest.mark.parametrize(
    ("name", "force", "problem"),
    [
        ("in.txt", True, "is the input itself"),
        ("there.txt", False, "exists already"),
        ("folder", True, "is a directory"),
        ("no/out.txt", True, "directory that does not exist"),
        ("\0", True, "cannot be reached"),
    ],
)
def test_places_that_are_not_ours_to_take(tmp_path, name, force, problem):
    (tmp_path / "folder").mkdir()
    for there in ("in.txt", "there.txt"):
        (tmp_path / there).write_text("precious")
    with pytest.raises(OutputError, match=problem):
        check_place(tmp_path / name, tmp_path / "in.txt", force=force)
    check_place(tmp_path / "there.txt", tmp_path / "in.txt", force=True)
    check_place(tmp_path / "new.txt", force=False)


def test_what_is_being_written_is_for_nobody_else(tmp_path):
    with written_whole(tmp_path / "a", mode=PRIVATE) as new:
        assert new.stat().st_mode & 0o777 == 0o600
        new.write_text("secret")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    (tmp_path / "plain").touch()
    with written_whole(tmp_path / "b") as new:
        assert new.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "b").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "plain-folder").mkdir()
    with folder_written_whole(tmp_path / "store") as new:
        assert new.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "store").stat().st_mode == (tmp_path / "plain-folder").stat().st_mode


@pytest.mark.skipif(sys.platform != "linux", reason="locks of files")
def test_only_what_nobody_holds_is_removed(tmp_path):
    token = "0123456789abcdef"
    left = tmp_path / f".a.{token}.partial"
    others = [tmp_path / name for name in (f".b.{token}.partial", ".a.partial", ".a.short.partial")]
    for path in (left, *others):
        path.write_text("left")
    (tmp_path / f".a.{token[::-1]}.partial").symlink_to(others[0])
    with written_whole(tmp_path / "a") as living:
        with written_whole(tmp_path / "a") as other:
            other.write_text("other")
        assert living.exists()
        living.write_text("living")
    assert (tmp_path / "a").read_text() == "living"
    assert not left.exists()
    assert all(path.read_text() == "left" for path in others)


@pytest.mark.skipif(sys.platform != "linux", reason="locks of files")
def test_an_old_folder_whose_place_is_empty_comes_back(tmp_path):
    old = tmp_path / ".store.0123456789abcdef.old"
    old.mkdir()
    (old / "a").write_text("old")
    with pytest.raises(RuntimeError), folder_written_whole(tmp_path / "store") as new:
        _half_done(new / "b")
    assert _names(tmp_path) == ["store"]
    assert _names(tmp_path / "store") == ["a"]


@pytest.mark.parametrize(
    "text",
    ["[" * 65 + "]" * 65, "[" * 10_000 + "]" * 10_000, "1" + "0" * 301, '"\\ud800"', b"\xff", "{"],
)
def test_json_that_no_file_of_ours_holds(text):
    with pytest.raises(ValueError):  # noqa: PT011 - any of its kinds
        plain_json(text)
    assert plain_json('{"a": [1, 2.5, null, true, "é"]}') == {"a": [1, 2.5, None, True, "é"]}
