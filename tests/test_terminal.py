"""Nothing that is printed acts on the terminal, wherever a name came from."""

import json
import re
from pathlib import Path

import pytest

from command import called, write_space
from discreet.cli._terminal import visible
from discreet.spaces.loaders import load_space, save_space
from discreet.spaces.space import EmbeddingSpace

SOURCE = Path(__file__).parent.parent / "src" / "discreet"
HOSTILE = "a\x1b[2J\x9b31m\u202eb\rc\nForged: all is well\x07\u2028d"
ACTING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


@pytest.mark.parametrize(
    "acting", [*filter(lambda each: not each.isprintable(), HOSTILE), "\ud800"]
)
def test_what_acts_is_spelt_out(acting):
    spelt = visible(f"x{acting}y")
    assert not ACTING.search(spelt)
    assert "\n" not in spelt
    assert json.loads(f'"{spelt}"', strict=True) == f"x{acting}y"
    assert visible("plain é 東京 \t") == "plain é 東京 \t"


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_the_name_of_a_space_does_not_act(tmp_path, more):
    space = load_space(write_space(tmp_path / "space.txt"), cache=False)
    hostile = EmbeddingSpace.from_arrays(
        space.words, space.vectors, provenance=HOSTILE, name=HOSTILE
    )
    path = save_space(hostile, tmp_path / "s.safetensors")
    done = called("spaces", "inspect", path, *more, cache=tmp_path / "cache")
    assert done.code == 0
    shown = done.out.decode() + done.err
    assert "Forged" in shown
    assert not ACTING.search(shown)
    assert not re.search(r"^Forged", shown, re.MULTILINE)
    if more:
        assert json.loads(done.out)["name"] == HOSTILE


def test_the_name_of_a_file_does_not_act(tmp_path):
    done = called("verify", tmp_path / "a\x1b[2J\nForged", cache=tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert not ACTING.search(done.err)


def test_only_one_place_prints():
    """The progress bar aside, whose labels are ours; data goes out as bytes, by the writers."""
    for path in sorted((SOURCE / "cli").rglob("*.py")):
        if path.name != "_terminal.py":
            assert not re.search(r"\bprint\(|typer\.s?echo|click\.echo", path.read_text()), path
