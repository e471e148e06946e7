"""Results that are done stay done: a run that was stopped goes on where it left off.

A folder holds a JSON file for each finished part, named by what was measured and by a digest of
everything that the figures depend on. Whatever was made with other settings is not taken over.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.errors import InputError
from discreet.files import plain_json, written_whole
from discreet.staging import PRIVATE


@dataclass(frozen=True)
class Parts:
    """Finished parts of a run.

    Args:
        folder: Where they are kept. They may quote the texts: nobody else may read them.
        settings: Everything that the figures depend on, ready for JSON.
    """

    folder: Path
    settings: Mapping[str, Any]

    def path(self, name: str) -> Path:
        """Where a part is kept."""
        plain = re.sub(r"[^a-zA-Z0-9.]+", "-", name).strip("-")[:80]
        told = {"version": __version__, "name": name, **self.settings}
        digest = hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()
        return self.folder / f"{plain}-{digest[:12]}.json"

    def has(self, name: str) -> bool:
        """Whether it is done."""
        return self.path(name).is_file()

    def get(self, name: str, compute: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """The part, computed unless it was before."""
        path = self.path(name)
        if not path.is_file():
            result = compute()
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(path, mode=PRIVATE) as temporary:
                temporary.write_text(json.dumps(result), "utf-8")
        try:
            values = plain_json(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{path} is damaged; delete it and run again") from error
        if not isinstance(values, dict):
            raise InputError(f"{path} is damaged; delete it and run again")
        return values
