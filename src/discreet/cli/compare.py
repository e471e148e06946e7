"""``discreet compare``: mechanisms on one scale, use against what attackers get."""

import json
from pathlib import Path
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import echo_json, progress_bar, say
from discreet.devices import prefer_device
from discreet.errors import InvalidValue, OutputError
from discreet.evaluation.comparison.bench import SAMPLES, benches_of
from discreet.evaluation.comparison.contenders import contenders
from discreet.evaluation.comparison.parts import usual_workers
from discreet.evaluation.comparison.peers import peer_jobs
from discreet.evaluation.comparison.run import Comparison, compared
from discreet.evaluation.comparison.settings import ComparisonSettings
from discreet.evaluation.comparison.task import Task
from discreet.files import cache_directory, written_whole
from discreet.mechanisms.registry import default_space
from discreet.report.comparison import lines, page_of
from discreet.report.frontier import frontier_plot
from discreet.report.page import write_page
from discreet.report.plots import draw, figure_class
from discreet.settings import Setting
from discreet.spaces import load_space
from discreet.staging import PRIVATE

_RECORD = "comparison.json"


def compare(
    settings: ComparisonSettings,
    source: Annotated[
        str,
        argument(
            "INPUT",
            "Texts to release and attack: csv, tsv, jsonl (each also .gz) or parquet. The "
            "report quotes some of them, and its figures depend on all: best is public text of "
            "the same kind as yours.",
        ),
    ],
    public: Annotated[
        str, Setting("Other, PUBLIC text of the same kind: what the attackers know.")
    ],
    output: Annotated[
        Path,
        Setting(
            "Folder of the report: index.html, frontier.png, comparison.json and the parts "
            "that are done. A stopped run continues there.",
            short="-o",
        ),
    ],
    label_field: Annotated[
        str | None, Setting("Column or field of the labels that a model learns.")
    ] = None,
    author_field: Annotated[
        str | None, Setting("Column or field of the authors, for the attack on authorship.")
    ] = None,
    text_field: options.TextField = "text",
    device: options.Device = "auto",
    as_json: options.Json = False,
) -> None:
    """Compare mechanisms on your own kind of text: how useful it stays, what attackers learn.

    Epsilons of different mechanisms cannot be compared. What can be compared is how useful a
    release is against how much attackers learn who know the mechanism. The report is one page: the
    frontier, what to choose and why, all figures with intervals, and samples side by side.

    Example: discreet compare news.jsonl --label-field label --public other.jsonl --quick -o REPORT
    """
    prefer_device(device)
    figure_class()  # a missing extra shows before anything long is computed
    vocabulary = load_space(settings.space or default_space())
    entries = contenders(settings.names, settings.numbers, len(vocabulary))
    if label_field is None and author_field is None:
        raise InvalidValue(
            "name the field of the labels with --label-field, or that of the authors with "
            "--author-field: there must be something to predict, or somebody to find"
        )
    _checked_folder(output)
    task = Task.read(
        source,
        public,
        settings.effort,
        text_field=text_field,
        label_field=label_field,
        author_field=author_field,
    )
    # Every mechanism in the vocabulary that it has by itself, unless one is given for all.
    where = {each.name: settings.space or default_space(each.name) for each in entries}
    benches = benches_of(task, where.values(), settings)
    bench = next(iter(benches.values()))
    others = peer_jobs(bench, cache_directory() / "peers", say) if settings.peers else []
    with progress_bar("comparing") as bar:
        comparison = compared(
            bench,
            entries,
            output / "parts",
            elsewhere={name: benches[space] for name, space in where.items()},
            measure=settings.measure,
            at=settings.share,
            peers=others,
            vectors=settings.vectors,
            workers=settings.workers or usual_workers(),
            say=say,
            progress=bar,
        )
    _write(output, comparison, task)
    if as_json:
        echo_json(comparison.to_dict())
    else:
        say(*lines(comparison), f"Written: {output / 'index.html'}")


def _write(folder: Path, comparison: Comparison, task: Task) -> None:
    originals = [text[:400] for text in task.texts[:SAMPLES]]
    write_page(folder / "index.html", *page_of(comparison, originals), mode=PRIVATE)
    draw(frontier_plot(comparison), folder / "frontier.png")
    with written_whole(folder / _RECORD) as temporary:
        temporary.write_text(json.dumps(comparison.to_dict(), indent=1), "utf-8")


def _checked_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file; name a folder for the report")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "parts").is_dir():
        raise OutputError(f"{folder} holds something else; name a new folder for the report")
    (folder / "parts").mkdir(parents=True, exist_ok=True)
