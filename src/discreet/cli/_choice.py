"""The options that choose a word mechanism, defined once for every command that takes them."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

from discreet.cli import _options as options
from discreet.cli._mechanisms import build_word_mechanism, sensitive_ids
from discreet.cli._terminal import progress_bar

if TYPE_CHECKING:
    from discreet.release.text import WordMechanism
    from discreet.spaces import EmbeddingSpace

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
# What says where to look, not how the mechanism is made.
_NOT_PARAMETERS = ("mechanism", "space", "max_words", "sensitive_share", "sensitive_file")


@dataclass(frozen=True)
class Choice:
    """The mechanism and the space that a command line asks for; None means not given."""

    epsilon: options.Epsilon = None
    mechanism: options.Mechanism = None
    space: options.Space = "starter"
    max_words: options.MaxWords = None
    calibration: options.Calibration = None
    sensitive_share: options.SensitiveShare = None
    sensitive_file: options.SensitiveFile = None
    p: options.P = None
    delta: options.Delta = None
    clip: options.Clip = None
    sensitivity: options.Sensitivity = None
    shrinkage: options.Shrinkage = None
    dimension: options.Dimension = None
    dummy_dimensions: options.DummyDimensions = None

    @property
    def name(self) -> str:
        """The mechanism; santext unless another was named."""
        return self.mechanism or "santext"

    @property
    def is_empty(self) -> bool:
        """True if nothing was chosen at all."""
        return self == Choice()

    def vocabulary(self) -> "EmbeddingSpace":
        """Load the space."""
        from discreet.spaces import load_space

        with progress_bar("reading the space") as show:
            return load_space(self.space, max_words=self.max_words, progress=show)

    def build(self, vocabulary: "EmbeddingSpace", epsilon: float | None = None) -> "WordMechanism":
        """Make the mechanism, at another epsilon if one is given."""
        at = self if epsilon is None else replace(self, epsilon=epsilon)
        given = {f.name: getattr(at, f.name) for f in fields(at) if f.name not in _NOT_PARAMETERS}
        given["sensitive"] = sensitive_ids(
            self.name, vocabulary, self.sensitive_share, self.sensitive_file
        )
        with progress_bar("certifying the space, once") as show:
            return build_word_mechanism(self.name, vocabulary, given, show)


def chooses(kind: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command with a parameter ``choice`` the options of a dataclass such as Choice."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command).parameters.values() if p.name != "choice"]
        shared = [
            inspect.Parameter(f.name, _KEYWORD, default=f.default, annotation=f.type)
            for f in fields(kind)
        ]

        @wraps(command)
        def with_options(**given: Any) -> None:
            choice = kind(**{f.name: given.pop(f.name) for f in fields(kind)})
            command(choice=choice, **given)

        keyword = [p.replace(kind=_KEYWORD) for p in own]
        everything = [*keyword, *shared]
        # The command line is read off the signature, so it gets the shared options written into it.
        with_options.__signature__ = inspect.Signature(everything)  # type: ignore[attr-defined]
        with_options.__annotations__ = {p.name: p.annotation for p in everything}
        del with_options.__wrapped__
        return with_options

    return decorate


chooses_mechanism = chooses(Choice)
