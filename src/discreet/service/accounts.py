"""Budgets of keys, kept in a ledger."""

from collections.abc import Sequence
from typing import Any

from discreet.errors import InvalidValue
from discreet.service.keys import ApiKey


class Accounts:
    """Charges what is released to the key that asked.

    Without a ledger nothing is charged, and no key may have a budget.
    """

    def __init__(self, ledger: Any = None) -> None:
        self._ledger = ledger

    @classmethod
    def open(cls, url: str | None, keys: Sequence[ApiKey]) -> "Accounts":
        """The accounts in a ledger."""
        if url is None:
            for key in keys:
                if key.budget is not None:
                    raise InvalidValue(f"the budget of key {key.name} needs a ledger; add --ledger")
            return cls()
        raise InvalidValue("no ledger yet")

    def close(self) -> None:
        """Let go of the ledger."""

    def budget(self, key: ApiKey) -> dict[str, Any]:
        """What a key has spent and has left."""
        return {"limit": key.budget}

    def reachable(self) -> bool:
        """Whether a charge would be taken now."""
        return True
