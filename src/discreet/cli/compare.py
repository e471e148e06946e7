"""``discreet compare``: mechanisms on one scale, use against what attackers get."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from discreet import check
from discreet.cli import _options as options
from discreet.cli._terminal import echo_json, progress_bar, say
from discreet.errors import InvalidValue, OutputError
from discreet.evaluation.comparison.bench import SAMPLES, Bench
from discreet.evaluation.comparison.contenders import contenders
from discreet.evaluation.comparison.peers import peer_jobs
from discreet.evaluation.comparison.run import compared
from discreet.evaluation.comparison.task import QUICK, Effort, Task
from discreet.files import cache_directory, written_whole
from discreet.report.comparison import frontier_plot, lines, page_of
from discreet.report.page import write_page
from discreet.report.plots import draw, figure_class
from discreet.spaces import load_space
from discreet.staging import PRIVATE

_MEASURES = ("accuracy", "macro-F1", "similarity")
_RECORD = "comparison.json"


def compare(
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="Texts to release and attack: csv, tsv, jsonl (each also .gz) or parquet. The "
            "report quotes some of them, and its figures depend on all: best is public text of "
            "the same kind as yours.",
        ),
    ],
    public: Annotated[
        str,
        typer.Option(
            "--public", help="Other, PUBLIC text of the same kind: what the attackers know."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Folder of the report: index.html, frontier.png, comparison.json and the parts "
            "that are done. A run that was stopped goes on there.",
        ),
    ],
    label_field: Annotated[
        str | None,
        typer.Option("--label-field", help="Column or field of the labels a model shall learn."),
    ] = None,
    author_field: Annotated[
        str | None,
        typer.Option(
            "--author-field", help="Column or field of the authors, for the attack on authorship."
        ),
    ] = None,
    text_field: options.TextField = "text",
    mechanisms: Annotated[
        str | None,
        typer.Option(
            "--mechanisms",
            help="What to compare, with commas between. Settings follow a colon each: "
            "near-words:guide=ngram:near=2, santext:calibration=published:epsilon=10/12. Common "
            "ones in useful settings unless given.",
        ),
    ] = None,
    epsilons: Annotated[
        str | None,
        typer.Option(
            "--epsilons", help="For mechanisms without epsilons of their own, as in 6,8,10."
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="attacker=SHARE",
            help="Turn it round: find for each mechanism the epsilon at which the best attacker "
            "names this share of words, and compare there.",
        ),
    ] = None,
    space: Annotated[
        str, typer.Option("--space", "-s", help="Public vocabulary that words come from.")
    ] = "starter",
    measure: Annotated[
        str,
        typer.Option(
            "--measure",
            help="What decides: accuracy, macro-F1 or similarity. Without labels it is similarity.",
        ),
    ] = "accuracy",
    encoder: Annotated[
        bool,
        typer.Option(
            "--encoder/--no-encoder",
            help="Read texts with the sentence encoder too, where it is installed.",
        ),
    ] = True,
    judge: Annotated[
        bool,
        typer.Option(
            "--language-model/--no-language-model",
            help="Judge fluency by SmolLM2 too, where it is installed.",
        ),
    ] = True,
    peers: Annotated[
        bool,
        typer.Option(
            "--peers",
            help="Compare other packages too (mldp-text, dp-diffractor, dpmlm): each is INSTALLED "
            "into an environment of its own in the cache, and runs without a network.",
        ),
    ] = False,
    vectors: Annotated[
        bool,
        typer.Option(
            "--vectors", help="Try sentence vectors for search as well; needs the encoder."
        ),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer texts and one seed: about ten minutes.")
    ] = False,
    texts: Annotated[
        int | None, typer.Option("--texts", help="Texts of INPUT to use, drawn at random.", min=1)
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            "--folds", help="Parts of the texts; each is tested by what learnt from others.", min=2
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", help="Releases of each setting.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Chooses texts, folds and noise.", min=0)] = 0,
    as_json: options.Json = False,
) -> None:
    """Compare mechanisms on your own kind of text: what is left of the use, what attackers get.

    Epsilons of different mechanisms cannot be compared; what can is use against the success of
    attackers who know the mechanism. The report is one page: the frontier, what to choose and why,
    all figures with intervals, and samples side by side.

    Example: discreet compare news.jsonl --label-field label --public other.jsonl --quick -o REPORT
    """
    check.one_of(measure, _MEASURES, "--measure")
    effort = QUICK if quick else Effort()
    given = {"texts": texts, "folds": folds, "seeds": seeds, "seed": seed}
    effort = replace(effort, **{name: value for name, value in given.items() if value is not None})
    wanted = _share(at)
    figure_class()  # a missing extra shows before anything long is computed
    vocabulary = load_space(space)
    names = None if mechanisms is None else mechanisms.split(",")
    entries = contenders(names, _numbers(epsilons), len(vocabulary))
    if label_field is None and author_field is None:
        raise InvalidValue(
            "name the field of the labels with --label-field, or that of the authors with "
            "--author-field: there must be a use, or somebody to find"
        )
    _checked_folder(output)
    task = Task.read(
        source,
        public,
        effort,
        text_field=text_field,
        label_field=label_field,
        author_field=author_field,
    )
    judges = ("ngram", "smollm2") if judge else ("ngram",)
    bench = Bench(task, vocabulary, effort, encoder, judges)
    others = peer_jobs(bench, cache_directory() / "peers", say) if peers else []
    with progress_bar("comparing") as bar:
        found = compared(
            bench,
            entries,
            output / "parts",
            measure=measure,
            at=wanted,
            peers=others,
            vectors=vectors,
            say=say,
            progress=bar,
        )
    originals = [text[:400] for text in task.texts[:SAMPLES]]
    write_page(output / "index.html", *page_of(found, originals), mode=PRIVATE)
    draw(frontier_plot(found), output / "frontier.png")
    values = found.to_dict()
    with written_whole(output / _RECORD) as temporary:
        temporary.write_text(json.dumps(values, indent=1), "utf-8")
    if as_json:
        echo_json(values)
    else:
        say(*lines(found), f"Written: {output / 'index.html'}")


def _checked_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file; name a folder for the report")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "parts").is_dir():
        raise OutputError(f"{folder} holds something else; name a new folder for the report")
    (folder / "parts").mkdir(parents=True, exist_ok=True)


def _share(at: str | None) -> float | None:
    if at is None:
        return None
    name, _, value = at.partition("=")
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if name != "attacker" or not 0 < share < 1:
        raise InvalidValue("--at must be attacker=SHARE with a share between 0 and 1, as in 0.3")
    return share


def _numbers(text: str | None) -> list[float]:
    if text is None:
        return []
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidValue("--epsilons must be numbers with commas between them") from None
    return [check.positive(number, "--epsilons") for number in numbers]
