"""The policy: which settings hold for which key and route, read from a TOML file.

Sections are ``[service]`` (:class:`ServiceSettings`), ``[profiles.NAME]`` (:class:`Profile`, with
the mechanism's own settings beside), ``[embedding]`` (:class:`EmbeddingProfile`) and ``[gateway]``
(:class:`GatewaySettings`). What is not known is refused, so that a misspelt line cannot pass for
protection.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from discreet import check
from discreet.encoders.settings import EncoderSettings
from discreet.errors import InputError, InvalidValue, NotFound
from discreet.mechanisms.registry import DEFAULTS
from discreet.release.text import LAYOUTS, REPEATS
from discreet.service.settings import ServiceSettings
from discreet.settings import Setting, Settings, declared_in, plain_type
from discreet.text import function_words

DEFAULT = "default"
ROLES = ("system", "developer", "user", "assistant", "tool", "function")


@dataclass(frozen=True, kw_only=True)
class Profile(Settings):
    """How texts are released: a mechanism, its space, and what becomes of identifiers."""

    mechanism: str = Setting("A word mechanism.").default(DEFAULTS["word"])
    space: str | None = Setting(
        "Public vocabulary: starter, english, or a file; the mechanism's own unless said."
    ).default(None)
    max_words: int | None = Setting("Only the first N words of a file.", at_least=1).default(None)
    readable: bool = Setting(
        "For text that people read: layout public, public function-words, polish and, with "
        "near-words, guide ngram (or the guide that is named), all at once."
    ).default(False)
    layout: str = Setting("tokens or public.", choices=tuple(LAYOUTS)).default("public")
    public: str | None = Setting("function-words pass.", choices=(function_words.NAME,)).default(
        None
    )
    polish: bool = Setting("Mend articles, spaces and capitals.").default(False)
    repeat: str = Setting("each or once.", choices=REPEATS).default("each")
    identifiers: str | None = Setting(
        "rules, spacy or presidio, after a colon a pipeline; or none."
    ).default("rules")
    consistent: str = Setting("none, document, or key:FILE.").default("document")
    accept_weak: bool = Setting("Release at a setting that protects next to nothing.").default(
        False
    )
    choose: bool = Setting(
        "Whether a request may name another mechanism and epsilon, or readable."
    ).default(False)
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the mechanism, by the names of its parameters: epsilon and what else it has."""

    def chosen(
        self, mechanism: str | None, epsilon: float | None, readable: bool | None = None
    ) -> "Profile":
        """The same as a request wants it, if it may choose."""
        return replace(
            self,
            mechanism=self.mechanism if mechanism is None else mechanism,
            readable=self.readable if readable is None else readable,
            settings=self.settings if epsilon is None else {**self.settings, "epsilon": epsilon},
        )


@dataclass(frozen=True, kw_only=True)
class EmbeddingProfile(Settings):
    """How texts become private vectors."""

    mechanism: str = Setting("A sentence mechanism.").default(DEFAULTS["sentence"])
    encoder: str = Setting("The sentence encoder.").default(EncoderSettings().encoder)
    dim: int | None = Setting("Dimensions to map to.", at_least=2).default(None)
    map: str = Setting("random, pca or trained:PATH.").default("random")
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the mechanism, by the names of its parameters."""


@dataclass(frozen=True, kw_only=True)
class GatewaySettings(Settings):
    """A language model's provider, and what may reach it."""

    upstream: Annotated[
        str, Setting("URL of an OpenAI-compatible API, such as https://api.openai.com/v1.")
    ]
    upstream_key_env: str | None = Setting(
        "Environment variable that holds the provider's key."
    ).default(None)
    profile: str = Setting("The profile that texts are released with.").default(DEFAULT)
    roles: tuple[str, ...] = ("user", "assistant", "tool", "function")
    """Whose messages are sanitised; those of the other roles pass as they are."""
    allow: tuple[str, ...] = ()
    """Fields and kinds of content, beside texts and numbers, that pass as they are."""
    connect_timeout: float = Setting(
        "Seconds until the upstream must have answered the call.", above=0
    ).default(5.0)
    timeout: float = Setting(
        "Seconds without a byte from the upstream before it is given up.", above=0
    ).default(120.0)
    remember_mb: float = Setting(
        "Memory for releases of conversations; the oldest are forgotten.", above=0
    ).default(256.0)
    remember_minutes: float = Setting(
        "Minutes after its last message that a conversation is remembered.", above=0
    ).default(240.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.upstream.startswith(("http://", "https://")):
            raise InvalidValue("upstream of the gateway must be an http or https URL")
        for role in self.roles:
            check.one_of(role, ROLES, "roles of the gateway")


@dataclass(frozen=True)
class Policy:
    """All that a service is told in advance.

    >>> policy = Policy.from_dict({"profiles": {"default": {"epsilon": 8.0}}})
    >>> policy.profiles["default"].settings
    {'epsilon': 8.0}
    """

    service: ServiceSettings = field(default_factory=ServiceSettings)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    embedding: EmbeddingProfile | None = None
    gateway: GatewaySettings | None = None

    def __post_init__(self) -> None:
        if DEFAULT not in self.profiles:
            raise InvalidValue(
                "the policy needs a profile named default: [profiles.default] with an epsilon"
            )
        if self.gateway is None:
            return
        if self.gateway.profile not in self.profiles:
            raise InvalidValue("profile of the gateway must be one of the policy's profiles")
        restores = self.profiles[self.gateway.profile].identifiers is not None
        if restores and "assistant" not in self.gateway.roles:
            raise InvalidValue(
                "roles of the gateway must list assistant: identifiers are put back in answers, "
                "and would reach the upstream when a client sends these again"
            )

    @classmethod
    def read(cls, path: Path, **over: Any) -> "Policy":
        """Read a policy file.

        Args:
            path: of the TOML file.
            over: fields of the service that were said elsewhere, which count more.
        """
        try:
            values = tomllib.loads(path.read_bytes().decode("utf-8"))
        except FileNotFoundError:
            raise NotFound(f"there is no policy {path}; check the path") from None
        except ValueError as error:
            raise InputError(f"{path} is not a policy: it is no TOML ({error})") from None
        return cls.from_dict(values, **over)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], **over: Any) -> "Policy":
        """The policy of plain values."""
        known = ("service", "profiles", "embedding", "gateway")
        for name in values:
            check.one_of(name, known, "a section of the policy")
        sections = {name: _table(values.get(name, {}), name) for name in known}
        return cls(
            _made(ServiceSettings, {**sections["service"], **over}, "service"),
            {
                name: _with_settings(Profile, _table(section, f"profiles.{name}"))
                for name, section in sections["profiles"].items()
            },
            _with_settings(EmbeddingProfile, sections["embedding"])
            if "embedding" in values
            else None,
            _made(GatewaySettings, sections["gateway"], "gateway") if "gateway" in values else None,
        )


def _table(values: Any, name: str) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        raise InvalidValue(f"[{name}] of the policy must be a section")
    return dict(values)


def _made(kind: type[Any], given: Mapping[str, Any], section: str) -> Any:
    """Settings from a section; what is not known is refused, and paths and lists are made."""
    kinds = {each.name: plain_type(each.kind) for each in declared_in(kind)}
    lists = ("roles", "allow") if kind is GatewaySettings else ()
    made = {}
    for name, value in given.items():
        if name in lists:
            if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
                raise InvalidValue(f"{name} of [{section}] must be a list of words")
            made[name] = tuple(value)
        elif name not in kinds:
            raise InvalidValue(
                f"{name} is not a setting of [{section}]; it has {', '.join([*kinds, *lists])}"
            )
        else:
            made[name] = _of_kind(value, kinds[name], f"{name} of [{section}]")
    try:
        return kind(**made)
    except TypeError:
        raise InvalidValue(f"[{section}] of the policy lacks a setting it needs") from None


def _of_kind(value: Any, kind: Any, name: str) -> Any:
    if value is None:
        return None
    wanted = {Path: (str, Path), float: (int, float)}.get(kind, kind)
    if not isinstance(value, wanted) or (isinstance(value, bool) and kind is not bool):
        words = {str: "words", Path: "a path", bool: "true or false"}
        raise InvalidValue(f"{name} must be {words.get(kind, 'a number')}")
    return Path(value) if kind is Path else value


def _with_settings(kind: type[Any], section: Mapping[str, Any]) -> Any:
    """A profile: its own fields, and the rest as settings of its mechanism."""
    own = {each.name for each in declared_in(kind)}
    given = {name: value for name, value in section.items() if name in own}
    if given.get("identifiers") == "none":
        given["identifiers"] = None
    rest = {name: value for name, value in section.items() if name not in own}
    made = _made(kind, given, "profiles" if kind is Profile else "embedding")
    return replace(made, settings=rest)
