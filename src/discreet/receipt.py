"""The receipt of a release: what was done, with which guarantee. It lies beside the output.

It is for a program or a privacy officer and holds nothing of the text. It says by their digests
which files it is for, so that it cannot be taken for the receipt of others.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.card import CAVEAT
from discreet.errors import InputError, InvalidValue, NotFound, VerificationFailed
from discreet.files import plain_json, publish, staged, written_whole
from discreet.staging import Digest, Staged
from discreet.statement import Notion, PrivacyStatement

RECEIPT_SUFFIX = ".privacy.json"
"""A receipt lies beside the output it belongs to, under its name and this."""
FOLDER_RECEIPT = "privacy.json"
"""In a folder that is an output, the receipt is among its files."""
PARTS_RECEIPT = "_privacy.json"
"""In a folder of parts, whatever does not begin with an underscore is taken for a part."""

_WORDS = "in_words"
_OWN = ("discreet", "statement", _WORDS)
_PROTECTS = "Protects"
_NAME_LENGTH = 200


def receipt_path(output: str | Path) -> Path:
    """Where the receipt of a file, or of a folder that is an output, lies."""
    if Path(output).is_dir():
        parts = Path(output, PARTS_RECEIPT)
        return parts if parts.is_file() else Path(output, FOLDER_RECEIPT)
    return Path(f"{output}{RECEIPT_SUFFIX}")


def output_of(receipt: Path) -> Path:
    """The file, or the folder, that a receipt lies beside or in."""
    if receipt.name in (FOLDER_RECEIPT, PARTS_RECEIPT):
        return receipt.parent
    return receipt.with_name(receipt.name.removesuffix(RECEIPT_SUFFIX))


def is_receipt(path: Path) -> bool:
    """Whether this is the name of a receipt."""
    return path.name in (FOLDER_RECEIPT, PARTS_RECEIPT) or path.name.endswith(RECEIPT_SUFFIX)


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

    def with_section(self, name: str, values: Mapping[str, Any] | str) -> "Receipt":
        """The same with one more heading."""
        return replace(self, about={**self.about, name: values})

    def between(self, operator: str | None, recipient: str | None) -> "Receipt":
        """The same with who released it and whom it is for, where they are given.

        Args:
            operator: who released it.
            recipient: whom it was released for.
        """
        named = {"operator": operator, "recipient": recipient}
        given = {who: _one_line(name, who) for who, name in named.items() if name is not None}
        return self.with_section("parties", given) if given else self

    @property
    def parties(self) -> str:
        """Who released it and whom it is for, as a sentence; empty if nobody said."""
        said = self._section("parties")
        words = {"operator": "by", "recipient": "for"}
        named = [f"{word} {said[who]}" for who, word in words.items() if who in said]
        return f"Released {' '.join(named)}." if named else ""

    def of_output(self, written: Digest | Mapping[str, Digest]) -> "Receipt":
        """The same for a file, or for the files of a folder by their names, as they are now."""
        if isinstance(written, Mapping):
            said = {"files": {name: asdict(digest) for name, digest in written.items()}}
        else:
            said = asdict(written)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return self.with_section("written", now).with_section("output", said)

    def require(self, output: Path) -> None:
        """Refuse a file, or a folder, that it was not written for."""
        said = self._section("output")
        try:
            parts = {output: said}
            if "files" in said:
                parts = {output / Path(name).name: digest for name, digest in said["files"].items()}
            wanted = {path: Digest(**digest) for path, digest in parts.items()}
            if not wanted:
                raise TypeError
        except (TypeError, AttributeError) as error:
            raise VerificationFailed(
                f"the receipt of {output} does not say which content it was written for: nothing "
                "shows that it is this one's; release it again"
            ) from error
        if receipt_path(output).name == PARTS_RECEIPT:
            _refuse_more(output, wanted)
        for path, digest in wanted.items():
            if not path.is_file() or Digest.of(path) != digest:
                raise VerificationFailed(
                    f"{path} is not what its receipt was written for: it was changed, replaced or "
                    "cut short since; do not rely on the receipt, and release it again"
                )

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
        """Read what :meth:`write` wrote.

        Raises:
            VerificationFailed: Its words and its numbers say different things.
        """
        try:
            values = plain_json(path.read_bytes(), once=True)
            receipt = cls.from_dict(values if isinstance(values, dict) else {})
        except ValueError as error:
            raise InputError(
                f"{path} is not a receipt that discreet wrote; release the file again, or delete it"
            ) from error
        if _contradicts(values.get(_WORDS), receipt.statement):
            raise VerificationFailed(
                f"{path} says one guarantee in words and another in numbers: somebody changed it; "
                "do not rely on it, and release the file again"
            )
        return receipt

    @classmethod
    def beside(cls, output: str | Path) -> "Receipt | None":
        """The receipt of a file or folder, which must be as it was released; None without one."""
        path = receipt_path(output)
        if not path.is_file():
            return None
        receipt = cls.read(path)
        receipt.require(Path(output))
        return receipt

    @classmethod
    def of_texts(cls, output: str | Path, fields: Iterable[str]) -> "Receipt | None":
        """The receipt of a file if all of these fields, none in txt, hold sanitised text.

        A column that was kept is as it was, and whatever is made from it has no guarantee.
        """
        receipt = cls.beside(output)
        sanitised = () if receipt is None else receipt.sanitised
        return receipt if sanitised and all(name in sanitised for name in fields) else None

    @property
    def sanitised(self) -> Sequence[str | None]:
        """The fields of its output that hold sanitised text: None is that of txt, vectors none."""
        if "columns" not in self.about:
            return ()
        said = self.input.get("text_field")
        return said if isinstance(said, list) else [said]

    def _section(self, name: str) -> Mapping[str, Any]:
        values = self.about.get(name)
        return values if isinstance(values, Mapping) else {}


def _contradicts(words: Any, statement: PrivacyStatement) -> bool:
    """Whether the words of a receipt, if it has any, are not of this statement.

    By the numbers and the caveats in them: how sentences are put differs between versions.
    """
    if not isinstance(words, list) or not words:
        return False
    lines = [str(line) for line in words]
    caveats = {f"{CAVEAT}{caveat}." for caveat in statement.caveats}
    if {line for line in lines if line.startswith(CAVEAT)} != caveats:
        return True
    if statement.notion is Notion.NONE or statement.delta >= 1:
        return any(line.startswith(_PROTECTS) for line in lines)
    told = re.findall(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", lines[0])
    return f"{statement.epsilon:.6g}" not in told


def _refuse_more(folder: Path, parts: Iterable[Path]) -> None:
    """A folder of parts is read as a whole: one more part in it would be read as released."""
    known = {path.name for path in parts}
    more = [name for name in os.listdir(folder) if name not in known and name[0] not in "._"]
    if more:
        raise VerificationFailed(
            f"{folder} holds {len(more)} more than its receipt was written for; do not rely on the "
            "receipt, and move away what does not belong there"
        )


def _one_line(name: str, who: str) -> str:
    if not name.strip() or len(name) > _NAME_LENGTH or not name.isprintable():
        raise InvalidValue(
            f"the {who} must be a name on one line, of at most {_NAME_LENGTH} characters"
        )
    return name.strip()


def sanitised_before(source: str | Path, fields: Iterable[str]) -> bool:
    """Whether a receipt says, of just this content, that texts in one of the fields are released.

    A receipt that does not fit the file says nothing of it. In txt there are no fields.
    """
    try:
        receipt = Receipt.beside(source)
    except (InputError, VerificationFailed):
        return False
    sanitised = () if receipt is None else receipt.sanitised
    return None in sanitised or any(name in sanitised for name in fields)


def receipt_of(path: Path) -> Receipt:
    """The receipt that a path names, or that lies beside the output it names.

    If the output is there, it must be the one that the receipt was written for.
    """
    named = path.suffix == ".json" and path.is_file() and not receipt_path(path).is_file()
    if not named:
        return verified(path)[1]
    output = output_of(path)
    if is_receipt(path) and output.exists() and receipt_path(output) == path:
        return verified(output)[1]
    return Receipt.read(path)


def verified(path: Path) -> tuple[Path, Receipt]:
    """An output and its receipt, which belong together; ``path`` may name either of them."""
    output = output_of(path) if is_receipt(path) else path
    if not output.exists():
        raise NotFound(f"there is no file {output}; check the path")
    receipt = Receipt.beside(output)
    if receipt is None:
        raise NotFound(
            f"{output} has no receipt ({receipt_path(output)}), so nothing is known of how it was "
            "made; treat it as unprotected"
        )
    return output, receipt


def put_with_receipt(
    output: Staged,
    receipt: Receipt,
    *,
    force: bool,
    before: Callable[[Receipt], None] | None = None,
) -> Receipt:
    """Put an output in its place and then its receipt, which is given back as it was written.

    Args:
        output: What was written.
        receipt: What holds for it.
        force: Replace files that exist.
        before: Called with the receipt as it will be, before anything takes its place.
    """
    written = receipt.of_output(output.digest)
    if before is not None:
        before(written)
    with staged(receipt_path(output.place)) as beside:
        beside.path.write_text(written.to_json(), "utf-8")
        publish(output, [beside], force=force)
    return written
