"""What commands share that release folders: what cannot be done there, and what is said."""

from pathlib import Path

from discreet import check
from discreet.cli._choice import WordChoice
from discreet.cli._terminal import counted
from discreet.cli._text_settings import IdentifierSettings, TextSettings
from discreet.errors import InvalidValue
from discreet.mechanisms.registry import default_space
from discreet.receipt import Receipt
from discreet.release.recipe import Recipe
from discreet.release.text import LAYOUTS, READABLE


def refuse_for_folders(**given: bool) -> None:
    """Refuse what is for a single file, by the name of its option."""
    for name, used in given.items():
        if used:
            flag = "--" + name.replace("_", "-")
            raise InvalidValue(f"{flag} is for a single file; leave it out for a folder")


def recipe_from(
    choice: WordChoice, identifiers: IdentifierSettings, settings: TextSettings, layout: str
) -> Recipe:
    """What every worker makes its sanitizer from."""
    check.one_of(layout, list(LAYOUTS), "--layout")
    chosen = {"layout": layout, "public": settings.public, "polish": settings.polish}
    # Workers may have another working directory.
    kind, _, key = identifiers.consistent.partition(":")
    listed, space = identifiers.surrogates, choice.space or default_space(choice.name)
    return Recipe(
        mechanism=choice.name,
        settings={
            name: str(value.absolute()) if isinstance(value, Path) else value
            for name, value in choice.settings.items()
        },
        space=str(Path(space).absolute()) if Path(space).exists() else space,
        max_words=choice.max_words,
        repeat=settings.repeat,
        identifiers=identifiers.identifiers,
        consistent=f"{kind}:{Path(key).absolute()}" if key else kind,
        surrogates=None if listed is None else str(listed.absolute()),
        **(READABLE if settings.readable else chosen),
    )


def parts_line(receipt: Receipt) -> str:
    """How the release was made, for people."""
    engine = receipt.about["engine"]
    again = engine["attempts"] - engine["parts"]
    more = f"; {counted(again, 'attempt')} more failed and were discarded unread"
    return f"{counted(engine['parts'], 'part')} by {engine['name']}{more if again > 0 else ''}."
