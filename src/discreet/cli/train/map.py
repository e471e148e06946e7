"""``discreet train map``: a public map, trained through the noise that it will meet."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet import check
from discreet.cli import _options as options
from discreet.cli._terminal import counted, progress_bar, say
from discreet.cli._vectors import EncoderName, Pooling

if TYPE_CHECKING:
    from discreet.encoders.maps import PublicMap

_AUTO = "auto"


def map(
    source: Annotated[
        str,
        typer.Argument(
            metavar="PUBLIC",
            help="PUBLIC text like the text that will be released: txt, csv, tsv, jsonl (each also "
            ".gz) or parquet. Never protected text: the map tells something of it.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File for the map (.safetensors).")
    ],
    epsilon: Annotated[
        float,
        typer.Option("--epsilon", "-e", help="Of the noise that the map is to be used with."),
    ],
    mechanism: Annotated[
        str, typer.Option("--mechanism", "-m", help="One of: purkayastha, planar-laplace.")
    ] = "purkayastha",
    dim: Annotated[
        str,
        typer.Option(
            "--dim", help="Dimensions to map to; auto tries several on held-out public text."
        ),
    ] = _AUTO,
    label_field: Annotated[
        str | None,
        typer.Option(
            "--label-field",
            help="PUBLIC class of each text: the map learns to keep classes apart. Without it, "
            "it learns to keep as much of the vector as it can.",
        ),
    ] = None,
    text_field: options.TextField = "text",
    more: Annotated[
        str | None,
        typer.Option(
            "--more",
            help="Further PUBLIC text with the same fields, such as whole reviews where PUBLIC has "
            "sentences. Validation, on PUBLIC alone, says how much its labels weigh.",
        ),
    ] = None,
    hidden: Annotated[
        int, typer.Option("--hidden", help="Width of a tanh layer; 0: a linear map.", min=0)
    ] = 32,
    epochs: Annotated[int, typer.Option("--epochs", help="Passes over the text.", min=1)] = 15,
    encoder: EncoderName = "all-MiniLM-L6-v2",
    pooling: Pooling = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the training.", min=0)] = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Learn from public text which few directions of a vector to keep, through the noise.

    'discreet embed --map trained:MAP' uses the map. The guarantee of a release is then in the angle
    after the map; between any two sentences the loss is at most pi times epsilon. For a task of two
    classes, two dimensions are often far better than sixteen.

    Example: discreet train map public.jsonl -o map.safetensors --epsilon 4 --label-field label
    """
    from discreet.tensors import refuse_existing
    from discreet.text.labelled import read_labelled
    from discreet.training.vectors.maps import CANDIDATES, MapSettings, train_map

    refuse_existing(output, force=force)
    sizes = CANDIDATES if dim == _AUTO else (_whole(dim),)
    settings = MapSettings(epsilon, mechanism, sizes, hidden, epochs, seed)
    public = read_labelled(source, text_field=text_field, label_field=label_field)
    further = None
    if more is not None:
        further = read_labelled(more, text_field=text_field, label_field=label_field)
    from discreet.encoders.encoder import load_encoder

    model = load_encoder(encoder, pooling=pooling)
    with progress_bar("encoding public text") as show:
        vectors = model.encode(public.texts, progress=show)
        others = None if further is None else model.encode(further.texts, progress=show)
    with progress_bar("training through noise") as show:
        trained = train_map(
            vectors,
            public.labels,
            settings=settings,
            encoder=model.fingerprint,
            source=Path(source).name if more is None else f"{Path(source).name}, {Path(more).name}",
            more=others,
            more_labels=None if further is None else further.labels,
            progress=show,
        )
    trained.save(output, force=force)
    say(*_lines(trained, counted(len(public.texts), "public text")), f"Written: {output}")
    if as_json:
        typer.echo(json.dumps(trained.about, indent=2, ensure_ascii=False))


def _whole(dim: str) -> int:
    try:
        number = int(dim)
    except ValueError as error:
        raise check.fail("--dim", "auto or a whole number of at least 2", dim) from error
    return check.whole(number, "--dim", at_least=2)


def _lines(trained: "PublicMap", texts: str) -> list[str]:
    about = trained.about
    settings, table = about["settings"], about["validation"]
    measure = next(key for key in table[0] if key != "dimension")
    lines = [
        f"Trained on {texts} for {settings['mechanism']} at epsilon {settings['epsilon']:g}.",
        f"Objective: {about['objective']}.",
        f"Validation ({about['validated on']}):",
        *(f"  {row['dimension']:>4} dimensions: {measure} {row[measure]:.3f}" for row in table),
    ]
    if "clean accuracy" in about:
        lines.append(f"  without map and noise: accuracy {about['clean accuracy']:.3f}")
    lines.append(f"Kept: {trained.dimension} dimensions.")
    return lines
