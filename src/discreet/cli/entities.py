"""``discreet entities``: which rows of a file hold which sensitive entities."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import check
from discreet.cli import _options as options
from discreet.cli._terminal import counted, progress_bar, say
from discreet.errors import InvalidValue

if TYPE_CHECKING:
    from discreet.text.entities.survey import Survey


def entities(
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="jsonl (text, or tokens with tags), or txt, csv, tsv (each also .gz) or parquet; "
            "- is standard input.",
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Where to write JSON lines; - is standard output."),
    ] = None,
    labels: Annotated[
        bool, typer.Option("--labels", help="Take the BIO tags of the data (--tags-field).")
    ] = False,
    gazetteer: Annotated[
        Path | None,
        typer.Option(
            "--gazetteer", help="A list: one entity a line, optionally a tab and its category."
        ),
    ] = None,
    spacy: Annotated[
        str | None,
        typer.Option(
            "--spacy", metavar="MODEL", help="An installed spaCy pipeline, by name or by path."
        ),
    ] = None,
    presidio: Annotated[
        str | None,
        typer.Option(
            "--presidio", metavar="MODEL", help="Presidio, on top of this spaCy pipeline."
        ),
    ] = None,
    categories: Annotated[
        str | None,
        typer.Option(
            "--categories",
            help="Which to look for, with commas between: person, org, loc, gpe, misc, norp, fac, "
            "pii (these unless given), date, time, money, ...; all; or labels of your own.",
        ),
    ] = None,
    least_score: Annotated[
        float | None,
        typer.Option("--least-score", help="Drop what Presidio is less sure of (0.4)."),
    ] = None,
    text_field: options.TextField = "text",
    tokens_field: Annotated[
        str | None,
        typer.Option(
            "--tokens-field",
            help="Field with a list of tokens, instead of a text; tokens with --labels.",
        ),
    ] = None,
    tags_field: Annotated[
        str, typer.Option("--tags-field", help="Field with a BIO tag for each token.")
    ] = "tags",
    format: options.Format = None,
    evaluate: Annotated[
        bool,
        typer.Option(
            "--evaluate", help="Compare what is found with the tags of the data: precision, recall."
        ),
    ] = False,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Find the sensitive entities of every row, for training that protects users and entities.

    OUTPUT holds the rows of INPUT, each with a field "entities": a list of start, end (characters,
    or tokens of a row of tokens), category and id. Mentions that differ only in case, spacing,
    marks or possessive have one id, in every file. OUTPUT is for the side that may see the text: it
    is as sensitive as INPUT, and the ids hide nothing. What is said about it are counts only.

    Sources can be combined. What none of them finds is not protected as an entity: see --evaluate.

    Example: discreet entities news.jsonl -o with-entities.jsonl --spacy en_core_web_md
    --categories person,org,gpe
    """
    from discreet.text.entities.found import chosen_categories
    from discreet.text.entities.output import lines_to
    from discreet.text.entities.rows import Fields
    from discreet.text.entities.survey import Survey

    if output is None and not evaluate:
        raise InvalidValue("give --output, or --evaluate, or both")
    if not (labels or gazetteer or spacy or presidio):
        raise InvalidValue("name a source: --labels, --gazetteer, --spacy or --presidio")
    if evaluate and labels:
        raise InvalidValue("--evaluate compares other sources with the labels; leave out --labels")
    if least_score is not None:
        if presidio is None:
            raise InvalidValue("--least-score belongs to --presidio; leave it out")
        check.share(least_score, "--least-score")
    names = None if categories is None else [name.strip() for name in categories.split(",")]
    chosen = chosen_categories(names)
    tagged = labels or evaluate
    fields = Fields(
        text=text_field,
        tokens=tokens_field or ("tokens" if tagged else None),
        tags=tags_field if tagged else None,
    )
    # The output's place comes first: a mistake in a name must not show only after long work.
    with lines_to(output, source, force=force) as write:
        sources, left_out = _sources(gazetteer, spacy, presidio, least_score, chosen)
        if names is not None and "all" not in names and not labels:
            _refuse_unfindable(chosen, sources)
        survey = Survey(sources, chosen, labels=labels, evaluate=evaluate, left_out=left_out)
        with progress_bar("finding entities") as show:
            for written in survey.lines(source, fields, format=format, progress=show):
                write(written)
    if as_json:
        report = json.dumps(survey.to_dict(), indent=2)
        if output == "-":
            say(report)
        else:
            typer.echo(report)
        return
    _tell(survey, output)


def _sources(
    gazetteer: Path | None,
    spacy: str | None,
    presidio: str | None,
    least_score: float | None,
    chosen: frozenset[str],
) -> tuple[list[Any], int]:
    """The sources asked for, and how many entries of the list are of other categories."""
    from discreet.text.entities import recognisers
    from discreet.text.entities.gazetteer import load_gazetteer

    sources: list[Any] = []
    left_out = 0
    if gazetteer is not None:
        listed, left_out = load_gazetteer(gazetteer, chosen)
        sources.append(listed)
    if spacy is not None:
        sources.append(recognisers.SpacyEntities(recognisers.load_pipeline(spacy), chosen))
    if presidio is not None:
        least = recognisers.LEAST_SCORE if least_score is None else least_score
        pipeline = recognisers.load_pipeline(presidio)
        sources.append(recognisers.PresidioEntities(pipeline, chosen, least_score=least))
    return sources, left_out


def _refuse_unfindable(chosen: frozenset[str], sources: list[Any]) -> None:
    """A category that nothing can find would be left unprotected in silence."""
    missing = chosen.difference(*(finder.categories for finder in sources))
    if missing:
        raise InvalidValue(
            f"no source given here finds {', '.join(sorted(missing))}; add a source that does, or "
            "leave it out of --categories"
        )


def _tell(survey: "Survey", output: str | None) -> None:
    """Counts, for people."""
    say(
        f"{counted(survey.sensitive, 'row')} of {survey.rows:,} hold "
        f"{counted(survey.mentions.total(), 'mention')} of "
        f"{survey.entities:,} different entities."
    )
    for category, number in sorted(survey.mentions.items()):
        say(f"  {category:<12} {number:>9,}")
    if survey.left_out:
        say(f"Left out, being of other categories: {survey.left_out:,}.")
    if survey.agreement is not None:
        # The comparison is what was asked for, so it goes where results go.
        show = say if output == "-" else typer.echo
        show("Agreement with the tags of the data (same tokens, same category):")
        show(f"  {'':<12} {'labelled':>9} {'found':>9} {'precision':>9} {'recall':>9} {'F1':>9}")
        for name, score in survey.agreement.scores().items():
            show(
                f"  {name:<12} {score.labelled:>9,} {score.found:>9,} {score.precision:>9.3f} "
                f"{score.recall:>9.3f} {score.f1:>9.3f}"
            )
        show(
            f"  {survey.agreement.covered:.1%} of the labelled entities lie wholly inside "
            "something found; the others would not be protected as entities."
        )
    if output not in (None, "-"):
        say(f"Written: {output}. It is as sensitive as the input: keep it on the same side.")
