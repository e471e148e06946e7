"""From a name and options on the command line to a word mechanism."""

import inspect
import pkgutil
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import check
from discreet.errors import InvalidValue

if TYPE_CHECKING:
    from discreet.release.text import WordMechanism
    from discreet.spaces import EmbeddingSpace

_FOLDER = Path(__file__).parent.parent / "mechanisms" / "word"


def word_mechanism_names() -> list[str]:
    """The word mechanisms there are: a module each, named like the mechanism."""
    found = (module.name for module in pkgutil.iter_modules([str(_FOLDER)]))
    return [name.replace("_", "-") for name in found if not name.startswith("_")]


def word_mechanism_class(name: str) -> type[Any]:
    """The class of a word mechanism; only its own module is imported."""
    check.one_of(name, word_mechanism_names(), "--mechanism")
    module = import_module(f"discreet.mechanisms.word.{name.replace('-', '_')}")
    classes = inspect.getmembers(module, inspect.isclass)
    return next(kind for _, kind in classes if getattr(kind, "name", None) == name)


def build_word_mechanism(
    name: str,
    space: "EmbeddingSpace",
    options: Mapping[str, Any],
    progress: Callable[[int, int], None] | None = None,
) -> "WordMechanism":
    """Make a mechanism from the options that were given; one it does not have is an error.

    Args:
        name: the mechanism.
        space: the vocabulary.
        options: by parameter name; None means not given.
        progress: for mechanisms that certify a space on first use.
    """
    kind = word_mechanism_class(name)
    accepted = inspect.signature(kind).parameters
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in accepted:
            raise InvalidValue(f"{_flag(key)} is not an option of {name}; leave it out")
    for key, parameter in accepted.items():
        if parameter.default is parameter.empty and key not in given and key != "space":
            finds = f"; 'discreet explain -m {name} --find keep=0.5' finds one"
            raise InvalidValue(f"{name} needs {_flag(key)}{finds if key == 'epsilon' else ''}")
    if "progress" in accepted:
        given["progress"] = progress
    mechanism: WordMechanism = kind(space, **given)
    return mechanism


def sensitive_ids(
    mechanism: str, space: "EmbeddingSpace", share: float | None, file: Path | None
) -> Any:
    """Ids of the sensitive words, from public frequencies or from a public list; None if not asked.

    A list may name words that the space does not have: they are unknown, hence sensitive anyway.
    """
    if mechanism != "santext-plus" and share is None and file is None:
        return None
    if share is not None and file is not None:
        raise InvalidValue("give --sensitive-share or --sensitive-file, not both")
    if file is None:
        return space.least_frequent(
            check.share(0.9 if share is None else share, "--sensitive-share")
        )
    from discreet.text.readers import open_documents

    with open_documents(file, format="txt") as reader:
        words = [line.strip() for batch in reader for line in batch.texts]
    ids = [space.ids.get(word, space.ids.get(word.lower())) for word in words]
    known = [number for number in ids if number is not None]
    if not known:
        raise InvalidValue(
            f"{file}: none of its {len(words)} lines is a word of {space.name}; "
            "give one word a line"
        )
    return known


def plain_parameters(mechanism: Any) -> dict[str, Any]:
    """The mechanism's own numbers and words, by attribute; kappa and counts included."""
    wanted = [*inspect.signature(type(mechanism)).parameters, "kappa"]
    found = {key: getattr(mechanism, key, None) for key in wanted}
    plain = {key: value for key, value in found.items() if isinstance(value, int | float | str)}
    sensitive = getattr(mechanism, "sensitive", None)
    return plain | ({} if sensitive is None else {"sensitive_words": len(sensitive)})


def _flag(parameter: str) -> str:
    named = {"sensitive": "--sensitive-share or --sensitive-file", "dimension": "--dim"}
    return named.get(parameter, "--" + parameter.replace("_", "-"))
