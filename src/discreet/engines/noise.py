"""Noise from a key of the run, so that a part that is tried again repeats its draw.

Without a key every attempt at a part draws anew, and whoever sees the remains of a failed one has
two draws of the same texts. With a key both are the same draw.

The key is drawn when a release begins, lies where only its owner can look as long as parts are
missing, and is deleted with that folder: it serves one release. A generator follows from the key,
the place of the rows, the rows themselves and what else decides how random numbers are used. If
anything of that is different in a second attempt, its noise is independent of that in the first,
as it would be without a key; never the same noise on other texts.
"""

import hashlib
import hmac
import platform
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path

from discreet.engines.plan import Part
from discreet.files import written_whole
from discreet.randomness import SecureGenerator, keyed_generator
from discreet.release.rows import Noise
from discreet.staging import PRIVATE
from discreet.text.identifiers.secret_files import KEY_BYTES, read_key

CAVEAT = (
    "the noise follows from a key that was deleted when the release was complete: whoever can "
    "restore it from the disk can undo the noise"
)
_NAME = "noise.key"


@dataclass(frozen=True)
class RunKey:
    """The key of one release.

    >>> part = Part(0, "notes.csv", 3, 0)
    >>> noise = RunKey(bytes(32)).noise(part, "settings")
    >>> bool(noise(1, [["a"]]).random() == noise(1, [["a"]]).random())
    True
    >>> bool(noise(1, [["a"]]).random() == noise(1, [["b"]]).random())
    False
    """

    secret: bytes = field(repr=False)

    @classmethod
    def make(cls, folder: Path) -> None:
        """Draw the key of a release that begins; one that was stopped keeps its own."""
        if not (folder / _NAME).exists():
            with written_whole(folder / _NAME, mode=PRIVATE) as temporary:
                temporary.write_bytes(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def read(cls, folder: Path) -> "RunKey":
        """The key of a release that has begun."""
        return cls(read_key(folder / _NAME))

    def noise(self, part: Part, *decides: str) -> Noise:
        """A generator for each batch of a part.

        Args:
            part: whose rows these are.
            decides: what else decides how random numbers are used, such as the settings.
        """

        def generator(first_row: int, texts: Sequence[Sequence[str]]) -> SecureGenerator:
            told = hmac.new(self.secret, digestmod="sha256")
            for each in (*decides, _libraries(), str(part.number), str(first_row), _hash(texts)):
                raw = each.encode("utf-8", "surrogatepass")
                told.update(len(raw).to_bytes(8, "little") + raw)
            return keyed_generator(told.digest())

        return generator


def _hash(texts: Iterable[Sequence[str]]) -> str:
    """Different for different texts, also where one ends in another place."""
    together = hashlib.sha256()
    for column in texts:
        raw = [text.encode("utf-8", "surrogatepass") for text in column]
        lengths = ",".join(str(len(each)) for each in raw)
        together.update(f"{lengths};".encode())
        together.update(b"".join(raw))
    return together.hexdigest()


@cache
def _libraries() -> str:
    """Others may use random numbers in another order, or round otherwise."""
    named = ("numpy", "scipy", "randomgen", "pyarrow")
    return " ".join([platform.machine(), *(f"{name} {version(name)}" for name in named)])
