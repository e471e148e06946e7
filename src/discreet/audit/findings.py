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
    """The outcome of one check."""

    check: str
    """Room and name, as in ``law.inequality``."""
    verdict: Verdict
    summary: str
    """One sentence with the numbers."""
    proof: bool = False
    """True if passing shows that the claim holds for everything covered, not just for samples."""
    quantity: Quantity | None = None
    claimed: float | None = None
    found: float | None = None
    pair: tuple[str, str] | None = None
    """The worst pair of inputs met, by name."""

    @property
    def failed(self) -> bool:
        """True if the check found a fault."""
        return self.verdict is Verdict.FAIL

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; an infinite number is the string ``infinite``."""
        values = asdict(self)
        values["claimed"], values["found"] = _number(self.claimed), _number(self.found)
        values["pair"] = None if self.pair is None else list(self.pair)
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
