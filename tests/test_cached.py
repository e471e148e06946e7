"""What is kept from run to run is listed, and thrown away without touching anything else."""

import json
import re
from pathlib import Path

import pytest

from command import called
from discreet.cached import KINDS, kept, throw_away
from discreet.errors import InvalidValue

SOURCE = Path(__file__).parent.parent / "src" / "discreet"


@pytest.fixture
def filled(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    monkeypatch.setenv("DISCREET_CACHE", str(cache))
    for kind, size in (("spaces", 100), ("guides", 2000)):
        (cache / kind / "deep").mkdir(parents=True)
        (cache / kind / "deep" / "file").write_bytes(b"x" * size)
    (cache / "notes.txt").write_text("mine")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine")
    (cache / "encoded").symlink_to(outside)
    (cache / "spaces" / "link").symlink_to(outside)
    return tmp_path


@pytest.mark.usefixtures("filled")
def test_what_is_kept_is_listed_with_its_size():
    assert [(each.kind, each.files, each.bytes) for each in kept()] == [
        ("spaces", 1, 100),
        ("guides", 1, 2000),
    ]


def test_only_folders_of_the_cache_are_removed(filled):
    assert [each.kind for each in throw_away("guides")] == ["guides"]
    assert [each.kind for each in throw_away()] == ["spaces"]
    assert not kept()
    assert (filled / "cache" / "notes.txt").read_text() == "mine"
    assert (filled / "outside" / "precious").read_text() == "mine"
    assert not throw_away()
    with pytest.raises(InvalidValue, match="kind of what is kept"):
        throw_away("../outside")


def test_every_folder_that_is_written_to_is_known():
    named = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        named |= set(re.findall(r'cache_directory\(\) / "(\w+)"', text))
        named |= set(re.findall(r'Memo\(\s*"(\w+)"', text))
    assert named == set(KINDS)


def test_the_command(filled):
    done = called("cache", "list", "--json", cache=filled / "cache")
    values = json.loads(done.out)
    assert [each["kind"] for each in values["kept"]] == ["spaces", "guides"]
    assert "2 files" not in called("cache", "list", cache=filled / "cache").out.decode()
    done = called("cache", "clear", "guides", cache=filled / "cache")
    assert done.code == 0
    assert not (filled / "cache" / "guides").exists()
    assert (filled / "cache" / "spaces").exists()
    assert called("cache", "clear", "nonsense", cache=filled / "cache").code == 2
    assert "Removed" in called("cache", "clear", cache=filled / "cache").err
    assert "nothing to remove" in called("cache", "clear", cache=filled / "cache").err
