"""Statements of one unit read as statements of another, so that a ledger may add them.

Nothing here makes a guarantee stronger. Each function gives what follows from a statement for a
larger change, or for any two units, and refuses a statement from which nothing follows.
"""

import math
from collections.abc import Iterable
from dataclasses import replace

from discreet import check
from discreet.errors import IncompatibleStatements, InvalidValue
from discreet.statement import Adjacency, Notion, PrivacyStatement, Unit

_SIZES = (Unit.WORD, Unit.SENTENCE, Unit.DOCUMENT, Unit.USER, Unit.USER_ENTITY)


def within(small: Unit, large: Unit, adjacency: Adjacency = Adjacency.REPLACE) -> bool:
    """Whether the same bound that holds for the large unit holds for the small one too.

    Replacing a word replaces the document it stands in, and that replaces what its author wrote. So
    whatever is proven for the larger change is proven for the smaller one. Where units are added or
    removed it is not: one document more *replaces* what its author wrote. A user more or less is
    the one such change that is part of a larger one, of a user and an entity. A label is part of
    nothing: what protects a text may well write its label as it is.

    >>> within(Unit.DOCUMENT, Unit.USER), within(Unit.USER, Unit.DOCUMENT)
    (True, False)
    >>> within(Unit.DOCUMENT, Unit.USER, Adjacency.ADD_REMOVE)
    False
    """
    if small is large:
        return True
    if adjacency is Adjacency.ADD_REMOVE:
        return (small, large) == (Unit.USER, Unit.USER_ENTITY)
    return Unit.LABEL not in (small, large) and _SIZES.index(small) < _SIZES.index(large)


def for_any_two(statement: PrivacyStatement) -> PrivacyStatement:
    """What holds between any two units, however far apart: a pure or an approximate statement.

    A metric statement bounds the loss by ``epsilon * d + slack``, and no two units are farther
    apart than ``metric.farthest``.

    >>> from discreet.statement import Metric
    >>> metric = Metric("angle", nearest=None, median=1.5, farthest=3.0)
    >>> near = PrivacyStatement(notion="metric", epsilon=2.0, slack=1.0, metric=metric, unit="word")
    >>> for_any_two(near).epsilon
    7.0
    """
    if statement.notion in (Notion.PURE, Notion.APPROXIMATE):
        return statement
    if statement.metric is None or statement.notion is not Notion.METRIC:
        raise IncompatibleStatements(
            f"a statement of notion {statement.notion} bounds nothing between any two "
            f"{statement.unit}s"
        )
    if statement.metric.farthest == 0:  # one unit only: nothing to tell apart
        return replace(
            statement, notion=Notion.PURE, epsilon=statement.slack, slack=0.0, metric=None
        )
    return statement.to_pure(diameter=statement.metric.farthest)


def for_group(statement: PrivacyStatement, size: int) -> PrivacyStatement:
    """What holds when ``size`` units change at once, whatever the mechanism does with them.

    From one input to the other lead ``size`` steps of one unit each. A pure loss grows by epsilon
    with each, a metric one by ``epsilon * d + slack`` of that step (so that d is the sum of the
    distances). Of an approximate one, ``P(S) <= exp(e) Q(S) + delta`` put into itself gives
    ``exp(k e)`` and ``delta * (1 + exp(e) + ... + exp((k - 1) e))``. A delta of 1 or more says
    nothing, and is refused.

    Where each unit is drawn for itself, ``PrivacyStatement.for_units`` knows more.

    >>> one = PrivacyStatement(notion="approximate", epsilon=1.0, delta=1e-6, unit="user")
    >>> two = for_group(one, 2)
    >>> two.epsilon, round(two.delta * 1e6, 3)
    (2.0, 3.718)
    """
    size = check.whole(size, "size of a group", at_least=1)
    if statement.notion is Notion.NONE:
        raise IncompatibleStatements("a statement of notion none says nothing of a group")
    if size == 1:
        return statement
    delta = statement.delta
    if delta > 0:
        # From the largest term down: what exp cannot hold is refused like any delta above 1.
        steps = [statement.epsilon * step for step in range(size)]
        delta = math.inf if steps[-1] > 700 else math.fsum(delta * math.exp(e) for e in steps)
        if delta >= 1:
            raise IncompatibleStatements(
                f"nothing is proven for {size} {statement.unit}s at once: delta grows to 1 or more"
            )
    return replace(
        statement, epsilon=size * statement.epsilon, slack=size * statement.slack, delta=delta
    )


def group_as(statement: PrivacyStatement, size: int, unit: Unit) -> PrivacyStatement:
    """The same as a statement of the unit that such a group makes up; none if nothing follows.

    >>> sentence = PrivacyStatement(notion="pure", epsilon=2.0, unit="sentence")
    >>> group_as(sentence, 5, Unit.DOCUMENT).epsilon
    10.0
    """
    over = statement.over.of_whole(statement.unit, size)
    scope = over.in_words(unit)
    try:
        return replace(for_group(statement, size), unit=unit, scope=scope, over=over)
    except IncompatibleStatements:
        return PrivacyStatement(
            notion=Notion.NONE,
            unit=unit,
            scope=scope,
            over=over,
            adjacency=statement.adjacency,
            public=statement.public,
            caveats=statement.caveats,
        )


def for_replacing(statement: PrivacyStatement) -> PrivacyStatement:
    """What holds when one unit is replaced by another: it is removed, and another one added.

    Two steps of adding or removing, hence :func:`for_group` of two. The other way round nothing
    follows: where units are replaced, how many there are is public.
    """
    if statement.adjacency is Adjacency.REPLACE:
        return statement
    return replace(for_group(statement, 2), adjacency=Adjacency.REPLACE)


def for_smaller(statement: PrivacyStatement, unit: Unit) -> PrivacyStatement:
    """What holds for a unit that the statement's own one contains (see :func:`within`).

    The same bound, or that of two steps where units are added or removed: one document more takes
    its author away and brings them back with it.
    """
    if within(unit, statement.unit, statement.adjacency):
        return replace(statement, unit=unit)
    if not within(unit, statement.unit):
        raise IncompatibleStatements(
            f"what holds for a {statement.unit} says nothing of a whole {unit}; count how many "
            f"{statement.unit}s a {unit} has (for_units)"
        )
    return replace(for_group(statement, 2), unit=unit)


def in_parallel(statements: Iterable[PrivacyStatement]) -> PrivacyStatement:
    """What holds for each unit when every unit is in one of these releases only: the maximum.

    Which release a unit is in must be public and must not depend on what it holds. Then a change
    of one unit changes the input of one release, and the others are the same in both worlds: the
    loss is that of this one. Epsilon, slack and delta may each be replaced by the largest. Two that
    name the same data set are refused: those add up.

    >>> small, large = (PrivacyStatement(notion="pure", epsilon=e, unit="user") for e in (1.0, 3.0))
    >>> in_parallel([small, large]).epsilon
    3.0
    """
    each = list(statements)
    if not each:
        raise InvalidValue("there is nothing to join: give at least one statement")
    notions = {statement.notion for statement in each}
    if notions == {Notion.PURE, Notion.APPROXIMATE}:
        each = [statement.to_approximate() for statement in each]
    first, over = each[0], each[0].over
    for other in each[1:]:
        over = over.beside(other.over)
        same = ("notion", "unit", "adjacency", "metric")
        for what in same:
            if getattr(first, what) != getattr(other, what):
                raise IncompatibleStatements(
                    f"statements that differ in {what} have no maximum: "
                    f"{getattr(first, what)!s} and {getattr(other, what)!s}"
                )
    return replace(
        first,
        epsilon=max(statement.epsilon for statement in each),
        slack=max(statement.slack for statement in each),
        delta=max(statement.delta for statement in each),
        scope="; ".join(dict.fromkeys(s.scope for s in each if s.scope)),
        over=over,
        public=tuple(said for statement in each for said in statement.public),
        caveats=tuple(said for statement in each for said in statement.caveats),
    )
