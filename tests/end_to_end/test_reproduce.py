"""``discreet reproduce`` where the recipes are not installed."""

import subprocess
import sys

import pytest

HIDDEN = (
    "import importlib.metadata as metadata, sys\n"
    "metadata.entry_points = lambda **_: ()\n"
    "from discreet.cli import main\n"
    "sys.argv = ['discreet', 'reproduce', *sys.argv[1:]]\n"
    "main()"
)


def _without_recipes(*arguments):
    return subprocess.run(
        [sys.executable, "-c", HIDDEN, *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("asked", [(), ("santext", "--data", "data", "-o", "out", "--quick")])
def test_the_command_says_how_to_install_them(asked):
    done = _without_recipes(*asked)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "pip install discreet-recipes" in done.stderr


def test_its_help_names_the_distribution():
    done = _without_recipes("--help")
    assert done.returncode == 0
    assert "discreet-recipes" in done.stdout
