"""``discreet spaces``: list, build, inspect and certify public vocabularies."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import _options as options
from discreet.cli._choice import WordChoice, typed_word
from discreet.cli._groups import CommandGroup
from discreet.cli._settings import argument
from discreet.cli._terminal import echo, in_lines, progress_bar, say, show
from discreet.evaluation.explanation import example_words
from discreet.files import refuse_existing
from discreet.mechanisms.certificate import certificate_table, known_table, metric_of
from discreet.mechanisms.word.santext_plus import sensitive_targets, sensitive_words
from discreet.settings import Setting
from discreet.spaces.index import build_index, cached_index, store_index
from discreet.spaces.loaders import known_spaces, save_space
from discreet.spaces.neighbours import nearest
from discreet.spaces.space import EmbeddingSpace

spaces = CommandGroup(
    add_completion=False,
    help="List, build, inspect and certify public vocabularies.",
    invoke_without_command=True,
    rich_markup_mode=None,
)

Name = Annotated[str, argument("SPACE", "starter, english, encoder, or a path.")]


@spaces.callback()
def _default(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_spaces()


@spaces.command("list")
def list_spaces(as_json: options.Json = False) -> None:
    """Show the spaces that are at hand.

    Example: discreet spaces list
    """
    known = known_spaces()
    width = max(20, *(len(each.name) for each in known))
    values, lines = [], []
    for each in known:
        size = "not found" if each.words is None else f"{each.words:,} words x {each.dimension}"
        lines.append(f"{each.name:<{width}} {size:<24} {each.note}")
        shown = ("name", "kind", "words", "dimension")
        values.append({name: getattr(each, name) for name in shown})
    show(values, lines, as_json=as_json)


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
    metric = metric_of(space)
    neighbours = {one: _neighbours(space, one) for one in word or example_words(space)}
    unknown = None if space.unknown is None else space.words[space.unknown]
    indexed, certified = cached_index(space) is not None, known_table(space) is not None
    values = {
        **space.to_dict(),
        "unknown": unknown,
        "frequencies": space.frequencies is not None,
        "distances": {name: getattr(metric, name) for name in ("nearest", "median", "farthest")},
        "indexed": indexed,
        "certified": certified,
        "neighbours": neighbours,
    }
    lines = [
        f"{space.name}: {len(space):,} words x {space.dimension}, fingerprint {space.fingerprint}",
        f"From: {space.provenance}",
        f"Unknown words become: {unknown or 'none'}",
        "Public word frequencies: " + ("no" if space.frequencies is None else "yes"),
        f"Distances: nearest neighbour {metric.nearest:.3g} (median), any pair {metric.median:.3g} "
        f"(median), farthest pair at most {metric.farthest:.3g}",
        "Certificate table: " + ("yes" if certified else "not yet (spaces certify)"),
        "Neighbour index: " + ("yes" if indexed else "not yet (spaces build)"),
        *(f"  {one}: {', '.join(others)}" for one, others in neighbours.items()),
    ]
    show(values, lines, as_json=as_json)


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
    if as_json:
        echo(*in_lines(table.to_json()))
        return
    echo(f"{space.name}: fingerprint {space.fingerprint}")
    echo(f"{'epsilon':>10} {'published kappa':>16} {'certified kappa':>16} {'word stays':>11}")
    for i in range(0, len(table.kappas), max(1, len(table.kappas) // 16)):
        echo(
            f"{table.rates[i]:>10.4g} {table.rates[i] / 2:>16.4g} {table.kappas[i]:>16.4g} "
            f"{table.keeps[i]:>11.3g}"
        )


def _load(name: str, max_words: int | None) -> EmbeddingSpace:
    return WordChoice(space=name, max_words=max_words).vocabulary()


def _neighbours(space: EmbeddingSpace, word: str, count: int = 8) -> list[str]:
    own = typed_word(space, word)
    close = nearest(space.vectors, space.vectors[[own]], min(count + 1, len(space)))[0]
    return [space.words[i] for i in close if i != own][:count]
