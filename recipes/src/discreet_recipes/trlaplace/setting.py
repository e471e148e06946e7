"""One mechanism of the recipe trlaplace at one epsilon, and how an option names it."""

import math
from dataclasses import dataclass

from discreet.errors import InvalidValue
from discreet.mechanisms import registry

CERTIFIED, PUBLISHED = "certified", "published"
UP_TO = {"gaussian": 1.0, "truncated-laplace": math.inf}
"""Mechanisms that are run as published too, and up to which epsilon: the rule that papers print for
Gaussian noise is proven up to 1."""


@dataclass(frozen=True)
class TrLaplaceSetting:
    """One mechanism at one epsilon."""

    mechanism: str
    epsilon: float
    calibration: str = CERTIFIED

    @property
    def canonical(self) -> bool:
        """True if any two words are protected from each other alike, not by their distance."""
        return self.mechanism in ("laplace", "gaussian", "truncated-laplace")

    @property
    def key(self) -> str:
        """For file names and tables."""
        published = "-published" if self.calibration == PUBLISHED else ""
        return f"{self.mechanism}{published}-{self.epsilon:g}"

    @classmethod
    def of(cls, text: str, flag: str = "--utility") -> "TrLaplaceSetting":
        """From the words of an option, such as gaussian:20 or truncated-laplace:1:published.

        >>> TrLaplaceSetting.of("truncated-laplace:0.1:published").key
        'truncated-laplace-published-0.1'
        """
        name, _, rest = text.partition(":")
        number, _, calibration = rest.partition(":")
        calibration = calibration or CERTIFIED
        try:
            epsilon = float(number)
        except ValueError:
            epsilon = math.nan
        if not 0 < epsilon < math.inf or calibration not in (CERTIFIED, PUBLISHED):
            raise InvalidValue(
                f"a mechanism of {flag} is NAME:EPSILON or NAME:EPSILON:published, such as "
                f"gaussian:20; got {text!r}"
            )
        entry = registry.find(name, "word", what=f"a mechanism of {flag}")
        if all(declared.name != "epsilon" for declared in entry.settings):
            raise InvalidValue(f"a mechanism of {flag} has an epsilon, which {name} has not")
        if calibration == PUBLISHED and epsilon > UP_TO.get(name, 0.0):
            raise InvalidValue(
                f"{text} of {flag} is none of the published rules, which are those of "
                + " and ".join(
                    f"{known} up to {most:g}" if most < math.inf else known
                    for known, most in UP_TO.items()
                )
                + "; leave out :published"
            )
        return cls(name, epsilon, calibration)
