"""Settings of the commands that book their releases in a ledger."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from discreet.errors import InvalidValue
from discreet.ledger.book import Ledger
from discreet.ledger.dataset import DatasetLedger
from discreet.ledger.rows import POLICIES, STORED
from discreet.settings import Setting, Settings

LEDGER_HELP = (
    "Book the release in this ledger, which may refuse it (exit code 3): a file, sqlite:///PATH or "
    "postgresql://USER@HOST/NAME. A file that is not there is made."
)
KEY_HELP = (
    "Secret key that names in the ledger are hashed with: a file that only its owner can read. A "
    "ledger that is a file has its own beside it, FILE.key, unless given."
)


@dataclass(frozen=True, kw_only=True)
class LedgerSettings(Settings):
    """Where a release is booked."""

    ledger: Annotated[str | None, Setting(LEDGER_HELP)] = None
    dataset: Annotated[
        str | None,
        Setting("Name of the data set in the ledger: its limits must allow the release."),
    ] = None
    ledger_key: Annotated[Path | None, Setting(KEY_HELP)] = None

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

    again: Annotated[
        str,
        Setting(
            "A text that was released before from this data set: stored-first-release hands out "
            "what the ledger kept of it and refuses the file where it kept nothing; refuse; "
            "charge draws and charges once more.",
            choices=POLICIES,
        ),
    ] = STORED
    keep_releases: Annotated[
        bool, Setting("Keep what is released in the ledger, for when the same text comes again.")
    ] = False

    @contextmanager
    def booked(self, command: str) -> Iterator[DatasetLedger | None]:
        """Where to book, if anywhere."""
        if self.ledger is None and (self.keep_releases or self.again != STORED):
            raise InvalidValue("--again and --keep-releases belong to --ledger; add that")
        with self.opened(command, self.again, self.keep_releases) as ledger:
            yield ledger


@dataclass(frozen=True, kw_only=True)
class VectorLedgerSettings(LedgerSettings):
    """Where a release of vectors is booked, and whose each row is."""

    again: Annotated[
        str,
        Setting(
            "A text that was released before from this data set: refuse the file, or charge once "
            "more.",
            choices=("refuse", "charge"),
        ),
    ] = "refuse"
    person_field: Annotated[
        str | None,
        Setting("Column or field that says whose a text is, for limits of each person."),
    ] = None

    @contextmanager
    def booked(self, command: str) -> Iterator[DatasetLedger | None]:
        """Where to book, if anywhere."""
        if self.ledger is None and (self.person_field is not None or self.again != "refuse"):
            raise InvalidValue("--person-field and --again belong to --ledger; add that")
        with self.opened(command, self.again) as ledger:
            yield ledger


@dataclass(frozen=True, kw_only=True)
class PersonSetting(Settings):
    """Whose each text is, for a command that has no use for it otherwise."""

    person_field: Annotated[
        str | None,
        Setting(
            "Column or field that says whose a text is: state what holds for the person with most "
            "text, too, and book it for each person."
        ),
    ] = None
