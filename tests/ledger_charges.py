"""Charges for tests."""

from discreet.ledger import Charge
from discreet.statement import PrivacyStatement

KEY = bytes(range(32))


def statement(epsilon=1.0, delta=0.0, unit="document", **more):
    notion = "approximate" if delta else "pure"
    return PrivacyStatement(notion=notion, epsilon=epsilon, delta=delta, unit=unit, **more)


def charge(epsilon=1.0, delta=0.0, *, dataset="tickets", persons=None, unit="document"):
    own = {person: statement(e, d, "user") for person, (e, d) in (persons or {}).items()}
    whole = statement(epsilon, delta, unit)
    if own:
        whole = max(own.values(), key=lambda s: s.epsilon)
    return Charge(dataset=dataset, command="test", statement=whole, persons=own)
