"""A claim that somebody published, beside what was measured."""

from dataclasses import dataclass

VERDICTS = ("holds", "holds in part", "does not hold", "not settled")


@dataclass(frozen=True)
class Claim:
    """One claim of a paper, what we measured, and whether it holds."""

    claim: str
    published: str
    measured: str
    verdict: str
    """One of VERDICTS."""
    why: str = ""
    main: bool = False
    """Whether it is among the few that a summary shows."""
