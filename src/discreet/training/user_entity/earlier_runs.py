"""Two runs on the same users add up: a run knows of those whose folders lie beside its own.

Every run that states a guarantee keeps keyed digests of its users' names in its state, which is as
private as the checkpoints there. A later run whose folder lies beside it, and which has one of
these users, is refused unless one ledger knows of both, or somebody says that it is meant, and then
its statement says so. A run that is in a ledger goes on in it only.

What this cannot know: runs that were written elsewhere or on another machine, or whose folder was
moved or deleted; two that begin at the same time; a person who has another name now. For these
there is the ledger. Runs without a guarantee and seeded ones are not for release and do not count.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet.errors import BudgetExceeded, InvalidValue, read_as
from discreet.files import plain_json, private_folder, written_whole
from discreet.staging import PRIVATE
from discreet.training.user_entity.checkpoints import charged_in, salt_of

STATE = "state"
"""The folder, in that of a run, which is not for release."""
AGAIN_CAVEAT = (
    "other runs may have used the same users, whose losses add up with this one's and are not in "
    "these figures"
)
_MARKS = "users.json"


@dataclass(frozen=True)
class UserMarks:
    """What a run keeps of its users, and which runs its statement covers."""

    users: frozenset[str]
    covers: tuple[str, ...]
    """Salts of the runs whose spending is in its statement: its own, and those it began with."""
    again: bool
    book: str
    """The data set under which a ledger knows of it, as that ledger calls it; empty for none."""

    @classmethod
    def read(cls, run: Path) -> "UserMarks | None":
        """Those in a run's folder; None if it keeps none."""
        path = run / STATE / _MARKS
        if not path.is_file():
            return None
        with read_as(
            f"{path} is damaged, so whether its run used the same users is not known; give another "
            "place, or --again"
        ):
            values: dict[str, Any] = plain_json(path.read_bytes())
            return cls(
                users=frozenset(values["users"]),
                covers=tuple(values["covers"]),
                again=bool(values["again"]),
                book=str(values.get("book", values.get("booked") or "")),
            )

    def write(self, run: Path) -> None:
        """Keep them in the folder of a run, readable by its owner alone."""
        values = asdict(self) | {"users": sorted(self.users)}
        private_folder(run / STATE)
        with written_whole(run / STATE / _MARKS, mode=PRIVATE) as temporary:
            temporary.write_text(json.dumps(values), "utf-8")


def mark_users(
    run: Path, names: Sequence[str], *, start: Path | None, again: bool, book: str
) -> None:
    """Keep who takes part in a run, and refuse it if an earlier run beside it had one of them.

    Args:
        run: its folder.
        names: of its users.
        start: the folder of the run it begins with, whose spending its statement includes.
        again: do not refuse; its statement says that there may be others.
        book: the data set of the ledger that it is in, which adds it to others there; only those
            are not refused.

    Raises:
        BudgetExceeded: A run beside this one has used at least one of the users.
    """
    begun = None if start is None else UserMarks.read(start)
    before = () if begun is None else begun.covers
    if not again:
        _refuse_same_users(run, names, before, book=book)
    private_folder(run / STATE)
    salt = salt_of(run / STATE)
    UserMarks(_digests(names, salt), (salt, *before), again=again, book=book).write(run)


def require_same_book(run: Path, book: str) -> None:
    """Refuse to go on with a run elsewhere than in the ledger that it is in.

    Steps that the ledger does not know of would be in no sum, while it vouches for the run.
    """
    marks = UserMarks.read(run)
    if marks is not None and marks.book and marks.book != book:
        raise InvalidValue(
            f"the run in {run} is booked in a ledger; go on with the same --ledger and --dataset"
        )


def _refuse_same_users(
    run: Path, names: Sequence[str], covers: tuple[str, ...], *, book: str
) -> None:
    own = run.resolve()
    for beside in sorted(own.parent.iterdir()) if own.parent.is_dir() else ():
        if beside == own or not (beside / STATE / _MARKS).is_file():
            continue
        marks, salt = UserMarks.read(beside), salt_of(beside / STATE)
        if marks is None or salt in covers or not charged_in(beside / STATE):
            continue
        if book and marks.book == book:
            continue
        if not marks.users.isdisjoint(_digests(names, salt)):
            raise BudgetExceeded(
                f"the run in {run.parent / beside.name} has used some of the same users, and what "
                "two runs spend adds up: go on with it (--resume), begin with its model (--start), "
                "book both in one --ledger and --dataset, or say with --again that you know"
            )


def _digests(names: Iterable[str], salt: str) -> frozenset[str]:
    key = salt.encode()
    return frozenset(
        hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=key, digest_size=12).hexdigest()
        for name in names
    )
