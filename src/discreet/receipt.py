"""The receipt of a release: what was done, with which guarantee. It lies beside the output.

It is for a program or a privacy officer and holds nothing of the text.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.errors import InputError, InvalidValue
from discreet.files import written_whole
from discreet.statement import PrivacyStatement

RECEIPT_SUFFIX = ".privacy.json"
"""A receipt lies beside the output it belongs to, under its name and this."""

_OWN = ("discreet", "statement", "in_words")


def receipt_path(output: str | Path) -> Path:
    """Where the receipt of a file lies."""
    return Path(f"{output}{RECEIPT_SUFFIX}")


@dataclass(frozen=True)
class ReleasedLabels:
    """How the labels in a file were released."""

    mechanism: str
    labels: tuple[str, ...]
    """The possible ones, in the order of the transition."""
    epsilon: float | None
    """None if they were written as they are."""
    transition: tuple[tuple[float, ...], ...] = field(repr=False)
    """Row y is the law of the release of y."""


@dataclass(frozen=True)
class Receipt:
    """What was released and how.

    Attributes:
        statement: The guarantee.
        about: Everything else by its heading, ready for JSON: the mechanism with its parameters,
            what it was made from, counts, how the input was read.
        version: Of discreet.

    >>> from discreet.mechanisms.label import RandomizedResponse
    >>> statement = RandomizedResponse(2, epsilon=1.0).statement
    >>> receipt = Receipt(statement, {"mechanism": {"name": "randomized-response", "epsilon": 1.0}})
    >>> receipt.mechanism["name"], Receipt.from_dict(receipt.to_dict()) == receipt
    ('randomized-response', True)
    """

    statement: PrivacyStatement
    about: Mapping[str, Any] = field(default_factory=dict)
    version: str = __version__

    @property
    def mechanism(self) -> Mapping[str, Any]:
        """The mechanism's name and its parameters."""
        return self._section("mechanism")

    @property
    def encoder(self) -> Mapping[str, Any]:
        """The encoder of vectors: name, fingerprint, dimension, provenance."""
        return self._section("encoder")

    @property
    def map(self) -> Mapping[str, Any]:
        """The public map of sentence vectors: fingerprint, dimension, where it comes from."""
        return self._section("map")

    @property
    def counts(self) -> Mapping[str, int]:
        """How much was released, by what was counted."""
        return self._section("counts")

    @property
    def input(self) -> Mapping[str, Any]:
        """How the input was read: its format and the names of its fields."""
        return self._section("input")

    @property
    def labels(self) -> ReleasedLabels | None:
        """How labels were released, if they were."""
        values = self._section("label")
        if not values:
            return None
        try:
            return ReleasedLabels(
                str(values["mechanism"]),
                tuple(values["labels"]),
                values["epsilon"],
                tuple(tuple(row) for row in values["transition"]),
            )
        except (KeyError, TypeError) as error:
            raise InputError("the receipt does not say how its labels were released") from error

    def with_section(self, name: str, values: Mapping[str, Any]) -> "Receipt":
        """The same with one more heading."""
        return replace(self, about={**self.about, name: values})

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        own = (self.version, self.statement.to_dict(), self.statement.lines())
        return dict(zip(_OWN, own, strict=True)) | dict(self.about)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Receipt":
        """The inverse of :meth:`to_dict`."""
        statement = values.get("statement")
        if not isinstance(statement, Mapping):
            raise InvalidValue("this is not a receipt: it has no privacy statement")
        about = {key: value for key, value in values.items() if key not in _OWN}
        return cls(PrivacyStatement.from_dict(statement), about, str(values.get("discreet", "")))

    def to_json(self) -> str:
        """What is written."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def write(self, path: Path) -> None:
        """Write it, whole or not at all; beside an output, ``path`` is its :func:`receipt_path`."""
        with written_whole(path) as temporary:
            temporary.write_text(self.to_json(), "utf-8")

    @classmethod
    def read(cls, path: Path) -> "Receipt":
        """Read what :meth:`write` wrote."""
        try:
            values = json.loads(path.read_text("utf-8"))
            return cls.from_dict(values if isinstance(values, dict) else {})
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{path} is not a receipt that discreet wrote; release the file again, or delete it"
            ) from error

    @classmethod
    def beside(cls, output: str | Path) -> "Receipt | None":
        """The receipt of a file of vectors or of text; None if there is none."""
        path = receipt_path(output)
        return cls.read(path) if path.is_file() else None

    def _section(self, name: str) -> Mapping[str, Any]:
        values = self.about.get(name)
        return values if isinstance(values, Mapping) else {}
