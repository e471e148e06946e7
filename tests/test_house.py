"""The house rules that can be read off the files."""

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from discreet.mechanisms.registry import FAMILIES, entries

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "discreet"
PACKAGES = {
    "discreet": SOURCE,
    "discreet_recipes": ROOT / "recipes" / "src" / "discreet_recipes",
}

# Rooms from the ground up; a module imports from its own room and from rooms below.
FLOORS = [
    ["errors"],
    ["staging"],
    ["arrays", "bars", "card", "check", "files", "parallel", "search", "wording"],
    ["cached", "exact", "settings"],
    ["composition", "devices", "notions", "private_ray", "randomness", "scope", "tensors"],
    ["statement"],
    ["receipt"],
    ["text"],
    ["spaces"],
    ["encoders"],
    ["guides"],
    ["protocols"],
    ["mechanisms"],
    ["accounting"],
    ["ledger"],
    ["release"],
    ["models"],
    ["training"],
    ["audit", "attacks"],
    ["evaluation"],
    ["report"],
    ["engines"],
    ["service"],
    ["integrations"],
    ["cli"],
    ["__main__"],
]
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
# The version is all that commands and receipts take from the front door.
FRONT_DOOR = "__init__"


def _modules():
    return sorted(SOURCE.rglob("*.py"))


def _room(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


@cache
def _nodes(path: Path) -> list[ast.AST]:
    """Of a module, its imports and asserts, read once for all rules."""
    kinds = ast.Import | ast.ImportFrom | ast.Assert
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]


def _imported(path: Path):
    for node in _nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("discreet"):
            parts = node.module.split(".")[1:]
            yield from [parts[0]] if parts else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("discreet."):
                    yield alias.name.split(".")[1]


@pytest.mark.parametrize("room", sorted({_room(path) for path in _modules()} - {FRONT_DOOR}))
def test_imports_point_downwards(room):
    assert room in LEVEL, f"{room} has no floor; add it to FLOORS"
    for path in (path for path in _modules() if _room(path) == room):
        for other in {*_imported(path)} - {"__version__"}:
            assert other in LEVEL, f"{path}: {other} has no floor"
            assert LEVEL[other] <= LEVEL[room], f"{path} imports from {other}, which is above it"
            if LEVEL[other] == LEVEL[room]:
                assert other == room, f"{path}: {room} and {other} are on one floor"


def _named(path: Path):
    """The dotted names that a module imports, with what is taken out of each."""
    for node in _nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _private_elsewhere(package: Path) -> list[str]:
    """Imports of a module or name with an underscore from outside its own folder."""
    found = []
    for path in sorted(package.rglob("*.py")):
        own = [package.name, *path.relative_to(package).parts[:-1]]
        for name in _named(path):
            parts = name.split(".")
            private = [
                place
                for place, part in enumerate(parts)
                if part.startswith("_") and not part.startswith("__")
            ]
            if parts[0] in PACKAGES and any(own[:place] != parts[:place] for place in private):
                found.append(f"{path.relative_to(package)} imports {name}")
    return found


def test_no_module_imports_what_is_private_to_another_folder():
    for package in PACKAGES.values():
        assert _private_elsewhere(package) == []


def test_an_import_of_what_is_private_elsewhere_is_seen(tmp_path):
    room = tmp_path / "discreet" / "audit"
    room.mkdir(parents=True)
    (room / "own.py").write_text("from discreet.audit._own import fine\n")
    (room / "other.py").write_text("from discreet.spaces import _index\n")
    found = _private_elsewhere(tmp_path / "discreet")
    assert found == ["audit/other.py imports discreet.spaces._index"]


def test_no_assert_stands_in_the_package():
    """An assert is gone under ``python -O``; what must hold is an error or a type."""
    for package in PACKAGES.values():
        for path in sorted(package.rglob("*.py")):
            found = [node for node in _nodes(path) if isinstance(node, ast.Assert)]
            assert not found, f"{path.name}:{found[0].lineno}"


def test_every_mechanism_has_a_module_a_test_and_a_page():
    mechanisms = {Path(entry.family, entry.name.replace("-", "_")) for entry in entries()}
    tests = {
        p.relative_to(ROOT / "tests" / "mechanisms").parent / p.stem.removeprefix("test_")
        for p in (ROOT / "tests" / "mechanisms").glob("*/test_*.py")
    }
    pages = {p.stem.replace("-", "_") for p in (ROOT / "docs" / "mechanisms").rglob("*.md")}
    assert mechanisms <= tests, "mechanisms without a test"
    helpers = {
        p.relative_to(SOURCE / "mechanisms").parent / p.stem.removeprefix("_")
        for p in (SOURCE / "mechanisms").rglob("_*.py")
    }
    assert tests <= mechanisms | helpers, "tests of mechanisms that do not exist"
    assert {path.name for path in mechanisms} == pages, "mechanisms and pages differ"


def test_what_the_mechanism_rooms_export_is_what_the_registry_finds():
    for family in FAMILIES:
        package = import_module(f"discreet.mechanisms.{family}")
        classes = {entry.kind for entry in entries(family)}
        assert {getattr(package, name) for name in package.__all__} <= classes


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, discreet, discreet.cli, discreet.release.text, discreet.mechanisms.word;"
        "heavy = {'torch', 'transformers', 'matplotlib', 'spacy', 'sentence_transformers'};"
        "sys.exit(bool(heavy & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_command_line_starts_without_array_libraries():
    code = (
        "import sys, discreet.cli;"
        "sys.exit(bool({'numpy', 'scipy', 'pyarrow', 'tokenizers'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_modules_stay_small():
    for path in _modules():
        assert len(path.read_text().splitlines()) <= 450, f"{path.name} has grown too long"


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
            if not target.startswith(("http:", "https:", "mailto:")):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
