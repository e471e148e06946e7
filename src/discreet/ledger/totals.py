"""Accounts and limits: what everybody and each person has spent, and whether more is allowed.

What a person has lost is what releases about everybody cost, plus what releases about this person
cost. Persons are disjoint, so a data set has lost the most that anybody in it has: a maximum over
persons, never their sum.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from datetime import timedelta
from typing import Any

from discreet.accounting.lifting import within
from discreet.errors import BudgetExceeded, IncompatibleStatements, InvalidValue
from discreet.ledger.account import Account, account_named
from discreet.ledger.amount import Amount
from discreet.ledger.entries import EVERYBODY, Budget, Limit
from discreet.ledger.schema import Connection, Rows, in_parts
from discreet.ledger.stores import now
from discreet.statement import Adjacency, Unit

_LARGEST = 2**62
_LIMIT = ("dataset", "person", "span", "nano", "atto", "unit")
_ACCOUNT = ("dataset", "person", "nano", "atto", "unbounded")
_ADDED = "ON CONFLICT (dataset, person) DO UPDATE SET " + ", ".join(
    f"{column} = discreet_account.{column} + excluded.{column}" for column in _ACCOUNT[2:]
)
_POSTING = ("dataset", "number", "person", "at", "nano", "atto", "unbounded")


# -- limits ------------------------------------------------------------------------------------


def set_limit(
    connection: Connection,
    account: Account,
    person: str,
    span: int,
    allowed: Amount | None,
    unit: Unit,
    adjacency: Adjacency,
) -> None:
    """Replace, add or take away the limit of this person and span."""
    if adjacency is not account.adjacency:
        if account.events and (account.persons or account.common != Amount() or account.limits):
            raise InvalidValue(
                f"this data set counts changes of the kind {account.adjacency}, and goes on to; "
                "take another name for the data set"
            )
        account.adjacency = adjacency
    if person == EVERYBODY:
        account.limits = [each for each in account.limits if each["span"] != span]
        if allowed is not None:
            said = {"span": span, "nano": allowed.nano, "atto": allowed.atto, "unit": str(unit)}
            account.limits.append(said)
        return
    connection.run(
        "DELETE FROM discreet_limit WHERE dataset = ? AND person = ? AND span = ?",
        *(account.name, person, span),
    )
    if allowed is not None:
        row = (account.name, person, span, allowed.nano, allowed.atto, str(unit))
        connection.write(Rows("discreet_limit", _LIMIT, [row]))
    ((count,),) = connection.rows(
        "SELECT count(*) FROM discreet_limit WHERE dataset = ?", account.name
    )
    account.limited = int(str(count))


def _limit(person: Any, span: Any, nano: Any, atto: Any, unit: Any) -> Limit:
    window = None if span == 0 else timedelta(microseconds=span)
    return Limit(Amount(nano, atto), window, person, Unit(unit))


def _for_everybody(account: Account) -> list[Limit]:
    return [
        _limit(EVERYBODY, *(e[k] for k in ("span", "nano", "atto", "unit"))) for e in account.limits
    ]


def limits(connection: Connection, name: str) -> list[Limit]:
    """All limits of a data set."""
    account = account_named(connection, name)
    if account is None:
        return []
    own = connection.rows(
        "SELECT person, span, nano, atto, unit FROM discreet_limit WHERE dataset = ? "
        "ORDER BY person, span",
        name,
    )
    return [*_for_everybody(account), *(_limit(*row) for row in own)]


def concerned(
    connection: Connection, account: Account, amounts: Mapping[str, Amount]
) -> Iterator[Limit]:
    """The limits that a charge must keep."""
    yield from _for_everybody(account)
    if account.limited:
        sql = "SELECT person, span, nano, atto, unit FROM discreet_limit WHERE dataset = ?"
        for row in connection.rows(sql, account.name):
            if EVERYBODY in amounts or row[0] in amounts:
                yield _limit(*row)


def require_unit(account: Account, limit: Limit, unit: Unit) -> None:
    """Refuse a charge for a unit that says nothing of the one that the limit is for."""
    if within(limit.unit, unit, account.adjacency):
        return
    what_to_do = "lift it first (Charge.of_draws)"
    if within(limit.unit, unit):
        what_to_do = f"set a limit for a {unit}, as one {limit.unit} more or less is another change"
    raise IncompatibleStatements(
        f"the limit of this data set is for a whole {limit.unit}, and the charge is for a {unit}; "
        f"{what_to_do}"
    )


def require(
    connection: Connection, account: Account, limit: Limit, amounts: Mapping[str, Amount]
) -> None:
    """Raise BudgetExceeded unless the limit allows these amounts on top of what is gone."""
    since, common = _common(connection, account, limit)
    if EVERYBODY in amounts:
        own = _most_own(connection, account, limit.person, since)
        _refuse_unless([(common + own, amounts[EVERYBODY])], limit, persons=account.persons > 0)
        return
    whom = amounts if limit.person == EVERYBODY else {limit.person: amounts[limit.person]}
    # Most have spent the same as others, or nothing: each sum is looked at once.
    owns = _owns(connection, account.name, list(whom), since) if account.persons else {}
    nothing = Amount()
    sums = dict.fromkeys((owns.get(person, nothing), extra) for person, extra in whom.items())
    _refuse_unless([(common + own, extra) for own, extra in sums], limit, persons=True)


def _refuse_unless(sums: Sequence[tuple[Amount, Amount]], limit: Limit, *, persons: bool) -> None:
    """Refuse if what is gone and what comes on top is too much for anybody.

    What is told is how it stands with whoever has least left: no other figure would help.
    """
    refused = [each for each in sums if not (each[0] + each[1]).within(limit.allowed)]
    if not refused:
        return
    gone, extra = max(refused, key=lambda each: (each[0].nano, each[1].nano))
    left = Budget(limit, gone, Amount()).left
    who = "the person with least left" if persons else f"each {limit.unit}"
    who = "this person" if limit.person else who
    when = "" if limit.window is None else f" within {limit.window}"
    remedy = "raise the limit, or release less"
    if left is not None and extra.atto > left.atto and extra.nano <= left.nano:
        remedy = "release without a delta (--whole-delta 0), or allow one"
    raise BudgetExceeded(
        f"the budget of this data set does not allow it: for {who}{when} {left} is left of "
        f"{limit.allowed}, and {extra} was asked for; {remedy}",
        remaining=left,
        requested=extra,
    )


# -- totals ------------------------------------------------------------------------------------

_SUM = "coalesce(sum(nano), 0), coalesce(sum(atto), 0), coalesce(sum(unbounded), 0)"
_MOST = "coalesce(max(nano), 0), coalesce(max(atto), 0), coalesce(max(unbounded), 0)"


def _common(
    connection: Connection, account: Account, limit: Limit | None
) -> tuple[int | None, Amount]:
    """Since when a limit counts, None for ever, and what everybody has lost since."""
    if limit is None or limit.window is None:
        return None, account.common
    since = max(now(), account.at) - round(limit.window.total_seconds() * 1e6)
    sql = f"SELECT {_SUM} FROM discreet_posting WHERE dataset = ? AND person = '' AND at > ?"
    return since, amount_of(*connection.rows(sql, account.name, since)[0])


def _most_own(connection: Connection, account: Account, person: str, since: int | None) -> Amount:
    """The most that a person has lost by releases about that person; each number by itself."""
    if not account.persons:
        return Amount()
    if person != EVERYBODY:
        return _owns(connection, account.name, [person], since).get(person, Amount())
    if since is None:
        rows = connection.rows(
            f"SELECT {_MOST} FROM discreet_account WHERE dataset = ?", account.name
        )
    else:
        rows = connection.rows(
            f"SELECT {_MOST} FROM (SELECT sum(nano) AS nano, sum(atto) AS atto, sum(unbounded) AS "
            "unbounded FROM discreet_posting WHERE dataset = ? AND person <> '' AND at > ? "
            "GROUP BY person) AS own",
            *(account.name, since),
        )
    return amount_of(*rows[0])


def _owns(
    connection: Connection, name: str, persons: list[str], since: int | None
) -> dict[str, Amount]:
    """What each of these persons has lost by releases about that person, if anything."""
    owns: dict[str, Amount] = {}
    for chunk, marks in in_parts(persons):
        if since is None:
            rows = connection.rows(
                "SELECT person, nano, atto, unbounded FROM discreet_account "
                f"WHERE dataset = ? AND person IN ({marks})",
                *(name, *chunk),
            )
        else:
            rows = connection.rows(
                f"SELECT person, {_SUM} FROM discreet_posting WHERE dataset = ? "
                f"AND person IN ({marks}) AND at > ? GROUP BY person",
                *(name, *chunk, since),
            )
        owns |= {str(person): amount_of(*rest) for person, *rest in rows}
    return owns


def countable(account: Account, amounts: Mapping[str, Amount]) -> None:
    """Refuse what would be more than a number of the database holds."""
    total = account.common + amounts.get(EVERYBODY, Amount())
    if max(total.nano, total.atto) >= _LARGEST:
        raise InvalidValue("this data set has been charged more than a ledger can count")


def post(
    connection: Connection, account: Account, number: int, at: int, amounts: Mapping[str, Amount]
) -> None:
    """Add amounts, in the order of persons, to the accounts."""
    rows = [(person, a.nano, a.atto, a.unbounded) for person, a in amounts.items()]
    posted = [(account.name, number, person, at, *rest) for person, *rest in rows]
    connection.write(Rows("discreet_posting", _POSTING, posted))
    if EVERYBODY in amounts:
        account.common += amounts[EVERYBODY]
        return
    account.persons += len(amounts)  # 0 as long as nobody has an account of one's own
    own = [(account.name, *row) for row in rows]
    connection.write(Rows("discreet_account", _ACCOUNT, own, _ADDED))


def give_back(connection: Connection, account: Account, number: int, own: int) -> None:
    """Take back what an event posted, at the time at which it was posted."""
    sql = (
        "SELECT person, at, nano, atto, unbounded FROM discreet_posting "
        "WHERE dataset = ? AND number = ?"
    )
    back = []
    for person, at, *rest in connection.rows(sql, account.name, number):
        amount = amount_of(*rest)
        back.append((account.name, own, person, at, -amount.nano, -amount.atto, -amount.unbounded))
        if person == EVERYBODY:
            account.common -= amount
    connection.write(Rows("discreet_posting", _POSTING, back))
    connection.run(
        "UPDATE discreet_account SET nano = discreet_account.nano - p.nano, "
        "atto = discreet_account.atto - p.atto, "
        "unbounded = discreet_account.unbounded - p.unbounded FROM discreet_posting AS p "
        "WHERE p.dataset = discreet_account.dataset AND p.person = discreet_account.person "
        "AND p.dataset = ? AND p.number = ?",
        *(account.name, number),
    )


# -- budgets -----------------------------------------------------------------------------------


def datasets(connection: Connection) -> list[str]:
    """All data sets."""
    rows = connection.rows("SELECT dataset FROM discreet_dataset ORDER BY dataset")
    return [str(name) for (name,) in rows]


def budgets(connection: Connection, name: str, person: str) -> list[Budget]:
    """What is gone, held and left by each limit that concerns a person, or everybody."""
    account = account_named(connection, name)
    if account is None:
        return [Budget(None, Amount(), Amount())]
    all_limits = limits(connection, name)
    wanted: list[Limit | None] = [e for e in all_limits if e.person in (EVERYBODY, person)]
    return [_budget(connection, account, person, limit) for limit in wanted or [None]]


def _budget(connection: Connection, account: Account, person: str, limit: Limit | None) -> Budget:
    since, common = _common(connection, account, limit)
    gone = common + _most_own(connection, account, person, since)
    held = _held(connection, account.name, since, "= ''")
    if person != EVERYBODY:
        held += _held(connection, account.name, since, "= ?", person)
    elif account.persons:
        held += _held(connection, account.name, since, "<> ''")
    # The most that is held and the most that is gone may be of two persons.
    held = Amount(*map(min, astuple(held), astuple(gone)))
    return Budget(limit, gone - held, held, account.adjacency, account.persons > 0)


def _held(connection: Connection, name: str, since: int | None, whose: str, *person: str) -> Amount:
    """The most that is held for one of those whose name is like this; each number by itself."""
    sql = (
        f"SELECT {_MOST} FROM (SELECT sum(p.nano) AS nano, sum(p.atto) AS atto, "
        "sum(p.unbounded) AS unbounded FROM discreet_open AS o JOIN discreet_posting AS p "
        "ON p.dataset = o.dataset AND p.number = o.number "
        f"WHERE o.dataset = ? AND p.at > ? AND p.person {whose} GROUP BY p.person) AS held"
    )
    return amount_of(*connection.rows(sql, name, -1 if since is None else since, *person)[0])


def amount_of(nano: Any, atto: Any, unbounded: Any) -> Amount:
    """What three numbers of a row are together."""
    # PostgreSQL adds 64-bit numbers up to a decimal one.
    return Amount(int(nano), int(atto), int(unbounded))
