"""For all tests: of the packages only modules with examples are imported to look for them.

Each process that runs tests would load what the others import, and be larger to fork. The examples
of the integrations, each of which loads a library of its own, are run in ``tests/integrations``.
"""

from pathlib import Path

ROOT = Path(__file__).parent
PACKAGES = {ROOT / "src", ROOT / "recipes" / "src"}
INTEGRATIONS = ROOT / "src" / "discreet" / "integrations"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what is certain to hold no example."""
    if collection_path == INTEGRATIONS:
        return True
    if collection_path.suffix != ".py" or PACKAGES.isdisjoint(collection_path.parents):
        return None
    return None if ">>>" in collection_path.read_text("utf-8") else True
