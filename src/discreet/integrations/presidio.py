"""An operator for Presidio's anonymizer: what Presidio finds is replaced by near words.

**Only what Presidio finds is protected.** Whatever it overlooks, and every other word, goes out as
it is, so there is no guarantee for a word of the text. To have one, let Presidio find and discreet
release *all* of the text: ``discreet.sanitize(texts, identifiers="presidio", ...)``.
"""

from typing import Any

from discreet.errors import needs_extra
from discreet.release.choice import given_or_chosen
from discreet.release.text import Sanitizer
from discreet.statement import PrivacyStatement

with needs_extra("the operator of Presidio", "presidio"):
    from presidio_anonymizer.entities import InvalidParamError, OperatorConfig
    from presidio_anonymizer.operators import Operator, OperatorType

SANITIZER = "sanitizer"
_NAME = "near_words"
FOUND_ALONE = (
    "only what Presidio finds is replaced, with this guarantee for each of its words; what it "
    "overlooks, and every other word, goes out as it is"
)


class NearWords(Operator):
    """Replaces the words of an entity by draws of a word mechanism.

    ``engine.add_anonymizer(NearWords)``, then ``operators={"DEFAULT": near_words(epsilon=8)}``.
    """

    def operate(self, text: str, params: dict[str, Any] | None = None) -> str:
        """The words of one entity, released."""
        return str(_sanitizer(params).sanitize([text]).values[0])

    def validate(self, params: dict[str, Any] | None = None) -> None:
        """Refuse parameters without a sanitizer."""
        _sanitizer(params)

    def operator_name(self) -> str:
        """What an ``OperatorConfig`` calls it."""
        return _NAME

    def operator_type(self) -> OperatorType:
        """It cannot be undone."""
        return OperatorType.Anonymize


def near_words(sanitizer: Sanitizer | None = None, **options: Any) -> OperatorConfig:
    """How Presidio is told to use :class:`NearWords`.

    Args:
        sanitizer: a :class:`discreet.Sanitizer`; or
        options: what :func:`discreet.release.choice.chosen_sanitizer` takes, such as ``epsilon``.
    """
    return OperatorConfig(_NAME, {SANITIZER: given_or_chosen(sanitizer, options)})


def statement_of(config: OperatorConfig) -> PrivacyStatement:
    """What holds for each word of what Presidio finds, with the caveat that nothing else does."""
    return _sanitizer(config.params).statement.with_caveats(FOUND_ALONE)


def _sanitizer(params: dict[str, Any] | None) -> Sanitizer:
    made = (params or {}).get(SANITIZER)
    if not isinstance(made, Sanitizer):
        raise InvalidParamError(
            f"{_NAME} needs a sanitizer: make its configuration with near_words(epsilon=...)"
        )
    return made
