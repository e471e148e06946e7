"""What attacks achieved, in sentences and bars: for a reader who decides, not for a program."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.attacks.mask_inference import ATTACKERS
from discreet.attacks.outcome import AttackOutcome, Estimate, Rate
from discreet.report.plots import Bar, Bars
from discreet.report.stored import stored

_CHANCE, _WITHOUT = "chance", "unprotected"
_PARTS = {"defence": "words", "sensitive_defence": "sensitive words"}


@dataclass(frozen=True)
class Attacked:
    """One thing that was attacked, by everybody who tried.

    Attributes:
        figure: What was measured; results that share it can be drawn together.
        tries: Who attacked, with the success.
        chance: What guessing gives, without seeing the release.
        unprotected: What there is to gain without protection, if it was measured.
        targets: How many were attacked.
        things: What they are, if the success is a share of them.
    """

    figure: str
    tries: Mapping[str, Estimate]
    chance: float
    unprotected: Estimate | None
    targets: int
    things: str = ""

    @property
    def best(self) -> tuple[str, Estimate]:
        """Whoever came furthest: a release is as good as its best attacker is bad."""
        return max(self.tries.items(), key=lambda one: one[1].value)

    @property
    def verdict(self) -> str:
        """Whether the best attacker gained anything, as far as the sample tells."""
        if self.best[1].low > self.chance:
            return "more than guessing gives"
        return "no more than guessing gives, as far as this sample tells"

    def summary(self) -> str:
        """In a few words."""
        success = self.best[1].value
        if self.things:
            return (
                f"the best attacker names {_of_100(success)} of 100 {self.things} "
                f"({_of_100(self.chance)} by guessing)"
            )
        return f"{self.figure} {success:.2f} ({self.chance:.2f} by guessing)"

    def sentences(self) -> Iterator[str]:
        """In full."""
        who, success = self.best
        if self.things:
            yield (
                f"Of {self.targets:,} {self.things} the best attacker ({who}) named "
                f"{_of_100(success.value)} of 100; with 95 % confidence between "
                f"{_of_100(success.low)} and {_of_100(success.high)} of 100. Guessing without a "
                f"look at the release names {_of_100(self.chance)} of 100. This is {self.verdict}."
            )
        else:
            yield (
                f"{self.figure[:1].upper()}{self.figure[1:]}: {success.value:.3f} on "
                f"{self.targets:,} targets; with 95 % confidence between {success.low:.3f} and "
                f"{success.high:.3f}. Guessing without a look at the release gives "
                f"{self.chance:.3f}. This is {self.verdict}."
            )
        if self.unprotected is not None:
            same = "The same attack on what was not protected"
            if self.things:
                yield f"{same} names {_of_100(self.unprotected.value)} of 100."
            else:
                yield f"{same} reaches {self.unprotected.value:.3f}."

    def bars(self) -> Bars:
        """Every attacker, with the interval, beside what guessing gives."""
        rows = [Bar(who, one.value, one.low, one.high) for who, one in self.tries.items()]
        if (bare := self.unprotected) is not None:
            rows.append(Bar("without protection", bare.value, bare.low, bare.high))
        axis = f"share of {self.things} named" if self.things else self.figure
        title = f"Who named how many {self.things}" if self.things else self.figure
        return Bars(
            name="attack-" + "".join(c if c.isalnum() else "-" for c in self.figure),
            title=title,
            axis=axis,
            bars=tuple(rows),
            alternative=" ".join(self.sentences()),
            level=("guessing", self.chance),
        )


def attacks_in(values: Mapping[str, Any]) -> list[Attacked]:
    """What a result of ``discreet attack`` says; empty for every other result."""
    try:
        if isinstance(values.get("defence"), Mapping):
            return list(_words(values))
        if isinstance(values.get("outcomes"), list):
            return [_outcome(each) for each in values["outcomes"]]
    except (KeyError, TypeError, ValueError, AttributeError):
        pass  # not as discreet wrote it: it is shown as figures, like any other
    return []


def _words(values: Mapping[str, Any]) -> Iterator[Attacked]:
    """Word by word: the rates of all attackers, for all words and for sensitive ones."""
    for part, things in _PARTS.items():
        rates = {name: stored(Rate, each).other for name, each in values.get(part, {}).items()}
        if not rates:
            continue
        tries = {ATTACKERS[n]: r for n, r in rates.items() if n not in (_CHANCE, _WITHOUT)}
        yield Attacked(
            figure=f"share of {things} that the best attacker names",
            tries=tries or {ATTACKERS[_CHANCE]: rates[_CHANCE]},
            chance=rates[_CHANCE].value,
            unprotected=rates.get(_WITHOUT),
            targets=rates[_CHANCE].trials,
            things=things,
        )


def _outcome(values: Mapping[str, Any]) -> Attacked:
    outcome = stored(AttackOutcome, {key: each for key, each in values.items() if key != "level"})
    return Attacked(
        figure=f"{outcome.attack}, {outcome.measure}",
        tries={outcome.attack: outcome.success},
        chance=outcome.chance,
        unprotected=outcome.unprotected,
        targets=outcome.targets,
    )


def summarised(attacks: Sequence[Attacked]) -> str:
    """The outcome of attacks for an overview: the figure for all words, or the best of several."""
    first = [each for each in attacks if each.things] or sorted(
        attacks, key=lambda each: each.best[1].value - each.chance, reverse=True
    )
    return first[0].summary() if first else ""


def _of_100(share: float) -> str:
    """A share as a number out of a hundred, small ones with a digit more."""
    many = 100 * share
    return f"{many:.0f}" if many >= 10 or many == 0 else f"{many:.2g}"
