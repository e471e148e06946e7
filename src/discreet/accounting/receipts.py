"""What several releases guarantee together, read from their receipts.

Releases about the same people add up. Only what bounds the same thing is added: statements of one
unit and one adjacency that are pure or approximate, or that are in one metric; of words, those of
one vocabulary. Whatever cannot be added stands side by side with the rest.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from discreet import check
from discreet.errors import InvalidValue
from discreet.randomness import SEEDED_CAVEAT
from discreet.receipt import Receipt
from discreet.scope import ONCE
from discreet.statement import Notion, PrivacyStatement, Unit

_ADDABLE = (Notion.PURE, Notion.APPROXIMATE)
# Losses are rounded upwards to about this many steps.
_STEPS = 100_000
# exp of more is no number; and there a delta buys next to nothing.
_LARGEST_EPSILON = 500.0


@dataclass(frozen=True)
class Together:
    """Statements that were added, and what they add up to."""

    of: tuple[str, ...]
    """Whose statements they are."""
    statement: PrivacyStatement
    kinds: tuple[Notion, ...]
    """The notions that were added; a pure one counts as approximate with delta 0."""

    def lines(self) -> list[str]:
        """In plain words."""
        several = len(self.of) > 1
        what = "Added up" if several else "By itself"
        mixed = ""
        if len(self.kinds) > 1:
            mixed = " (a pure guarantee is an approximate one with delta 0)"
        return [f"{what}{mixed}: {', '.join(self.of)}", *self.statement.lines()]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "of": list(self.of),
            "statement": self.statement.to_dict(),
            "in_words": self.statement.lines(),
        }


def together_lines(groups: Sequence[Together], releases: int) -> list[str]:
    """What so many releases guarantee together, in plain words."""
    lines = ["Of this release:"]
    if releases > 1:
        lines = [f"If these {releases} releases are about the same people:"]
    for group in groups:
        lines += ["", *group.lines()]
    if len(groups) > 1:
        lines += [
            "",
            f"These {len(groups)} guarantees are not added to each other: they are of different "
            "units, or their epsilons bound different things. All of them hold.",
        ]
    return lines


def add_receipts(receipts: Mapping[str, Receipt], *, delta: float = 0.0) -> list[Together]:
    """Add up the receipts of releases about the same people.

    Args:
        receipts: By the names under which they are told.
        delta: A chance that may be given away for a smaller epsilon, over what the statements give
            away already. It helps pure and approximate ones, by composing the worst laws
            that their epsilons and deltas allow (Kairouz, Oh and Viswanath 2015).

    Raises:
        InvalidValue: For a receipt of seeded noise, which anybody who has the seed can take away
            again, and for the same release twice.

    >>> word = PrivacyStatement(notion=Notion.PURE, epsilon=1.0, unit="word")
    >>> (both,) = add_receipts({"a": Receipt(word), "b": Receipt(word)})
    >>> both.of, both.statement.epsilon
    (('a', 'b'), 2.0)
    """
    delta = check.in_range(delta, "delta", at_least=0, below=1)
    if not receipts:
        raise InvalidValue("there is nothing to add: give at least one receipt")
    _refuse_repeated(receipts)
    groups: dict[Any, dict[str, PrivacyStatement]] = {}
    for name, receipt in receipts.items():
        for what, statement in _statements(receipt).items():
            if SEEDED_CAVEAT in statement.caveats:
                raise InvalidValue(
                    f"{name} was released with a seed, and anyone who has the seed can remove the "
                    f"noise: it guarantees nothing that could be added; release it without --seed"
                )
            # What can be neither added nor compared stands alone.
            alone = name if statement.notion is Notion.NONE else None
            key = (what, *_alike(statement), alone)
            groups.setdefault(key, {})[name] = statement
    return [_together(group, delta) for group in groups.values()]


def add_statements(
    statements: Mapping[str, PrivacyStatement], *, delta: float = 0.0
) -> list[Together]:
    """Add up statements about the same people, as :func:`add_receipts` adds up receipts.

    Statements of words are added if they say by which vocabulary the text was cut.

    Args:
        statements: By the names under which they are told.
        delta: See :func:`add_receipts`.

    >>> whole = PrivacyStatement(notion=Notion.PURE, epsilon=1.0, unit="document")
    >>> user = PrivacyStatement(notion=Notion.PURE, epsilon=1.0, unit="user")
    >>> [sum_.statement.epsilon for sum_ in add_statements({"a": whole, "b": user, "c": whole})]
    [2.0, 1.0]
    """
    delta = check.in_range(delta, "delta", at_least=0, below=1)
    groups: dict[Any, dict[str, PrivacyStatement]] = {}
    for name, statement in statements.items():
        uncut = statement.unit is Unit.WORD and not statement.over.cut
        alone = name if uncut or statement.notion is Notion.NONE else None
        key = (*_alike(statement), alone)
        groups.setdefault(key, {})[name] = statement
    return [_together(group, delta) for group in groups.values()]


def _alike(statement: PrivacyStatement) -> tuple[Any, ...]:
    """What statements must have in common to be added."""
    kind = "pure" if statement.notion in _ADDABLE else statement.notion
    over = statement.over
    return (statement.unit, statement.adjacency, kind, statement.metric, over.cut, over.datasets)


def _statements(receipt: Receipt) -> dict[str, PrivacyStatement]:
    """Of each unit, and of whole texts and persons where the receipt speaks of them."""
    statements = {"unit": _with_cut(receipt)}
    whole = receipt.about.get("whole")
    for what, told in whole.items() if isinstance(whole, Mapping) else ():
        if isinstance(told, Mapping) and isinstance(told.get("statement"), Mapping):
            statements[what] = PrivacyStatement.from_dict(told["statement"])
    return statements


def _with_cut(receipt: Receipt) -> PrivacyStatement:
    """The statement of each unit; what a word is, early files say beside it."""
    statement, space = receipt.statement, receipt.about.get("space")
    if statement.unit is not Unit.WORD or statement.over.cut or not isinstance(space, Mapping):
        return statement
    once = receipt.about.get("repeat") == "once"
    cut = str(space.get("fingerprint")) + ONCE * once
    return replace(statement, over=replace(statement.over, cut=cut))


def _refuse_repeated(receipts: Mapping[str, Receipt]) -> None:
    seen: dict[str, str] = {}
    for name, receipt in receipts.items():
        output = receipt.about.get("output")
        if not isinstance(output, Mapping):
            continue
        first = seen.setdefault(repr(sorted(output.items())), name)
        if first != name:
            raise InvalidValue(
                f"{first} and {name} are of the same release, which costs once; give it once"
            )


def _together(group: Mapping[str, PrivacyStatement], delta: float) -> Together:
    each = list(group.values())
    kinds = tuple(dict.fromkeys(statement.notion for statement in each))
    mixed = Notion.APPROXIMATE in kinds
    scope = "; ".join(dict.fromkeys(statement.scope for statement in each))
    total = replace(each[0].to_approximate() if mixed else each[0], scope=scope)
    for statement in each[1:]:
        total += replace(statement.to_approximate() if mixed else statement, scope=scope)
    if total.delta >= 1:
        total = PrivacyStatement(
            notion=Notion.NONE, unit=total.unit, adjacency=total.adjacency, scope=scope
        ).with_caveats("the deltas add up to 1 or more, so that nothing is guaranteed")
    elif delta > 0 and len(each) > 1 and total.notion in _ADDABLE:
        total = _with_delta(each, total, delta)
    return Together(tuple(group), total, kinds)


def _with_delta(
    each: Sequence[PrivacyStatement], total: PrivacyStatement, delta: float
) -> PrivacyStatement:
    """The smaller of adding up and composing the worst laws that the statements allow."""
    from discreet.accounting.compose import SMALLEST_DELTA  # brings SciPy

    allowed = total.delta + delta
    large = max(statement.epsilon for statement in each) > _LARGEST_EPSILON
    if delta < SMALLEST_DELTA or total.epsilon == 0 or allowed >= 1 or large:
        return total
    from dp_accounting.pld.common import DifferentialPrivacyParameters
    from dp_accounting.pld.privacy_loss_distribution import from_privacy_parameters

    step = total.epsilon / _STEPS
    # Equal ones at once: a ledger has many of them.
    laws = [
        from_privacy_parameters(DifferentialPrivacyParameters(*parameters), step).self_compose(
            times
        )
        for parameters, times in Counter((s.epsilon, s.delta) for s in each).items()
    ]
    composed = reduce(lambda one, other: one.compose(other), laws)
    epsilon = float(composed.get_epsilon_for_delta(allowed))
    if epsilon >= total.epsilon:
        return total
    return replace(total.to_approximate(), epsilon=epsilon, delta=allowed)
