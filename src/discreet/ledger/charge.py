"""What a release costs, and whom: what a ledger is asked to reserve."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from discreet import __version__, check
from discreet.accounting.lifting import for_any_two, for_replacing
from discreet.composition import UnitLoss
from discreet.errors import IncompatibleStatements, InvalidValue
from discreet.ledger.amount import UNBOUNDED, Amount
from discreet.randomness import SEEDED_CAVEAT
from discreet.statement import Adjacency, Notion, PrivacyStatement, Unit


@dataclass(frozen=True, kw_only=True)
class Charge:
    """One release, as a ledger books it.

    Without ``persons`` it counts for everybody in the data set. With them it counts for those
    persons only, each with a statement of its own; persons are disjoint, so nobody loses more than
    the most that any of them does.

    Args:
        dataset: Whose texts these are, under the name that its limits have.
        command: What released them, such as ``"sanitize"``.
        statement: What holds for a whole document, or for a whole person: lifted, with
            :meth:`of_draws` or ``for_units``. Of one word it says too little for a limit.
        mechanism: Its name, for people.
        units: How many units were released, for people.
        persons: Own statements by person, if it is known whose each text is; all of the unit that
            ``statement`` is of.
        version: Of discreet.
        made_with: A digest of what holds for each unit and how it is drawn: what is kept of a
            release is handed out again only where it would be made with the same.

    >>> whole = PrivacyStatement(notion="pure", epsilon=12.0, unit="document")
    >>> Charge(dataset="tickets", command="sanitize", statement=whole).amount()
    Amount(epsilon=12, delta=0)
    """

    dataset: str
    command: str
    statement: PrivacyStatement
    mechanism: str = ""
    units: int = 1
    persons: Mapping[str, PrivacyStatement] = field(default_factory=dict, repr=False)
    version: str = __version__
    made_with: str = ""

    def __post_init__(self) -> None:
        for name in ("dataset", "command"):
            said = getattr(self, name)
            if not isinstance(said, str) or not said:
                raise InvalidValue(f"{name} of a charge must be a name")
        check.whole(self.units, "units of a charge")
        if any(not isinstance(person, str) or not person for person in self.persons):
            raise InvalidValue("persons of a charge must be names that are not empty")
        for statement in (self.statement, *self.persons.values()):
            if statement.unit is not self.statement.unit:
                raise IncompatibleStatements(
                    f"the charge is for a {self.statement.unit}, and that of a person for a "
                    f"{statement.unit}; lift both alike first (Charge.of_draws)"
                )
            if SEEDED_CAVEAT in statement.caveats:
                raise InvalidValue(
                    "seeded noise is not charged, because anyone who has the seed can remove it; "
                    "release without a seed"
                )

    @classmethod
    def of_draws(
        cls,
        statement: PrivacyStatement,
        draws: Sequence[int] | int,
        *,
        dataset: str,
        command: str,
        persons: Sequence[str] | None = None,
        delta: float = 0.0,
        law: UnitLoss | None = None,
        mechanism: str = "",
    ) -> "Charge":
        """The charge for documents of which each word (or sentence) is a draw.

        Args:
            statement: What holds for one draw.
            draws: How many each document takes.
            dataset: See :class:`Charge`.
            command: See :class:`Charge`.
            persons: Whose each document is; draws of one person add up.
            delta: What may be given away for a smaller epsilon of each whole.
            law: What the mechanism says of its loss (``unit_loss``).
            mechanism: See :class:`Charge`.

        >>> word = PrivacyStatement(notion="pure", epsilon=0.5, unit="word")
        >>> Charge.of_draws(word, [4, 7], dataset="tickets", command="sanitize").amount()
        Amount(epsilon=3.5, delta=0)
        """
        given = np.atleast_1d(np.asarray(draws))
        if given.ndim > 1 or (given.size and (given.dtype.kind not in "iu" or given.min() < 0)):
            raise InvalidValue("draws of a charge must be whole numbers of at least 0")
        counts: list[int] = given.tolist() if given.size else []
        own: dict[str, int] = {}
        if persons is not None:
            for person, count in zip(persons, counts, strict=True):
                own[person] = own.get(person, 0) + count
        unit = Unit.DOCUMENT if persons is None else Unit.USER
        most = max(own.values() if persons is not None else counts, default=0)
        # Many persons have as much as others: each count is lifted once.
        needed = {*own.values(), most}
        lifted = {count: _lifted(statement, count, delta, unit, law) for count in needed}
        return cls(
            dataset=dataset,
            command=command,
            statement=lifted[most],
            mechanism=mechanism,
            units=sum(counts),
            persons={person: lifted[count] for person, count in own.items()},
        )

    def amount(self, adjacency: Adjacency = Adjacency.REPLACE) -> Amount:
        """What it costs everybody, or the person whom it costs most."""
        return cost(self.statement, adjacency)


@lru_cache(4096)  # the same statement is charged again and again
def cost(statement: PrivacyStatement, adjacency: Adjacency | str = Adjacency.REPLACE) -> Amount:
    """What a statement costs where changes of this kind are counted.

    A release that bounds nothing is booked as unbounded. One that bounds replacing a unit says
    nothing of adding one, and is refused where that is counted.
    """
    adjacency = Adjacency(adjacency)
    if adjacency is Adjacency.ADD_REMOVE and statement.adjacency is Adjacency.REPLACE:
        raise IncompatibleStatements(
            "this data set counts adding or removing a unit, and the release bounds replacing one "
            "only; charge it to another data set, or set the limit for replacing"
        )
    try:
        bounded = for_any_two(statement)
        if adjacency is Adjacency.REPLACE:
            bounded = for_replacing(bounded)
    except IncompatibleStatements:
        return UNBOUNDED
    if bounded.delta >= 1:
        return UNBOUNDED
    return Amount.spent(bounded.epsilon, bounded.delta)


def _lifted(
    statement: PrivacyStatement, count: int, delta: float, unit: Unit, law: UnitLoss | None
) -> PrivacyStatement:
    if count == 0:
        # Nothing was drawn: what is public about the text is all that is released.
        return replace(
            statement,
            notion=Notion.PURE,
            epsilon=0.0,
            delta=0.0,
            slack=0.0,
            metric=None,
            unit=unit,
            over=statement.over.of_whole(statement.unit, 0),
        )
    unbounded = statement.notion in (Notion.NONE, Notion.UTILITY_OPTIMISED)
    if unbounded or count * statement.delta >= 1:
        return PrivacyStatement(
            notion=Notion.NONE, unit=unit, public=statement.public, caveats=statement.caveats
        )
    return statement.for_units(count, delta, unit=unit, law=law)
