"""Build both distributions and try them: sdists, wheels, their metadata, and a clean install.

    python scripts/dist.py --output dist [--python 3.12] [--no-tests]

What is built is checked by twine and looked into: the spaces, the guide, the page of reports and
the notices must be in the wheel. Then the wheel of discreet is installed into an environment of its
own under every Python that is found (3.11 and newer, on the path, of pyenv and of uv), and six
files of end-to-end tests that need no extra (about 200 tests) are run there against it. A Python
for which that takes longer than a quarter of an hour has failed. It needs a package index for pip.
"""

import argparse
import email
import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
DISTRIBUTIONS = (ROOT, ROOT / "recipes")
OLDEST, NEWEST = 11, 14
NEEDED = (
    "discreet/data/english.safetensors",
    "discreet/data/starter.safetensors",
    "discreet/data/ngram.safetensors",
    "discreet/data/NOTICE.md",
    "discreet/report/page.html",
    "discreet/py.typed",
)
TESTS = ("sanitize", "fates", "verify", "near_words", "restore", "explain")
"""Those of tests/end_to_end that the base install can run."""
SECONDS = 900
"""For the tests under one Python; on two idle cores they take less than one minute."""
TOOLS = ("pytest", "pytest-xdist", "pytest-random-order", "hypothesis")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="where they go")
    parser.add_argument("--python", action="append", help="only this version, such as 3.12")
    parser.add_argument("--no-tests", action="store_true", help="build and check only")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheels = built(chosen.output, Path(folder))
        for wheel in wheels:
            look_into(wheel)
        if chosen.no_tests:
            return 0
        found = pythons()
        print("Pythons found:", ", ".join(found) or "none")
        missing = [f"3.{minor}" for minor in range(OLDEST, NEWEST + 1) if f"3.{minor}" not in found]
        if missing:
            print("Not found, so not tested:", ", ".join(missing))
        wanted = {name: path for name, path in found.items() if name in (chosen.python or found)}
        outcomes = {
            version: tried(path, wheels[0], Path(folder, version))
            for version, path in wanted.items()
        }
    for version, outcome in outcomes.items():
        print(f"Python {version}: {outcome or 'failed'}")
    return int(not outcomes or not all(outcomes.values()))


def built(output: Path, folder: Path) -> list[Path]:
    """Build sdists and wheels into a folder; twine must find nothing to say."""
    tools = environment(Path(sys.executable), folder / "tools")
    run(tools, "-m", "pip", "install", "--quiet", "build", "twine")
    for old in [*output.glob("discreet*.whl"), *output.glob("discreet*.tar.gz")]:
        old.unlink()
    for project in DISTRIBUTIONS:
        # The wheel is built from the sdist, so that one that lacks something shows.
        run(tools, "-m", "build", "--outdir", str(output), str(project), quiet=True)
    run(tools, "-m", "twine", "check", "--strict", *map(str, sorted(output.iterdir())))
    wheels = [next(output.glob(f"{name}-*.whl")) for name in ("discreet", "discreet_recipes")]
    print("Built:", ", ".join(f"{each.name} ({each.stat().st_size:,} bytes)" for each in wheels))
    return wheels


def look_into(wheel: Path) -> None:
    """Refuse a wheel that lacks data or licences, or whose page has a link that leads nowhere."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        told = email.message_from_bytes(archive.read(metadata))
    if wheel.name.startswith("discreet-"):
        lost = [name for name in NEEDED if name not in names]
        assert not lost, f"{wheel.name} lacks {', '.join(lost)}"
    assert told["License-Expression"] == "Apache-2.0", wheel.name
    for licence in told.get_all("License-File", ["LICENSE"]):
        assert any(name.endswith(f".dist-info/licenses/{licence}") for name in names), licence
    page = told.get_payload()
    assert isinstance(page, str)
    assert len(page) > 500, f"{wheel.name} has no page"
    broken = [link for link in re.findall(r"\]\(([^)]+)\)", page) if not link.startswith("http")]
    assert not broken, f"links of the page of {wheel.name} lead nowhere: {', '.join(broken)}"


def pythons() -> dict[str, Path]:
    """The interpreters on this machine, one for each version."""
    places = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    for pattern in (".pyenv/versions/*/bin", ".local/share/uv/python/*/bin"):
        places += sorted(Path.home().glob(pattern), reverse=True)
    found: dict[str, Path] = {}
    for minor in range(OLDEST, NEWEST + 1):
        for place in places:
            path, version = place / f"python3.{minor}", f"3.{minor}"
            if version not in found and path.is_file() and _runs(path, version):
                found[version] = path
    return found


def _runs(path: Path, version: str) -> bool:
    """Whether this is that Python and can make environments (a shim of pyenv may be neither)."""
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == version


def tried(python: Path, wheel: Path, folder: Path) -> str | None:
    """Install a wheel into a clean environment and run the tests; what pytest says of a success."""
    inside = environment(python, folder)
    run(inside, "-m", "pip", "install", "--quiet", str(wheel), *TOOLS)
    code = "import discreet; print(discreet.__file__)"
    where = subprocess.run([inside, "-c", code], capture_output=True, text=True, env=plain())
    assert Path(where.stdout.strip()).is_relative_to(folder), "the tests would not see the wheel"
    tests = [str(ROOT / "tests" / "end_to_end" / f"test_{name}.py") for name in TESTS]
    options = ["-q", "-n", "2", "-p", "no:cacheprovider", "-m", "not encoder and not entities"]
    try:
        done = subprocess.run(
            [inside, "-m", "pytest", *options, *tests],
            cwd=ROOT,
            env=plain(),
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        print(f"The tests under {python} were stopped after {SECONDS} seconds.", flush=True)
        return None
    print(done.stdout[-3000:] if done.returncode else "", end="", flush=True)
    return None if done.returncode else done.stdout.strip().splitlines()[-1]


def environment(python: Path, folder: Path) -> Path:
    """A new environment; gives its interpreter."""
    if python == Path(sys.executable):
        venv.create(folder, with_pip=True)
    else:
        subprocess.run([python, "-m", "venv", folder], check=True, env=plain())
    return folder / "bin" / "python"


def plain() -> dict[str, str]:
    """The environment without what would lead to another copy of the package."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def run(python: Path, *arguments: str, quiet: bool = False) -> None:
    subprocess.run(
        [python, *arguments],
        check=True,
        env=plain() | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        stdout=subprocess.DEVNULL if quiet else None,
    )


if __name__ == "__main__":
    sys.exit(main())
