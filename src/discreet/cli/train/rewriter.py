"""``discreet train rewriter``: learn from public text to undo a mechanism's noise."""

from pathlib import Path
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._choice import WordChoice
from discreet.cli._settings import argument
from discreet.cli._terminal import echo_json, progress_bar, say
from discreet.devices import prefer_device
from discreet.files import refuse_existing
from discreet.report.training import rewriter_lines
from discreet.settings import Setting
from discreet.training.texts.settings import RewriterTraining


def rewriter(
    choice: WordChoice,
    source: Annotated[
        str,
        argument(
            "PUBLIC",
            "PUBLIC text like the text that will be rewritten: txt, csv, tsv, jsonl (each "
            "also .gz) or parquet. Never protected text.",
        ),
    ],
    output: Annotated[Path, Setting("Where to write the rewriter.", short="-o")],
    settings: RewriterTraining,
    text_field: options.TextField = "text",
    max_documents: Annotated[
        int | None, Setting("Use only the first N documents.", at_least=1)
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Train a rewriter: public text is sanitised, and it learns to give back the original.

    The rewriter belongs to this mechanism, this epsilon and this space; its file says so, and
    'discreet rewrite' takes them from there. What it restores an attacker could restore as well.

    Example: discreet train rewriter public.jsonl -o rewriter.safetensors --epsilon 8
    """
    prefer_device(settings.device)
    from discreet.training.texts.files import read_public_text
    from discreet.training.texts.rewriting import train_rewriter

    refuse_existing(output, force=force)
    texts, _ = read_public_text(source, text_field=text_field, most=max_documents)

    mechanism = choice.build(choice.vocabulary())
    with progress_bar("training") as show:
        trained = train_rewriter(
            mechanism, texts, settings, source=Path(source).name, progress=show
        )
    # What the command line asked for, so that a release can be made from the file alone.
    trained.about["options"] = choice.to_json()
    trained.save(output, force=force)
    say(*rewriter_lines(trained), f"Written: {output}")
    if as_json:
        echo_json({"mechanism": trained.mechanism, **trained.about})
