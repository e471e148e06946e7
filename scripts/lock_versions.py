"""Write constraints.txt from the environment that this is run in.

    .venv/bin/python scripts/lock_versions.py

The tests are green with certain versions of other libraries, and one that came out this morning may
say something else. So `make` installs the versions of constraints.txt, all of them. To move on to
newer ones: leave only torch in that file, `make clean test`, and run this when the tests pass.
"""

import re
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parent.parent
OPENING = """\
# Versions that the tests passed with, by scripts/lock_versions.py; the package asks for minima.
# torch has no local part, so that a CPU build is taken where one is at hand.
"""
_TOOLS = {"pip", "setuptools", "wheel"}


def _names(lines: str) -> set[str]:
    return {_normal(line.split("==")[0]) for line in lines.splitlines() if "==" in line}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    """Write the file."""
    left_out = _TOOLS | _names((ROOT / "requirements-models.txt").read_text("utf-8"))
    installed = {_normal(one.metadata["Name"]): one.version for one in distributions()}
    lines = [
        f"{name}=={version.split('+')[0]}\n"
        for name, version in sorted(installed.items())
        if name not in left_out and not name.startswith("discreet")
    ]
    (ROOT / "constraints.txt").write_text(OPENING + "".join(lines), "utf-8")
    print(f"{len(lines)} versions in constraints.txt")


if __name__ == "__main__":
    main()
