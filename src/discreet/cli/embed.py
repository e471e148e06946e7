"""``discreet embed``: text files in, files of released vectors with a receipt out."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import check
from discreet.cli import _options as options
from discreet.cli._embed_documents import embed_documents
from discreet.cli._settings import takes_settings
from discreet.cli._terminal import counted, progress_bar, say
from discreet.cli._vectors import LABEL_MECHANISMS, VectorChoice, label_mechanism
from discreet.errors import InputError, InvalidValue, OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.protocols import Release
    from discreet.release.sentences import SentenceEmbedder
    from discreet.release.vectors import VectorSet
    from discreet.text.readers import DocumentReader

_BATCH = 65_536


@dataclass(frozen=True)
class Job:
    """What is read and what is written."""

    source: str
    output: Path
    text_field: str
    pair_field: str | None
    label_field: str | None
    labels: tuple[str, ...] | None
    label_epsilon: float | None
    label_mechanism: str
    label_prior: str | None
    keep: tuple[str, ...]
    format: str | None
    max_document_bytes: int
    candidates: Path | None
    selection: str | None
    with_candidate_text: bool
    skip_short: bool
    seed: int | None
    force: bool


@takes_settings
def embed(
    choice: VectorChoice,
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="txt (a text per line), csv, tsv, jsonl (each also .gz) or parquet; "
            "- is standard input.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write: .parquet, .npz or .npy.")
    ],
    unit: Annotated[
        str,
        typer.Option(
            "--unit",
            help="What gets a vector: each text as one sentence, or each text as a document of "
            "many sentences.",
        ),
    ] = "sentence",
    text_field: options.TextField = "text",
    pair_field: Annotated[
        str | None,
        typer.Option("--pair-field", help="Of the second sentence, where rows are pairs."),
    ] = None,
    label_field: Annotated[
        str | None,
        typer.Option("--label-field", help="Column or field of a label to release beside."),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            help="The possible labels, with commas between them. Known in advance, never read off "
            "the input.",
        ),
    ] = None,
    label_epsilon: Annotated[
        float | None, typer.Option("--label-epsilon", help="Privacy loss allowed for the label.")
    ] = None,
    label_with: Annotated[
        str,
        typer.Option(
            "--label-mechanism",
            help="One of: " + ", ".join(LABEL_MECHANISMS) + "; none releases true labels.",
        ),
    ] = LABEL_MECHANISMS[0],
    label_prior: Annotated[
        str | None,
        typer.Option(
            "--label-prior",
            help="prior-response: PUBLIC guess at the share of each label, with commas.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="Write this column as it is beside the vectors; repeatable."),
    ] = None,
    format: options.Format = None,
    max_document_mb: options.MaxDocumentMb = 4.0,
    candidates: Annotated[
        Path | None,
        typer.Option(
            "--candidates",
            help="--unit document: the public side, a folder from 'discreet train candidates'.",
        ),
    ] = None,
    selection: Annotated[
        str | None,
        typer.Option(
            "--selection",
            help="--unit document: permute-and-flip (unless given) or exponential.",
        ),
    ] = None,
    with_candidate_text: Annotated[
        bool,
        typer.Option(
            "--with-candidate-text",
            help="--unit document: write the PUBLIC document that was chosen beside its vector.",
        ),
    ] = False,
    skip_short: Annotated[
        bool,
        typer.Option(
            "--skip-short",
            help="--unit document: leave out documents of fewer than 2 sentences, which are an "
            "error otherwise.",
        ),
    ] = False,
    seed: options.Seed = None,
    force: options.Force = False,
) -> None:
    """Release a differentially private vector for each text, and a private label beside it.

    Each text is encoded, mapped to a few dimensions by a public map, and its direction is replaced
    by a draw. Distances of the guarantee are those after the map. Only vectors, released labels
    and the columns named by --keep are written, and OUTPUT.privacy.json, a receipt with the
    guarantee and what training needs to know, with no text. Both are written whole or not at all.

    Example: discreet embed reviews.csv -o vectors.parquet --epsilon 10 --text-field review
    --label-field stars --labels 1,2,3,4,5 --label-epsilon 2

    With --unit document each text is cut into sentences, any one of which is protected, and a
    public vector is released that many of them speak for.

    Example: discreet embed posts.csv -o out.parquet --unit document --epsilon 3
    --candidates STORE --with-candidate-text
    """
    check.one_of(unit, ("sentence", "document"), "--unit")
    job = Job(
        source=source,
        output=output,
        text_field=text_field,
        pair_field=pair_field,
        label_field=label_field,
        labels=None if labels is None else tuple(part.strip() for part in labels.split(",")),
        label_epsilon=label_epsilon,
        label_mechanism=label_with,
        label_prior=label_prior,
        keep=tuple(keep or ()),
        format=format,
        max_document_bytes=options.document_bytes(max_document_mb),
        candidates=candidates,
        selection=selection,
        with_candidate_text=with_candidate_text,
        skip_short=skip_short,
        seed=seed,
        force=force,
    )
    _check(job)
    if unit == "document":
        embed_documents(choice, job)
        return
    if candidates is not None or selection is not None or with_candidate_text or skip_short:
        raise InvalidValue(
            "--candidates, --selection, --with-candidate-text and --skip-short are for "
            "--unit document; leave them out"
        )
    embed_sentences(choice, job)


def embed_sentences(choice: VectorChoice, job: Job) -> None:
    """Release a vector for each text, taken as one sentence."""
    from discreet.randomness import generator
    from discreet.release.vectors import receipt_path, write_vectors
    from discreet.text.readers import open_documents

    chosen = None
    if job.labels is not None:
        chosen = label_mechanism(
            job.label_mechanism, job.labels, job.label_epsilon, job.label_prior
        )
    with open_documents(
        job.source,
        format=job.format,
        text_field=job.text_field,
        max_document_bytes=job.max_document_bytes,
        batch_documents=_BATCH,
    ) as reader:
        columns = _columns(reader, job)  # a mistake in a name shows before the encoder is loaded
        embedder = choice.embedder(job.labels, chosen)
        rng = generator(job.seed)
        release = _joined(list(_released(embedder, reader, columns, rng)))
        release = _with_kept(release, job.keep)
        receipt = embedder.receipt(release) | {
            "input": {
                "format": reader.format,
                "text_field": reader.text_field,
                "pair_field": job.pair_field,
                "label_field": job.label_field,
                "kept": list(job.keep),
            }
        }
    write_vectors(job.output, release.values, receipt, force=job.force)
    say(
        f"Released {counted(release.units, 'vector')} of {release.values.dimension} dimensions "
        f"with {choice.of_sentences}, encoder {embedder.encoder.name}.",
        *release.statement.lines(),
        f"Written: {job.output} and its receipt {receipt_path(job.output)}",
    )


def _check(job: Job) -> None:
    """Refuse what cannot work before anything heavy is loaded."""
    from discreet.release.vectors import check_output

    if (job.label_field is None) != (job.labels is None):
        raise InvalidValue(
            "--label-field and --labels belong together: the possible labels are public and are "
            "never read off the input"
        )
    if job.label_field is None and (
        job.label_epsilon is not None
        or job.label_prior is not None
        or job.label_mechanism != LABEL_MECHANISMS[0]
    ):
        raise InvalidValue("options about labels need --label-field and --labels")
    for name in job.keep:
        if name in (job.text_field, job.pair_field, job.label_field):
            raise InvalidValue(
                f"--keep {name} would write as it is what is to be protected; leave it out"
            )
    beside = ["second vectors"] * bool(job.pair_field) + ["labels"] * bool(job.labels)
    check_output(job.output, force=job.force, beside=beside + ["kept columns"] * bool(job.keep))
    source = Path(job.source)
    if job.output.exists() and source.exists() and job.output.samefile(source):
        raise OutputError(f"{job.output} is the input itself; choose another name")


def _columns(reader: "DocumentReader", job: Job) -> dict[str, Any]:
    """How to take each of the other fields out of a batch."""
    from discreet.text.fields import field_of, labels_of, strings_of

    named = [job.text_field, job.pair_field, job.label_field, *job.keep]
    used = [name for name in named if name is not None]
    if len(set(used)) < len(used):
        raise InputError("each field can be used once: text, second text, label or kept")
    found: dict[str, Any] = {"kept": {name: field_of(reader, name) for name in job.keep}}
    if job.pair_field is not None:
        found["second"] = strings_of(reader, job.pair_field, "a second sentence")
    if job.label_field is not None:
        found["labels"] = labels_of(reader, job.label_field)
    return found


def _released(
    embedder: "SentenceEmbedder", reader: "DocumentReader", columns: dict[str, Any], rng: Any
) -> "Iterator[Release[VectorSet]]":
    second, labels = columns.get("second"), columns.get("labels")
    before = 0
    with progress_bar("embedding") as show:
        for batch in reader:
            now = reader.bytes_read

            def part(done: int, total: int, before: int = before, now: int = now) -> None:
                show(before + (now - before) * done // total, reader.total_bytes or 0)

            release = embedder.release(
                batch.texts,
                None if labels is None else labels(batch),
                rng,
                second=None if second is None else second(batch),
                first_row=batch.first_row,
                progress=part,
            )
            kept = {name: field(batch) for name, field in columns["kept"].items()}
            yield replace(release, values=replace(release.values, kept=kept))
            before = now


def _joined(releases: "list[Release[VectorSet]]") -> "Release[VectorSet]":
    from discreet.release.vectors import VectorSet

    values = VectorSet.joined([release.values for release in releases])
    return replace(releases[0], values=values, units=sum(r.units for r in releases))


def _with_kept(release: "Release[VectorSet]", keep: tuple[str, ...]) -> "Release[VectorSet]":
    if not keep:
        return release
    names = ", ".join(keep)
    return replace(
        release, statement=release.statement.with_public(f"what is kept as it is: {names}")
    )
