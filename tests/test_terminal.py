"""Nothing that is printed acts on the terminal, wherever a name came from."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from command import called, write_space
from discreet.cli._terminal import progress_bar, progress_bars, say, visible
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


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colour_is_for_terminals_that_want_it(monkeypatch):
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.name", "posix")
    lines = "Caveat: one.", "plain", "\x1b[31mForged"

    def said(stream):
        monkeypatch.setattr("sys.stderr", stream)
        say(*lines)
        return stream.getvalue().splitlines()

    assert said(io.StringIO()) == ["Caveat: one.", "plain", "\\u001b[31mForged"]
    seen = said(_Terminal())
    assert seen == ["\x1b[33mCaveat: one.\x1b[0m", "plain", "\\u001b[31mForged"]
    monkeypatch.setenv("NO_COLOR", "1")
    assert said(_Terminal())[0] == "Caveat: one."


def test_two_bars_share_a_terminal(monkeypatch):
    monkeypatch.setattr("sys.stderr", _Terminal())
    with progress_bars("outer", "inner") as (outer, inner):
        outer(1, 2)
        inner(1, 4)
        with progress_bar("another") as other:
            other(1, 2)  # does not fail, though only one display can be on the screen
    assert "outer" in sys.stderr.getvalue()


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("discreet sa", ["sanitize"]),
        ("discreet attack m", ["mask-inference", "membership"]),
        ("discreet sanitize --whole", ["--whole-delta"]),
        ("discreet account re", ["receipts"]),
    ],
)
def test_the_shell_completes(typed, completed):
    words = typed.split(" ")
    asked = {
        "_DISCREET_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - 1),
    }
    code = (
        "import sys, discreet.cli\nsys.argv = ['discreet']\ntry:\n discreet.cli.main()\nfinally:\n"
    )
    # The names of commands cost no array library.
    code += " assert 'numpy' not in sys.modules" if len(words) == 2 else " pass"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == completed, done.stderr
