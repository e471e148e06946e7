"""What an audit found: a verdict for each check, with its numbers."""

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from discreet.check import one_of
from discreet.errors import VerificationFailed
from discreet.statement import PrivacyStatement


class Verdict(StrEnum):
    """How a check ended."""

    PASS = "PASS"
    FAIL = "FAIL"
    NOT_CHECKED = "NOT CHECKED"


class Quantity(StrEnum):
    """What ``claimed`` and ``found`` of a finding measure."""

    EPSILON = "epsilon"
    """Loss; for metric notions per unit of distance, after the slack."""
    LOSS = "loss"
    """Loss of the pair named."""
    DELTA = "delta"
    P_VALUE = "p-value"
    """``claimed`` is the level below which a p-value is an alarm."""
    SUM = "sum"
    """Total probability of a law, which must be 1."""


@dataclass(frozen=True)
class Finding:
    """The outcome of one check: its numbers, and the words that are made from them."""

    check: str
    """Room and name, as in ``law.inequality``."""
    verdict: Verdict
    detail: str = ""
    """What the numbers do not say: why nothing was checked, or what is wrong."""
    proof: bool = False
    """True if passing shows that the claim holds for everything covered, not just for samples."""
    quantity: Quantity | None = None
    claimed: float | None = None
    found: float | None = None
    between: tuple[float, float] | None = None
    """Where ``found`` lies, if it is an estimate."""
    exact: bool = False
    """True if ``found`` was computed from the law; otherwise it comes from draws."""
    lower_bound: bool = False
    """True if ``found`` is what was shown, and there may be more."""
    pair: tuple[str, str] | None = None
    """The worst pair of inputs met, by name."""
    scope: str = ""
    """What was looked at,"""
    pairs: int | None = None
    """how many pairs of inputs,"""
    draws: int | None = None
    """how many releases of each input,"""
    tests: int | None = None
    """and in how many tests."""

    @property
    def summary(self) -> str:
        """One sentence with the numbers."""
        if self.found is None or self.claimed is None or self.quantity is Quantity.SUM:
            return self.detail
        if self.quantity is Quantity.P_VALUE:
            return (
                f"{self.detail} (p-value {self.found:.2g} of {self.tests} tests, alarm below "
                f"{self.claimed:.1g})"
            )
        against = "" if self.pair is None else f": {self.pair[0]!r} against {self.pair[1]!r}"
        if self.lower_bound:
            return (
                f"{self.detail}a {self.quantity} of at least {self.found:.4g} shown, "
                f"{self.claimed:.4g} allowed{against} ({self.scope})"
            )
        said = f"{self.quantity} {self.claimed:.6g} claimed, {self.found:.6g} found"
        if self.between is not None:
            low, high = self.between
            said = f"{self.quantity} {self.claimed:.3g} claimed, about {self.found:.3g} found "
            said += f"(between {low:.3g} and {high:.3g})"
        return "; ".join(filter(None, (said + against, self.detail, self.scope)))

    @property
    def failed(self) -> bool:
        """True if the check found a fault."""
        return self.verdict is Verdict.FAIL

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; an infinite number is the string ``infinite``."""
        values = {**asdict(self), "summary": self.summary}
        values["claimed"], values["found"] = _number(self.claimed), _number(self.found)
        values["pair"] = None if self.pair is None else list(self.pair)
        values["between"] = None if self.between is None else [_number(x) for x in self.between]
        return values


@dataclass(frozen=True)
class Report:
    """All findings of one audit."""

    mechanism: str
    statement: PrivacyStatement
    findings: tuple[Finding, ...]
    false_alarms: float
    """Bound on the probability that a sound mechanism fails."""
    seed: int | None

    @property
    def passed(self) -> bool:
        """True if no check failed."""
        return not self.failures

    @property
    def failures(self) -> list[Finding]:
        """The checks that failed."""
        return [finding for finding in self.findings if finding.failed]

    def finding(self, check: str) -> Finding:
        """The finding of one check, by its name."""
        by_name = {finding.check: finding for finding in self.findings}
        return by_name[one_of(check, tuple(by_name), "the name of a check")]

    def require(self) -> "Report":
        """This report, or :class:`VerificationFailed` if a check failed."""
        if not self.passed:
            names = ", ".join(finding.check for finding in self.failures)
            raise VerificationFailed(f"{self.mechanism} does not keep its promise; failed: {names}")
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "mechanism": self.mechanism,
            "passed": self.passed,
            "statement": self.statement.to_dict(),
            "false_alarms": self.false_alarms,
            "seed": self.seed,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def lines(self) -> list[str]:
        """The report for people."""
        out = [f"Audit of {self.mechanism}", f"Claim: {self.statement.lines()[0]}"]
        width = max((len(finding.check) for finding in self.findings), default=0)
        out += [
            f"  {finding.verdict:<11}  {finding.check:<{width}}  {finding.summary}"
            + (" [proof]" if finding.proof and not finding.failed else "")
            for finding in self.findings
        ]
        verdict = "no check failed" if self.passed else f"{len(self.failures)} check(s) FAILED"
        out.append(
            f"Verdict: {verdict}. A sound mechanism fails at most once in "
            f"{1 / self.false_alarms:,.0f} audits."
        )
        return out


def _number(value: float | None) -> float | str | None:
    if value is None or math.isfinite(value):
        return value
    return "infinite" if value > 0 else "minus infinite" if value < 0 else "not a number"
