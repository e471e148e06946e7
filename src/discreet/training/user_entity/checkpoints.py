"""A run on disk: the budget it has spent, and where it got to.

The budget is written before a step's result exists (write-ahead), the result after it. Whatever
happens in between, even ``kill -9``, the file says at least what was spent. A folder belongs to one
process at a time.
"""

import hashlib
import json
import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np

from discreet.errors import InputError, OutputError, read_as
from discreet.files import plain_json, private_folder, staged, written_whole
from discreet.staging import PRIVATE, held, sync_folder
from discreet.tensors import Arrays, load_tensors, save_tensors
from discreet.training.user_entity.users import UserText

_KIND = "user-entity checkpoint"


Curve = list[dict[str, Any]]
"""For each step what is known of it."""


class RunFolder:
    """The state of a run; a context manager that holds the folder for this process.

    Args:
        folder: where; made if it is not there.
        settings: everything a run depends on, in one line. Another line is another run.
        resume: go on with a run that is there; without it there must be none.
    """

    def __init__(self, folder: Path, settings: str, *, resume: bool) -> None:
        self.folder = folder
        self._ledger = folder / "ledger.json"
        self._checkpoint = folder / "checkpoint.safetensors"
        self._settings = settings
        if resume and not self._ledger.is_file():
            raise InputError(f"{folder} holds no run to resume; leave out --resume to begin one")
        if not resume and self._ledger.exists():
            raise OutputError(
                f"{folder} holds a run already; add --resume to continue it, or choose another name"
            )
        self._resume = resume
        self._holding = ExitStack()
        self.charged = 0
        """Steps that count as spent."""

    def __enter__(self) -> Self:
        private_folder(self.folder)
        with ExitStack() as holding:
            if not holding.enter_context(held(self.folder)):
                raise OutputError(
                    f"{self.folder} is in use by another process; wait for it, or give another "
                    "folder"
                )
            if self._resume:
                self.charged = self._read()
            else:
                self._write(0)
            self._holding = holding.pop_all()
        return self

    def __exit__(self, *_error: object) -> None:
        self._holding.close()

    def charge(self, steps: int) -> None:
        """Say that so many steps are spent in all, before the last of them is made."""
        if steps > self.charged:
            self._write(steps)
            self.charged = steps

    def save(self, step: int, arrays: Arrays, curve: Curve) -> None:
        """Keep where the run is: the parameters and the optimiser's memory after a step."""
        about = {"step": step, "settings": self._settings, "curve": curve}
        save_tensors(self._checkpoint, _KIND, arrays, about, force=True, mode=PRIVATE)

    def load(self) -> tuple[int, Arrays, Curve] | None:
        """What was saved last, or None if the run has not come to its first checkpoint."""
        if not self._checkpoint.exists():
            return None
        arrays, about = load_tensors(self._checkpoint, _KIND)
        if about.get("settings") != self._settings:
            raise _other_run(self.folder)
        step, curve = about.get("step"), about.get("curve")
        if not isinstance(step, int) or not isinstance(curve, list):
            raise InputError(f"{self._checkpoint} is damaged; the run cannot go on")
        if step > self.charged:
            raise InputError(
                f"{self._ledger} is older than the checkpoint beside it, so more was spent than it "
                "says; the run cannot go on"
            )
        return step, arrays, curve

    def _read(self) -> int:
        damaged = "is damaged, so what was spent is not known; the run cannot go on"
        with read_as(f"{self._ledger} {damaged}"):
            written = plain_json(self._ledger.read_bytes())
            charged, settings = written["charged"], written["settings"]
            if not isinstance(charged, int) or charged < 0:
                raise TypeError
        if settings != self._settings:
            raise _other_run(self.folder)
        return charged

    def _write(self, charged: int) -> None:
        with staged(self._ledger, mode=PRIVATE) as new:
            written = {"charged": charged, "settings": self._settings}
            new.path.write_text(json.dumps(written), "utf-8")
            new.sync()
            new.put()
        sync_folder(self.folder)


def charged_steps(state: Path) -> int:
    """Steps that a run has spent."""
    return int(plain_json((state / "ledger.json").read_bytes())["charged"])


def charged_in(state: Path) -> bool:
    """Whether a run has spent anything; a ledger that cannot be read counts as one that has."""
    try:
        return charged_steps(state) != 0
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError):
        return True


def fingerprint(users: Sequence[UserText], salt: str) -> str:
    """A digest that tells whether the data is the same; salted, so that it tells nothing else."""
    digest = hashlib.blake2b(key=salt.encode(), digest_size=16)
    for user in users:
        about = json.dumps([user.name, user.cells, user.lengths.tolist(), user.cell.tolist()])
        digest.update(about.encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(user.tokens).tobytes())
    return digest.hexdigest()


def salt_of(folder: Path) -> str:
    """The salt of a run's folder, made with it."""
    path = folder / "salt"
    if not path.is_file():
        with written_whole(path, mode=PRIVATE) as temporary:
            temporary.write_text(secrets.token_hex(16), "utf-8")
    return path.read_text("utf-8")


def _other_run(folder: Path) -> InputError:
    return InputError(
        f"{folder} holds a run with other settings, another model or other data; a run can only go "
        "on as it began"
    )
