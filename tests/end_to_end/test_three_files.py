"""A new mechanism is three files: module, test and page. Everything else finds it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

DOCSTRING = '''"""A toy: {does}.

    Privacy: as said in its statement.

    Args:
        {material}: what it is made from.
        epsilon: loss allowed by the toy.

    >>> {name}.name
    '{called}'
    """'''

MODULES = {
    "word": '''"""A toy."""

import math
from typing import ClassVar

import numpy as np

from discreet.mechanisms.word._words import PUBLIC, SCOPE
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Notion, PrivacyStatement, Unit


class ToyWord:
    DOCSTRING

    name: ClassVar[str] = "toy-word"

    def __init__(self, space: EmbeddingSpace, epsilon: float) -> None:
        self.space, self.epsilon = space, epsilon
        self.statement = PrivacyStatement(
            notion=Notion.PURE, epsilon=epsilon, unit=Unit.WORD, scope=SCOPE, public=PUBLIC
        )

    def log_probabilities(self, ids):
        words, others = self.space.checked_ids(ids), len(self.space) - 1
        keep = -math.log1p(others * math.exp(-self.epsilon))
        out = np.full((len(words), others + 1), keep - self.epsilon)
        out[np.arange(len(words)), words] = keep
        return out

    def release(self, ids, rng):
        words, count = self.space.checked_ids(ids), len(self.space)
        keep = 1 / (1 + (count - 1) * math.exp(-self.epsilon))
        moved = (words + rng.integers(1, count, len(words))) % count
        return np.where(rng.random(len(words)) < keep, words, moved)
''',
    "sentence": '''"""A toy."""

from typing import ClassVar

from discreet.mechanisms.sentence.planar_laplace import PlanarLaplace


class ToySentence(PlanarLaplace):
    DOCSTRING

    name: ClassVar[str] = "toy-sentence"
''',
    "document": '''"""A toy."""

from typing import ClassVar

from discreet.mechanisms.document.sentence_votes import SentenceVotes


class ToyDocument(SentenceVotes):
    DOCSTRING

    name: ClassVar[str] = "toy-document"
''',
    "label": '''"""A toy."""

from typing import ClassVar

from discreet.mechanisms.label.randomized_response import RandomizedResponse


class ToyLabel(RandomizedResponse):
    DOCSTRING

    name: ClassVar[str] = "toy-label"
''',
}
EXAMPLES = {
    "word": "from small_spaces import random_space\nONE = ToyWord(random_space(30), 2.0)",
    "sentence": "ONE = ToySentence(3, 4.0)",
    "document": "ONE = ToyDocument([[0.0, 1.0], [1.0, 0.0], [-1.0, 2.0]], 2.0)",
    "label": "ONE = ToyLabel(3, 1.0)",
}
MATERIAL = {"word": "space", "sentence": "dimension", "document": "centroids", "label": "labels"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the sources with a toy of each family, in three files each."""
    root = tmp_path_factory.mktemp("tree")
    dropped = shutil.ignore_patterns("__pycache__")
    for name in ("src", "tests", "docs/mechanisms"):
        shutil.copytree(ROOT / name, root / name, ignore=dropped)
    shutil.copy(ROOT / "pyproject.toml", root)
    for family, module in MODULES.items():
        name = f"Toy{family.capitalize()}"
        told = DOCSTRING.format(
            does="for tests", material=MATERIAL[family], name=name, called=f"toy-{family}"
        )
        room = f"mechanisms/{family}"
        (root / "src/discreet" / room / f"toy_{family}.py").write_text(
            module.replace("DOCSTRING", told)
        )
        (root / "tests" / room / f"test_toy_{family}.py").write_text(
            f"from discreet.{room.replace('/', '.')}.toy_{family} import {name}\n"
            f"{EXAMPLES[family]}\nEXAMPLES = {{'one': lambda: ONE}}\n"
        )
        (root / "docs/mechanisms" / f"toy-{family}.md").write_text("# A toy\n")
    rows = [f"w{i} {0.1 * (i % 5)} {0.3 * (i // 5)}" for i in range(20)]
    (root / "vectors.txt").write_text("\n".join(rows) + "\n")
    return root


def run(tree, *arguments):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree / "src"), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # Lines of a help may break after a hyphen.
    return " ".join(done.stdout.split()).replace("- ", "-")


def test_the_help_of_the_commands_names_the_toys(tree):
    assert "toy-word" in run(tree, "-m", "discreet", "sanitize", "--help")
    embed = run(tree, "-m", "discreet", "embed", "--help")
    assert all(name in embed for name in ("toy-sentence", "toy-document", "toy-label"))
    assert "loss allowed by the toy" in embed


# All in one process: the libraries take longer to load than the audits take.
AUDITS = f"""
import sys

from discreet.cli import main

for family in {list(MODULES)}:
    sys.argv = ["discreet", "audit", "-m", f"toy-{{family}}", "--epsilon", "2"]
    sys.argv += ["--space", "vectors.txt"] * (family == "word")
    sys.argv += ["--samples", "200", "--seed", "1"]
    try:
        main()
    except SystemExit as end:
        print(family, "ended with", end.code)
"""


def test_the_audit_takes_the_toys_by_name(tree):
    found = run(tree, "-c", AUDITS)
    for family in MODULES:
        assert f"Audit of toy-{family}" in found
        assert f"{family} ended with 0" in found
    assert found.count("Verdict: no check failed.") == len(MODULES)


def test_the_conformance_suite_and_the_house_rules_see_the_toys(tree):
    only = "toy or module_a_test_and_a_page or what_the_mechanism_rooms_export"
    files = ("tests/test_conformance.py", "tests/test_house.py")
    found = run(tree, "-m", "pytest", *files, "-k", only, "-vv", "-p", "no:cacheprovider")
    for family in MODULES:
        assert f"[{family}-toy-{family}-one] PASSED" in found
        assert f"has_examples_and_a_description[toy-{family}] PASSED" in found
    assert "test_every_mechanism_has_a_module_a_test_and_a_page PASSED" in found
