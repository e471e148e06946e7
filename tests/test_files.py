"""Files and folders are written whole or not at all."""

import pytest

from discreet.files import folder_written_whole, written_whole


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

    from discreet import files

    real, calls = files.os.replace, []

    def replace(source, target):
        calls.append(target)
        if len(calls) == 2:
            raise OSError("no room")
        real(source, target)

    monkeypatch.setattr(files.os, "replace", replace)
    with pytest.raises(OSError, match="no room"), folder_written_whole(folder) as new:
        (new / "b").write_text("new")
    assert _names(folder) == ["a"]
    assert _names(tmp_path) == ["store"]
