"""What a release guarantees, in a form that adds up, compares, prints and travels with the data."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet import check
from discreet.card import CAVEAT, card
from discreet.errors import IncompatibleStatements, InvalidValue
from discreet.files import plain_json
from discreet.notions import Adjacency as Adjacency
from discreet.notions import Metric as Metric
from discreet.notions import MetricKind as MetricKind
from discreet.notions import Notion as Notion
from discreet.notions import Unit as Unit
from discreet.scope import Scope as Scope

if TYPE_CHECKING:
    from discreet.composition import UnitLoss


_NOTHING_SAID = Scope()
_HAS_METRIC = (Notion.METRIC, Notion.UTILITY_OPTIMISED)


@dataclass(frozen=True, kw_only=True)
class PrivacyStatement:
    """A guarantee: notion, parameters, unit, adjacency, scope, what is public, caveats.

    ``a <= b`` reads "a is at least as strong as b": whatever b promises, a promises too. Two
    statements may be incomparable. ``a + b`` is the guarantee when both are released about the
    same unit.

    >>> pure = PrivacyStatement(notion=Notion.PURE, epsilon=1.0, unit=Unit.LABEL)
    >>> (pure + pure).epsilon
    2.0
    >>> pure <= pure + pure, pure + pure <= pure
    (True, False)
    """

    notion: Notion
    unit: Unit
    epsilon: float = math.inf
    """Loss allowed; per unit of distance if the notion is metric. Infinite for ``none``."""
    delta: float = 0.0
    slack: float = 0.0
    """Loss allowed on top of epsilon times distance (metric notions only)."""
    metric: Metric | None = None
    adjacency: Adjacency = Adjacency.REPLACE
    scope: str = ""
    public: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    over: Scope = _NOTHING_SAID
    """What of the scope programs compare; files of early versions do not have it."""

    def __post_init__(self) -> None:
        for name, kind in (("notion", Notion), ("unit", Unit), ("adjacency", Adjacency)):
            object.__setattr__(self, name, kind(getattr(self, name)))
        for name in ("public", "caveats"):
            said = getattr(self, name)
            if isinstance(said, str) or not all(isinstance(each, str) for each in said):
                raise InvalidValue(f"{name} of a statement must be sentences")
            object.__setattr__(self, name, tuple(sorted(set(said))))
        if not isinstance(self.scope, str) or not isinstance(self.over, Scope):
            raise InvalidValue("the scope of a statement must be a sentence, and over a Scope")
        if self.notion is Notion.NONE:
            if self.epsilon != math.inf or self.delta or self.slack or self.metric:
                raise InvalidValue("a statement of notion none has no parameters")
            return
        for name in ("epsilon", "slack", "delta"):
            number = check.non_negative(getattr(self, name), f"{name} of a statement")
            object.__setattr__(self, name, number)
        if self.delta > 0 and self.notion is not Notion.APPROXIMATE:
            raise InvalidValue(f"a {self.notion} statement has delta 0; got {self.delta}")
        if self.slack > 0 and self.notion not in _HAS_METRIC:
            raise InvalidValue(f"a {self.notion} statement has slack 0; got {self.slack}")
        if (self.metric is not None) != (self.notion in _HAS_METRIC):
            raise InvalidValue("a metric belongs to the metric notions, and to no other")

    # -- algebra -------------------------------------------------------------------------------

    def compose(self, other: "PrivacyStatement") -> "PrivacyStatement":
        """The guarantee when both releases are made about the same unit."""
        self._require_same(other, "added")
        if self.notion is not other.notion:
            raise IncompatibleStatements(
                f"a {self.notion} and a {other.notion} statement cannot be added; "
                "convert one first (to_pure, to_approximate)"
            )
        if self.metric != other.metric:
            raise IncompatibleStatements("statements in two different metrics cannot be added")
        over, scope = self.over.joined(other.over), self.scope
        if over.is_whole and (self.scope, self.over) != (other.scope, other.over):
            scope = over.in_words(self.unit)
        return replace(
            self,
            scope=scope,
            over=over,
            epsilon=self.epsilon + other.epsilon,
            delta=self.delta + other.delta,
            slack=self.slack + other.slack,
            public=(*self.public, *other.public),
            caveats=(*self.caveats, *other.caveats),
        )

    __add__ = compose

    def repeated(self, times: int) -> "PrivacyStatement":
        """The guarantee after the same unit was released ``times`` times."""
        times = check.whole(times, "times", at_least=1)
        return replace(
            self,
            epsilon=self.epsilon * times,
            delta=self.delta * times,
            slack=self.slack * times,
        )

    def implies(self, other: "PrivacyStatement") -> bool:
        """True if whatever ``other`` promises, this promises too."""
        if (self.unit, self.adjacency) != (other.unit, other.adjacency):
            return False
        if not (self._says_the_same(other) and self.over.covers(other.over)):
            return False
        if not (set(self.public) <= set(other.public) and set(self.caveats) <= set(other.caveats)):
            return False
        if other.notion is Notion.NONE:
            return True
        weaker = {
            Notion.PURE: (Notion.PURE, Notion.APPROXIMATE),
            Notion.APPROXIMATE: (Notion.APPROXIMATE,),
            Notion.METRIC: _HAS_METRIC,
            Notion.UTILITY_OPTIMISED: (Notion.UTILITY_OPTIMISED,),
            Notion.NONE: (),
        }[self.notion]
        return (
            other.notion in weaker
            and self.metric == other.metric
            and self.epsilon <= other.epsilon
            and self.delta <= other.delta
            and self.slack <= other.slack
        )

    __le__ = implies

    def __ge__(self, other: "PrivacyStatement") -> bool:
        return other.implies(self)

    def __lt__(self, other: "PrivacyStatement") -> bool:
        return self.implies(other) and not other.implies(self)

    def __gt__(self, other: "PrivacyStatement") -> bool:
        return other < self

    # -- conversions, only when asked for ------------------------------------------------------

    def to_pure(self, *, diameter: float) -> "PrivacyStatement":
        """The pure guarantee of a metric one, for any two units.

        Args:
            diameter: at least the largest distance of two units, which the metric names
                (``metric.farthest``). A smaller one is refused: what holds for units that are near
                each other only is not a pure guarantee.
        """
        if self.notion is Notion.PURE:
            return self
        if self.notion is not Notion.METRIC or self.metric is None:
            raise IncompatibleStatements(f"a {self.notion} statement has no pure counterpart")
        diameter = check.positive(diameter, "diameter")
        if diameter < self.metric.farthest:
            rule = f"at least {self.metric.farthest!r}, how far apart two units can be"
            raise check.fail("diameter", rule, diameter)
        loss = self.epsilon * diameter + self.slack
        return replace(self, notion=Notion.PURE, epsilon=loss, slack=0.0, metric=None)

    def to_approximate(self, *, delta: float = 0.0) -> "PrivacyStatement":
        """A pure guarantee read as an approximate one."""
        if self.notion not in (Notion.PURE, Notion.APPROXIMATE):
            raise IncompatibleStatements(f"convert the {self.notion} statement to pure first")
        delta = check.non_negative(delta, "delta")
        return replace(self, notion=Notion.APPROXIMATE, delta=max(self.delta, delta))

    def for_units(
        self,
        count: int,
        delta: float = 0.0,
        *,
        unit: Unit = Unit.DOCUMENT,
        law: "UnitLoss | None" = None,
    ) -> "PrivacyStatement":
        """What holds for a whole of ``count`` units of which each is released like this.

        For a text of so many words: replacing all of them at once. By the smallest of the ways that
        are proven (:class:`~discreet.composition.UnitLoss`).

        Args:
            count: How many units the whole has, at most.
            delta: The chance that may be given away for a smaller epsilon.
            unit: What the whole is.
            law: What the mechanism says of its loss beside the statement (``unit_loss``).

        >>> word = PrivacyStatement(notion=Notion.PURE, epsilon=1.0, unit=Unit.WORD)
        >>> word.for_units(200).epsilon, round(word.for_units(200, 1e-6).epsilon)
        (200.0, 147)
        """
        from discreet.composition import UnitLoss  # brings the array libraries

        count = check.whole(count, "count of units", at_least=1)
        delta = check.in_range(delta, "delta", at_least=0, below=1)
        match self.notion:
            case Notion.APPROXIMATE:
                epsilon, delta = count * self.epsilon, count * self.delta
            case Notion.PURE:
                epsilon = (law or UnitLoss(self.epsilon)).of(count, delta)
            case Notion.METRIC if self.metric is not None:
                most = self.epsilon * self.metric.farthest + self.slack
                epsilon = (law or UnitLoss(most)).of(count, delta)
            case _:
                raise IncompatibleStatements(f"a {self.notion} statement has none for a whole")
        pure = self.notion is not Notion.APPROXIMATE and delta == 0
        return replace(
            self,
            notion=Notion.PURE if pure else Notion.APPROXIMATE,
            epsilon=epsilon,
            delta=delta,
            slack=0.0,
            metric=None,
            unit=unit,
            scope=(over := self.over.of_whole(self.unit, count)).in_words(unit),
            over=over,
        )

    def with_caveats(self, *caveats: str) -> "PrivacyStatement":
        """The same guarantee with something the reader must know."""
        return replace(self, caveats=(*self.caveats, *caveats))

    def with_public(self, *public: str) -> "PrivacyStatement":
        """The same guarantee with more that is treated as public."""
        return replace(self, public=(*self.public, *public))

    def of_dataset(self, *names: str) -> "PrivacyStatement":
        """The same guarantee, said of these data sets: it is then added to no other's."""
        return replace(self, over=replace(self.over, datasets=names))

    # -- words and JSON ------------------------------------------------------------------------

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"PrivacyStatement({self.brief()})"

    def brief(self) -> str:
        """The kind of guarantee and its parameters, for a line that says more.

        >>> PrivacyStatement(notion=Notion.PURE, epsilon=1.0, unit=Unit.LABEL)
        PrivacyStatement(pure, epsilon=1 for each label)
        """
        if self.notion is Notion.NONE:
            return f"no guarantee for any {self.unit}"
        more = "".join(
            f", {name}={value:.3g}"
            for name, value in (("delta", self.delta), ("slack", self.slack))
            if value
        )
        per = " * distance" if self.metric is not None else ""
        warned = ", with caveats" if self.caveats else ""
        return f"{self.notion}, epsilon={self.epsilon:.6g}{per}{more} for each {self.unit}{warned}"

    def _repr_html_(self) -> str:
        return card(f"Guarantee: {self.brief()}", {}, self.lines())

    def lines(self) -> list[str]:
        """The statement in plain words, a line per fact."""
        out = [self._headline()]
        if self.metric is not None:
            out += self._readings(self.metric)
        if self.scope:
            out.append(f"Scope: {self.scope}.")
        if self.public:
            out.append("Treated as public: " + "; ".join(self.public) + ".")
        out += [f"{CAVEAT}{caveat}." for caveat in self.caveats]
        return out

    def _headline(self) -> str:
        # "user+entity" for programs; people read words.
        unit = self.unit.replace("+", " together with any ")
        change = f"having one {self.unit.replace('+', ' and one ')} more or less"
        if self.adjacency is Adjacency.REPLACE:
            change = f"replacing one {unit} by another"
        outcome = "protected outcome" if self.notion is Notion.UTILITY_OPTIMISED else "outcome"
        start = f"Protects each {unit}: {change} changes the odds of any {outcome}"
        eps = f"{self.epsilon:.6g}"
        if self.notion is Notion.NONE:
            return f"No formal guarantee for any {self.unit.replace('+', ' or ')}."
        if self.metric is not None:  # of the metric notions, and of no other
            extra = f" + {self.slack:.4g}" if self.slack else ""
            return (
                f"{start} by a factor of at most exp({eps} * d{extra}), "
                f"where d is the {self.metric.name}."
            )
        if self.delta >= 1:
            return f"Guarantees nothing for any {unit}: delta = {self.delta:.3g} is 1 or more."
        approximate = self.notion is Notion.APPROXIMATE
        more = f", plus a probability of delta = {self.delta:.3g}" if approximate else ""
        return f"{start} by a factor of at most {odds(self.epsilon)} (epsilon = {eps}){more}."

    def _readings(self, metric: Metric) -> list[str]:
        def line(label: str, distance: float) -> str:
            loss = self.epsilon * distance + self.slack
            return f"  {label} (d = {distance:.3g}): odds change by at most {odds(loss)}"

        near = [] if metric.nearest is None else [line("nearest neighbours", metric.nearest)]
        return [
            *near,
            line("a median pair", metric.median),
            line("the farthest pair", metric.farthest),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; an infinite epsilon (notion none) is null."""
        values = asdict(self)
        values["epsilon"] = None if math.isinf(self.epsilon) else self.epsilon
        values["public"], values["caveats"] = list(self.public), list(self.caveats)
        del values["over"]
        return values | ({"over": self.over.to_dict()} if self.over else {})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "PrivacyStatement":
        """The inverse of :meth:`to_dict`; unknown or missing entries are errors."""
        fields = {"over": {}, **values}
        if set(fields) != set(cls.__dataclass_fields__):
            raise InvalidValue(
                "this is not a privacy statement: its entries are not the known ones"
            )
        if fields["epsilon"] is None:
            fields["epsilon"] = math.inf
        try:
            if fields["metric"] is not None:
                fields["metric"] = Metric(**fields["metric"])
            fields["over"] = Scope.from_dict(fields["over"])
            return cls(**fields)
        except (AttributeError, TypeError, ValueError) as error:
            why = "a part is of another kind"
            if isinstance(error, InvalidValue):
                why = str(error).split("; got")[0]  # the rule, not what stands in the file
            raise InvalidValue(f"this is not a privacy statement: {why}") from error

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "PrivacyStatement":
        """The inverse of :meth:`to_json`."""
        try:
            values = plain_json(text, once=True)
        except ValueError:
            values = None
        if not isinstance(values, dict):
            raise InvalidValue("this is not a privacy statement: it is not a JSON object")
        return cls.from_dict(values)

    def _says_the_same(self, other: "PrivacyStatement") -> bool:
        """Whether the scopes agree in what programs cannot compare; of wholes that is nothing."""
        wholes = self.over.is_whole and other.over.is_whole
        return wholes or self.scope == other.scope

    def _require_same(self, other: "PrivacyStatement", verb: str) -> None:
        for what in ("unit", "adjacency", "scope"):
            same = getattr(self, what) == getattr(other, what)
            if not (self._says_the_same(other) if what == "scope" else same):
                raise IncompatibleStatements(
                    f"statements that differ in {what} cannot be {verb}: "
                    f"{getattr(self, what)!s} and {getattr(other, what)!s}"
                )


def odds(loss: float) -> str:
    """``exp(loss)`` for people.

    >>> odds(0.1), odds(3), odds(11), odds(50), odds(5000)
    ('1.11', '20.1', '60,000', '10^21.7', '10^2171')
    """
    power = loss / math.log(10)
    if power >= 6:
        return f"10^{power:.1f}" if power < 1000 else f"10^{power:.0f}"
    value = math.exp(loss)
    return f"{value:.3g}" if value < 1e3 else f"{float(f'{value:.2g}'):,.0f}"
