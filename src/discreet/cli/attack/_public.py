"""What the commands that attack vectors share."""

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from discreet.attacks.outcome import Outcome
from discreet.attacks.public_halves import PublicHalves
from discreet.cli._choice import SentenceChoice
from discreet.cli._terminal import progress_bar
from discreet.encoders.settings import EncoderSettings, MapSettings
from discreet.release.sentences import SentenceEmbedder

Source = Annotated[
    str,
    typer.Argument(
        metavar="TEXT",
        help="PUBLIC text: txt, csv, tsv, jsonl (each also .gz) or parquet. Never protected text: "
        "the figures depend on it.",
    ),
]
Texts = Annotated[
    int, typer.Option("--texts", help="Use so many texts, drawn at random; 0 uses all.", min=0)
]
Seed = Annotated[int, typer.Option("--seed", help="Of noise, halves and training.", min=0)]


def halves(
    choice: SentenceChoice,
    vectors: MapSettings,
    encoding: EncoderSettings,
    texts: Sequence[str],
    most: int,
    seed: int,
) -> PublicHalves:
    """The texts as vectors of the setting that was chosen."""

    def made() -> SentenceEmbedder:
        name = choice.name_in("sentence")
        return SentenceEmbedder.from_names(
            name, choice.settings, vectors, encoding, called=choice.flag
        )

    with progress_bar("encoding") as show:
        return PublicHalves.of(texts, made, most=most or None, seed=seed, progress=show)


def show_outcomes(outcomes: Sequence[Outcome], about: dict[str, Any], *, as_json: bool) -> None:
    """Print what attacks achieved."""
    if as_json:
        values = about | {"outcomes": [outcome.to_dict() for outcome in outcomes]}
        typer.echo(json.dumps(values, indent=2))
        return
    typer.echo("\n".join(line for outcome in outcomes for line in outcome.lines()))
