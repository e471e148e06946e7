"""Who and what takes part in a step: independent draws, all from one key.

A user, an entity or a sentence is drawn if a keyed hash of its name (BLAKE2b, a fresh 256-bit key
for every step) is below its rate. That is Poisson sampling from a cryptographic source, and needs
no list: a server that sends the key to its clients need not know which entities there are, and all
clients draw the same ones. Who sees the model but not the keys learns nothing of the draws; the
keys must be kept as secret as the noise.

Users must be drawn independently of each other: were two of them always drawn together, what one
adds to the sum would tell that the other is in it, and sampling would hide neither. In one place
names are different. Clients choose names by themselves, and two may choose the same one, so each of
them draws its users with a key of its own.
"""

import hashlib
import secrets
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from randomgen import AESCounter

from discreet import check

_WHOLE = 2**64
_OF_USERS = (b"user", b"sentences", b"masks")


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Chances of a user, of an entity (for all users at once) and of a sentence without one."""

    users: float
    entities: float = 1.0
    sentences: float = 1.0

    def __post_init__(self) -> None:
        for name in ("users", "entities", "sentences"):
            check.in_range(getattr(self, name), f"rate of {name}", at_least=0, at_most=1)


@dataclass(frozen=True)
class StepDraws:
    """The draws of one step.

    >>> draws = StepDraws(bytes(32), Rates(users=1.0, entities=0.0))
    >>> draws.user("anyone"), draws.entity("anything")
    (True, False)
    """

    key: bytes = field(repr=False)
    rates: Rates
    own: bytes = field(default=b"", repr=False)
    """The key that users are drawn with, and their sentences: of one client alone. Without it, the
    key of the step, for which names have to differ."""
    _entities: dict[str, bool] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def fresh(cls, rates: Rates) -> "StepDraws":
        """With a key from the operating system."""
        return cls(secrets.token_bytes(32), rates)

    @classmethod
    def seeded(cls, rates: Rates, seed: int, step: int) -> "StepDraws":
        """The same for the same seed and step: for experiments, not for release."""
        text = f"{check.whole(seed, 'seed')} {step}".encode()
        return cls(hashlib.blake2b(text, digest_size=32, person=b"seeded step").digest(), rates)

    def user(self, name: str) -> bool:
        """True if the user is drawn."""
        return self._number(b"user", name) < int(self.rates.users * _WHOLE)

    def entity(self, entity: str) -> bool:
        """True if the entity is drawn: one draw for all users."""
        if entity not in self._entities:
            drawn = self._number(b"entity", entity) < int(self.rates.entities * _WHOLE)
            self._entities[entity] = drawn
        return self._entities[entity]

    def sentences(self, user: str, count: int) -> NDArray[np.bool_]:
        """Which of a user's sentences are drawn, each by itself."""
        key = int.from_bytes(self._digest(b"sentences", user, 32), "little")
        bits = AESCounter(key=key % 2**128, counter=key >> 128)
        return np.random.Generator(bits).random(count) < self.rates.sentences

    def shared_seed(self) -> int:
        """For what a step draws for everybody: dropout of weights and words."""
        return self._number(b"shared", "") >> 1

    def user_seed(self, name: str) -> int:
        """For the dropout masks of a user's sentences."""
        return self._number(b"masks", name) >> 1

    def _number(self, kind: bytes, name: str) -> int:
        return int.from_bytes(self._digest(kind, name, 8), "little")

    def _digest(self, kind: bytes, name: str, size: int) -> bytes:
        data = name.encode("utf-8", "surrogatepass")
        key = self.own if self.own and kind in _OF_USERS else self.key
        return hashlib.blake2b(data, digest_size=size, key=key, person=kind).digest()
