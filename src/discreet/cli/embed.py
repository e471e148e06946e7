"""``discreet embed``: text files in, files of released vectors with a receipt out."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from discreet import check
from discreet.cli import _options as options
from discreet.cli._choice import NO_MECHANISM, LabelChoice, VectorChoice
from discreet.cli._file_settings import ReadingOptions, refuse_for_folders
from discreet.cli._terminal import progress_bar, say, say_released
from discreet.encoders.settings import EncoderSettings, MapSettings
from discreet.engines import EngineSettings, release_folder
from discreet.engines.embed_work import EmbedWork
from discreet.engines.plan import is_several
from discreet.errors import InvalidValue
from discreet.ledger.settings import VectorLedgerSettings
from discreet.randomness import generator
from discreet.release.documents import CandidateSettings, DocumentEmbedder
from discreet.release.handover import HandoverSettings
from discreet.release.search_quality import search_quality
from discreet.release.sentences import SentenceEmbedder
from discreet.release.vector_files import VectorColumns, embed_file
from discreet.settings import Setting, said

_OTHER = {"sentence": "document", "document": "sentence"}


def embed(
    columns: VectorColumns,
    reading: ReadingOptions,
    handover: HandoverSettings,
    choice: VectorChoice,
    vectors: MapSettings,
    encoder: EncoderSettings,
    documents: CandidateSettings,
    label_choice: LabelChoice,
    booking: VectorLedgerSettings,
    engine: EngineSettings,
    source: options.Documents,
    output: Annotated[Path, Setting("Where to write: .parquet, .npz or .npy.", short="-o")],
    unit: Annotated[
        str,
        Setting(
            "What gets a vector: each text as one sentence, or each text as a document of many "
            "sentences.",
            choices=tuple(_OTHER),
        ),
    ] = "sentence",
    labels: Annotated[
        str | None,
        Setting(
            "The possible labels, separated by commas. One with a comma goes in double quotes. "
            "They must be known in advance, and are never read from the input."
        ),
    ] = None,
    yes_weak: options.YesWeak = False,
    seed: options.Seed = None,
) -> None:
    """Release a differentially private vector for each text, and a private label beside it.

    Each text is encoded, mapped to a few dimensions by a public map, and its direction is replaced
    by a draw. Distances of the guarantee are those after the map. Only vectors, released labels
    and the columns named by --keep are written, and OUTPUT.privacy.json, a receipt with the
    guarantee and what training needs to know, with no text. Both are written whole or not at all.

    Example: discreet embed reviews.csv -o vectors.parquet --epsilon 10 --text-field review
    --label-field stars --labels 1,2,3,4,5 --label-epsilon 2

    With --unit document each text is cut into sentences, any one of which is protected, and one
    public vector that fits many of them is released.

    Example: discreet embed posts.csv -o out.parquet --unit document --epsilon 3
    --candidates STORE --with-candidate-text

    A folder or a quoted pattern is released part by part, by several workers, into a folder of
    Parquet files with one receipt. If that is stopped, the same command continues it.
    """
    named = _possible(labels, columns.label_field, label_choice)
    for each in said(documents if unit == "sentence" else vectors).values():
        raise InvalidValue(f"{each.flag} is for --unit {_OTHER[unit]}; leave it out")
    if unit == "document" and {columns.pair_field, columns.label_field} != {None}:
        raise InvalidValue("--pair-field and --label-field are for --unit sentence only")
    named_so = (choice.name_in(unit), choice.settings)
    made: Callable[[], Any] = partial(
        DocumentEmbedder.from_names, *named_so, documents, encoder, called=choice.flag
    )
    if unit == "sentence":
        made = partial(_sentences, choice, vectors, encoder, named, label_choice)
        say(*vectors.used_otherwise(choice.name_in("sentence"), choice.settings.get("epsilon")))
    several = engine.given or is_several(source)
    if several:
        refuse_for_folders(seed=seed, person_field=booking.person_field)
    with booking.booked("embed") as ledger, progress_bar("embedding") as show:
        handed: dict[str, Any] = {"handover": handover, "progress": show, "ledger": ledger}
        if several:
            law = None if named is None else label_choice.name_in("label")
            work = EmbedWork(
                unit=unit,
                mechanism=choice.name_in(unit),
                settings=dict(choice.settings),
                map=vectors,
                encoder=encoder,
                candidates=documents,
                labels=named,
                label_mechanism=None if law == NO_MECHANISM else law,
                label_settings=label_choice.given(),
                keyed=engine.keyed_noise,
                made_by=made,
                reading=reading.said,
                accept_weak=yes_weak,
                **asdict(columns),
            )
            receipt = release_folder(source, output, work, engine, **handed)
        else:
            receipt = embed_file(
                source,
                output,
                made,
                unit=unit,
                columns=columns,
                reading=reading.said,
                accept_weak=yes_weak,
                tells=_search if unit == "sentence" else None,
                rng=generator(seed),
                person_field=booking.person_field,
                **handed,
            )
    say_released(receipt, output)


def _sentences(
    choice: VectorChoice,
    vectors: MapSettings,
    encoding: EncoderSettings,
    labels: tuple[str, ...] | None,
    label_choice: LabelChoice,
) -> SentenceEmbedder:
    law = None if labels is None else label_choice.build(labels)
    with progress_bar("encoding public text") as show:
        return SentenceEmbedder.from_names(
            choice.name_in("sentence"),
            choice.settings,
            vectors,
            encoding,
            labels=labels,
            label_mechanism=law,
            called=choice.flag,
            progress=show,
        )


def _search(embedder: SentenceEmbedder) -> dict[str, Any]:
    """What the vectors are worth for search, for the receipt and for people."""
    with progress_bar("measuring search on public words") as show:
        quality = search_quality(embedder, progress=show)
    return {"search": {**quality.to_dict(), "in_words": quality.line()}}


def _possible(
    labels: str | None, label_field: str | None, label_choice: LabelChoice
) -> tuple[str, ...] | None:
    """The possible labels, if labels are to be released."""
    if (label_field is None) != (labels is None):
        raise InvalidValue(
            "--label-field and --labels belong together: the possible labels are public and are "
            "never read from the input"
        )
    if labels is None:
        if not label_choice.is_empty:
            raise InvalidValue("options about labels need --label-field and --labels")
        return None
    return check.labels(labels)
