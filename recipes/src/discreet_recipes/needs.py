"""What recipes need beside data, looked for before any work."""

import json
from collections.abc import Mapping
from importlib.util import find_spec

from discreet.errors import InvalidValue, MissingExtra, NotFound


def require_libraries(extras: Mapping[str, str]) -> None:
    """Raise an error that names the modules that are not installed, each with its extra."""
    absent = [name for name in extras if find_spec(name) is None]
    if absent:
        needed = ",".join(dict.fromkeys(extras[name] for name in absent))
        raise MissingExtra(f"a recipe that imports {' and '.join(absent)}", needed)


def require_model(name: str, *, language: bool = False) -> None:
    """Raise an error unless there is such a model on this machine, with its tokeniser."""
    from discreet.encoders.causal import model_folder
    from discreet.encoders.encoder import locate_model  # slow to import: no help need wait for it
    from discreet.encoders.library import refuse_no_tokenizer

    refuse_no_tokenizer(model_folder(name) if language else locate_model(name)[0])


def require_width(name: str, dimensions: Mapping[str, int]) -> None:
    """Raise an error where options ask for more dimensions than a model's vectors have.

    Args:
        name: Of the model, which is there.
        dimensions: The most that each option asks for.
    """
    from discreet.encoders.encoder import locate_model  # as above

    path = locate_model(name)[0] / "config.json"
    width = json.loads(path.read_text("utf-8")).get("hidden_size") if path.is_file() else None
    wide = [
        f"--{option.replace('_', '-')} asks for {most}"
        for option, most in dimensions.items()
        if width is not None and most > width
    ]
    if wide:
        raise InvalidValue(
            f"{' and '.join(wide)} dimensions, where a vector of {name} has {width}: leave these "
            "out, or name a wider model"
        )


def require_recogniser(remedy: str) -> None:
    """Raise an error unless spaCy and the pipeline that finds entities are here.

    Args:
        remedy: What to leave out where it cannot be had.
    """
    from discreet.text.entities.recognisers import PACKAGED, load_pipeline  # as above

    try:
        load_pipeline(PACKAGED)
    except NotFound as error:
        raise NotFound(
            f"entities of AG News are found by spaCy's {PACKAGED}, which is not here: install it "
            f"with: python -m spacy download {PACKAGED}; or leave out what needs it: {remedy}"
        ) from error
