"""Where a release is booked, as settings."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from discreet.errors import InvalidValue
from discreet.ledger.book import Ledger
from discreet.ledger.dataset import DatasetLedger
from discreet.ledger.rows import POLICIES, STORED
from discreet.settings import Setting, Settings

LEDGER_HELP = (
    "Book the release in this ledger, which may refuse it (exit code 3): a file, sqlite:///PATH or "
    "postgresql://USER@HOST/NAME. A missing file is created."
)
KEY_HELP = (
    "Secret key with which names in the ledger are hashed: a file that only its owner can read. "
    "For a ledger that is a file the default is FILE.key beside it."
)


@dataclass(frozen=True, kw_only=True)
class LedgerSettings(Settings):
    """Where a release is booked."""

    heading: ClassVar[str] = "Ledger"

    ledger: str | None = Setting(LEDGER_HELP).default(None)
    dataset: str | None = Setting(
        "Name of the data set in the ledger: its limits must allow the release."
    ).default(None)
    ledger_key: Path | None = Setting(KEY_HELP).default(None)

    @contextmanager
    def opened(
        self, command: str, again: str = STORED, keep: bool = False
    ) -> Iterator[DatasetLedger | None]:
        """Where to book, if anywhere."""
        if self.ledger is None:
            for flag, given in (("--dataset", self.dataset), ("--ledger-key", self.ledger_key)):
                if given is not None:
                    raise InvalidValue(f"{flag} belongs to --ledger; add that, or leave it out")
            yield None
            return
        if not self.dataset:
            raise InvalidValue("--ledger needs --dataset, the name under which limits are kept")
        with Ledger.open(self.ledger, key=self.ledger_key) as ledger:
            yield DatasetLedger(ledger, self.dataset, command, again, keep)


@dataclass(frozen=True, kw_only=True)
class RowLedgerSettings(LedgerSettings):
    """Where a release of rows is booked, and what becomes of rows that come again."""

    again: str = Setting(
        "What to do with a text that was released from this data set before. "
        "stored-first-release: hand out the release that the ledger kept, and refuse the file "
        "if it kept none; refuse: refuse the file; charge: draw and charge again.",
        choices=POLICIES,
    ).default(STORED)
    keep_releases: bool = Setting(
        "Store what is released in the ledger, to hand it out if the same text comes again."
    ).default(False)

    def booked(self, command: str) -> AbstractContextManager[DatasetLedger | None]:
        """Where to book, if anywhere."""
        if self.ledger is None and (self.keep_releases or self.again != STORED):
            raise InvalidValue("--again and --keep-releases belong to --ledger; add that")
        return self.opened(command, self.again, self.keep_releases)


@dataclass(frozen=True, kw_only=True)
class VectorLedgerSettings(LedgerSettings):
    """Where a release of vectors is booked, and whose each row is."""

    again: str = Setting(
        "What to do with a text that was released from this data set before: refuse the file, "
        "or charge again.",
        choices=("refuse", "charge"),
    ).default("refuse")
    person_field: str | None = Setting(
        "Column or field that says whose text it is, for limits per person."
    ).default(None)

    def booked(self, command: str) -> AbstractContextManager[DatasetLedger | None]:
        """Where to book, if anywhere."""
        if self.ledger is None and (self.person_field is not None or self.again != "refuse"):
            raise InvalidValue("--person-field and --again belong to --ledger; add that")
        return self.opened(command, self.again)


@dataclass(frozen=True, kw_only=True)
class PersonSetting(Settings):
    """Whose each text is, for a command that has no use for it otherwise."""

    heading: ClassVar[str] = "Columns"

    person_field: str | None = Setting(
        "Column or field that says whose text it is: also state what holds for the person "
        "with the most text, and book it for each person."
    ).default(None)
