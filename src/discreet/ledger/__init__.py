"""Who released what about whom, and how much is left."""

from discreet.errors import BudgetExceeded, LedgerUnavailable
from discreet.ledger.amount import Amount
from discreet.ledger.book import Ledger, Reservation
from discreet.ledger.charge import Charge, cost
from discreet.ledger.dataset import DatasetLedger
from discreet.ledger.entries import Budget, Entry, Limit
from discreet.ledger.keys import LedgerKey
from discreet.ledger.rows import POLICIES, Screened, Seen, screened

__all__ = [
    "POLICIES",
    "Amount",
    "Budget",
    "BudgetExceeded",
    "Charge",
    "DatasetLedger",
    "Entry",
    "Ledger",
    "LedgerKey",
    "LedgerUnavailable",
    "Limit",
    "Reservation",
    "Screened",
    "Seen",
    "cost",
    "screened",
]
