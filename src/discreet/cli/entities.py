"""``discreet entities``: which rows of a file hold which sensitive entities."""

import json
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import echo, in_lines, progress_bar, say
from discreet.errors import InvalidValue
from discreet.settings import Setting
from discreet.text.entities.rows import Fields
from discreet.text.entities.settings import EntitySettings
from discreet.text.entities.survey import find_entities


def entities(
    settings: EntitySettings,
    source: Annotated[
        str,
        argument(
            "INPUT",
            "jsonl (text, or tokens with tags), or txt, csv, tsv (each also .gz) or parquet; "
            "- is standard input.",
        ),
    ],
    output: Annotated[
        str | None, Setting("Where to write JSON lines; - is standard output.", short="-o")
    ] = None,
    text_field: options.TextField = "text",
    tokens_field: Annotated[
        str | None, Setting("Field with a list of tokens, instead of a text; tokens with --labels.")
    ] = None,
    tags_field: Annotated[str, Setting("Field with a BIO tag for each token.")] = "tags",
    format: options.Format = None,
    evaluate: Annotated[
        bool, Setting("Compare what is found with the tags of the data: precision, recall.")
    ] = False,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Find the sensitive entities of every row, for training that protects users and entities.

    OUTPUT holds the rows of INPUT, each with a field "entities": a list of start, end (characters,
    or tokens of a row of tokens), category and id. Mentions that differ only in case, spacing,
    marks or possessive have one id, in every file. OUTPUT is as sensitive as INPUT, and the ids
    hide nothing: only those who may see the text may see it. Messages hold counts only.

    Sources can be combined. What none of them finds is not protected as an entity: see --evaluate.

    Example: discreet entities news.jsonl -o with-entities.jsonl --spacy en_core_web_md
    --categories person,org,gpe
    """
    if output is None and not evaluate:
        raise InvalidValue("give --output, or --evaluate, or both")
    tagged = settings.labels or evaluate
    fields = Fields(
        text=text_field,
        tokens=tokens_field or ("tokens" if tagged else None),
        tags=tags_field if tagged else None,
    )
    with progress_bar("finding entities") as show:
        survey = find_entities(
            source,
            output,
            settings,
            fields,
            format=format,
            evaluate=evaluate,
            force=force,
            progress=show,
        )
    # What was asked for goes where results go, unless the rows go there.
    show_result = say if output == "-" else echo
    if as_json:
        show_result(*in_lines(json.dumps(survey.to_dict(), indent=2)))
        return
    say(*survey.in_words())
    if survey.agreement is not None:
        show_result(*survey.agreement.in_words())
    if output not in (None, "-"):
        say(f"Written: {output}. It is as sensitive as the input: keep it on the same side.")
