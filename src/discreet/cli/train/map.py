"""``discreet train map``: a public map, trained through the noise that it will meet."""

from pathlib import Path
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import echo_json, progress_bar, say
from discreet.encoders.settings import EncoderSettings
from discreet.report.training import map_lines
from discreet.settings import Setting
from discreet.training.vectors.settings import MapText, MapTrainingSettings


def map(
    source: Annotated[
        str,
        argument(
            "PUBLIC",
            "PUBLIC text like the text that will be released: txt, csv, tsv, jsonl (each also "
            ".gz) or parquet. Never protected text: the map tells something of it.",
        ),
    ],
    output: Annotated[Path, Setting("File for the map (.safetensors).", short="-o")],
    settings: MapTrainingSettings,
    text: MapText,
    encoder: EncoderSettings,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Learn from public text which few directions of a vector to keep, through the noise.

    'discreet embed --map trained:MAP' uses the map. The guarantee of a release is then in the angle
    after the map; between any two sentences the loss is at most pi times epsilon. For a task of two
    classes, two dimensions are often far better than sixteen.

    Example: discreet train map public.jsonl -o map.safetensors --epsilon 4 --label-field label
    """
    from discreet.training.vectors.files import map_from_text

    trained = map_from_text(
        source, output, settings, text, encoder, force=force, announce=progress_bar
    )
    say(*map_lines(trained), f"Written: {output}")
    if as_json:
        echo_json(trained.about)
