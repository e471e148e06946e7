"""``discreet spaces``: list, build, inspect and certify public vocabularies."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._choice import WordChoice, check_typed
from discreet.cli._groups import command_group
from discreet.cli._settings import argument
from discreet.cli._terminal import echo, in_lines, progress_bar, say, show
from discreet.evaluation.inspection import Inspection
from discreet.files import refuse_existing
from discreet.mechanisms.certificate import certificate_table
from discreet.mechanisms.word.santext_plus import sensitive_targets, sensitive_words
from discreet.settings import Setting
from discreet.spaces.index import build_index, store_index
from discreet.spaces.loaders import known_spaces, save_space
from discreet.spaces.space import EmbeddingSpace

spaces = command_group("List, build, inspect and certify public vocabularies.", default="list")

Name = Annotated[str, argument("SPACE", "starter, english, encoder, or a path.")]


@spaces.command("list")
def list_spaces(as_json: options.Json = False) -> None:
    """Show the spaces that are at hand.

    Example: discreet spaces list
    """
    known = known_spaces()
    width = max(20, *(len(each.name) for each in known))
    lines = [f"{each.name:<{width}} {each.size:<24} {each.note}" for each in known]
    show([each.to_dict() for each in known], lines, as_json=as_json)


@spaces.command()
def inspect(
    name: Name,
    max_words: options.MaxWords = None,
    word: Annotated[Sequence[str], Setting("Show the neighbours of this word.")] = (),
    as_json: options.Json = False,
) -> None:
    """Show size, provenance, typical distances and neighbours.

    Example: discreet spaces inspect starter --word doctor
    """
    space = _load(name, max_words)
    check_typed(word, space)
    inspection = Inspection.of(space, word)
    show(inspection.to_dict(), inspection.lines(), as_json=as_json)


@spaces.command(short_help="Build a space's neighbour index, which makes later runs fast.")
def build(
    name: Name,
    max_words: options.MaxWords = None,
    output: Annotated[
        Path | None, Setting("Also save the space as one .safetensors file.", short="-o")
    ] = None,
    force: options.Force = False,
) -> None:
    """Build the neighbour index of a space, so that later runs need no matrix product.

    The index depends on the space alone, not on any text and not on epsilon.

    Example: discreet spaces build vectors.txt --max-words 50000
    """
    if output is not None:
        refuse_existing(output, force=force)  # before anything large is read
    space = _load(name, max_words)
    if output is not None:
        save_space(space, output, force=force)
    with progress_bar("finding neighbours") as bar:
        index = build_index(space, progress=bar)
    store_index(space, index)
    say(f"Kept the {index.size} nearest neighbours of each of {len(space):,} words.")
    if output is not None:
        say(f"Written: {output}")


@spaces.command(short_help="Compute how sharp SanText may be at each epsilon in a space.")
def certify(
    name: Name,
    max_words: options.MaxWords = None,
    sensitive_share: options.SensitiveShare = None,
    sensitive_file: options.SensitiveFile = None,
    again: Annotated[bool, Setting("Compute it even if a stored one exists.")] = False,
    as_json: options.Json = False,
) -> None:
    """Compute the certificate table of a space: how sharp SanText may be at each epsilon.

    Checks every pair of words, so the time grows with the square of the vocabulary (40 seconds for
    20,000 words on two cores). With --sensitive-share or --sensitive-file the table is the one
    of santext-plus for that list.

    Example: discreet spaces certify vectors.txt --max-words 20000
    """
    space = _load(name, max_words)
    targets = None
    if sensitive_share is not None or sensitive_file is not None:
        targets = sensitive_targets(space, sensitive_words(space, sensitive_share, sensitive_file))
    with progress_bar("checking every pair of words") as bar:
        table = certificate_table(space, targets, bar, again=again)
    shown = [f"{space.name}: fingerprint {space.fingerprint}", *table.lines()]
    echo(*(in_lines(table.to_json()) if as_json else shown))


def _load(name: str, max_words: int | None) -> EmbeddingSpace:
    return WordChoice(space=name, max_words=max_words).vocabulary()
