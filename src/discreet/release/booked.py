"""Releases of text that are booked in a ledger: counted, reserved, drawn, committed, in this order.

What is drawn waits beside its place until the ledger has it in writing. If a process dies before,
the budget is gone and nothing was released; never the other way round.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from discreet.arrays import Generator, Ids
from discreet.errors import InputError, InvalidValue
from discreet.ledger.book import Reservation
from discreet.ledger.charge import Charge
from discreet.ledger.dataset import DatasetLedger
from discreet.ledger.rows import CHARGE, REFUSE, screened
from discreet.mechanisms.registry import described
from discreet.protocols import Release, WordMechanism
from discreet.receipt import Receipt
from discreet.release._parts import TextSanitizer
from discreet.release.strength import KeepRate
from discreet.release.whole import Copies, Wholes, counted_in, whole_of
from discreet.statement import PrivacyStatement, Unit
from discreet.text.readers import Batch, DocumentReader

_CHANGED = (
    "the input changed between counting and releasing it, so nothing was released; release it when "
    "nobody writes to it"
)
_AGAIN = "which texts were released before: what was released then is handed out again"


class CountingSanitizer(TextSanitizer, Protocol):
    """A sanitizer that can say beforehand how many draws texts will take."""

    @property
    def statement(self) -> PrivacyStatement:
        """What holds for each word."""
        ...

    def draws(self, texts: Sequence[str]) -> Ids:
        """How many draws each text will take; nothing is drawn."""
        ...


def counting(made: object) -> CountingSanitizer:
    """A sanitizer that can be booked; another one is refused."""
    if getattr(made, "ledger", None) is not None:
        raise InvalidValue("the sanitizer has a ledger already; give it to one of the two only")
    if not hasattr(made, "draws"):
        raise InvalidValue("this sanitizer cannot say beforehand what it draws; book it apart")
    return cast(CountingSanitizer, made)


@dataclass
class _Booked:
    """What is counted, and then released under one reservation."""

    wholes: Wholes = field(default_factory=Wholes, init=False)
    """What was counted."""
    copies: Copies = field(default_factory=Copies, init=False, repr=False)
    """The same, equal texts together: without persons, all copies may be of one."""
    units: int = field(default=0, init=False)
    rows: int = field(default=0, init=False)
    reservation: Reservation | None = field(default=None, init=False)
    charge: Charge | None = field(default=None, init=False)
    _read: tuple[Any, Any] = field(
        default_factory=lambda: (hashlib.sha256(), hashlib.sha256()), init=False, repr=False
    )
    """Of all texts as they were counted, and as they were released: a file is read twice."""

    @contextmanager
    def _reserve(
        self,
        ledger: DatasetLedger,
        lifted: Callable[[int, Unit], PrivacyStatement],
        mechanism: str,
        rng: Generator,
        made_with: str = "",
    ) -> Iterator[Reservation]:
        wholes = self.wholes
        if wholes.person is None:
            wholes = Wholes(document=max(wholes.document, self.copies.most))
        charge = wholes.charged(
            lifted,
            dataset=ledger.dataset,
            command=ledger.command,
            mechanism=mechanism,
            units=self.units,
        )
        self.charge = replace(charge, made_with=made_with)
        with ledger.reserved(self.charge, rng=rng) as self.reservation:
            yield self.reservation

    def entered(self, receipt: Receipt) -> Receipt:
        """The receipt, which says where it is booked."""
        if self.reservation is None or self.charge is None:
            return receipt
        return with_entry(receipt, self.reservation, self.charge)

    def commit(self, receipt: Receipt) -> None:
        """All is drawn and staged: put the receipt's digest into the ledger.

        Raises:
            InputError: What was drawn is not what was counted.
        """
        if self.reservation is not None:
            counted, drawn = self._read
            if counted.digest() != drawn.digest():
                raise InputError(_CHANGED)
            commit_receipt(self.reservation, receipt)


@dataclass
class BookedSanitizer(_Booked):
    """A sanitizer whose texts are counted first and then released under one reservation.

    Args:
        ledger: Where it is booked.
        made: What releases the texts.
        delta: What may be given away for a smaller epsilon of whole texts.
    """

    ledger: DatasetLedger
    made: CountingSanitizer
    delta: float
    mechanism: WordMechanism = field(init=False)
    about: Mapping[str, Any] = field(init=False)
    _stored: dict[str, str] = field(default_factory=dict, repr=False)
    _all: Wholes = field(default_factory=Wholes, init=False, repr=False)
    """What a receipt says of whole texts holds for those, too, that were drawn before."""

    def __post_init__(self) -> None:
        self.mechanism, self.about = self.made.mechanism, self.made.about

    @property
    def keep_rate(self) -> KeepRate:
        """How often a word stays."""
        return self.made.keep_rate

    @property
    def statement(self) -> PrivacyStatement:
        """What holds for each word."""
        statement = self.made.statement
        return statement.with_public(_AGAIN) if self._stored else statement

    def count(self, fields: Iterable[Sequence[str]], persons: Sequence[str] | None = None) -> None:
        """Count what a batch will take; the texts of a row may stand in several fields."""
        counted, everything = list[tuple[Sequence[str], Ids]](), list[Ids]()
        for texts in fields:
            _put(self._read[0], texts)
            everything.append(self.made.draws(texts))
            draws_of_new = np.zeros(len(texts), np.int64)
            new = self._new(texts)
            draws_of_new[new] = everything[-1][new]
            counted.append((texts, draws_of_new))
        self._all.add(np.sum(everything, axis=0, dtype=np.int64), persons)
        draws: Ids = np.sum([own for _, own in counted], axis=0, dtype=np.int64)
        self.rows += len(draws)
        if persons is None:
            self.copies.add(*counted)
        self.units += int(draws.sum())
        self.wholes.add(draws, persons)

    def _new(self, texts: Sequence[str]) -> list[int]:
        """Places of texts that were not released before, or are to be released again."""
        own = self.ledger
        if own.again == CHARGE:
            return list(range(len(texts)))
        seen = [
            each and (each if each.made_with == self._made_with else replace(each, kept=None))
            for each in own.ledger.seen(own.dataset, texts)
        ]
        screening = screened(seen, own.again, rows_before=self.rows)
        for place, kept in screening.stored.items():
            self._stored[texts[place]] = kept
        return list(screening.new)

    def reserved(self, rng: Generator) -> AbstractContextManager[Reservation]:
        """The budget for all that was counted."""
        lifted = whole_of(self.statement, self.mechanism, self.delta, counted_in(self.about))
        return self._reserve(self.ledger, lifted, self.mechanism.name, rng, self._made_with)

    @cached_property
    def _made_with(self) -> str:
        """By this a kept release is known to be one that this sanitizer might have made."""
        sensitive = getattr(self.mechanism, "sensitive", None)
        decides = {
            "statement": self.made.statement.to_dict(),
            "mechanism": described(self.mechanism),
            "about": dict(self.about),
            "sensitive": None if sensitive is None else hashlib.sha256(sensitive).hexdigest(),
        }
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()

    def sanitize(self, texts: Sequence[str], rng: Generator | None = None) -> Release[list[str]]:
        """Release texts that were counted; those released before come out as they did."""
        if self.reservation is None:
            raise InvalidValue("nothing is reserved for these texts; count them first")
        own = self.ledger
        _put(self._read[1], texts)
        new = [place for place, text in enumerate(texts) if text not in self._stored]
        values = [self._stored.get(text, "") for text in texts]
        draws = np.zeros(len(texts), np.int64)
        stored = [place for place, text in enumerate(texts) if text in self._stored]
        if stored:  # each drew as many when it was released
            draws[stored] = self.made.draws([texts[place] for place in stored])
        if not new:
            if rng is None:
                raise InvalidValue("a booked release needs its generator")
            return Release.of(values, self.statement, 0, rng, draws=draws)
        fresh = [texts[place] for place in new]
        release = self.made.sanitize(fresh, rng)
        for place, value in zip(new, release.values, strict=True):
            values[place] = value
        if release.draws is not None:
            draws[new] = release.draws
        kept = release.values if own.keep else None
        own.ledger.remember(self.reservation, own.dataset, fresh, kept)
        statement = release.statement.with_public(_AGAIN) if self._stored else release.statement
        return replace(release, values=values, statement=statement, draws=draws)

    def require_same(self, wholes: Wholes) -> None:
        """Refuse a file that was not the same when it was read a second time."""
        if wholes != self._all:
            raise InputError(_CHANGED)


def booked_release(
    booked: BookedSanitizer, texts: Sequence[str], persons: Sequence[str] | None, rng: Generator
) -> Release[list[str]]:
    """Release texts that are in memory: counted, reserved, drawn, and committed before they go."""
    booked.count([texts], persons)
    with booked.reserved(rng) as reservation:
        release = booked.sanitize(texts, rng)
        reservation.commit()
    return release


def commit_receipt(reservation: Reservation, receipt: Receipt) -> None:
    """Put a receipt's digest into the ledger, before output and receipt take their places."""
    reservation.commit(hashlib.sha256(receipt.to_json().encode()).hexdigest())


def with_entry(receipt: Receipt, reservation: Reservation, charge: Charge) -> Receipt:
    """The same receipt, which says where it is booked, and for how much."""
    said = {
        "entry": reservation.id,
        "dataset": reservation.dataset,
        "charged": charge.statement.to_dict(),
    }
    return receipt.with_section("ledger", said)


def read_twice(
    reader: DocumentReader, source: str | Path, opened: Callable[[], DocumentReader]
) -> tuple[Iterator[Batch], Iterator[Batch]]:
    """The batches of an input, twice.

    A file is opened again for counting. What can be read once only, such as standard input, is
    kept in memory meanwhile.
    """
    if str(source) != "-" and Path(source).is_file():
        return _all_of(opened), iter(reader)
    held = list(reader)
    return iter(held), iter(held)


def _all_of(opened: Callable[[], DocumentReader]) -> Iterator[Batch]:
    with opened() as reader:
        yield from reader


@dataclass
class BookedRows(_Booked):
    """Rows of which vectors are released, booked in a ledger as a whole.

    Args:
        ledger: Where they are booked; None books nothing.
        lifted: What holds for a whole of so many units, as a statement of the given unit.
        mechanism: Its name.
    """

    ledger: DatasetLedger | None
    lifted: Callable[[int, Unit], PrivacyStatement]
    mechanism: str

    def count(
        self, fields: Sequence[tuple[Sequence[str], Ids]], persons: Sequence[str] | None
    ) -> None:
        """Count rows; those with a text that was released before are refused.

        Args:
            fields: for each, its texts and how many units each of these is.
            persons: whose each row is, if that is known.
        """
        if self.ledger is None:
            return
        for texts, _ in fields:
            if self.ledger.again != CHARGE:  # no vector is kept that could be handed out
                seen = self.ledger.ledger.seen(self.ledger.dataset, texts)
                screened(seen, REFUSE, rows_before=self.rows)
            _put(self._read[0], texts)
        units: Ids = np.sum([own for _, own in fields], axis=0, dtype=np.int64)
        self.rows += len(units)
        self.units += int(units.sum())
        self.wholes.add(units, persons)
        if persons is None:
            self.copies.add(*fields)

    def reserved(self, rng: Generator) -> AbstractContextManager[Reservation | None]:
        """The budget for all that was counted."""
        if self.ledger is None:
            return nullcontext()
        return self._reserve(self.ledger, self.lifted, self.mechanism, rng)

    def remember(self, *fields: Sequence[str]) -> None:
        """Keep the fingerprints of all texts of rows that were released."""
        if self.ledger is not None and self.reservation is not None:
            for texts in fields:
                _put(self._read[1], texts)
                self.ledger.ledger.remember(self.reservation, self.ledger.dataset, texts)


def _put(digest: Any, texts: Sequence[str]) -> None:
    """Add texts to a digest, each where it ends."""
    raw = [text.encode("utf-8", "surrogatepass") for text in texts]
    sizes = [len(raw), *map(len, raw)]
    digest.update(b"".join(size.to_bytes(8, "big") for size in sizes))
    digest.update(b"".join(raw))
