"""Randomness for releases: AES in counter mode, keyed by the operating system.

A release is only as private as its noise is unpredictable. :func:`secure_generator` gives a NumPy
``Generator`` over AES-128-CTR whose key and starting counter come from the operating system. It
cannot be copied by accident: a forked child re-keys every generator it inherited, and pickling or
copying one yields a fresh one. An explicit seed is for experiments; :func:`generator` accepts it
and :func:`is_secure` tells the two apart, so that a statement can say "seeded: not for release".
"""

import math
import os
import secrets
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray
from randomgen import AESCounter

from discreet import check
from discreet.errors import InvalidValue

SEEDED_CAVEAT = "seeded: not for release"
_HALF = 16  # bytes of a key of AES-128, and of where its counter starts


class SecureGenerator(np.random.Generator):
    """A NumPy ``Generator`` over AES-128 in counter mode; :func:`secure_generator` makes it."""

    def __init__(self, bits: Any = None) -> None:
        super().__init__(_fresh_bits() if bits is None else bits)
        _alive.add(self)

    def __reduce__(self) -> Any:
        # A pickled or copied generator would repeat its noise somewhere else: give a fresh one.
        return SecureGenerator, ()

    def rekey(self) -> None:
        """Take a new key from the operating system."""
        self.bit_generator.state = _fresh_bits().state


_alive: "weakref.WeakSet[SecureGenerator]" = weakref.WeakSet()


def _fresh_bits() -> Any:
    return AESCounter(key=secrets.randbits(128), counter=secrets.randbits(128))


def _rekey_all() -> None:
    for inherited in list(_alive):
        inherited.rekey()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_rekey_all)


def secure_generator() -> SecureGenerator:
    """A fresh generator for releases, keyed by the operating system.

    >>> first, second = secure_generator(), secure_generator()
    >>> bool((first.integers(0, 2**32, 8) == second.integers(0, 2**32, 8)).all())
    False
    """
    return SecureGenerator()


def keyed_generator(secret: bytes) -> SecureGenerator:
    """The generator that belongs to a secret of 32 bytes: the same one whenever it is made.

    The secret must come from the operating system, or follow from one that did by a keyed hash, and
    serve a single release: whoever has it can undo the noise, and two releases of one secret share
    theirs. A copy, and what a forked process inherits, is a fresh generator as ever.

    >>> bool(keyed_generator(bytes(32)).random() == keyed_generator(bytes(32)).random())
    True
    """
    if len(secret) != 2 * _HALF:
        raise InvalidValue(f"a keyed generator needs a secret of {2 * _HALF} bytes")
    key, counter = (int.from_bytes(half, "little") for half in (secret[:_HALF], secret[_HALF:]))
    return SecureGenerator(AESCounter(key=key, counter=counter))


def generator(seed: int | None = None) -> np.random.Generator:
    """A secure generator, or with a seed a repeatable one for experiments only."""
    if seed is None:
        return secure_generator()
    return np.random.default_rng(check.whole(seed, "seed"))


def is_secure(rng: np.random.Generator) -> bool:
    """True only for what :func:`secure_generator` or :func:`keyed_generator` made."""
    return isinstance(rng, SecureGenerator)


_LARGEST_STEP = 4.0


def bernoulli_exp(exponent: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """True with probability ``exp(-exponent)``, elementwise, however small that is.

    One comparison with a 53-bit uniform cannot reach events below 2**-53. Here a large exponent is
    taken in steps of at most 4 that must all succeed, so a probability of exp(-1000) is exp(-1000).

    >>> rng = np.random.default_rng(1)
    >>> bool(bernoulli_exp(np.zeros(5), rng).all()), bool(bernoulli_exp(np.full(5, 1e9), rng).any())
    (True, False)
    """
    success = np.ones(exponent.shape, dtype=np.bool_)
    left = np.array(exponent, dtype=np.float64)
    open_ = np.flatnonzero(left > 0)
    while open_.size:
        step = np.minimum(left.flat[open_], _LARGEST_STEP)
        passed = rng.random(open_.size) < np.exp(-step)
        success.flat[open_[~passed]] = False
        open_ = open_[passed]
        left.flat[open_] -= step[passed]
        open_ = open_[left.flat[open_] > 0]
    return success


_STRETCH = 8.0


def exponential(
    shape: tuple[int, ...], rng: np.random.Generator, longest: float = math.inf
) -> NDArray[np.float64]:
    """Exponential draws of rate 1 given that they are at most ``longest``, by inverse CDF.

    One 53-bit uniform cannot reach beyond 36.7, and a tail that is cut off where nobody said so is
    a delta that nobody accounted for. A draw above 8 therefore keeps the 8 and draws the rest anew:
    the exponential law has no memory, so the law is the same and the whole range is reachable.

    >>> float(exponential((1000,), np.random.default_rng(0), longest=0.5).max()) <= 0.5
    True
    """
    out = _inverse(rng.random(shape), longest)
    flat = out.reshape(-1)
    far, passed = np.flatnonzero(flat > _STRETCH), 0.0
    while far.size:
        passed += _STRETCH
        rest = _inverse(rng.random(far.size), longest - passed)
        flat[far] = passed + rest
        far = far[rest > _STRETCH]
    return out


def _inverse(uniform: NDArray[np.float64], longest: float) -> NDArray[np.float64]:
    uniform *= math.expm1(-longest)
    np.log1p(uniform, out=uniform)
    np.negative(uniform, out=uniform)
    return np.minimum(uniform, longest, out=uniform)
