"""Budgets of keys, kept in a ledger: each key is a data set of its own.

What is released is in memory when it is charged, and nothing of it has left the process; what the
budget does not allow is thrown away unread. Both steps of the ledger are one transaction here, and
the answer follows it: a process that dies in between leaves the budget spent.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.errors import BudgetExceeded, DiscreetError, InvalidValue
from discreet.ledger import Amount, Charge, Ledger
from discreet.service.keys import ANYONE, ApiKey


class Accounts:
    """Charges what is released to the key that asked.

    Without a ledger nothing is charged, and no key may have a budget.

    Args:
        ledger: where entries are kept; None for nowhere.
    """

    def __init__(self, ledger: Ledger | None = None) -> None:
        self.ledger = ledger

    @classmethod
    def open(cls, url: str | None, key_file: Path | None, keys: Sequence[ApiKey]) -> "Accounts":
        """The accounts in a ledger; budgets of keys become its limits."""
        if url is None:
            for key in keys:
                if key.budget is not None:
                    raise InvalidValue(f"the budget of key {key.name} needs a ledger; add --ledger")
            return cls()
        ledger = Ledger.open(url, key=key_file)
        for key in keys:
            if key.budget is None:
                continue
            allowed = Amount.allowed(key.budget, key.budget_delta)
            known = [each for each in ledger.limits(key.name) if not each.person]
            if not any(each.window is None and each.allowed == allowed for each in known):
                ledger.limit(dataset=key.name, epsilon=key.budget, delta=key.budget_delta)
        return cls(ledger)

    def charge(self, charges: Sequence[tuple[Charge, str]]) -> list[DiscreetError | None]:
        """Book releases in one transaction, each with its receipt; what is refused is told why.

        Raises:
            LedgerUnavailable: nothing of them may be handed out.
        """
        if self.ledger is None:
            return [None] * len(charges)
        booked = self.ledger.book_all(
            [(charge, hashlib.sha256(told.encode()).hexdigest()) for charge, told in charges]
        )
        return [each if isinstance(each, BudgetExceeded) else None for each in booked]

    def budget(self, key: ApiKey) -> dict[str, Any]:
        """What a key has spent and has left."""
        if self.ledger is None:
            return {"ledger": False}
        return {"ledger": True, **self.ledger.budget(key.name).to_dict()}

    def reachable(self) -> bool:
        """Whether the ledger answers."""
        try:
            self.budget(ANYONE)
        except DiscreetError:
            return False
        return True

    def close(self) -> None:
        """Let go of the ledger."""
        if self.ledger is not None:
            self.ledger.close()
